"""The parts of `python -m benchmarks soak`: it notices wrong answers, bare refusals and missing answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from benchmarks.soak import clients
from benchmarks.soak.clients import Storm, client, conversation
from benchmarks.soak.questions import Question, Questions
from benchmarks.soak.tally import Tally
from benchmarks.soak.wire import Answer, chunked
from roster.infer.recogniser import Entity

JSON = {"content-type": "application/json"}


class Model:
    """Finds every word with a capital."""

    types = ("PER", "LOC")

    def __call__(self, text: str) -> list[Entity]:
        found, start = [], 0
        for word in text.split(" "):
            if word[:1].isupper():
                label = "PER" if len(word) < 5 else "LOC"
                found.append(Entity(word, label, start, start + len(word), len(word) / 10))
            start += len(word) + 1
        return found


def questions() -> Questions:
    return Questions(Model(), ["Anna saw London .", "the Thames"])  # type: ignore[arg-type]


SPAN = {"text": "Anna", "label": "PER", "start": 0, "end": 4, "score": 0.4}
QUESTION = Question(b"", [[SPAN], []])


@pytest.mark.parametrize(
    ("results", "wrong"),
    [
        ([{"spans": [SPAN]}, {"spans": []}], ""),
        ([{"spans": [{**SPAN, "score": 0.4001}]}, {"spans": []}], ""),
        ([{"spans": [{**SPAN, "score": 0.41}]}, {"spans": []}], "scores"),
        ([{"spans": [{**SPAN, "end": 5}]}, {"spans": []}], "spans"),
        ([{"spans": []}, {"spans": [SPAN]}], "spans"),
        ([{"spans": [SPAN]}], "1 results for 2 texts"),
    ],
)
def test_answers_are_compared(results: Any, wrong: str) -> None:
    answer = Answer(200, JSON, json.dumps({"model": "m", "results": results}).encode())
    tally = Tally()
    assert tally.judge("kind", answer, QUESTION)
    assert (tally.compared, sum(tally.errors.values())) == ((1, 0) if wrong == "" else (0, 1))
    assert all(wrong in problem for problem in tally.problems)


@pytest.mark.parametrize(
    ("status", "headers", "error", "counts"),
    [
        (503, {**JSON, "retry-after": "1"}, "3 requests are under way, no more are taken", (1, 0, 0)),
        (503, JSON, "3 requests are under way, no more are taken", (0, 0, 1)),
        (500, JSON, "unexpected error", (0, 0, 1)),
        (422, JSON, "text: wrong", (0, 1, 0)),
        (413, JSON, "too large", (0, 0, 1)),
    ],
)
def test_refusals_need_a_reason_and_statuses_are_those_expected(
    status: int, headers: dict[str, str], error: str, counts: tuple[int, int, int]
) -> None:
    tally = Tally()
    tally.judge("kind", Answer(status, headers, json.dumps({"error": error}).encode()), (422,))
    assert tuple(sum(one.values()) for one in (tally.refused, tally.rejected, tally.errors)) == counts


def test_questions_have_the_answers_of_the_model() -> None:
    made, draw = questions(), Random(1)
    for _ in range(200):
        question = made.draw(draw, padding=3)
        body = json.loads(question.body)
        texts = body.get("texts") or [body["text"]]
        assert len(texts) == len(question.expected)
        for text, spans in zip(texts, question.expected, strict=True):
            expected = [
                entity.text
                for entity in Model()(text)
                if entity.score >= body.get("threshold", 0) and entity.label in body.get("types", Model.types)
            ]
            assert [span["text"] for span in spans] == expected
            coding, width = ("utf-16-le", 2) if body.get("offsets") else ("utf-32-le", 4)
            raw = text.encode(coding)
            for span in spans:
                assert raw[span["start"] * width : span["end"] * width].decode(coding) == span["text"]


def test_chunks() -> None:
    head, _, body = chunked(b"abcde", 2).partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert body == b"2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n"


NO_RESULTS = b'HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n{"model":"m","results":[]} '


@pytest.mark.parametrize(("answer", "problem"), [(b"", "no answer"), (NO_RESULTS, "0 results")])
def test_a_broken_service_is_noticed(answer: bytes, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline() not in (b"\r\n", b""):
            pass
        writer.write(answer)
        writer.close()

    async def main() -> Tally:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            address = server.sockets[0].getsockname()[:2]
            storm = Storm(address, questions(), time.perf_counter() + 0.3)
            await client(storm, 1)
            return storm.tally

    only: dict[Callable[..., Any], int] = {conversation: 1}
    monkeypatch.setattr(clients, "CLIENTS", only)
    tally = asyncio.run(main())
    assert tally.errors["conversation"] > 0
    assert any(problem in one for one in tally.problems), tally.problems
