"""A cache of answers on disk, so that an interrupted run does not repeat its queries.

One small file for each answer, renamed into place. Unlike a database this needs no locks, so any number of
processes can share a folder, also on network file systems (where SQLite's write-ahead log does not work). A
process that is killed leaves complete entries only, and a damaged file costs one answer. There is one file
for each request: thousands, not millions.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from roster.errors import ConfigError, RosterError
from roster.files import atomic
from roster.parsing import parse_json


class AnswerCache:
    """A folder of answers. `max_age` in seconds: older answers are not served; None serves all.

    A file is gzip, whose checksum detects damage: a line of JSON with the query and its time (in seconds
    since 1970), then the answer as the server sent it.
    """

    def __init__(
        self, folder: Path, *, max_age: float | None = None, log: Callable[[str], None] | None = None
    ):
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"the cache {folder} is a file; give a folder")
        self._folder, self._max_age, self._log = folder, max_age, log

    def path(self, *asked: str) -> Path:
        """The file for a request (address, query and all else that the answer depends on)."""
        return self._folder / f"{hashlib.sha256(json.dumps(asked).encode()).hexdigest()}.gz"

    def get(self, *asked: str) -> bytes | None:
        path = self.path(*asked)
        try:
            packed = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RosterError(f"cannot read {path}: {error.strerror}") from error
        try:
            head, _, body = gzip.decompress(packed).partition(b"\n")
            entry = parse_json(head)
            if entry["asked"] != list(asked):
                raise ValueError("an answer to another question")
            age = time.time() - float(entry["fetched"])
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            self.set_aside(str(error) or type(error).__name__, *asked)
            return None
        return body if self._max_age is None or age <= self._max_age else None

    def put(self, body: bytes, *asked: str) -> None:
        head = json.dumps({"asked": asked, "fetched": time.time()}).encode()
        with atomic(self.path(*asked), "wb") as file:
            file.write(gzip.compress(head + b"\n" + body, compresslevel=6))

    def set_aside(self, why: str, *asked: str) -> None:
        """Rename a damaged entry, so that it is not served again but can be inspected."""
        path = self.path(*asked)
        aside = path.with_suffix(".damaged")
        with suppress(FileNotFoundError):  # another process was faster
            os.replace(path, aside)
        if self._log:
            self._log(f"damaged cache entry set aside as {aside} ({why}); asking again")
