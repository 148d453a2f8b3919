"""The command line: `python -m benchmarks matching ...`, from the root of the repository."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import benchmarks
from benchmarks.options import add_output, check_output
from roster.cli.main import Formatter
from roster.errors import RosterError

COMMANDS = (
    "audit",
    "faults",
    "matching",
    "prediction",
    "repair",
    "review",
    "scaling",
    "serving",
    "soak",
    "startup",
    "step",
    "training",
)


class BenchmarkParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print a mistake as one line, as the command `roster` does."""
        self.exit(2, f"benchmarks: {message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all benchmarks."""
    top = BenchmarkParser(
        prog="python -m benchmarks",
        description=(benchmarks.__doc__ or "").partition("\n")[0],
        formatter_class=Formatter,
    )
    kinds = top.add_subparsers(dest="benchmark", metavar="benchmark", title="benchmarks", required=True)
    for name in COMMANDS:
        command = import_module(f"benchmarks.{name}.command")
        sub = kinds.add_parser(
            name,
            help=command.SUMMARY,
            description=command.HELP,
            epilog=f"Example:\n  {command.EXAMPLE}",
            formatter_class=Formatter,
        )
        sub.add_argument("--debug", action="store_true", help="show the traceback of an error")
        command.add_arguments(sub)
        add_output(sub)
        sub.set_defaults(run=command.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark.

    Returns:
        The exit code: 0, 1 if a measurement failed, 2 for a mistake in the options or the input, 130 if the
        benchmark was interrupted.
    """
    # As the command `roster` sets it: threads that wait sleep, so that two processes do not slow each other.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    args = parser().parse_args(arguments)
    try:
        check_output(args)
        return int(args.run(args))
    except RosterError as error:
        return _fail(args.debug, str(error), 2)
    except OSError as error:
        return _fail(args.debug, f"{error.filename or 'input or output'}: {error.strerror or error}", 2)
    except KeyboardInterrupt:
        return _fail(args.debug, "stopped", 130)


def _fail(debug: bool, message: str, code: int) -> int:
    if debug:
        traceback.print_exc()
    print(f"benchmarks: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
