"""What a target is, and one run of it with its limits."""

from __future__ import annotations

import resource
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from roster.errors import RosterError

SECONDS = 10
"""Processor time of one input. Other work on the machine does not count."""
GROWTH = 512 << 20
"""Bytes by which the memory of the process may grow with one input."""
BETWEEN = b"\n=====\n"
"""Separates the files of an input that is several files."""


@dataclass(frozen=True)
class Target:
    """Something that reads bytes.

    Args:
        name: what the command line calls it.
        run: reads bytes, with an empty folder for the files that it needs.
        seeds: valid inputs, from which others are made.
        share: of the inputs that other targets get, where one takes long.
    """

    name: str
    run: Callable[[bytes, Path], None]
    seeds: Callable[[], Sequence[bytes]]
    share: float = 1.0


@dataclass(frozen=True)
class Crash:
    """An input that a target does not bear; `key` is equal for those with the same cause."""

    key: str
    trace: str


class Hang(BaseException):
    """An input took too much time; nothing that the target catches."""


def attempt(target: Target, data: bytes, folder: Path) -> Crash | None:
    """Runs a target once, and empties the folder.

    Args:
        target: what is run.
        data: its input.
        folder: an empty folder.

    Returns:
        The crash, if there was one.
    """
    before = _memory()
    try:
        with _deadline():
            target.run(data, folder)
    except RosterError as error:
        if not str(error).strip():
            return _crash(error, "an error without a message")
    except (Exception, Hang) as error:
        return _crash(error, "")
    finally:
        for item in list(folder.iterdir()):
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item)
            else:
                item.unlink()
    if _memory() - before > GROWTH:
        return Crash("memory", f"{(_memory() - before) >> 20} MiB more than before")
    return None


def files_of(data: bytes, folder: Path, *names: str) -> list[Path]:
    """Writes the parts of an input to files of these names; a part that is missing is no file."""
    paths = []
    for name, part in zip(names, data.split(BETWEEN, len(names) - 1), strict=False):
        paths.append(folder / name)
        paths[-1].write_bytes(part)
    return paths


def _crash(error: BaseException, note: str) -> Crash:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [one for one in frames if "/roster/" in one.filename or "/fuzz/" in one.filename]
    last = (ours or list(frames))[-1]
    where = f"{last.filename.rpartition('/roster/')[2].rpartition('/fuzz/')[2]}:{last.lineno}"
    text = note + "".join(traceback.format_exception(error))
    return Crash(f"{type(error).__name__} at {where}", text)


def _memory() -> int:
    """The most memory that the process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def _deadline() -> Iterator[None]:
    def end(number: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
