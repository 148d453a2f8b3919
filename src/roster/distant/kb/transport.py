"""HTTP with a deadline for the whole request.

The time-outs of HTTP libraries apply to each read, and not to a server that sends a byte a second, a slow
look-up of the host's name or a stalled TLS handshake. A coroutine can be cancelled at any of these points, so
requests run in an event loop, in a thread of its own because the caller may have a running loop, as in a
notebook. httpx keeps the connection open between requests and handles compression, certificates and proxies.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from roster.distant.kb.answers import Answer, AnswerTooLarge, DeadlineError, TransientError
from roster.errors import ConfigError, RosterError
from roster.progress import gigabytes

if TYPE_CHECKING:
    import httpx


class Transport:
    """Posts forms to one address. The connection is opened with the first request."""

    def __init__(self, url: str, *, headers: dict[str, str], timeout: float, max_bytes: int):
        self._url, self._headers = url, headers
        self._timeout, self._max_bytes = timeout, max_bytes
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: httpx.AsyncClient | None = None

    def post(self, form: dict[str, str]) -> Answer:
        """The server's answer; `TransientError` where there is none in time, `AnswerTooLarge`."""
        if self._loop is None:
            self._start()
        assert self._loop is not None
        future = asyncio.run_coroutine_threadsafe(self._post(form), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # ends the request upon Ctrl-C; no effect on a failed one
            raise

    async def _post(self, form: dict[str, str]) -> Answer:
        import httpx

        assert self._client is not None
        body = bytearray()
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._client.stream("POST", self._url, data=form) as response,
            ):
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > self._max_bytes:
                        limit = f"{gigabytes(self._max_bytes)} (max_bytes)"
                        raise AnswerTooLarge(f"the answer is larger than {limit}; ask for less at a time")
                return Answer(response.status_code, dict(response.headers), bytes(body))
        except TimeoutError as error:
            raise DeadlineError(self._timeout) from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ConfigError(f"not an address: {error}") from error
        except httpx.RequestError as error:
            raise TransientError(f"no answer: {error or type(error).__name__}") from error

    def _start(self) -> None:
        try:
            import httpx
        except ImportError as error:
            raise RosterError('asking an endpoint needs httpx: pip install "roster-ner[kb]"') from error
        # We set the deadline. A redirect is reported, not followed: it would turn the POST into a GET.
        self._client = httpx.AsyncClient(headers=self._headers, timeout=None, follow_redirects=False)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="endpoint", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close the connection and end the thread; a later request opens them again."""
        if self._loop is None or self._thread is None or self._client is None:
            return
        asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = self._client = None
