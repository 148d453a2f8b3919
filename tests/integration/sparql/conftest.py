"""A real SPARQL server (Oxigraph's) and a proxy before it that can do to an answer what networks do."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

TIME_LIMIT = 1
"""Seconds that the server gives a query: the least that it can be told."""

PEOPLE = 24


def triples() -> Iterator[str]:
    """People of a class two levels below `Q5`, a cycle in the class tree, and a label for each person."""
    wd, wdt = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
    for below, above in (("Q51", "Q5"), ("Q52", "Q51"), ("Q51", "Q52")):
        yield f"<{wd}{below}> <{wdt}P279> <{wd}{above}> ."
    for number in range(PEOPLE):
        item = f"<{wd}Q{1000 + number}>"
        yield f"{item} <{wdt}P31> <{wd}Q52> ."
        yield f'{item} <http://www.w3.org/2000/01/rdf-schema#label> "Person {number}"@en .'


@dataclass(frozen=True)
class Request:
    """What the proxy was sent, and when."""

    began: float
    method: str
    headers: dict[str, str]
    form: dict[str, list[str]]


Fault = Callable[["Handler", bytes], None]


@dataclass
class Proxy:
    """Passes requests on to the server, but for those that `faults` are waiting for, first in first out."""

    upstream: str
    address: tuple[str, int] = ("", 0)
    faults: deque[Fault] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    delay: float = 0.0
    under_way: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://{self.address[0]}:{self.address[1]}/query"

    def wait_for(self, requests: int) -> None:
        limit = time.monotonic() + 20
        while len(self.requests) < requests:
            assert time.monotonic() < limit, f"only {len(self.requests)} requests came"
            time.sleep(0.005)

    # What can go wrong with one answer. Each gives a function for `faults`.

    @staticmethod
    def status(code: int, said: str = "", **headers: str) -> Fault:
        """An answer of the proxy's own; `retry_after="3"` is the header `Retry-After: 3`."""

        def fault(handler: Handler, _: bytes) -> None:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            handler.answer(code, {"Content-Type": "text/plain", **named}, said.encode())

        return fault

    @staticmethod
    def body(made: Callable[[bytes], bytes], *, kind: str | None = None, **headers: str) -> Fault:
        """The server's own answer with another body, in a whole and valid HTTP message."""

        def fault(handler: Handler, sent: bytes) -> None:
            code, found, body = handler.ask(sent)
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            handler.answer(code, {"Content-Type": kind or found["content-type"], **named}, made(body))

        return fault

    @staticmethod
    def cut(handler: Handler, sent: bytes) -> None:
        """Half of the announced bytes, then the connection closes."""
        code, headers, body = handler.ask(sent)
        handler.head(code, {"Content-Type": headers["content-type"], "Content-Length": str(len(body))})
        handler.wfile.write(body[: len(body) // 2])
        handler.close_connection = True

    @staticmethod
    def hang(handler: Handler, _: bytes) -> None:
        """Nothing, until the client goes away."""
        handler.until_left()

    @staticmethod
    def drip(handler: Handler, sent: bytes) -> None:
        """A byte of the body every 50 ms."""
        code, headers, body = handler.ask(sent)
        handler.head(code, {"Content-Type": headers["content-type"], "Content-Length": str(len(body))})
        handler.dripped(body)

    @staticmethod
    def drip_headers(handler: Handler, _: bytes) -> None:
        """A byte of the headers every 50 ms."""
        handler.dripped(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"o" * 4000)

    @staticmethod
    def drop(handler: Handler, _: bytes) -> None:
        """The connection closes at once."""
        handler.close_connection = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    proxy: Proxy

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        with self.proxy.lock:
            form = parse_qs(sent.decode(), keep_blank_values=True, strict_parsing=True)
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.proxy.requests.append(Request(time.monotonic(), self.command, headers, form))
            self.proxy.under_way += 1
            self.proxy.most_at_once = max(self.proxy.most_at_once, self.proxy.under_way)
            fault = self.proxy.faults.popleft() if self.proxy.faults else None
        try:
            if fault is not None:
                fault(self, sent)
            else:
                time.sleep(self.proxy.delay)
                code, found, body = self.ask(sent)
                self.answer(code, {"Content-Type": found["content-type"]}, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with self.proxy.lock:
                self.proxy.under_way -= 1

    def ask(self, sent: bytes) -> tuple[int, dict[str, str], bytes]:
        """The server's answer."""
        connection = http.client.HTTPConnection(self.proxy.upstream)
        try:
            wanted = {name: self.headers[name] for name in ("Content-Type", "Accept")}
            connection.request("POST", self.path, sent, wanted)
            answer = connection.getresponse()
            return answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def head(self, code: int, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def answer(self, code: int, headers: dict[str, str], body: bytes) -> None:
        self.head(code, {**headers, "Content-Length": str(len(body))})
        self.wfile.write(body)

    def dripped(self, data: bytes) -> None:
        for byte in data:
            self.wfile.write(bytes([byte]))
            if self.until_left(0.05):
                return
        self.close_connection = True

    def until_left(self, seconds: float | None = None) -> bool:
        """Waits until the client has closed the connection, or for `seconds`. Whether it has."""
        self.connection.settimeout(seconds)
        try:
            return self.connection.recv(1) == b""
        except TimeoutError:
            return False
        finally:
            with suppress(OSError):
                self.connection.settimeout(None)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Host and port of a server that knows `triples()`."""
    here = Path(sys.executable).with_name("oxigraph")
    program = str(here) if here.exists() else shutil.which("oxigraph")
    assert program, "the SPARQL server is missing: pip install oxigraph"
    folder = tmp_path_factory.mktemp("sparql")
    (folder / "data.nt").write_text("\n".join(triples()) + "\n")
    store = str(folder / "store")
    load = [program, "load", "--location", store, "--file", str(folder / "data.nt")]
    subprocess.run(load, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    serve = [program, "serve-read-only", "--location", store, "--bind", place, "--timeout-s", str(TIME_LIMIT)]
    with subprocess.Popen(serve, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stderr
            assert "Listening" in process.stderr.readline()
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield place
        finally:
            process.kill()


@pytest.fixture(autouse=True)
def _no_proxy_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def proxy(server: str) -> Iterator[Proxy]:
    proxy = Proxy(server)
    handler = type("Bound", (Handler,), {"proxy": proxy})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        listening.daemon_threads = True
        listening.block_on_close = False
        proxy.address = ("127.0.0.1", listening.server_address[1])
        thread = threading.Thread(target=listening.serve_forever, args=(0.02,))
        thread.start()
        yield proxy
        listening.shutdown()
        thread.join()
