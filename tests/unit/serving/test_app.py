"""The application without a server: routes, limits, tokens, headers, log and metrics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi.openapi.models import OpenAPI

from roster.serving.app import PATHS, create_app
from roster.serving.auth import Tokens
from roster.serving.settings import Limits

TOKEN = "0123456789abcdefXYZ"
Lines = list[dict[str, Any]]


@asynccontextmanager
async def client_of(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application that has started, as a server starts it."""
    received, sent = asyncio.Queue[dict[str, str]](), asyncio.Queue[dict[str, Any]]()
    lifespan = asyncio.create_task(app({"type": "lifespan", "state": {}}, received.get, sent.put))
    await received.put({"type": "lifespan.startup"})
    assert (await sent.get())["type"] == "lifespan.startup.complete"
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client
    await received.put({"type": "lifespan.shutdown"})
    await lifespan


def run(
    model: Any,
    scenario: Callable[[httpx.AsyncClient], Coroutine[Any, Any, None]],
    names: tuple[str, ...] = ("news",),
    **options: Any,
) -> Lines:
    """Runs a scenario; returns the lines of the log."""
    lines: Lines = []

    def log(event: str, **fields: Any) -> None:
        lines.append({"event": event, **json.loads(json.dumps(fields))})

    async def main() -> None:
        app = create_app(dict.fromkeys(names, model.served), log=log, **options)
        async with client_of(app) as client:
            try:
                await asyncio.wait_for(scenario(client), 60)
            finally:
                model.go.set()

    asyncio.run(main())
    return lines


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def test_an_answer(model: Any) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        answer = await client.post("/predict", json={"texts": ["Anna saw London.", "😀 x", ""]})
        assert answer.status_code == 200
        assert answer.json() == {
            "model": "news",
            "results": [
                {"spans": [{"text": "Anna", "label": "PER", "start": 0, "end": 4, "score": 0.4},
                           {"text": "London", "label": "LOC", "start": 9, "end": 15, "score": 0.6}]},
                {"spans": []},
                {"spans": []},
            ],
        }  # fmt: skip
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-type"] == "application/json"
        assert "server" not in answer.headers

    (line,) = run(model, scenario)
    expected = {"event": "request", "method": "POST", "path": "/predict", "status": 200, "model": "news",
                "texts": 3, "characters": 19, "entities": 2}  # fmt: skip
    assert expected.items() <= line.items()
    assert line["seconds"] > 0


def test_neither_text_nor_token_nor_path_is_logged(model: Any) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "X-Request-ID": "a secret"}
        for body in ({"text": "a secret"}, {"secret": 1}, {"text": "secret", "model": "secret"}):
            await client.post("/predict?text=secret", json=body, headers=headers)
        await client.get("/secret", headers=headers)
        await client.request("SECRET", "/predict", headers=headers)
        await client.post("/predict", json={"text": "Crash secret"}, headers=headers)

    lines = run(model, scenario, tokens=Tokens([TOKEN]))
    assert [line["status"] for line in lines if line["event"] == "request"] == [200, 422, 422, 404, 405, 500]
    assert "secret" not in json.dumps(lines).lower()
    assert TOKEN not in json.dumps(lines)


def test_a_request_has_an_identifier(model: Any) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        given = await client.get("/health", headers={"X-Request-ID": "my-1.2_3"})
        made = await client.get("/health", headers={"X-Request-ID": 'x"\t'})
        assert given.headers["x-request-id"] == "my-1.2_3"
        identifiers.append(made.headers["x-request-id"])

    identifiers: list[str] = []
    lines = run(model, scenario)
    assert [line["request"] for line in lines] == ["my-1.2_3", *identifiers]


def test_an_error_of_the_model_is_no_traceback(model: Any) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        answer = await client.post("/predict", json={"text": "Crash"})
        assert answer.status_code == 500
        assert set(answer.json()) == {"error", "where"}
        assert answer.headers["x-request-id"] in answer.json()["error"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        for word in ("Traceback", "ValueError", "secret", ".py"):
            assert word not in answer.text
        assert (await client.post("/predict", json={"text": "Anna"})).status_code == 200
        assert 'roster_batch_failures_total{model="news"} 1.0' in (await client.get("/metrics")).text

    lines = run(model, scenario)
    errors = [line for line in lines if line["event"] == "error"]
    assert [line["error"] for line in errors] == ["ValueError", "ValueError"]
    assert errors[1]["request"] == lines[2]["request"]
    assert "conftest.py" in errors[0]["calls"][-1]


def test_wrong_requests(model: Any) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        post = client.post
        kind = {"Content-Type": "application/json"}
        for answer, status, message in (
            (await post("/predict", content=b"", headers=kind), 400, "the body is empty"),
            (await post("/predict", content=b"{}"), 415, "expected Content-Type: application/json, not none"),
            (await post("/predict", data={"text": "a"}), 415, "not application/x-www-form-urlencoded"),
            (await post("/predict", content=b"x", headers={**kind, "Content-Encoding": "gzip"}), 415, "gzip"),
            (await post("/predict", json={"text": "a", "model": "x"}), 422, "the models are news"),
            (
                await post("/predict", json={"text": "a", "types": ["PER", "X"]}),
                422,
                "types[1]: unknown type",
            ),
            (
                await post("/predict", json={"text": "a", "thresholds": {"X": 0}}),
                422,
                "thresholds.X: unknown",
            ),
            (await client.get("/predict"), 405, "Method Not Allowed"),
            (await client.get("/docs"), 404, "the paths are /predict"),
            (await post("/predict/", json={"text": "a"}), 404, "the paths are /predict"),
        ):
            assert answer.status_code == status, answer.text
            assert message in answer.json()["error"]
            assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert (await client.get("/predict")).headers["allow"] == "POST"

    run(model, scenario)
    assert model.batches == []


def test_long_sentences_are_refused(model: Any) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        for content, where in (({"text": "a b c d"}, "text"), ({"texts": ["a b c", "a b c d"]}, "texts[1]")):
            answer = await client.post("/predict", json=content)
            assert (answer.status_code, answer.json()["where"]) == (413, where)
            assert f"{where}: a sentence has 4 words; at most 3 are allowed" in answer.json()["error"]

    lines = run(model, scenario, limits=Limits(sentence_words=3))
    assert {line["event"] for line in lines} == {"request"}


def test_bodies_are_limited_while_they_are_received(model: Any) -> None:
    """What a client announces and what it sends is limited, and no more than the limit is read."""
    received = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal received
        for _ in range(100):
            received += 100
            yield b"x" * 100

    async def scenario(client: httpx.AsyncClient) -> None:
        kind = {"Content-Type": "application/json"}
        for content in (b"x" * 1001, endless()):
            answer = await client.post("/predict", content=content, headers=kind)
            assert answer.status_code == 413
            assert answer.json()["error"] == "the body has more than 1000 bytes"
        assert (await client.post("/predict", json={"text": "x" * 900})).status_code == 200

    run(model, scenario, limits=Limits(body=1000))
    assert received <= 1200


def test_a_body_that_does_not_arrive(model: Any) -> None:
    async def stalled() -> AsyncIterator[bytes]:
        yield b'{"text": '
        await asyncio.sleep(3600)

    async def scenario(client: httpx.AsyncClient) -> None:
        answer = await client.post(
            "/predict", content=stalled(), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 408
        assert "did not arrive within 0.05 s" in answer.json()["error"]

    run(model, scenario, limits=Limits(seconds=0.05))


def test_overload_is_refused(model: Any) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        model.go.clear()
        taken = [asyncio.create_task(client.post("/predict", json={"text": f"Anna {i}"})) for i in range(3)]
        await until(lambda: len(model.batches) == 1)
        while 'roster_waiting_requests{model="news"} 3.0' not in (await client.get("/metrics")).text:
            await asyncio.sleep(0.001)
        refused = await client.post("/predict", json={"text": "Berg"})
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) >= 1
        assert "3 requests are under way" in refused.json()["error"]
        assert (await client.get("/health")).status_code == 200
        model.go.set()
        assert {(await one).status_code for one in taken} == {200}
        assert (await client.post("/predict", json={"text": "Berg"})).status_code == 200
        text = (await client.get("/metrics")).text
        assert 'roster_refused_total{reason="overload"} 1.0' in text
        assert 'roster_requests_total{path="/predict",status="503"} 1.0' in text
        assert 'roster_waiting_requests{model="news"} 0.0' in text

    lines = run(model, scenario, limits=Limits(requests=3))
    assert [line["reason"] for line in lines if line["status"] == 503] == ["overload"]


def test_a_request_that_takes_too_long_is_refused(model: Any) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        model.go.clear()
        asked = [client.post("/predict", json={"text": name}) for name in ("Anna", "Berg")]
        for answer in await asyncio.gather(*asked):
            assert answer.status_code == 503
            assert answer.headers["retry-after"]
            assert "no answer within 0.1 s" in answer.json()["error"]
        text = (await client.get("/metrics")).text
        assert 'roster_waiting_requests{model="news"} 0.0' in text
        assert "roster_requests_under_way 0.0" in text
        assert 'roster_refused_total{reason="time"} 2.0' in text

    run(model, scenario, limits=Limits(seconds=0.1))


def test_a_client_that_has_gone(model: Any) -> None:
    """Its request is dropped before it is computed, and its place is free."""

    async def scenario(client: httpx.AsyncClient) -> None:
        model.go.clear()
        first = asyncio.create_task(client.post("/predict", json={"text": "Anna"}))
        await until(lambda: len(model.batches) == 1)
        received, sent = asyncio.Queue[dict[str, Any]](), asyncio.Queue[dict[str, Any]]()
        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b"",
                 "headers": headers, "http_version": "1.1", "scheme": "http", "root_path": ""}  # fmt: skip
        app = client._transport.app  # type: ignore[attr-defined]
        gone = asyncio.create_task(app(scope, received.get, sent.put))
        await received.put({"type": "http.request", "body": b'{"text": "Berg"}'})
        while 'roster_waiting_requests{model="news"} 2.0' not in (await client.get("/metrics")).text:
            await asyncio.sleep(0.001)
        await received.put({"type": "http.disconnect"})
        await gone
        model.go.set()
        assert (await first).status_code == 200
        assert (await client.post("/predict", json={"text": "Carl"})).status_code == 200

    lines = run(model, scenario, limits=Limits(requests=2))
    assert model.batches == [["Anna"], ["Carl"]]
    assert [line["status"] for line in lines if line["path"] == "/predict"] == [499, 200, 200]


def test_tokens(model: Any) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        for path in PATHS:
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
                answer = await client.get(path, headers=headers)
                assert answer.status_code == (200 if path in ("/health", "/ready") else 401)
        assert (await client.get("/no-such-path")).status_code == 401
        refused = await client.post("/predict", json={"text": "Anna"})
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "Authorization: Bearer" in refused.json()["error"]
        assert refused.headers["x-content-type-options"] == "nosniff"
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        assert (await client.post("/predict", json={"text": "Anna"})).status_code == 200
        document = (await client.get("/openapi.json")).json()
        assert document["paths"]["/predict"]["post"]["security"] == [{"token": []}]
        assert document["paths"]["/health"]["get"]["security"] == []

    run(model, scenario, tokens=Tokens([TOKEN]))
    assert model.batches == [["Anna"]]


def test_no_request_is_taken_while_the_server_stops(model: Any) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        assert (await client.get("/ready")).json() == {"status": "ready"}
        model.go.clear()
        under_way = asyncio.create_task(client.post("/predict", json={"text": "Anna"}))
        await until(lambda: len(model.batches) == 1)
        stopping.append(True)
        refused = await client.post("/predict", json={"text": "Berg"})
        assert (refused.status_code, refused.json()["error"]) == (503, "the server is stopping")
        ready = await client.get("/ready")
        assert (ready.status_code, ready.json()) == (503, {"status": "stopping"})
        assert (await client.get("/health")).status_code == 200
        model.go.set()
        assert (await under_way).status_code == 200

    stopping: list[bool] = []
    run(model, scenario, stopping=lambda: bool(stopping))


@pytest.mark.parametrize("names", [("news",), ("news", "drugs"), ("default", "drugs")])
def test_the_examples_of_the_document_are_answered(model: Any, names: tuple[str, ...]) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        document = (await client.get("/openapi.json")).json()
        OpenAPI.model_validate(document)
        assert set(document["paths"]) == {*PATHS} - {"/openapi.json"}
        body = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]
        schemas = document["components"]["schemas"]
        for example in body["examples"].values():
            assert set(example["value"]) <= set(body["schema"]["properties"])
            answer = await client.post("/predict", json=example["value"])
            assert answer.status_code == 200, answer.text
            assert set(answer.json()) == set(schemas["PredictAnswer"]["required"])
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                assert operation["summary"]
                if method == "get":
                    answer = await client.get(path)
                    assert (
                        answer.headers["content-type"].split(";")[0]
                        in operation["responses"]["200"]["content"]
                    )
        described = set(map(int, document["paths"]["/predict"]["post"]["responses"]))
        assert described == {200, 400, 401, 408, 413, 415, 422, 500, 503}

    run(model, scenario, names)


def test_several_models(model: Any) -> None:
    async def scenario(client: httpx.AsyncClient) -> None:
        listed = (await client.get("/models")).json()
        assert listed["default"] is None
        assert listed["models"][1] == {"name": "drugs", "types": ["PER", "LOC"], "explains": False}
        answer = await client.post("/predict", json={"text": "Anna", "model": "drugs"})
        assert answer.json()["model"] == "drugs"
        answer = await client.post("/predict", json={"text": "Anna"})
        assert (answer.status_code, answer.json()["where"]) == (422, "model")
        text = (await client.get("/metrics")).text
        assert 'roster_texts_total{model="drugs"} 1.0' in text
        assert 'roster_batch_requests_count{model="news"} 0.0' not in text
        assert 'roster_characters_total{model="drugs"} 4.0' in text

    run(model, scenario, ("news", "drugs"))
