"""`roster serve` as a process, on a free port."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class Server:
    """A service that listens; `lines` has its log once it has ended."""

    def __init__(self, environment: dict[str, str], *arguments: str | Path, code: str | None = None):
        python = [sys.executable, "-c", code or "from roster.cli.main import entry; entry()"]
        # Files, not pipes: a pipe that nobody reads is full after a few hundred requests.
        self._files = out, errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen([*python, "serve", "--port", "0", *map(str, arguments)],
                                        env=environment, stdout=out, stderr=errors)  # fmt: skip
        until(lambda: "\n" in self._read(0) or self.process.poll() is not None)
        assert self.process.poll() is None, self._read(1)
        self.first = json.loads(self._read(0).partition("\n")[0])
        address = urlsplit(self.first["url"])
        self.host, self.port = str(address.hostname), int(address.port or 0)
        self.lines: list[dict[str, Any]] = []

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=120)

    def ask(
        self, path: str, content: object = None, token: str | None = None, method: str | None = None
    ) -> tuple[int, Any]:
        """Status and content of an answer; JSON is sent where there is content."""
        connection = self.connect()
        status, answer, _ = ask(connection, path, content, token, method)
        connection.close()
        return status, answer

    def metric(self, line: str, token: str | None = None) -> float:
        text = self.ask("/metrics", token=token)[1]
        return sum(float(row.split()[-1]) for row in text.splitlines() if row.startswith(line))

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait()
        self.lines += map(json.loads, self._read(0).splitlines()[1:])
        self.errors = self._read(1)
        return code

    def _read(self, number: int) -> str:
        file = self._files[number]
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode()


def ask(
    connection: http.client.HTTPConnection,
    path: str,
    content: object = None,
    token: str | None = None,
    method: str | None = None,
) -> tuple[int, Any, dict[str, str]]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    body = content if content is None or isinstance(content, bytes) else json.dumps(content)
    connection.request(method or ("GET" if content is None else "POST"), path, body, headers)  # type: ignore[arg-type]
    answer = connection.getresponse()
    text = answer.read().decode()
    found = json.loads(text) if answer.headers["Content-Type"] == "application/json" else text
    return answer.status, found, {name.lower(): value for name, value in answer.getheaders()}


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)
