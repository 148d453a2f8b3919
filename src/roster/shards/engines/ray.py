"""Items in the actors of a Ray cluster: one for each core, or for each GPU, of all nodes.

Only descriptions of shards and counts travel through Ray; text and predictions go between a worker and the
storage. An actor holds what takes long to load. Which item is whose is decided here, not by Ray's retries: an
item whose actor is lost goes to the next free one, in front of those that wait, and a new actor is started
where there is room.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from roster.cluster import connect
from roster.errors import RosterError
from roster.log import LOGGER
from roster.shards.engines.base import Work

T = TypeVar("T")
R = TypeVar("R")

ATTEMPTS = 4
"""How often an item is tried whose workers are lost: an item that needs too much memory would end them
all."""
PATIENCE = 10.0
"""Seconds after which nodes are counted again, for those that have joined."""


@dataclass(frozen=True)
class RayEngine:
    """A Ray cluster; `gpu` asks for a GPU for each actor, where the cluster has any."""

    address: str | None = None
    gpu: bool = False
    workers: int | None = None
    """Number of actors; by default as many as there are cores or GPUs."""

    def map(self, work: Work[T, R], items: Sequence[T]) -> Iterator[tuple[T, R]]:
        """Each item with its result, as they are finished. See `Engine`."""
        if not items:
            return
        ray = connect(self.address)
        actors = _Actors(ray, ray.put(work), self._options(ray), self.workers)
        try:
            yield from _Queue(ray, actors, items).results()
        finally:
            actors.end()

    def _options(self, ray: Any) -> dict[str, float]:
        gpus = ray.cluster_resources().get("GPU", 0) if self.gpu else 0
        return {"num_cpus": 1, "num_gpus": 1 if gpus else 0}


class _Worker:
    """What an actor is: the opened function."""

    def __init__(self, work: Any):
        self._work = work

    def open(self) -> None:
        """A call of its own, so that its errors are those of a call."""
        self._function = self._work.open()

    def run(self, item: Any) -> Any:
        return self._function(item)


@dataclass
class _Actors:
    """The actors that are alive or starting."""

    ray: Any
    work: Any
    options: dict[str, float]
    most: int | None
    alive: list[Any] = field(default_factory=list)

    def start(self, wanted: int) -> list[Any]:
        """New actors, if there is room for more; at least one, which may have to wait for a node."""
        resource, need = ("GPU", 1) if self.options["num_gpus"] else ("CPU", 1)
        room = int(self.ray.cluster_resources().get(resource, 0)) // need
        number = max(1, min(room, wanted, self.most or wanted)) - len(self.alive)
        kind = self.ray.remote(max_restarts=0, max_task_retries=0, **self.options)(_Worker)
        new = [kind.remote(self.work) for _ in range(number)]
        self.alive += new
        return new

    def end(self) -> None:
        for actor in self.alive:
            self.ray.kill(actor)
        self.alive = []


class _Queue:
    """Items that wait, and calls under way."""

    def __init__(self, ray: Any, actors: _Actors, items: Sequence[Any]):
        self._ray, self._actors = ray, actors
        self._waiting = deque((item, 1) for item in items)
        self._left = len(items)
        self._calls: dict[Any, tuple[Any, Any, int]] = {}
        """By the reference of a call: its actor, its item, the attempt; the attempt is 0 while the actor
        opens."""
        self._idle: list[Any] = []

    def results(self) -> Iterator[tuple[Any, Any]]:
        self._start()
        failed_starts, counted = 0, time.monotonic()
        while self._left:
            done, _ = self._ray.wait(list(self._calls), timeout=PATIENCE)
            if time.monotonic() - counted >= PATIENCE:
                self._start()
                counted = time.monotonic()
            if not done:
                continue
            actor, item, attempt = self._calls.pop(done[0])
            try:
                result = self._ray.get(done[0])
            except self._ray.exceptions.RayTaskError as error:
                raise error.as_instanceof_cause() if error.cause is None else error.cause from None
            except self._ray.exceptions.RayError as error:  # its process, node or memory is gone
                self._drop(actor)
                if attempt:
                    self._again(item, attempt)
                elif (failed_starts := failed_starts + 1) >= ATTEMPTS:
                    reason = " ".join(str(error).split())[:300]
                    raise RosterError(f"{failed_starts} workers ended while they started: {reason}") from None
                self._start()
                continue
            if attempt:
                self._left -= 1
                failed_starts = 0
                yield item, result
            self._idle.append(actor)
            self._give()

    def _start(self) -> None:
        """Starts actors where there is room for more, for the items that are left."""
        for actor in self._actors.start(self._left):
            self._calls[actor.open.remote()] = (actor, None, 0)

    def _give(self) -> None:
        """Gives free actors the next items."""
        while self._waiting and self._idle:
            actor, (item, attempt) = self._idle.pop(), self._waiting.popleft()
            self._calls[actor.run.remote(item)] = (actor, item, attempt)

    def _drop(self, actor: Any) -> None:
        self._actors.alive = [one for one in self._actors.alive if one is not actor]
        self._ray.kill(actor)

    def _again(self, item: Any, attempt: int) -> None:
        """Puts an item whose worker was lost in front of the others."""
        if attempt >= ATTEMPTS:
            raise RosterError(
                f"{attempt} workers were lost over the same shard ({item}), perhaps because memory ran out; "
                "what is finished is kept, and the same command goes on from there"
            )
        LOGGER.warning(
            f"a worker was lost; its shard is given to another one (attempt {attempt + 1} of {ATTEMPTS})"
        )
        self._waiting.appendleft((item, attempt + 1))
        self._give()
