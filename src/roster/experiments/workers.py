"""Tasks in several worker processes, which end with this process."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from queue import Empty, SimpleQueue
from typing import TypeVar

from roster.errors import RosterError
from roster.model.processor import limit_threads

T = TypeVar("T")
R = TypeVar("R")


def finished(work: Callable[[T], R], items: Sequence[T], workers: int = 1) -> Iterator[tuple[T, Future[R]]]:
    """Yield items with their futures, as they are finished; they are started in order.

    One worker is this process itself. If a worker process dies, for example because memory runs out, only the
    item that it worked on fails.
    """
    if workers == 1:
        for item in items:
            yield item, _here(work, item)
        return
    todo: SimpleQueue[tuple[T, Future[R]]] = SimpleQueue()
    futures: dict[Future[R], T] = {}
    for item in items:
        future: Future[R] = Future()
        futures[future] = item
        todo.put((item, future))
    many = min(workers, len(items))
    for _ in range(many):
        threading.Thread(target=_keep_busy, args=(work, todo, many), daemon=True).start()
    for future in as_completed(futures):
        yield futures[future], future


def _here(work: Callable[[T], R], item: T) -> Future[R]:
    future: Future[R] = Future()
    try:
        future.set_result(work(item))
    except Exception as error:
        future.set_exception(error)
    return future


def _keep_busy(work: Callable[[T], R], todo: SimpleQueue[tuple[T, Future[R]]], workers: int) -> None:
    """Run one worker process, restarted if it dies, until no item is left."""
    spawn = multiprocessing.get_context("spawn")  # CUDA does not work after a fork
    process = None
    while True:
        try:
            item, future = todo.get_nowait()
        except Empty:
            break
        process = process or ProcessPoolExecutor(1, spawn, initializer=_begin, initargs=(workers,))
        try:
            future.set_result(process.submit(work, item).result())
        except BrokenProcessPool:
            process = None
            future.set_exception(RosterError("the worker process died, perhaps because memory ran out"))
        except Exception as error:
            future.set_exception(error)
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
