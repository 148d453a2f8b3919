"""The parts of `python -m benchmarks serving`: clients, the pipeline as a model of the service, results."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest

from benchmarks.measure import OK, Measurement
from benchmarks.serving.clients import Load, load
from benchmarks.serving.run import Case, summary
from benchmarks.serving.service import ours, pipeline
from roster.corpus.tokenizer import split


def test_clients_count_what_is_answered_and_what_is_not() -> None:
    """Every second request is refused here; all texts are sent."""
    received: list[str] = []
    address: list[int] = []
    ready, done = threading.Event(), threading.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.partition(b"Content-Length: ")[2].split()[0])
                received.append(json.loads(await reader.readexactly(size))["text"])
                status = "200 OK" if len(received) % 2 else "503 Service Unavailable"
                writer.write(f"HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}".encode())
        except asyncio.IncompleteReadError:
            writer.close()

    async def serve() -> None:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            address.append(server.sockets[0].getsockname()[1])
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    found = load("127.0.0.1", address[0], ["Anna", "Oslo", "été"], clients=3, seconds=0.3)
    done.set()
    thread.join()
    assert len(found.answered) + found.failed == len(received) > 3
    assert abs(len(found.answered) - found.failed) <= 1
    assert set(received) == {"Anna", "Oslo", "été"}
    facts = found.facts()
    assert facts["requests_per_second"] == pytest.approx(len(found.answered) / found.seconds)
    assert 0 < facts["p50"] <= facts["p99"]


def test_nothing_was_answered() -> None:
    assert Load((), 3, 1.0).facts() == {"requests": 0, "failed": 3}


def test_the_pipeline_finds_what_we_find(trained: Path) -> None:
    """The same weights in the same application. The first word of a text is left out: here it is an O word,
    because the pipeline reads it without the space before it that our recogniser gives it."""
    text = "the house in Oslo .\n\nthen the house and Carl in Rome ."
    found = {}
    for name, system in (("ours", ours), ("pipeline", pipeline)):
        model = system(str(trained))
        sentences = [*split(text), *split("")]
        entities = [one.entities for one in model.find(sentences)]
        assert entities[-1] == []
        assert model.types == ("PER", "LOC")
        found[name] = [(e.label, e.start, e.end) for one in entities for e in one]
    assert found["ours"] == found["pipeline"]
    assert {text[start:end] for _, start, end in found["ours"]} == {"Oslo", "Carl", "Rome"}


def test_summary() -> None:
    runs = [Measurement(OK, {"requests_per_second 8": n, "p50 8": 2.0, "p99 8": 3.0}) for n in (10.0, 20.0)]
    result = summary(Case("pipeline", "news", "runs/news"), 8, runs)
    assert (result["name"], result["clients"], result["status"]) == ("pipeline news", 8, "ok")
    assert result["requests_per_second"] == {"median": 15.0, "min": 10.0, "max": 20.0, "runs": 2}
    assert summary(Case("ours", "news", ""), 64, runs)["p99"] is None
