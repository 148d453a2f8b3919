"""One connection of a client, byte by byte, so that it can break every rule of HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from dataclasses import dataclass
from typing import Any

ANSWER_SECONDS = 120.0
"""A client that has waited for so long counts as one without an answer."""


@dataclass(frozen=True)
class Answer:
    """Status, headers in lower case, and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The message of an error; empty if there is none."""
        if self.headers.get("content-type") != "application/json" or not self.body:  # as of HEAD
            return ""
        found = self.json()
        return str(found.get("error", "")) if isinstance(found, dict) else ""


class Wire:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, address: tuple[str, int], buffer: int | None = None) -> Wire:
        """Connects.

        Args:
            address: host and port.
            buffer: bytes of answers that the client's side takes before it reads them.
        """
        connection = socket.socket()
        connection.setblocking(False)
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        try:
            await asyncio.wait_for(
                asyncio.get_running_loop().sock_connect(connection, address), ANSWER_SECONDS
            )
            return cls(*await asyncio.open_connection(sock=connection, limit=buffer or 2**16))
        except BaseException:
            connection.close()
            raise

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await asyncio.wait_for(self._writer.drain(), ANSWER_SECONDS)

    async def answer(self, method: str = "POST") -> Answer:
        """The next answer.

        Raises:
            EOFError: the server closed the connection.
            TimeoutError: there is none.
        """
        async with asyncio.timeout(ANSWER_SECONDS):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            pairs = [line.partition(":") for line in head[1:] if line]
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            status = int(head[0].split()[1])
            size = 0 if method == "HEAD" or status == 304 else int(headers.get("content-length", 0))
            return Answer(status, headers, await self._reader.readexactly(size))

    async def exchange(self, data: bytes, part: int = 2**18) -> Answer:
        """The answer to a request, which may come before all of the request is sent."""
        waiting = asyncio.create_task(self.answer())
        try:
            for i in range(0, len(data), part):
                if waiting.done():
                    break
                await self.send(data[i : i + part])
        except ConnectionError:  # closed by the server, after its answer
            pass
        return await waiting

    async def slow_answer(self, part: int, pause: float) -> Answer:
        """An answer that is read in parts, with a pause after each."""
        await asyncio.sleep(pause)
        head = (await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), ANSWER_SECONDS)).decode("latin-1")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
        }
        body, size = b"", int(headers.get("content-length", 0))
        while len(body) < size:
            more = await asyncio.wait_for(self._reader.read(min(part, size - len(body))), ANSWER_SECONDS)
            if not more:
                raise EOFError
            body += more
            await asyncio.sleep(pause)
        return Answer(int(head.split()[1]), headers, body)

    def close(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        """Breaks the connection off, without the usual end."""
        found = self._writer.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


def head(method: str, path: str, *lines: str) -> bytes:
    """The head of a request."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode("latin-1")


def post(body: bytes, *lines: str, kind: str = "application/json") -> bytes:
    """A request of `/predict`."""
    return head("POST", "/predict", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *lines) + body


def chunked(body: bytes, size: int) -> bytes:
    """A request of `/predict` whose body is sent in chunks of a size."""
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    return (
        head("POST", "/predict", "Content-Type: application/json", "Transfer-Encoding: chunked")
        + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
        + b"0\r\n\r\n"
    )
