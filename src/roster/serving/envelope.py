"""What every request has: an identifier, authentication, headers, a line of the log, counts; no traceback.

The outermost layer of the application, in plain ASGI.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Collection
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roster.serving.auth import Tokens
from roster.serving.failures import RequestError
from roster.serving.links import Links
from roster.serving.logs import Log, place_of
from roster.serving.metrics import Metrics

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cache-Control": "no-store",
}
"""Of every answer; a route may set its own policy and caching."""
OPEN_PATHS = ("/health", "/ready")
"""Answered without a token."""
IDENTIFIER = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Envelope:
    """Wraps an application.

    Args:
        app: what answers.
        paths: its routes. A route with parameters is logged and counted by its template, and another path as
            `other`, because it may hold anything.
        open_paths: those that are answered without a token.
        tokens: the accepted tokens.
        metrics: counts requests.
        links: accepts GET of addresses that it has signed.
        log: gets one line a request. A route adds fields in `request.state.log`, and finds the identifier in
            `request.state.identifier`.

    Attributes:
        metrics: those of the arguments.
    """

    def __init__(
        self,
        app: ASGIApp,
        paths: Collection[str],
        open_paths: Collection[str],
        tokens: Tokens,
        metrics: Metrics,
        log: Log,
        links: Links | None = None,
    ):
        self._links = links
        self._app, self._paths, self._open_paths = app, frozenset(paths), frozenset(open_paths)
        self._tokens, self.metrics, self._log = tokens, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, headers = time.perf_counter(), Headers(scope=scope)
        given = headers.get("x-request-id", "")
        identifier = given if IDENTIFIER.fullmatch(given) else secrets.token_hex(8)
        path = scope["path"] if scope["path"] in self._paths else "other"
        status = 0
        fields: dict[str, Any] = {}
        scope.setdefault("state", {}).update(log=fields, identifier=identifier)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                into = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    into.setdefault(name, value)
                into["X-Request-ID"] = identifier
            await send(message)

        try:
            if self._accepts(scope, headers):
                await self._app(scope, receive, send_with_headers)
            else:
                await refusal()(scope, receive, send_with_headers)
        except Exception as error:
            self._log("error", request=identifier, **place_of(error))
            if status == 0:
                await unexpected(identifier)(scope, receive, send_with_headers)
        finally:
            if path == "other":
                path = getattr(scope.get("route"), "path", path)
            seconds = time.perf_counter() - begin
            self.metrics.request(path, status, seconds)
            self._log("request", request=identifier, method=_method(scope), path=path, status=status,
                      seconds=round(seconds, 6), **fields)  # fmt: skip

    def _accepts(self, scope: Scope, headers: Headers) -> bool:
        if scope["path"] in self._open_paths or self._tokens.accept(headers.get("authorization")):
            return True
        query = scope.get("query_string", b"").decode("latin-1")
        return (
            self._links is not None and scope["method"] == "GET" and self._links.accept(scope["path"], query)
        )


def refusal() -> JSONResponse:
    """The answer to a request without a valid token."""
    message = "this needs a valid token: Authorization: Bearer TOKEN"
    return JSONResponse(RequestError(401, message).content(), 401, {"WWW-Authenticate": "Bearer"})


def unexpected(identifier: str) -> JSONResponse:
    """The answer to a request that ended in an error of ours; it has no detail of the error."""
    message = f"unexpected error; the log has it under request {identifier}"
    return JSONResponse(RequestError(500, message).content(), 500)


def _method(scope: Scope) -> str:
    method = str(scope["method"])
    return method if method in ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH") else "other"
