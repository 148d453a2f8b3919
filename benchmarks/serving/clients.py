"""Clients that send requests over connections that they keep, as fast as they are answered."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from math import ceil


@dataclass(frozen=True)
class Load:
    """Seconds of each answered request, the number of those that failed, and elapsed seconds."""

    answered: tuple[float, ...]
    failed: int
    seconds: float

    def facts(self) -> dict[str, float]:
        """Requests per second, and percentiles in milliseconds."""
        if not self.answered:
            return {"requests": 0, "failed": self.failed}
        return {
            "requests": len(self.answered),
            "failed": self.failed,
            "requests_per_second": len(self.answered) / self.seconds,
            "p50": 1000 * percentile(self.answered, 50),
            "p99": 1000 * percentile(self.answered, 99),
        }


def percentile(values: Sequence[float], percent: float) -> float:
    """The least value that so many percent of the values do not exceed.

    >>> percentile([4, 1, 3, 2], 50), percentile([4, 1, 3, 2], 99)
    (2, 4)
    """
    return sorted(values)[max(0, ceil(len(values) * percent / 100) - 1)]


def load(host: str, port: int, texts: Sequence[str], clients: int, seconds: float) -> Load:
    """Sends texts, one in a request, for some seconds.

    Args:
        host: where the service listens.
        port: the same.
        texts: what is sent; each client begins at another text, and begins again at the end.
        clients: how many send at the same time.
        seconds: after so long no new request is sent.
    """
    return asyncio.run(_load(host, port, texts, clients, seconds))


async def _load(host: str, port: int, texts: Sequence[str], clients: int, seconds: float) -> Load:
    requests = [_request(text) for text in texts]
    begin = time.perf_counter()
    runs = [
        _client(host, port, islice(cycle(requests), i * len(texts) // clients, None), begin + seconds)
        for i in range(clients)
    ]
    found = await asyncio.gather(*runs)
    elapsed = time.perf_counter() - begin
    answered = tuple(one for times, _ in found for one in times)
    return Load(answered, sum(failed for _, failed in found), elapsed)


async def _client(host: str, port: int, requests: Iterator[bytes], end: float) -> tuple[list[float], int]:
    reader, writer = await asyncio.open_connection(host, port)
    times, failed = list[float](), 0
    try:
        while (begin := time.perf_counter()) < end:
            writer.write(next(requests))
            status = await _answer(reader)
            if status == 200:
                times.append(time.perf_counter() - begin)
            else:
                failed += 1
    finally:
        writer.close()
    return times, failed


async def _answer(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    for line in head[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            await reader.readexactly(int(value))
    return int(head[0].split()[1])


def _request(text: str) -> bytes:
    body = json.dumps({"text": text}).encode()
    head = (
        f"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    return head.encode() + b"\r\n\r\n" + body
