"""Connections of the server: their number, slow heads, bodies without an end, answers that nobody reads."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from roster.serving import connections, server
from roster.serving.auth import Tokens
from roster.serving.background import Background
from roster.serving.server import listen
from roster.serving.settings import Limits

Lines = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CHECK_SECONDS", 0.02)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[connections.Connections]:
    """The connections of the service, so that a test need not wait."""
    found: list[connections.Connections] = []

    class Kept(connections.Connections):
        def __init__(self, *arguments: Any):
            super().__init__(*arguments)
            found.append(self)

    monkeypatch.setattr(server, "Connections", Kept)
    return found


def overdue(made: list[connections.Connections], seconds: float) -> list[str]:
    """The limits that connections will have passed by then."""
    return [one.overdue(one.loop.time() + seconds) for one in list(made[0].open)]


@contextmanager
def served(model: Any, **limits: Any) -> Iterator[tuple[Callable[[], socket.socket], Lines]]:
    """A service in a thread; yields a function that connects, and the log."""
    lines: Lines = []

    def log(event: str, **fields: Any) -> None:
        lines.append({"event": event, **json.loads(json.dumps(fields))})

    listening = listen("127.0.0.1", 0)
    address = listening.getsockname()
    with ExitStack() as stack:

        def connect() -> socket.socket:
            return stack.enter_context(socket.create_connection(address, timeout=60))

        options = {"limits": Limits(**limits), "tokens": Tokens([]), "log": log}
        stack.enter_context(Background({"news": model.served}, listening, **options))
        try:
            yield connect, lines
        finally:
            model.go.set()


def post(text: str, more: str = "") -> bytes:
    body = json.dumps({"text": text})
    kind = f"Content-Type: application/json\r\n{more}Content-Length: {len(body)}"
    return f"POST /predict HTTP/1.1\r\nHost: x\r\n{kind}\r\n\r\n{body}".encode()


def answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """One answer; further ones stay in the socket."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        one = connection.recv(1)
        assert one, f"closed after {head!r}"
        head += one
    first, *rest = head.decode().strip().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in rest)
    body = b""
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)
    return int(first.split()[1]), headers, body


def rest(connection: socket.socket) -> bytes:
    """Everything until the server closes the connection; a reset counts as its end."""
    found = b""
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


def metric(connect: Callable[[], socket.socket], name: str) -> float:
    with connect() as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        text = rest(connection).decode()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


GET = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


def test_the_head_of_a_request_has_a_time_limit(model: Any) -> None:
    """Also of the second request of a connection, and whatever arrives meanwhile."""
    with served(model, head_seconds=2) as (connect, _):
        silent, first, second = connect(), connect(), connect()
        second.sendall(GET)
        assert answer(second)[0] == 200
        for one in (first, second):
            one.sendall(b"GET /health HTTP/1.1\r\nHo")
        found = {rest(one) for one in (first, second)}
        assert rest(silent) == b""
        for one in found:
            head, _, body = one.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 408 ")
            assert json.loads(body)["error"] == "the head did not arrive within 2 s"
        assert metric(connect, 'roster_refused_total{reason="head"}') == 3


def test_an_idle_connection_is_kept(model: Any, made: list[connections.Connections]) -> None:
    """The time of a head begins with its first byte."""
    with served(model) as (connect, _):
        connection = connect()
        for _ in range(2):
            connection.sendall(GET)
            assert answer(connection)[0] == 200
            assert overdue(made, 1000) == [""]
        connection.sendall(GET[:9])
        while overdue(made, 1000) == [""]:
            time.sleep(0.01)
        assert (overdue(made, 1000), overdue(made, 0)) == (["head"], [""])
        connection.sendall(GET[9:])
        assert answer(connection)[0] == 200


def test_the_time_of_the_head_is_not_that_of_the_answer(
    model: Any, made: list[connections.Connections]
) -> None:
    with served(model) as (connect, _):
        model.go.clear()
        connection = connect()
        connection.sendall(post("Anna"))
        while len(model.batches) == 0:
            time.sleep(0.01)
        assert overdue(made, 1000) == [""]
        model.go.set()
        assert answer(connection)[0] == 200


def test_connections_beyond_the_limit_are_refused(model: Any) -> None:
    with served(model, connections=3) as (connect, lines):
        model.go.clear()
        busy = [connect() for _ in range(3)]
        for one in busy:
            one.sendall(post("Anna"))
        while len(model.batches) == 0:
            time.sleep(0.01)
        status, headers, body = answer(late := connect())
        assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
        assert json.loads(body)["error"] == "3 connections are open, no more are taken; try again later"
        assert late.recv(1) == b""
        model.go.set()
        assert [answer(one)[0] for one in busy] == [200] * 3
        # Now they are idle, and the one that has been so for longest makes place.
        for one in (busy[1], busy[2], busy[0]):
            one.sendall(GET)
            assert answer(one)[0] == 200
        other = connect()
        other.sendall(GET)
        assert answer(other)[0] == 200
        assert busy[1].recv(1) == b""
        assert metric(connect, "roster_connections") == 3
        assert metric(connect, 'roster_refused_total{reason="connections"}') == 1
    assert not [line for line in lines if line["event"] == "warning"]


def test_a_body_that_goes_on_after_its_answer(model: Any) -> None:
    with served(model, seconds=0.2) as (connect, _):
        connection = connect()
        connection.sendall(b"POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert answer(connection)[0] == 405
        try:
            while True:
                connection.sendall(b"1\r\na\r\n")
                time.sleep(0.01)
        except ConnectionError:
            pass
        assert metric(connect, 'roster_refused_total{reason="rest"}') == 1


def test_an_answer_that_nobody_reads(model: Any) -> None:
    with served(model, seconds=0.5) as (connect, _):
        connection = connect()
        request = b"GET /web/page.js HTTP/1.1\r\nHost: x\r\n\r\n" * 100
        try:
            while True:  # until neither the server nor the buffers of the kernel take more
                connection.sendall(request)
        except (ConnectionError, TimeoutError):
            pass
        assert metric(connect, 'roster_refused_total{reason="unread"}') == 1
        assert metric(connect, "roster_connections") == 1


def test_all_answers_that_nobody_reads_have_a_limit(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "UNREAD_BYTES", 1000)
    with served(model) as (connect, _):
        connection = connect()
        request = b"GET /web/page.js HTTP/1.1\r\nHost: x\r\n\r\n" * 100
        try:
            while True:
                connection.sendall(request)
        except ConnectionError:
            pass
        assert metric(connect, 'roster_refused_total{reason="unread"}') >= 1


def test_a_slow_reader_gets_the_whole_answer(model: Any) -> None:
    with served(model, seconds=10, sentence_words=100_000) as (connect, _):
        connection = connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.sendall(post("Anna " * 20_000, "Connection: close\r\n"))
        found = b""
        while part := connection.recv(65536):
            found += part
            time.sleep(0.005)
        body = found.partition(b"\r\n\r\n")[2]
        assert len(json.loads(body)["results"][0]["spans"]) == 20_000


@pytest.mark.parametrize(
    "head",
    [b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100_000,
     b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"x: y\r\n" * 20_000],
)  # fmt: skip
def test_large_heads_are_refused(model: Any, head: bytes) -> None:
    with served(model) as (connect, lines):
        connection = connect()
        with suppress(ConnectionError):
            connection.sendall(head)
        assert rest(connection)[:13] in (b"HTTP/1.1 400 ", b"")  # or reset, with the answer in it
        other = connect()
        other.sendall(GET)
        assert answer(other)[0] == 200
    assert [line["message"] for line in lines if line["event"] == "warning"] == [
        "Invalid HTTP request received."
    ]


def test_what_is_no_http_after_the_answer(model: Any) -> None:
    """The connection is closed, without an error in the server."""
    with served(model) as (connect, lines):
        connection = connect()
        connection.sendall(b"POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert answer(connection)[0] == 405
        connection.sendall(b"no chunk\r\n")
        assert rest(connection) == b""
    assert {line.get("error") for line in lines} == {None}


def test_what_is_no_http_before_the_answer(model: Any) -> None:
    """The request has begun when its body turns out to be none: one answer, and no error in the service."""
    with served(model) as (connect, lines):
        connection = connect()
        connection.sendall(
            b"POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n"
        )
        found = rest(connection)
        assert found.startswith(b"HTTP/1.1 400 ")
        assert found.count(b"HTTP/1.1 ") == 1
    assert [line for line in lines if line["event"] == "error"] == []


def test_the_limit_of_open_files_limits_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_files", lambda: 256)
    assert connections.Connections(Limits()).most == 256 - connections.SPARE_FILES
    assert connections.Connections(Limits(connections=5)).most == 5
