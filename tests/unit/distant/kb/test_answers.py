"""What an answer means, byte by byte. Whole exchanges are in `tests/integration/sparql`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.distant.kb.answers import (
    ACCEPT,
    Answer,
    IncompleteError,
    QueryTimeout,
    TransientError,
    parse,
    retry_after,
    rows_of,
    shown,
)
from roster.errors import RosterError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
TERMS = st.fixed_dictionaries(
    {"type": st.sampled_from(["uri", "literal", "typed-literal", "bnode"]), "value": TEXT},
    optional={"xml:lang": st.just("en"), "datatype": st.just("http://www.w3.org/2001/XMLSchema#string")},
)
BINDINGS = st.lists(st.dictionaries(st.sampled_from("xyz"), TERMS))


def document(bindings: Any, names: Any = ("x", "y", "z")) -> dict[str, Any]:
    return {"head": {"vars": list(names)}, "results": {"bindings": bindings}}


@given(BINDINGS, st.booleans(), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_rows_of_any_result(bindings: list[dict[str, dict[str, str]]], ascii_only: bool, coding: str) -> None:
    body = json.dumps(document(bindings), ensure_ascii=ascii_only).encode(coding)
    assert parse(body) == [
        {name: ("_:" if term["type"] == "bnode" else "") + term["value"] for name, term in binding.items()}
        for binding in bindings
    ]


@given(BINDINGS, st.data())
def test_every_beginning_of_a_result_is_incomplete(bindings: list[Any], data: st.DataObject) -> None:
    body = json.dumps(document(bindings), ensure_ascii=False).encode()
    cut = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(IncompleteError):
        parse(body[:cut])


@given(st.binary())
def test_any_bytes_are_rows_or_an_error(body: bytes) -> None:
    answer = Answer(200, {"content-type": ACCEPT}, body)
    with pytest.raises((RosterError, TransientError)):
        rows_of(answer, "SELECT")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "'head' is missing"),
        ({"head": [], "results": {"bindings": []}}, "'head' is missing or of another kind"),
        ({"head": {}, "results": {"bindings": []}}, "'vars' is missing"),
        ({"head": {"vars": ["x"]}, "boolean": True}, "'results' is missing"),
        ({"head": {"vars": ["x"]}, "results": {"bindings": {}}}, "'bindings' is missing or of another kind"),
        (document([[]]), "a binding is not an object"),
        (document([{"x": "a"}]), "'type' is missing"),
        (document([{"x": {"type": "uri"}}]), "'value' is missing"),
        (document([{"x": {"type": "uri", "value": 1}}]), "'value' is missing or of another kind"),
        (document([{"x": {"type": "triple", "value": "a"}}]), "the unknown type 'triple'"),
        (document([{"w": {"type": "uri", "value": "a"}}]), "variable 'w' is not in the head"),
        (document([{"x": {"type": "literal", "value": "\ud83d"}}]), "half of a surrogate pair"),
    ],
)
def test_a_result_must_be_as_the_standard_says(wrong: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        parse(json.dumps(wrong).encode())
    assert not isinstance(caught.value, IncompleteError)


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"head": [[' + b"[" * 100_000 + b"}", b"{\xff}"])
def test_odd_json(body: bytes) -> None:
    with pytest.raises(ValueError):
        parse(body)


NOW = datetime(2024, 2, 29, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        (" 120 ", 120),
        ("Thu, 29 Feb 2024 12:01:30 GMT", 90),
        ("Thu, 29 Feb 2024 12:01:30 -0000", 90),
        ("Thu, 29 Feb 2024 14:01:30 +0200", 90),
        ("Thu, 29 Feb 2024 11:00:00 GMT", 0),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("tomorrow", None),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


@given(st.text() | st.from_regex(r"\w{3}, \d{1,12} \w{3} \d{1,12} \d+:\d+:\d+ [+-]?\w{0,12}"))
def test_any_retry_after_is_a_wait_or_nothing(value: str) -> None:
    wait = retry_after(value, NOW)
    assert wait is None or wait >= 0


@pytest.mark.parametrize(
    "said",
    [
        "java.util.concurrent.TimeoutException",
        "Virtuoso S1T00 Error SR171: Transaction timed out",
        "Virtuoso 42000 Error The estimated execution time 9000 (sec) exceeds the limit of 400 (sec).",
        "Query timed out",
        "The SPARQL operation has been cancelled",
    ],
)
def test_time_limits_of_many_servers(said: str) -> None:
    with pytest.raises(QueryTimeout):
        rows_of(Answer(503, {}, said.encode()), "SELECT")


@given(st.text() | st.binary())
def test_what_is_shown_is_short_and_on_one_line(text: str | bytes) -> None:
    line = shown(text)
    assert line.isprintable()
    assert 0 < len(line) <= 303
