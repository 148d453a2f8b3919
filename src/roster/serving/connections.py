"""Connections of the server: how many there are, and how long a client may send or read slowly.

uvicorn limits none of this. An open connection, a head that never ends, a body that goes on after its answer
and an answer that nobody reads would each take memory and a file for as long as a client likes.

    client -> Connection -> Connections (all of one server; looks at each of them every second)
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from roster.serving.failures import RETRY_SECONDS
from roster.serving.settings import Limits

HEAD_BYTES = 32 * 1024
"""Bytes of a request's head that are kept while it is incomplete."""
READ_BYTES = 64 * 1024
"""Bytes that are read at once. Nothing else is answered while they are parsed, which takes about 2 seconds a
megabyte if the body is sent in chunks of one byte."""
UNREAD_BYTES = 64 * 2**20
"""Bytes of all answers that clients have not read."""
SPARE_FILES = 64
"""Files that connections leave to the process."""
CHECK_SECONDS = 1.0
REFUSED = (
    "HTTP/1.1 {status} {phrase}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n{more}"
    "Connection: close\r\n\r\n"
)


class Connections:
    """All connections of one server.

    Args:
        limits: the number of connections, and the times.
        refused: is told the reason when a connection is refused or closed by a limit: `connections`, `head`,
            `rest` (a body that goes on after its answer) or `unread` (an answer).
    """

    def __init__(self, limits: Limits, refused: Callable[[str], None] = lambda reason: None):
        self.most = max(1, min(limits.connections, _files() - SPARE_FILES))
        self.limits, self.refused = limits, refused
        self.open: dict[Connection, None] = {}
        self._next: asyncio.TimerHandle | None = None

    def protocol(self) -> type[H11Protocol]:
        """The class of these connections, for `uvicorn.Config`."""
        return type("ServedConnection", (Connection,), {"others": self})

    def take(self, one: Connection) -> bool:
        """Whether there is place for another connection. The one that is idle for longest makes place."""
        if len(self.open) >= self.most:
            idle = next((other for other in self.open if other.idle), None)
            if idle is None:
                self.refused("connections")
                return False
            self.leave(idle)
            idle.transport.close()
        self.open[one] = None
        if self._next is None:
            self._next = one.loop.call_later(CHECK_SECONDS, self._check, one.loop)
        return True

    def used(self, one: Connection) -> None:
        """The connection sent something; it is the last of those that make place."""
        if self.open.pop(one, one) is None:
            self.open[one] = None

    def leave(self, one: Connection) -> None:
        """The connection is closed."""
        self.open.pop(one, None)

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for one in list(self.open):
            if reason := one.overdue(now):
                self.refused(reason)
                one.end(reason)
        waiting = sorted(self.open, key=lambda one: one.unread)
        total = sum(one.unread for one in waiting)
        while total > UNREAD_BYTES:
            largest = waiting.pop()
            total -= largest.unread
            self.refused("unread")
            largest.transport.abort()
        self._next = loop.call_later(CHECK_SECONDS, self._check, loop) if self.open else None


class Connection(H11Protocol):
    """One connection."""

    others: Connections
    _head_since: float | None = None
    """When the head that is incomplete began."""
    _rest_since: float | None = None
    """When a body was first seen to go on after its answer."""
    _unread: tuple[int, float] = (0, 0.0)
    """The least number of unread bytes that was seen since the client last read, and when."""

    @property
    def idle(self) -> bool:
        """Whether it waits for a request, and nothing of it has arrived."""
        waits = self.conn.their_state is h11.IDLE and self._head_since is None
        return waits and not self.unread and not self.transport.is_closing()

    @property
    def unread(self) -> int:
        """Bytes of answers that are still to be sent."""
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if hasattr(transport, "max_size"):  # the transport of asyncio; without it, its own size of 256 KiB
            transport.max_size = READ_BYTES
        if not self.others.take(self):
            message = f"{self.others.most} connections are open, no more are taken; try again later"
            self._refuse(503, message, f"Retry-After: {RETRY_SECONDS}\r\n")
        self._head_since = self.loop.time()

    def resume_writing(self) -> None:
        self._unread = (0, 0.0)
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._head_since is None and self.conn.their_state is h11.IDLE:
            self._head_since = self.loop.time()
        self.others.used(self)
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head_since = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.others.leave(self)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
            if self.cycle is not None:  # the application may be about to answer
                self.cycle.disconnected = True
                self.cycle.message_event.set()
        else:  # the answer has been sent, and what follows is no HTTP
            self.transport.close()

    def overdue(self, now: float) -> str:
        """The limit of time that has passed, or an empty string."""
        seconds = self.others.limits.seconds
        least, seen = self._unread
        if not 0 < least <= self.unread:
            self._unread = self.unread, now
        elif now - seen > seconds:
            return "unread"
        if self.transport.is_closing():
            return ""
        if self._head_since is not None and now - self._head_since > self.others.limits.head_seconds:
            return "head"
        if not (self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY):
            self._rest_since = None
        elif self._rest_since is None:
            self._rest_since = now
        elif now - self._rest_since > seconds:
            return "rest"
        return ""

    def end(self, reason: str) -> None:
        """Closes a connection that is overdue; a client that has sent a part of a head is told why."""
        if reason != "head":
            self.transport.abort()
        elif self.conn.trailing_data[0]:
            self._refuse(408, f"the head did not arrive within {self.others.limits.head_seconds:g} s")
        else:
            self.transport.close()

    def _refuse(self, status: int, message: str, more: str = "") -> None:
        body = json.dumps({"error": message, "where": None}, separators=(",", ":"))
        head = REFUSED.format(status=status, phrase=HTTPStatus(status).phrase, size=len(body), more=more)
        self.transport.write((head + body).encode("ascii"))
        self.transport.close()


def _files() -> int:
    """Files that the process may open."""
    if sys.platform == "win32":
        return 512  # of `select`
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
