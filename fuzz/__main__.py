"""The command line: `python -m fuzz [TARGET ...] -n 20000 --seed 1`, from the root of the repository."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fuzz.targets import TARGETS

DESCRIPTION = "Runs mutated inputs through targets. Exit code 1: an input crashed; it is kept under --output."


def parser() -> argparse.ArgumentParser:
    """The options."""
    found = argparse.ArgumentParser(
        prog="python -m fuzz", description=DESCRIPTION, epilog=f"Targets: {', '.join(TARGETS)}"
    )
    found.add_argument("targets", metavar="TARGET", nargs="*", help="what to run (default: all)")
    found.add_argument("-n", "--inputs", type=int, default=20_000, metavar="N", help="inputs of each target")
    found.add_argument("--seed", type=int, default=1, help="the same seed gives the same inputs")
    found.add_argument("--engine", choices=("auto", "atheris", "plain"), default="auto",
                       help="auto: atheris (guided by coverage) where it is installed")  # fmt: skip
    found.add_argument("-o", "--output", metavar="FOLDER", default="fuzzed",
                       help="gets crashes and summaries (default: fuzzed)")  # fmt: skip
    found.add_argument("--input", metavar="FILE", help="run this one input, and show its error")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the targets one after the other, and prints a line for each."""
    options = parser()
    args = options.parse_args(arguments)
    if unknown := [name for name in args.targets if name not in TARGETS]:
        options.error(f"unknown target {', '.join(unknown)}; known are {', '.join(TARGETS)}")
    if args.input:
        if len(args.targets) != 1:
            options.error("--input needs one target")
        return _replay(args.targets[0], Path(args.input))
    engine = args.engine
    if engine == "auto":
        engine = "atheris" if find_spec("atheris") else "plain"
    crashes = 0
    for name in args.targets or TARGETS:
        found = run(
            name, round(args.inputs * TARGETS[name].share), args.seed, Path(args.output) / name, engine
        )
        crashes += len(found["crashes"])
        kinds = ", ".join(f"{key} ({count})" for key, count in found["crashes"].items()) or "-"
        numbers = f"{found['inputs']:>9,} inputs {found['seconds']:>7.1f} s {found['peak_mib']:>6} MiB"
        print(f"{name:22} {numbers}  {kinds}", flush=True)
    return 1 if crashes else 0


def run(name: str, inputs: int, seed: int, folder: Path, engine: str) -> dict[str, Any]:
    """Runs a target in a process of its own.

    Returns:
        Inputs, crashes with their number, seconds and memory; a process that died is a crash.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("crash-*"), folder / "summary.json"):
        old.unlink(missing_ok=True)
    command = [sys.executable, "-m", "fuzz.worker", name, str(inputs), str(seed), str(folder), engine]
    with (folder / "log.txt").open("wb") as log:
        code = subprocess.run(command, stdout=log, stderr=log).returncode
    if (summary := folder / "summary.json").exists():
        return dict(json.loads(summary.read_text(encoding="utf-8")))
    if (folder / "current").exists():
        (folder / "current").replace(folder / "crash-died")
    return {"inputs": 0, "seconds": 0.0, "peak_mib": 0, "crashes": {f"the process ended with {code}": 1}}


def _replay(name: str, path: Path) -> int:
    import tempfile

    from fuzz.target import attempt

    with tempfile.TemporaryDirectory() as folder:
        crash = attempt(TARGETS[name], path.read_bytes(), Path(folder))
    print("no crash" if crash is None else crash.trace)
    return 0 if crash is None else 1


if __name__ == "__main__":
    sys.exit(main())
