"""Atomic writing of files and folders, locks, and fingerprints of content."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from roster.errors import RosterError, RunError
from roster.parsing import parse_json

if TYPE_CHECKING:
    from filelock import BaseFileLock

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a full disk, and of a user's full share of it."""


@contextmanager
def atomic(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Write a file completely, or leave what was there before.

    The body writes to a temporary file in the folder of `path`, which replaces `path` when the body ends
    without an error. After a crash, a full disk or an exception, `path` has its old content.

    A symbolic link is followed: the file it points to is replaced, and the link stays. A device, FIFO or
    socket is opened and written directly. It is never replaced, and what was written to it cannot be undone.
    """
    path = Path(path)
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    if is_special(path):
        try:
            with path.open(mode, **text) as file:
                yield file
        except OSError as error:
            raise RosterError(f"cannot write {path}: {reason(error)}") from error
        return
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise RosterError(f"cannot write {path}: {reason(error)}") from error
    try:
        Path(name).chmod(0o644)
        with os.fdopen(handle, mode, **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except OSError as error:
        raise RosterError(f"cannot write {path}: {reason(error)}") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def reason(error: OSError) -> str:
    """Why a file could not be written, and what to do where the system's words do not tell.

    >>> reason(OSError(errno.ENOSPC, "No space left on device"))
    'No space left on device; free some space there and give the same command again'
    """
    words = error.strerror or str(error)
    if error.errno in FULL:
        return f"{words}; free some space there and give the same command again"
    if error.errno == errno.EFBIG:
        return f"{words}; raise the limit on the size of files (ulimit -f) and give the same command again"
    return words


def system_error(error: Exception) -> OSError | None:
    """An error of the system: an OSError, or one that a library written in Rust tells of by its text alone.

    >>> system_error(Exception("I/O error: No space left on device (os error 28)"))
    OSError(28, 'No space left on device')
    >>> system_error(ValueError("28"))
    """
    if isinstance(error, OSError):
        return error
    found = None if isinstance(error, RosterError) else re.search(r"\(os error (\d+)\)", str(error))
    return None if found is None else OSError(int(found[1]), os.strerror(int(found[1])))


def is_special(path: Path) -> bool:
    """Whether `path` exists and is neither a regular file nor a folder, links followed."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def is_plain_name(name: object) -> bool:
    """Whether a name that stands in a file leads to something in the same folder, and to nothing else.

    >>> is_plain_name("data-1.arrow"), is_plain_name("../a"), is_plain_name("/etc/a"), is_plain_name("..")
    (True, False, False, False)
    """
    if not isinstance(name, str) or name in ("", ".", "..") or set(name) & set("/\\:\0"):
        return False
    return not any("\ud800" <= c <= "\udfff" for c in name)  # no name of a file can have half a pair


def refuse_input(output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise an error if `output` is one of the input files, or lies in an input folder as one of its files.

    Files are compared by device and inode, so that another name or a link for the same file counts.
    """
    try:
        target = Path(output).stat()
    except OSError:
        return
    if not stat.S_ISREG(target.st_mode):
        return
    for given in map(Path, inputs):
        files = given.rglob("*") if given.is_dir() else [given]
        for file in files:
            with suppress(OSError):
                if os.path.samestat(file.stat(), target):
                    raise RosterError(f"{output} is an input of this command; choose another output file")


@contextmanager
def atomic_folder(path: str | Path, *, first: bool = False) -> Iterator[Path]:
    """Fill a temporary folder beside `path`, then rename it there; an older folder is replaced.

    With `first`, a folder that exists by then is kept and the new one discarded, so that several processes
    may make the same folder at the same time.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
    except OSError as error:
        raise RosterError(f"cannot write {path}: {reason(error)}") from error
    try:
        part.chmod(0o755)
        yield part
        if first:
            try:
                part.rename(path)
            except OSError:
                if not path.is_dir():  # else another process made it first
                    raise
        elif path.exists():
            old = part.with_suffix(".old")
            os.replace(path, old)
            try:
                os.replace(part, path)
            except OSError:
                os.replace(old, path)
                raise
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.replace(part, path)
    except Exception as error:
        of_system = system_error(error)
        if of_system is None:
            raise
        raise RosterError(f"cannot write {path}: {reason(of_system)}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def lock(path: Path, in_use: str) -> BaseFileLock:
    """Hold a lock file until `release()` or the end of the process, however it ends.

    Raises RunError with the message `in_use`, and which process it is, if another one holds it. The system
    releases the lock of a killed process, so what the file contains is for this message only.
    """
    from filelock import FileLock, Timeout  # slow to import, and most commands do not need it

    held, holder = FileLock(path, mode=0o644), _holder(path)
    try:
        held.acquire(blocking=False)
    except Timeout:
        raise RunError(f"{in_use}{holder}") from None
    except OSError as error:
        raise RunError(f"cannot write to the folder {path.parent}: {reason(error)}") from None
    with suppress(OSError):  # a full disk: the lock holds without it
        path.write_text(f"{os.getpid()} {platform.node()}\n", encoding="utf-8")
    return held


def _holder(path: Path) -> str:
    """Which process holds a lock by its own account, in brackets; empty where it did not write it."""
    try:
        pid, host = path.read_text(encoding="utf-8").split()
        return f" (it is process {int(pid)} on {host})"
    except (OSError, ValueError):
        return ""


def lock_folder(folder: Path, doing: str) -> BaseFileLock:
    """Hold a folder against other processes that would be `doing` the same there."""
    return lock(
        folder / ".lock", f"another process is {doing} in {folder}; wait for it, or use another folder"
    )


def check_same(marker: Path, made_from: Mapping[str, Any], what: str, words: Mapping[str, str]) -> None:
    """Raises RunError if the `marker` of a folder shows that it was made from other inputs.

    `words` has for each part of `made_from` the words for a folder in which that part differs.
    """
    before = read_object(marker)
    different = [name for name, value in made_from.items() if before.get(name) != value]
    if different:
        raise RunError(
            f"{marker.parent} holds {what} made {' and '.join(words.get(name, name) for name in different)}; "
            "give another folder, or remove this one to start again"
        )


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object that a run wrote into its folder."""
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise RunError(f"{path} is damaged; remove the folder {path.parent} and start again")
    return found


def write_text(path: str | Path, text: str) -> None:
    with atomic(path) as file:
        file.write(text)


def write_json(path: str | Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(*parts: Any) -> str:
    """A short hash of strings, bytes, or anything JSON can hold."""
    digest = hashlib.sha256()
    for part in parts:
        if not isinstance(part, bytes):
            part = json.dumps(part, sort_keys=True, ensure_ascii=False).encode()
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:16]
