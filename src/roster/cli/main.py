"""The one executable, `roster`. Each command is a short module: parse, call, print."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import NoReturn, TextIO, cast

import roster
from roster.errors import RosterError
from roster.log import log_to_stderr
from roster.terminal import SafeOutput, one_line

COMMANDS = {
    "demo": "the whole chain on the bundled sample, in minutes on two CPU cores",
    "label": "distant labels for a corpus, from dictionaries, patterns or a knowledge base",
    "train": "train a recogniser on distant labels",
    "predict": "find entities, with character offsets, in a file, a folder or standard input",
    "serve": "answer requests over HTTP: several models, batches, limits, metrics",
    "audit": "which labels and which entries of the dictionary are wrong or missing, without gold labels",
    "repair": "audit, label and train again, in rounds without a person",
    "evaluate": "strict entity precision, recall and F1 of a model or of label files",
    "review": "how good a model is, with confidence intervals, by few answers of a person",
    "report": "one HTML page on a run: quality, examples, what was derived, curves",
    "calibrate": "make the scores of a model probabilities, by sentences with true labels",
    "export": "write a model as ONNX, for the CPU, and compare the two",
    "pretrain": "train a backbone on plain text, from random weights, another backbone or a teacher",
    "convert": "change the format of labelled data",
    "kb": "build and query an embedded knowledge base, or query a SPARQL endpoint",
    "benchmark": "the experiments of the paper: tables and figures",
}
RESUMES = ("demo", "train", "pretrain", "kb", "repair", "review")


class Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str):
        super().__init__(
            prog,
            max_help_position=32,
            width=min(100, os.get_terminal_size().columns or 100) if sys.stdout.isatty() else 100,
        )

    def add_argument(self, action: argparse.Action) -> None:
        """argparse does not count the second indentation of the names of commands."""
        super().add_argument(action)
        for command in self._iter_indented_subactions(action):
            length = len(self._format_action_invocation(command)) + self._current_indent
            self._action_max_length = max(self._action_max_length, length)


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Prints the message on one line, as all other errors are printed."""
        self.exit(2, f"roster: {message}; see {self.prog} --help\n")


def parser(command: str | None) -> argparse.ArgumentParser:
    """The parser; only the module of `command` is imported, so that `roster --help` is quick."""
    top = Parser(
        prog="roster",
        description=(roster.__doc__ or "").partition("\n")[0],
        epilog="Try it: roster demo. Help on a command: roster train --help.",
        formatter_class=Formatter,
    )
    top.add_argument("--version", action="version", version=f"roster {roster.__version__}")
    commands = top.add_subparsers(dest="command", metavar="command", title="commands")
    for name, summary in COMMANDS.items():
        if name != command:
            commands.add_parser(name, help=summary)
            continue
        module = import_module(f"roster.cli.{name}")
        sub = commands.add_parser(
            name,
            help=summary,
            description=module.HELP,
            epilog=f"Example:\n  {module.EXAMPLE}",
            formatter_class=Formatter,
        )
        sub.add_argument("--debug", action="store_true", help="show the traceback of an error")
        module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    command = next((a for a in arguments if a in COMMANDS), None)
    top = parser(command)
    args = top.parse_args(arguments)
    if args.command is None:
        top.print_help()
        return 0
    try:
        with log_to_stderr(), _safe_output(args.command):
            code = int(args.run(args))
        sys.stdout.flush()  # now, while a full disk can still be reported as an error of the command
        return code
    except RosterError as error:
        return _fail(args.debug, str(error), 2)
    except KeyboardInterrupt:
        resumes = args.command in RESUMES or getattr(args, "resumes", False)
        later = "; the same command goes on from the last finished point" if resumes else ""
        return _fail(args.debug, f"stopped{later}", 130)
    except BrokenPipeError:
        # The process that reads the output has ended (`roster predict ... | head`): not an error.
        _drop_output()
        return 0
    except MemoryError:
        return _fail(args.debug, "out of memory; a smaller optimiser.batch_size or backbone needs less", 1)
    except OSError as error:
        _drop_output()
        return _fail(args.debug, f"{error.filename or 'input or output'}: {error.strerror or error}", 2)
    except Exception as error:
        message = f"unexpected {type(error).__name__}: {error}. This is our mistake; --debug shows where"
        return _fail(args.debug, message, 1)


@contextmanager
def _safe_output(command: str) -> Iterator[None]:
    """Standard output without control characters of what was read, where it is a terminal.

    A file or a pipe gets them as they are. A review and the figures of a benchmark escape text themselves,
    and write colours.
    """
    stream = sys.stdout
    if not stream.isatty() or command in ("review", "benchmark"):
        yield
        return
    sys.stdout = cast(TextIO, SafeOutput(stream))
    try:
        yield
    finally:
        sys.stdout = stream


def _drop_output() -> None:
    """Discards output that could not be written: Python would try to write it again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(debug: bool, message: str, code: int) -> int:
    if debug:
        traceback.print_exc()
    print(f"roster: {one_line(message)}", file=sys.stderr)
    return code


def entry() -> None:
    # Waiting threads sleep instead of spinning: with one other busy process on two cores, spinning makes
    # training three times slower, and alone it gains 5 %. Read by the OpenMP runtime when torch loads.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    code = main()
    # The end of the process frees all memory; a garbage collection of torch's objects would take 0.4 s.
    # Triton (GPU training) needs it: it reports objects that are left.
    if "triton" not in sys.modules:
        gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    entry()
