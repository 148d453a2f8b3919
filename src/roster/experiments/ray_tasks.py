"""`workers.finished` on a Ray cluster: each item is a task, on a GPU of its own where there are some."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import TypeVar

from roster.cluster import connect
from roster.errors import RosterError

T = TypeVar("T")
R = TypeVar("R")

RETRIES = 3
"""How often a task begins again whose worker or node is lost; a training goes on from its last checkpoint."""


@dataclass(frozen=True)
class RayTasks:
    """Runs items on a cluster that reads the same files as this machine, at the same paths.

    Args:
        address: of the cluster; without one, Ray is started on this machine.
    """

    address: str | None = None

    def __call__(
        self,
        work: Callable[[T], R],
        items: Sequence[T],
        workers: int = 1,
        then: Callable[[T], Sequence[T]] | None = None,
        rank: Callable[[T], float] | None = None,
    ) -> Iterator[tuple[T, Future[R]]]:
        """Yield items with their futures, as `finished` does: as many at once as there are GPUs or cores."""
        if not items:
            return
        ray = connect(self.address)
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0))
        room = max(1, gpus or int(resources.get("CPU", 1)))
        task = ray.remote(num_cpus=1, num_gpus=1 if gpus else 0, max_retries=RETRIES)(_done_in)
        shared, here, numbers = ray.put(work), os.getcwd(), count()  # noqa: PTH109
        waiting: list[tuple[float, int, T]] = []
        running: dict[object, T] = {}

        def add(more: Sequence[T]) -> None:
            for item in more:
                heappush(waiting, (0.0 if rank is None else rank(item), next(numbers), item))

        add(items)
        while waiting or running:
            while waiting and len(running) < room:
                item = heappop(waiting)[-1]
                running[task.remote(shared, item, here)] = item
            (reference,), _ = ray.wait(list(running))
            item, future = running.pop(reference), Future[R]()
            try:
                future.set_result(ray.get(reference))
            except ray.exceptions.RayTaskError as error:
                future.set_exception(error.cause or error)
            except ray.exceptions.RayError as error:
                reason = " ".join(str(error).split())[:200]
                future.set_exception(RosterError(f"the worker was lost {RETRIES + 1} times: {reason}"))
            yield item, future
            add(then(item) if then else ())


def _done_in(work: Callable[[T], R], item: T, folder: str) -> R:
    """The result of an item; relative paths are those of the process that started it."""
    os.chdir(folder)
    return work(item)
