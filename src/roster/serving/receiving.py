"""Bodies of requests, within limits, and clients that have gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from roster.serving.failures import RequestError

T = TypeVar("T")
CLIENT_GONE = 499
"""Status in log and metrics of a request whose client closed the connection; nobody receives it."""


def client_gone() -> RequestError:
    return RequestError(CLIENT_GONE, "the client closed the connection")


def check_headers(request: Request) -> None:
    """Checks the type of the body before it is received.

    Raises:
        RequestError: 415 for another type than JSON, or a compressed body.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError(415, f"expected Content-Type: application/json, not {kind[:100] or 'none'}")
    coding = request.headers.get("content-encoding", "identity").lower()
    if coding != "identity":
        raise RequestError(415, f"Content-Encoding: {coding[:100]} is not supported; send the body as it is")


async def read_body(request: Request, limit: int) -> bytes:
    """The body of a request.

    Args:
        request: the request.
        limit: the most bytes; no more are kept, whatever the client announces or sends.

    Raises:
        RequestError: 413 if the body is larger, 499 if the client has gone.
    """
    too_large = RequestError(413, f"the body has more than {limit} bytes")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limit:
        raise too_large
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > limit:
                raise too_large
    except ClientDisconnect:
        raise client_gone() from None
    return bytes(body)


async def body_in_time(request: Request, limit: int, seconds: float) -> bytes:
    """The body of a request, as `read_body` reads it.

    Raises:
        RequestError: as there, and 408 if it does not arrive in time.
    """
    try:
        async with asyncio.timeout(seconds):
            return await read_body(request, limit)
    except TimeoutError:
        message = f"the body did not arrive within {seconds:g} s"
        raise RequestError(408, message, headers={"Connection": "close"}, reason="body") from None


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled as soon as the client closes the connection.

    Args:
        request: a request whose body has been received.
        work: what is awaited.

    Raises:
        RequestError: 499; the client has gone.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise client_gone()
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
