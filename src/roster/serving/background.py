"""The service in a thread, for notebooks and tests."""

from __future__ import annotations

import socket
import threading
from collections.abc import Collection, Mapping
from types import TracebackType

from roster.serving.auth import Tokens
from roster.serving.extension import Extension
from roster.serving.logs import Log
from roster.serving.models import ServedModel
from roster.serving.server import address_of, make_server, run
from roster.serving.settings import Limits


class Background:
    """A service that runs in a thread of its own, from the start until `close()`.

    Args:
        models: what is served, by name.
        listening: the socket, as `listen` makes it. Requests wait in it until the service runs.
        limits: what a request may take.
        tokens: the accepted tokens.
        log: gets one line a request, and warnings.
        extension: further routes and pages.
        hosts: names of this service in the header Host, beside those of this machine; None for any.

    Attributes:
        url: the address of the service.
    """

    def __init__(
        self,
        models: Mapping[str, ServedModel],
        listening: socket.socket,
        *,
        limits: Limits,
        tokens: Tokens,
        log: Log,
        extension: Extension | None = None,
        hosts: Collection[str] | None = None,
    ):
        self.url = address_of(listening)
        self._server = make_server(
            models, limits=limits, tokens=tokens, log=log, extension=extension, hosts=hosts
        )
        facts = {"models": sorted(models), "token": bool(tokens)}
        self._thread = threading.Thread(
            target=run, args=(self._server, listening, log, facts), name="roster-serve", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Ends the service, after the requests under way are answered."""
        self._server.should_exit = True
        self._thread.join()

    def __enter__(self) -> Background:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        self.close()
