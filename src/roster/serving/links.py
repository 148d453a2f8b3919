"""Links that a browser can open without the header of a token: a downloaded file, a page in a new tab."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from urllib.parse import parse_qs

SECONDS = 300
PARAMETER = "ticket"


class Links:
    """Signs paths for some minutes. The key is that of this process.

    >>> links = Links()
    >>> ticket = links.ticket("/a")
    >>> links.accept("/a", f"ticket={ticket}"), links.accept("/b", f"ticket={ticket}"), links.accept("/a", "")
    (True, False, False)
    """

    def __init__(self, clock: Callable[[], float] = time.time):
        self._key, self._clock = secrets.token_bytes(32), clock

    def ticket(self, path: str) -> str:
        """The value of the parameter `ticket` with which GET of the path needs no token, for `SECONDS`."""
        return self._signed(path, int(self._clock()) + SECONDS)

    def accept(self, path: str, query: str) -> bool:
        """Whether the query string of a request for a path has a valid ticket."""
        given = parse_qs(query, max_num_fields=20).get(PARAMETER, [""])[0] if len(query) < 4096 else ""
        until = given.partition(".")[0]
        if not (until.isascii() and until.isdigit() and len(until) < 20):
            return False
        right = hmac.compare_digest(self._signed(path, int(until)).encode(), given.encode("utf-8", "replace"))
        return right and self._clock() <= int(until)

    def _signed(self, path: str, until: int) -> str:
        digest = hmac.new(self._key, f"{until} {path}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()
        return f"{until}.{digest}"
