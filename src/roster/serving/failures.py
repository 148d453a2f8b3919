"""Failures of a request, as the client sees them: a status, what is wrong, and where."""

from __future__ import annotations

RETRY_SECONDS = 1
"""`Retry-After` of a refused request. Places become free as soon as a batch is done."""


class RequestError(Exception):
    """A request that is answered with an error.

    Args:
        status: the HTTP status.
        message: what is wrong and what is allowed.
        where: the field of the request, such as `texts[3]`, where there is one.
        headers: further headers of the answer.
        reason: a word for the metrics, for requests that are refused under load.
    """

    def __init__(
        self,
        status: int,
        message: str,
        where: str | None = None,
        headers: dict[str, str] | None = None,
        reason: str = "",
    ):
        super().__init__(message)
        self.status, self.message, self.where = status, message, where
        self.headers, self.reason = headers or {}, reason

    def content(self) -> dict[str, str | None]:
        """The body of the answer."""
        return {"error": self.message, "where": self.where}


def try_later(message: str, reason: str) -> RequestError:
    """503 with Retry-After.

    >>> try_later("the server is stopping", "stopping").headers
    {'Retry-After': '1'}
    """
    return RequestError(503, message, None, {"Retry-After": str(RETRY_SECONDS)}, reason)
