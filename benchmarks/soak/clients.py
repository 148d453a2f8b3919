"""Clients of all kinds: honest, slow, rude and broken. Each is a coroutine that sends a few requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

from benchmarks.soak.mistakes import LARGE, Mistake, mistakes
from benchmarks.soak.questions import Questions
from benchmarks.soak.tally import Tally
from benchmarks.soak.wire import Wire, chunked, head, post

GONE = (ConnectionError, EOFError)
"""The server closed the connection."""
JSON = "Content-Type: application/json"


@dataclass
class Storm:
    """What the clients share.

    Args:
        address: host and port of the service.
        questions: requests with the answers of the model alone.
        end: when no new request is sent, by `time.perf_counter`.
    """

    address: tuple[str, int]
    questions: Questions
    end: float
    tally: Tally = field(default_factory=Tally)
    wrong: list[Mistake] = field(default_factory=mistakes)

    @property
    def over(self) -> bool:
        return time.perf_counter() >= self.end

    async def wait(self, seconds: float) -> None:
        """Wait, at most until the end."""
        await asyncio.sleep(max(0.0, min(seconds, self.end - time.perf_counter())))


Client = Callable[[Storm, Random, Wire], Awaitable[None]]


async def client(storm: Storm, number: int) -> None:
    """Be one client after the other until the end; each has a connection of its own."""
    draw = Random(number)
    kinds, weights = zip(*((kind, weight) for kind, weight in CLIENTS.items()), strict=True)
    while not storm.over:
        kind = draw.choices(kinds, weights)[0]
        small = 16_384 if kind in (slow_reader, never_reads) else None
        try:
            wire = await Wire.open(storm.address, small)
        except OSError as error:
            storm.tally.error("connect", repr(error))
            await storm.wait(1)
            continue
        try:
            await kind(storm, draw, wire)
        except GONE as error:
            storm.tally.error(kind.__name__, f"no answer: {error!r}")
        except TimeoutError:
            storm.tally.error(kind.__name__, "no answer in time")
        finally:
            wire.close()


async def conversation(storm: Storm, draw: Random, wire: Wire) -> None:
    """Several requests over one connection; after a refusal it waits as long as it is told."""
    for _ in range(draw.randint(1, 12)):
        if storm.over:
            return
        question = storm.questions.draw(draw)
        begin = time.perf_counter()
        await wire.send(post(question.body))
        answer = await wire.answer()
        if storm.tally.judge("conversation", answer, question):
            storm.tally.seconds["answer"].append(time.perf_counter() - begin)
            continue
        storm.tally.seconds["refusal"].append(time.perf_counter() - begin)
        if answer.headers.get("connection") == "close":
            return
        await storm.wait(int(answer.headers.get("retry-after", 1)) * draw.uniform(0.5, 1.5))


async def pipeline(storm: Storm, draw: Random, wire: Wire) -> None:
    """Several requests at once; the answers have their order."""
    questions = [storm.questions.draw(draw) for _ in range(draw.randint(2, 6))]
    await wire.send(b"".join(post(one.body) for one in questions))
    for one in questions:
        answer = await wire.answer()
        storm.tally.judge("pipeline", answer, one)
        if answer.headers.get("connection") == "close":
            return


async def slow_sender(storm: Storm, draw: Random, wire: Wire) -> None:
    """A request in small parts, head and body."""
    question = storm.questions.draw(draw)
    data = chunked(question.body, 64) if draw.random() < 0.5 else post(question.body)
    size = len(data) // draw.randint(4, 12) + 1
    for i in range(0, len(data), size):
        await wire.send(data[i : i + size])
        await asyncio.sleep(draw.uniform(0.01, 0.3))
    storm.tally.judge("slow_sender", await wire.answer(), question)


async def slow_reader(storm: Storm, draw: Random, wire: Wire) -> None:
    """Answers that are read in parts."""
    questions = [storm.questions.draw(draw) for _ in range(3)]
    await wire.send(b"".join(post(one.body) for one in questions))
    for one in questions:
        answer = await wire.slow_answer(200, draw.uniform(0.01, 0.1))
        storm.tally.judge("slow_reader", answer, one)
        if answer.headers.get("connection") == "close":
            return


async def never_reads(storm: Storm, draw: Random, wire: Wire) -> None:
    """Asks for files of megabytes in total, and reads nothing."""
    try:
        async with asyncio.timeout(draw.uniform(1, 60)):
            await wire.send(head("GET", "/web/page.js") * 400)
            while not storm.over:
                await storm.wait(1)
    except (*GONE, TimeoutError):
        pass
    storm.tally.left["never_reads"] += 1
    wire.reset()


async def slow_head(storm: Storm, draw: Random, wire: Wire) -> None:
    """A head that is sent byte by byte and never ends, until the server closes the connection."""
    if draw.random() < 0.5:
        await wire.send(head("GET", "/health"))
        storm.tally.judge("slow_head", await wire.answer("GET"), (200, 503))
    waiting = asyncio.create_task(wire.answer())
    try:
        for one in b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 1000:
            if waiting.done() or storm.over:
                break
            await wire.send(bytes([one]))
            await storm.wait(0.5)
        if waiting.done():
            storm.tally.judge("slow_head", waiting.result(), (408,))
        else:
            storm.tally.left["slow_head"] += 1
    except GONE:  # reset while a byte was on its way
        storm.tally.refused["head, reset"] += 1
    finally:
        waiting.cancel()


async def leaves_while_sending(storm: Storm, draw: Random, wire: Wire) -> None:
    """Goes away in the middle of a head or a body."""
    data = post(storm.questions.draw(draw).body)
    await wire.send(data[: draw.randrange(1, len(data))])
    await storm.wait(draw.uniform(0, 0.5))
    storm.tally.left["leaves_while_sending"] += 1
    if draw.random() < 0.5:
        wire.reset()


async def leaves_while_waiting(storm: Storm, draw: Random, wire: Wire) -> None:
    """Sends a request, or several, and goes away before the answer."""
    questions = [storm.questions.draw(draw) for _ in range(draw.choice((1, 1, 3)))]
    await wire.send(b"".join(post(one.body) for one in questions))
    await storm.wait(draw.uniform(0, 0.05))
    storm.tally.left["leaves_while_waiting"] += 1
    if draw.random() < 0.5:
        wire.reset()


async def mistaken(storm: Storm, draw: Random, wire: Wire) -> None:
    """A wrong request; some are answered before all of it was sent."""
    name, data, statuses = draw.choice(storm.wrong)
    try:
        storm.tally.judge(f"mistaken ({name})", await wire.exchange(data), statuses)
    except ConnectionResetError:  # of a connection that the server closed with the answer, before it read all
        storm.tally.left["mistaken, reset"] += 1


async def sizes(storm: Storm, draw: Random, wire: Wire) -> None:
    """Bodies up to 10 MB. White space does not count as text, so large ones can be right."""
    size = draw.choice((1_000, 100_000, 1_000_000, LARGE - 100_000, LARGE + 1_000, 5_000_000, 10_000_000))
    question = storm.questions.draw(draw, size)
    announced = draw.random() < 0.5
    data = post(question.body) if announced else chunked(question.body, 65_536)
    storm.tally.judge("sizes", await wire.exchange(data), question if size < LARGE else (413,))


async def endless_body(storm: Storm, draw: Random, wire: Wire) -> None:
    """A chunked body without an end, fast or slow, large chunks or tiny ones."""
    waiting = asyncio.create_task(wire.answer())
    part, pause = draw.choice(((65_536, 0.0), (16_384, 0.05), (1, 0.2)))
    sent = 0
    try:
        await wire.send(head("POST", "/predict", JSON, "Transfer-Encoding: chunked"))
        while not waiting.done() and not storm.over and sent < 20_000_000:
            await wire.send(b"%x\r\n%s\r\n" % (part, b" " * part))
            sent += part
            await storm.wait(pause)
        if waiting.done():
            storm.tally.judge("endless_body", waiting.result(), (413,))
        else:
            storm.tally.left["endless_body"] += 1
    except GONE:
        storm.tally.refused["body, reset"] += 1
    finally:
        waiting.cancel()


async def tiny_chunks(storm: Storm, draw: Random, wire: Wire) -> None:
    """A right request of which each byte is a chunk, with 20 kB of white space."""
    question = storm.questions.draw(draw, 20_000)
    await wire.send(chunked(question.body, 1))
    storm.tally.judge("tiny_chunks", await wire.answer(), question)


async def browser(storm: Storm, draw: Random, wire: Wire) -> None:
    """All other paths, with right and wrong methods, over one connection."""
    for _ in range(draw.randint(1, 10)):
        method, path, statuses = draw.choice(REQUESTS)
        await wire.send(head(method, path))
        answer = await wire.answer(method)
        storm.tally.judge("browser", answer, statuses)
        if answer.headers.get("connection") == "close":
            return


REQUESTS = (
    ("GET", "/", (200,)),
    ("HEAD", "/", (200,)),
    ("GET", "/web/page.js", (200,)),
    ("GET", "/web/page.css", (200,)),
    ("GET", "/web/none.js", (404,)),
    ("GET", "/models", (200,)),
    ("GET", "/health", (200,)),
    ("GET", "/ready", (200,)),
    ("GET", "/metrics", (200,)),
    ("GET", "/openapi.json", (200,)),
    ("GET", "/explain?name=Oslo", (200,)),
    ("GET", "/explain", (422,)),
    ("GET", "/explain?name=%ff%00&name=x", (422,)),
    ("GET", "/explain?name=" + "x" * 2000, (422,)),
    ("GET", "/predict", (405,)),
    ("HEAD", "/models", (200, 405)),
    ("OPTIONS", "/predict", (405,)),
    ("OPTIONS", "*", (404, 405)),
    ("TRACE", "/", (405,)),
    ("BREW", "/predict", (405,)),
    ("DELETE", "/models", (405,)),
    ("PUT", "/", (405,)),
    ("GET", "/no-such-path", (404,)),
)

CLIENTS: dict[Client, int] = {
    conversation: 30,
    pipeline: 8,
    slow_sender: 10,
    slow_reader: 6,
    never_reads: 2,
    slow_head: 6,
    leaves_while_sending: 8,
    leaves_while_waiting: 8,
    mistaken: 20,
    sizes: 6,
    endless_body: 4,
    tiny_chunks: 1,
    browser: 10,
}
"""How often each kind of client comes."""


async def observer(storm: Storm, seconds: float = 0.2) -> None:
    """Asks for `/health` again and again over one connection; every answer has to be 200."""
    wire: Wire | None = None
    while not storm.over:
        begin = time.perf_counter()
        try:
            wire = wire or await Wire.open(storm.address)
            await wire.send(head("GET", "/health"))
            if storm.tally.judge("health", await wire.answer("GET"), (200,)):
                storm.tally.seconds["health"].append(time.perf_counter() - begin)
                await storm.wait(seconds)
                continue
        except (*GONE, TimeoutError) as error:
            storm.tally.error("health", repr(error))
        if wire is not None:
            wire.close()
        wire = None
        await storm.wait(seconds)
    if wire is not None:
        wire.close()
