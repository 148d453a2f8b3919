"""The answers of a SPARQL endpoint: rows, a transient failure, or an error for the user."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from roster.distant.kb.base import Row
from roster.errors import RosterError
from roster.parsing import parse_json

ACCEPT = "application/sparql-results+json"
JSON_TYPES = {ACCEPT, "application/json"}
PASSING = {408, 429, 500, 502, 503, 504}
"""Transient HTTP statuses. Every other status above 299 is an error at once."""

TIME_LIMIT = re.compile(
    r"TimeoutException"  # Blazegraph (Wikidata), GraphDB
    r"|timed out"  # Fuseki, QLever, Virtuoso
    r"|operation has been cancelled"  # Oxigraph
    r"|estimated execution time",  # Virtuoso, which refuses beforehand
    re.IGNORECASE,
)
TAIL = 20_000
"""Characters at the end of an answer in which the stack trace of a time-out is searched."""
SHOWN = 300


class QueryTooHeavy(RosterError):  # noqa: N818 - named after the condition, as its subclasses are
    """The endpoint did not answer this query; a smaller one may succeed."""


class QueryTimeout(QueryTooHeavy):
    """The query exceeded the time limit of the endpoint or of the client."""


class AnswerTooLarge(QueryTooHeavy):
    """The answer exceeds the limit of bytes."""


class TransientError(Exception):
    """A transient failure: the same query is retried.

    `wait` is the number of seconds that the server asked for, or None. `slow` is True after a time-out, where
    a smaller query may succeed.
    """

    def __init__(self, what: str, *, wait: float | None = None, slow: bool = False):
        super().__init__(what)
        self.wait = wait
        self.slow = slow


class DeadlineError(TransientError):
    """The client closed the connection, because the answer was not complete in time."""

    def __init__(self, seconds: float):
        super().__init__(f"no complete answer within {seconds:g} s", slow=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response; the names of the headers are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def rows_of(answer: Answer, query: str, now: datetime | None = None) -> list[Row]:
    """The rows of an answer; `TransientError`, `QueryTimeout` or another `RosterError` where there are none.

    The messages do not name the endpoint: its name goes before them.
    """
    if answer.status != 200:
        raise refusal(answer, query, now or datetime.now(UTC))
    if answer.headers.get("x-sql-state") == "S1TAT":
        # After a time-out Virtuoso sends the rows found so far as a valid answer with this header.
        raise QueryTimeout("the query ran into the endpoint's time limit, and only a part was answered")
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in JSON_TYPES:
        received = f"{kind or 'something without a content type'}: {shown(answer.body)}"
        raise RosterError(f"expected {ACCEPT}, got {received}; is this the address of a SPARQL endpoint?")
    try:
        return parse(answer.body)
    except IncompleteError as error:
        tail = answer.body[-TAIL:].decode("utf-8", errors="replace")
        if TIME_LIMIT.search(tail):
            raise QueryTimeout("the query ran into the endpoint's time limit in mid-answer") from error
        raise TransientError(f"the answer is cut short, it ends in: {tail[-80:]!r}") from error
    except ValueError as error:
        raise RosterError(f"not a SPARQL result ({error}): {shown(answer.body)}") from error


def refusal(answer: Answer, query: str, now: datetime) -> Exception:
    """The error for a status other than 200."""
    # Blazegraph repeats the whole query before the error message.
    said = answer.body.decode("utf-8", errors="replace").replace(query, "[the query]")
    what = f"status {answer.status}: {shown(said)}"
    if answer.status in PASSING:
        if answer.status != 429 and TIME_LIMIT.search(said):
            return QueryTimeout(f"the query ran into the endpoint's time limit (status {answer.status})")
        wait = retry_after(answer.headers.get("retry-after", ""), now)
        return TransientError(what, wait=wait, slow=answer.status in {408, 504})
    if 300 <= answer.status < 400:
        return RosterError(f"moved to {answer.headers.get('location', 'another address')}; use that address")
    return RosterError(what)


def retry_after(value: str, now: datetime) -> float | None:
    """Seconds to wait, from a number of seconds or an HTTP date; None for anything else.

    >>> retry_after("7", datetime.now(UTC))
    7.0
    >>> retry_after("Wed, 21 Oct 2015 07:28:00 GMT", datetime(2015, 10, 21, 7, 26, tzinfo=UTC))
    120.0
    """
    if re.fullmatch(r"\s*[0-9]{1,9}\s*", value):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())


class IncompleteError(ValueError):
    """The JSON ends before it is complete."""


def parse(body: bytes) -> list[Row]:
    """The rows of a SPARQL 1.1 JSON result; `IncompleteError` or another ValueError if it is none.

    >>> term = '{"type": "literal", "value": "a"}'
    >>> parse(b'{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": %s}]}}' % term.encode())
    [{'x': 'a'}]
    """
    try:
        document = parse_json(body)
    except ValueError as error:
        text = body.strip()
        at_end = isinstance(error, json.JSONDecodeError) and error.pos >= len(error.doc.rstrip())
        if not text or (text.startswith(b"{") and (at_end or not text.endswith(b"}"))):
            raise IncompleteError(str(error)) from error
        raise ValueError(f"malformed JSON, {error}") from error
    names = field_of(field_of(document, "head", dict), "vars", list)
    bindings = field_of(field_of(document, "results", dict), "bindings", list)
    known = {name for name in names if isinstance(name, str)}
    return [row_of(binding, known) for binding in bindings]


def field_of(value: Any, key: str, kind: type) -> Any:
    member = value.get(key) if isinstance(value, dict) else None
    if not isinstance(member, kind):
        raise ValueError(f"{key!r} is missing or of another kind")
    return member


def row_of(binding: Any, known: set[str]) -> Row:
    if not isinstance(binding, dict):
        raise ValueError("a binding is not an object")
    row = {}
    for name, term in binding.items():
        if name not in known:
            raise ValueError(f"variable {name!r} is not in the head")
        kind, text = field_of(term, "type", str), field_of(term, "value", str)
        if kind not in {"uri", "literal", "typed-literal", "bnode"}:
            raise ValueError(f"a term of the unknown type {kind!r}")
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise ValueError("half of a surrogate pair")
        row[name] = f"_:{text}" if kind == "bnode" else text
    return row


def shown(text: str | bytes) -> str:
    """The beginning of a server's message, on one line."""
    if isinstance(text, bytes):
        text = text[: 4 * SHOWN].decode("utf-8", errors="replace")
    words = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * SHOWN]).split())
    if len(words) > SHOWN:
        words = words[:SHOWN] + "..."
    return words or "(nothing)"
