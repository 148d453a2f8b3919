"""A SPARQL endpoint over HTTP, with retries and a cache."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from roster import __version__
from roster.distant.kb.answers import ACCEPT, DeadlineError, QueryTimeout, TransientError, parse, rows_of
from roster.distant.kb.base import Row
from roster.distant.kb.cache import AnswerCache
from roster.distant.kb.transport import Transport
from roster.errors import ConfigError, RosterError

USER_AGENT = f"roster-ner/{__version__} (distant labels for named-entity recognition)"
FIRST_WAIT = 1.0
"""Seconds before the first retry; each further one waits about twice as long."""
LATE_TRIES = 2
"""Number of times that a query may exceed our own deadline: more retries would load the endpoint with queries
whose answers are not read."""


class Endpoint:
    """Answers SELECT queries by asking a server that speaks the SPARQL 1.1 Protocol.

    Transient failures (connections, time-outs, statuses such as 429 and 503, truncated answers) are retried
    with exponential backoff and jitter, or after the time that the server asks for. A query that exceeds the
    endpoint's time limit raises `QueryTimeout` at once, because a retry would, too. Answers are kept in
    `cache`.

    There is one request at a time, whatever the number of threads. `name` is the address without a password.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 75.0,
        retries: int = 5,
        max_wait: float = 120.0,
        interval: float = 0.0,
        max_bytes: int = 64 << 20,
        cache: Path | None = None,
        max_age: float | None = None,
        user_agent: str = USER_AGENT,
        seed: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
        log: Callable[[str], None] | None = None,
    ):
        """Nothing is sent yet.

        `timeout`: seconds for one request, from the look-up of the host to the last byte of the answer;
        should be more than the endpoint's own limit (Wikidata: 60), or its error message is not received.
        `retries`: number of retries of a failed request.
        `max_wait`: the longest wait in seconds before a retry; a server that asks for more is an error.
        `interval`: seconds to leave between the end of a request and the next one.
        `max_bytes`: the largest answer taken, after decompression.
        `cache`, `max_age`: a folder for answers, and the seconds for which they are valid (None: for ever).
        `user_agent`: some endpoints (Wikidata) require contact information in it.
        `seed`: seed of the jitter.
        """
        self.name = address(url)
        least = {"retries": retries, "max_wait": max_wait, "interval": interval, "max_age": max_age or 0}
        for setting, value in least.items():
            if not value >= 0:
                raise ConfigError(f"{setting}: at least 0, not {value}")
        for setting, value in {"timeout": timeout, "max_bytes": max_bytes}.items():
            if not value > 0:
                raise ConfigError(f"{setting}: more than 0, not {value}")
        if not (user_agent.isascii() and user_agent.isprintable() and user_agent.strip()):
            raise ConfigError(f"user_agent: printable ASCII letters, not {user_agent!r}")
        self._retries, self._max_wait, self._interval = retries, max_wait, interval
        headers = {"Accept": ACCEPT, "User-Agent": user_agent}
        self._transport = Transport(url, headers=headers, timeout=timeout, max_bytes=max_bytes)
        self._cache = None if cache is None else AnswerCache(cache, max_age=max_age, log=log)
        self._random, self._sleep, self._log = random.Random(seed), sleep, log
        self._lock = threading.Lock()
        self._last = -math.inf

    def select(self, query: str) -> Iterator[Row]:
        """The solutions; they are returned after the whole answer has arrived."""
        try:
            query.encode()
        except UnicodeEncodeError as error:
            half = f"half of a surrogate pair (U+{ord(query[error.start]):04X})"
            raise RosterError(f"{self.name}: the query holds {half}, which is not text") from error
        with self._lock:
            rows = self._remembered(query)
            if rows is None:
                body, rows = self._asked(query)
                if self._cache is not None:
                    self._cache.put(body, self.name, ACCEPT, query)
        return iter(rows)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _remembered(self, query: str) -> list[Row] | None:
        if self._cache is None:
            return None
        body = self._cache.get(self.name, ACCEPT, query)
        if body is None:
            return None
        try:
            return parse(body)
        except ValueError as error:
            self._cache.set_aside(str(error), self.name, ACCEPT, query)
            return None

    def _asked(self, query: str) -> tuple[bytes, list[Row]]:
        """The answer as it was sent, and its rows; with retries."""
        late = 0
        for attempt in range(self._retries + 1):
            try:
                return self._once(query)
            except TransientError as failure:
                late += isinstance(failure, DeadlineError)
                if attempt == self._retries or late == LATE_TRIES:
                    kind = QueryTimeout if failure.slow else RosterError
                    tries = "1 try" if attempt == 0 else f"{attempt + 1} tries"
                    raise kind(f"{self.name}: gave up after {tries}, last: {failure}") from failure
                wait = self._wait(attempt, failure)
                if self._log:
                    retry = f"retry {attempt + 1} of {self._retries} in {wait:.1f} s"
                    self._log(f"{self.name}: {failure}; {retry}")
                self._sleep(wait)
            except RosterError as error:
                raise type(error)(f"{self.name}: {error}") from error
        raise AssertionError("the last try returns or raises")

    def _once(self, query: str) -> tuple[bytes, list[Row]]:
        pause = self._last + self._interval - time.monotonic()
        if pause > 0:
            self._sleep(pause)
        try:
            answer = self._transport.post({"query": query})
        finally:
            self._last = time.monotonic()
        return answer.body, rows_of(answer, query)

    def _wait(self, attempt: int, failure: TransientError) -> float:
        if failure.wait is None:
            return backoff(attempt, self._max_wait, self._random)
        if failure.wait > self._max_wait:
            again = datetime.now(UTC) + timedelta(seconds=failure.wait)
            asked = f"asks to wait {failure.wait:.0f} s, longer than max_wait ({self._max_wait:g} s)"
            raise RosterError(
                f"{self.name}: {asked}; try again after {again:%Y-%m-%d %H:%M:%S} UTC ({failure})"
            ) from failure
        return failure.wait


def backoff(attempt: int, most: float, draw: random.Random) -> float:
    """Seconds before retry number `attempt`, counted from 0: doubled each time, at most `most`.

    A random share of up to a half is subtracted, so that clients that failed together do not retry together.
    """
    return float(min(most, FIRST_WAIT * 2.0 ** min(attempt, 60)) * draw.uniform(0.5, 1.0))


def address(url: str) -> str:
    """The address without user and password.

    Raises:
        ConfigError: it is not the address of an endpoint.

    >>> address("https://ada:secret@example.org:8080/sparql")
    'https://example.org:8080/sparql'
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"{url}: not the address of an endpoint: {error}") from error
    if parts.scheme not in {"http", "https"} or not host:
        raise ConfigError(f"{url}: not the address of an endpoint; it should begin with http:// or https://")
    place = f"[{host}]" if ":" in host else host
    return urlunsplit(parts._replace(netloc=place if port is None else f"{place}:{port}"))
