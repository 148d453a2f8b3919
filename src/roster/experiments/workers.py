"""Tasks in several worker processes, which end with this process."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from heapq import heappop, heappush
from itertools import count
from math import inf
from queue import PriorityQueue, SimpleQueue
from typing import Protocol, TypeVar

from roster.errors import RosterError
from roster.model.processor import limit_threads

T = TypeVar("T")
R = TypeVar("R")
Waiting = tuple[float, int, T]
"""An item with its rank and, unique, its number."""


class Finished(Protocol):
    """What `finished` is; `ray_tasks.RayTasks` is the same on a cluster."""

    def __call__(
        self,
        work: Callable[[T], R],
        items: Sequence[T],
        workers: int = 1,
        then: Callable[[T], Sequence[T]] | None = None,
        rank: Callable[[T], float] | None = None,
    ) -> Iterator[tuple[T, Future[R]]]:
        """Items with their futures, as they are finished."""


def finished(
    work: Callable[[T], R],
    items: Sequence[T],
    workers: int = 1,
    then: Callable[[T], Sequence[T]] | None = None,
    rank: Callable[[T], float] | None = None,
) -> Iterator[tuple[T, Future[R]]]:
    """Yield items with their futures, as they are finished; they are started in order.

    One worker is this process itself. If a worker process dies, for example because memory runs out, only the
    item that it worked on fails.

    Args:
        work: what is done with an item.
        items: those to begin with.
        workers: number of processes.
        then: the items that can be started because this one is finished; called when the caller has dealt
            with it.
        rank: of the items that wait, one with the least rank is started first.
    """
    numbers = count()

    def waiting(item: T) -> Waiting[T]:
        return (0.0 if rank is None else rank(item)), next(numbers), item

    if workers == 1:
        heap = sorted(map(waiting, items), key=lambda one: one[:2])
        while heap:
            item = heappop(heap)[-1]
            yield item, _here(work, item)
            for more in then(item) if then else ():
                heappush(heap, waiting(more))
        return
    todo: PriorityQueue[Waiting[T | None]] = PriorityQueue()
    done: SimpleQueue[tuple[T, Future[R]]] = SimpleQueue()
    many = workers if then else min(workers, len(items))

    def end() -> None:
        for _ in range(many):
            todo.put((inf, next(numbers), None))

    for item in items:
        todo.put(waiting(item))
    if then is None:
        end()
    for _ in range(many if items else 0):
        threading.Thread(target=_keep_busy, args=(work, todo, done, many), daemon=True).start()
    left = len(items)
    try:
        while left:
            item, future = done.get()
            yield item, future
            follow = then(item) if then else ()
            for more in follow:
                todo.put(waiting(more))
            left += len(follow) - 1
    finally:
        if then is not None:
            end()


def _here(work: Callable[[T], R], item: T) -> Future[R]:
    future: Future[R] = Future()
    try:
        future.set_result(work(item))
    except Exception as error:
        future.set_exception(error)
    return future


def _keep_busy(
    work: Callable[[T], R],
    todo: PriorityQueue[Waiting[T | None]],
    done: SimpleQueue[tuple[T, Future[R]]],
    workers: int,
) -> None:
    """Run one worker process, restarted if it dies, until there is nothing more to do."""
    spawn = multiprocessing.get_context("spawn")  # CUDA does not work after a fork
    process = None
    while (item := todo.get()[-1]) is not None:
        future: Future[R] = Future()
        process = process or ProcessPoolExecutor(1, spawn, initializer=_begin, initargs=(workers,))
        try:
            future.set_result(process.submit(work, item).result())
        except BrokenProcessPool:
            process = None
            future.set_exception(RosterError("the worker process died, perhaps because memory ran out"))
        except Exception as error:
            future.set_exception(error)
        done.put((item, future))
    if process is not None:
        process.shutdown()


def _begin(workers: int) -> None:
    """Limit the threads to a share of the cores, and end with the parent process, even if that is killed."""
    limit_threads(workers)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
