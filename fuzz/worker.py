"""One target in a process of its own: `python -m fuzz.worker TARGET RUNS SEED FOLDER ENGINE`.

With the engine `atheris` inputs are guided by the coverage of the package; with `plain` they are mutations
of the seeds and of inputs that end in a new way. `FOLDER/current` is the input under way: it is left there if
the process dies.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import random
import resource
import sys
import tempfile
import warnings
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

SECONDS, OFTEN = 300, 50
"""Time after which a process that does not come back from compiled code is ended, set for so many inputs."""
MEMORY = 16 << 30
"""Address space of the process."""


class Session:
    """The inputs of a target so far, and its crashes.

    Args:
        target: what is run.
        runs: number of inputs.
        folder: gets `current`, each kind of crash as a file, and `summary.json` at the end.
    """

    def __init__(self, target: Any, runs: int, folder: Path):
        self._target, self._runs, self._folder = target, runs, folder
        # In memory where there is such a file system: every input is a file.
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self._scratch = Path(tempfile.mkdtemp(prefix="roster-fuzz-", dir=place))
        self._current = os.open(folder / "current", os.O_CREAT | os.O_WRONLY)
        self._count, self._crashes, self._began = 0, dict[str, int](), monotonic()

    def run(self, data: bytes) -> str | None:
        """Runs one input; ends the process after the last one. The key of the crash, if it was one."""
        from fuzz.target import attempt

        os.ftruncate(self._current, os.pwrite(self._current, data, 0))
        if self._count % OFTEN == 0:
            faulthandler.dump_traceback_later(SECONDS, exit=True)
        crash = attempt(self._target, data, self._scratch)
        self._count += 1
        if crash is not None:
            if crash.key not in self._crashes:
                name = sha256(crash.key.encode()).hexdigest()[:12]
                (self._folder / f"crash-{name}").write_bytes(data)
                (self._folder / f"crash-{name}.txt").write_text(f"{crash.key}\n{crash.trace}", "utf-8")
            self._crashes[crash.key] = self._crashes.get(crash.key, 0) + 1
        if self._count >= self._runs:
            self.end()
        return None if crash is None else crash.key

    def end(self) -> None:
        """Writes the summary and ends the process at once; libFuzzer would print a report of its own."""
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        found = {"target": self._target.name, "inputs": self._count, "crashes": self._crashes,
                 "seconds": round(monotonic() - self._began, 1), "peak_mib": memory}  # fmt: skip
        (self._folder / "summary.json").write_text(json.dumps(found), "utf-8")
        (self._folder / "current").unlink()
        self._scratch.rmdir()
        os._exit(0)


def main(name: str, runs: str, seed: str, place: str, engine: str) -> None:
    """Runs a target; does not return."""
    folder = Path(place)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["roster"]):
            from fuzz.targets import TARGETS
    else:
        from fuzz.targets import TARGETS
    from fuzz.mutation import LONGEST, TOKENS, mutated

    target = TARGETS[name]
    session = Session(target, int(runs), folder)
    seeds = [*target.seeds(), b""]
    if engine == "atheris":
        corpus = folder / "corpus"
        corpus.mkdir(exist_ok=True)
        for number, data in enumerate(seeds):
            (corpus / f"seed-{number}").write_bytes(data)
        (folder / "dictionary").write_text("".join(map(_entry, TOKENS)), "ascii")
        given: dict[str, object] = {
            "seed": seed, "runs": 2 * int(runs), "max_len": LONGEST, "len_control": 0, "timeout": 1200,
            "rss_limit_mb": 0, "verbosity": 0, "print_final_stats": 0, "dict": folder / "dictionary",
            "artifact_prefix": f"{folder}/",
        }  # fmt: skip
        options = [f"-{name}={value}" for name, value in given.items()]

        def once(data: bytes) -> None:
            session.run(data)

        atheris.Setup(["fuzz", *options, str(corpus)], once)
        atheris.Fuzz()
        session.end()
    random_, ends = random.Random(int(seed)), set[str | None]()
    for data in list(seeds):
        session.run(data)
    while True:
        data = mutated(random_.choice(seeds), seeds, random_)
        if (end := session.run(data)) not in ends:
            ends.add(end)
            seeds.append(data)


def _entry(token: bytes) -> str:
    """A line of libFuzzer's dictionary, whose entries are short."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in token[:64]) + '"\n'


if __name__ == "__main__":
    main(*sys.argv[1:])
