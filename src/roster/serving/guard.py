"""Refuses requests that the pages of other sites make in a user's browser.

A page of any site can send requests to http://127.0.0.1:8000. It cannot read the answers, but a request that
changes something has done so. And a site whose name is made to lead to 127.0.0.1 (DNS rebinding) is, for the
browser, this service itself; such requests have the name of that site in the header Host.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from roster.serving.failures import RequestError

LOOPBACK = frozenset(["localhost", "127.0.0.1", "::1"])
READING = ("GET", "HEAD", "OPTIONS")


def refused(method: str, headers: Headers, hosts: Collection[str] | None) -> RequestError | None:
    """Why a request is refused, or None.

    Args:
        method: GET, POST, ...
        headers: of the request.
        hosts: names of the service in the header Host, beside those of this machine; None for any.

    >>> refused("POST", Headers({"host": "localhost:8000", "origin": "http://evil.example"}), None).status
    403
    >>> refused("GET", Headers({"host": "evil.example"}), ()).status
    421
    >>> refused("POST", Headers({"host": "localhost:8000", "origin": "http://localhost:8000"}), ())
    """
    host = headers.get("host", "")
    if hosts is not None and (name := _hostname(host)) not in LOOPBACK and name not in hosts:
        return RequestError(
            421, "this name is not one of this service; use localhost, or start it with --allow-host NAME"
        )
    if method in READING:
        return None
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site not in (None, "same-origin", "none") or (origin is not None and not _same(origin, host)):
        return RequestError(403, "a page of another site may not change anything here")
    return None


def _hostname(host: str) -> str:
    """The name in a header Host, without its port; empty for what is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _same(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host.lower() != ""
    except ValueError:
        return False


class Guard:
    """Wraps an application: what is refused does not reach it.

    Args:
        app: what answers.
        hosts: as for `refused`.
        origins: whether only pages of this service may change something. Where nothing can be changed, a
            proxy need not pass its name on.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None, *, origins: bool = True):
        self._app, self._hosts, self._origins = app, hosts, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            method = scope["method"] if self._origins else READING[0]
            failure = refused(method, Headers(scope=scope), self._hosts)
            if failure is not None:
                await JSONResponse(failure.content(), failure.status)(scope, receive, send)
                return
        await self._app(scope, receive, send)
