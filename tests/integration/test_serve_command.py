"""`roster serve` as a process, on a free port, with real models."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from roster.corpus.sentence import Sentence
from roster.infer.export import export
from roster.infer.recogniser import Recogniser, load
from tests.served import Server, ask, until

TOKEN = "0123456789abcdefXYZ"
NO_TORCH = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers"):
            raise ImportError(f"{name} must not be imported")

sys.meta_path.insert(0, Blocked())
from roster.cli.main import entry
entry()
"""


@pytest.fixture(scope="module")
def int8(trained: Path, toy: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve") / "int8"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("roster.infer.parity.SECONDS", 0.0)
        export(trained, folder, int8=True, gold=toy)
    return folder


@pytest.fixture(scope="module")
def without_torch(int8: Path, environment: dict[str, str]) -> Iterator[Server]:
    """An export, in a process that cannot import torch."""
    server = Server(environment, f"news={int8}", code=NO_TORCH)
    yield server
    assert server.stop() == 0, server.errors


@pytest.fixture(scope="module")
def both(
    trained: Path, int8: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """The trained model and its export, one of them as the default; with a token and small limits."""
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text(TOKEN + "\n")
    server = Server(environment, f"default={trained}", f"int8={int8}", "--token-file", tokens, "--device",
                    "cpu", "--max-requests", "2", "--max-body", "20000", "--max-characters", "5000",
                    "--max-texts", "20")  # fmt: skip
    yield server
    assert server.stop() == 0, server.errors


@pytest.fixture(scope="module")
def texts(toy: list[Sentence]) -> list[str]:
    """Texts of one sentence and of several, long and short, with characters beyond the first plane."""
    lines = [sentence.text for sentence in toy]
    several = [f"{lines[i]} {lines[i + 1]} 😀 {lines[i + 2]}" for i in range(0, 45, 3)]
    return [*lines[:30], *several, "", "\n", "été 😀", "Anna " * 60, ". ".join(lines[:20])]


def answers(ner: Recogniser, text: str) -> list[dict[str, Any]]:
    return [entity.as_dict() for entity in ner(text)]


def same(found: list[dict[str, Any]], alone: list[dict[str, Any]]) -> bool:
    """Whether entities are the same, and their scores but for the last of the four digits."""
    keys = ("text", "label", "start", "end")
    return [[one[key] for key in keys] for one in found] == [
        [one[key] for key in keys] for one in alone
    ] and all(abs(a["score"] - b["score"]) < 1.5e-4 for a, b in zip(found, alone, strict=True))


def test_an_export_is_served_without_torch(without_torch: Server, int8: Path, texts: list[str]) -> None:
    assert without_torch.first["event"] == "listening"
    assert without_torch.host == "127.0.0.1"
    ner = load(int8)
    status, answer = without_torch.ask("/predict", {"texts": texts})
    assert status == 200
    assert answer["model"] == "news"
    spans = [result["spans"] for result in answer["results"]]
    assert sum(map(len, spans)) > 50
    assert all(same(found, answers(ner, text)) for found, text in zip(spans, texts, strict=True))
    status, answer = without_torch.ask("/predict", {"text": texts[0]})
    assert (status, answer["results"]) == (200, [{"spans": answers(ner, texts[0])}])


@pytest.mark.parametrize("name", ["default", "int8"])
def test_concurrent_clients_get_the_answers_of_one(
    name: str, both: Server, trained: Path, int8: Path, texts: list[str]
) -> None:
    """Two at a time are taken here, so clients that are refused ask again."""
    ner = load(trained if name == "default" else int8, "cpu")
    before = both.metric("roster_batch_requests_count", TOKEN)

    def client(part: list[str]) -> list[list[dict[str, Any]]]:
        connection, found = both.connect(), []
        for text in part:
            status = 503
            while status == 503:
                status, answer, headers = ask(connection, "/predict", {"text": text, "model": name}, TOKEN)
                assert status == 200 or headers["retry-after"] == "1"
                time.sleep(0.01 if status == 503 else 0)
            found.append(answer["results"][0]["spans"])
        connection.close()
        return found

    with ThreadPoolExecutor(4) as pool:
        parts = [texts[i::4] for i in range(4)]
        for part, found in zip(parts, pool.map(client, parts), strict=True):
            assert all(same(ours, answers(ner, text)) for ours, text in zip(found, part, strict=True))
    assert both.metric("roster_batch_requests_count", TOKEN) > before


def test_offsets_are_those_of_the_text_as_it_was_sent(without_torch: Server) -> None:
    text = "\ufeff😀 \t Anna Berg went to Oslo\r\n"
    for unit, coding, width in (("characters", "utf-32-le", 4), ("utf16", "utf-16-le", 2)):
        _, answer = without_torch.ask("/predict", {"text": text, "offsets": unit})
        spans = answer["results"][0]["spans"]
        assert {"Anna Berg", "Oslo"} <= {span["text"] for span in spans}
        raw = text.encode(coding)
        for span in spans:
            assert raw[span["start"] * width : span["end"] * width].decode(coding) == span["text"]


def test_mistakes_of_clients(without_torch: Server) -> None:
    for content, status, message in (
        (b"", 400, "the body is empty"),
        (b'{"text": "\xff"}', 400, "not valid JSON in UTF-8"),
        (b'{"text": "\\ud800"}', 400, "line 1 column"),
        (b"[" * 100_000, 400, "recursion limit"),
        ({"text": "a", "threshold": float("nan")}, 422, "threshold: Input should be a finite number"),
        ({"text": "a", "model": "drugs"}, 422, "unknown model 'drugs'; the models are news"),
        ({"text": "a", "types": ["ORG"]}, 422, "types[0]: unknown type 'ORG'; the model has PER, LOC"),
        ({"texts": ["a"] * 257}, 413, "257 texts; at most 256"),
        ({"text": "a " * 50_001}, 413, "100002 characters; at most 100000"),
        ({"text": "a " * 4097}, 413, "text: a sentence has 4097 words; at most 4096"),
        (b"x" * (2 * 2**20 + 1), 413, "more than 2097152 bytes"),
    ):
        found, answer = without_torch.ask("/predict", content)
        assert (found, message in answer["error"]) == (status, True), answer
    assert without_torch.ask("/health") == (200, {"status": "ok"})


def test_headers(without_torch: Server) -> None:
    connection = without_torch.connect()
    for path in ("/health", "/metrics", "/openapi.json", "/nothing"):
        headers = ask(connection, path)[2]
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers
    connection.close()


def test_what_is_no_http(without_torch: Server) -> None:
    with socket.create_connection((without_torch.host, without_torch.port), timeout=120) as raw:
        raw.sendall(b"\x16\x03\x01 no http\r\n\r\n")
        assert raw.makefile("rb").readline().startswith(b"HTTP/1.1 400")
    assert without_torch.ask("/ready") == (200, {"status": "ready"})


def test_tokens_limits_and_default(both: Server, texts: list[str]) -> None:
    assert both.first["token"] is True
    assert both.ask("/ready")[0] == 200
    for path in ("/models", "/metrics", "/openapi.json", "/predict"):
        assert both.ask(path)[0] == both.ask(path, token=TOKEN + "x")[0] == 401
    assert both.ask("/models", token=TOKEN)[1]["default"] == "default"
    assert both.ask("/predict", {"text": texts[0]}, TOKEN)[1]["model"] == "default"
    assert both.ask("/predict", {"texts": ["a"] * 21}, TOKEN)[0] == 413
    assert both.ask("/predict", {"text": "a" * 5001}, TOKEN)[0] == 413
    assert (
        both.ask("/predict", {"text": "a" * 20_001}, TOKEN)[1]["error"]
        == "the body has more than 20000 bytes"
    )


class Half:
    """A request under way: its head and the first byte of its body have been received."""

    def __init__(self, server: Server, text: str, token: str | None = None):
        self._body = json.dumps({"text": text}).encode()
        self._socket = socket.create_connection((server.host, server.port), timeout=120)
        bearer = f"Authorization: Bearer {token}\r\n" if token else ""
        head = (f"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{bearer}"
                f"Content-Length: {len(self._body)}\r\n\r\n").encode()  # fmt: skip
        before = server.metric("roster_requests_under_way", token)
        self._socket.sendall(head + self._body[:1])
        until(lambda: server.metric("roster_requests_under_way", token) == before + 1)

    def finish(self) -> tuple[int, Any]:
        self._socket.sendall(self._body[1:])
        answer = http.client.HTTPResponse(self._socket)
        answer.begin()
        found = answer.status, json.loads(answer.read())
        self.close()
        return found

    def close(self) -> None:
        self._socket.close()


def test_overload(both: Server) -> None:
    taken = [Half(both, "Anna went to Oslo .", TOKEN) for _ in range(2)]
    connection = both.connect()
    status, answer, headers = ask(connection, "/predict", {"text": "a"}, TOKEN)
    assert (status, headers["retry-after"]) == (503, "1")
    assert answer["error"] == "2 requests are under way, no more are taken; try again later"
    assert ask(connection, "/health")[0] == 200
    taken[0].close()  # a client that goes makes place
    until(lambda: both.metric("roster_requests_under_way", TOKEN) == 1)
    assert ask(connection, "/predict", {"text": "a"}, TOKEN)[0] == 200
    assert taken[1].finish()[0] == 200
    assert both.metric('roster_refused_total{reason="overload"}', TOKEN) >= 1
    assert both.metric('roster_requests_total{path="/predict",status="499"}', TOKEN) == 1
    connection.close()


def test_the_document_is_that_of_the_models(without_torch: Server) -> None:
    document = without_torch.ask("/openapi.json")[1]
    content = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]
    assert content["examples"]["some types"]["value"]["types"] == ["PER"]
    for example in content["examples"].values():
        assert without_torch.ask("/predict", example["value"])[0] == 200


def test_sigterm_answers_what_is_under_way(int8: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """New connections are refused, the request under way is answered, and the exit code is 0."""
    server = Server({**environment, "ROSTER_SERVE_TOKEN": TOKEN}, int8, code=NO_TORCH)
    assert server.first["models"] == ["int8"]
    idle = server.connect()
    assert ask(idle, "/predict", {"text": "Anna"}, TOKEN)[0] == 200
    half = Half(server, "Anna went to Oslo .", TOKEN)
    server.process.send_signal(signal.SIGTERM)

    def refused() -> bool:
        try:
            socket.create_connection((server.host, server.port), timeout=120).close()
        except ConnectionError:
            return True
        return False

    until(refused)
    assert server.process.poll() is None
    status, answer = half.finish()
    assert status == 200
    assert [span["label"] for span in answer["results"][0]["spans"]] == ["PER", "LOC"]
    idle.close()
    assert server.stop() == 0
    assert server.errors == ""
    assert [line["event"] for line in server.lines if line["event"] != "request"] == ["stopped"]
    predictions = [line for line in server.lines if line.get("path") == "/predict"]
    assert [(line["status"], line["texts"], line["entities"]) for line in predictions] == [
        (200, 1, 1),
        (200, 1, 2),
    ]
    assert "Anna" not in json.dumps(server.lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such"], "there is no model folder no-such"),
        (["a=x", "b/a"], "two models are called 'a'"),
        (["x", "--max-texts", "0"], "--max-texts must be more than 0, not 0"),
        (["{int8}", "--audit", "no-such"], "no-such is no audit: it has no audit.jsonl"),
        (["x", "--timeout", "nan"], "'seconds' must be more than 0"),
        (["x", "--token-file", "no-such"], "no-such: No such file"),
        (["{int8}", "--device", "cuda"], "runs on the CPU"),
        (["{int8}", "--port", "{taken}"], "cannot listen on 127.0.0.1, port"),
        (["{int8}", "--port", "70000"], "a port is a number from 0 to 65535"),
    ],
)
def test_mistakes_at_the_start(arguments: list[str], message: str, int8: Path, roster: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        names = {"int8": int8, "taken": taken.getsockname()[1]}
        done = roster("serve", *(argument.format(**names) for argument in arguments))
    assert done.code == 2
    assert done.out == ""
    assert message in done.err
    assert done.err.splitlines()[-1].startswith("roster: ")


def test_without_the_extra(int8: Path, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError('no', name='fastapi')\n")
    paths = os.pathsep.join([str(tmp_path), environment["PYTHONPATH"]])
    done = subprocess.run([sys.executable, "-m", "roster.cli.main", "serve", str(int8)], text=True,
                          env={**environment, "PYTHONPATH": paths}, capture_output=True)  # fmt: skip
    assert done.returncode == 2
    assert 'pip install "roster-ner[serve]"' in done.stderr
