"""Several processes that go through the same input and share the work on it."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Generic, TypeVar

from roster.errors import RosterError

T = TypeVar("T")
R = TypeVar("R")


class WorkerLostError(RosterError):
    """A process of the team is gone."""


class Team(Generic[T, R]):
    """`work(item)` for every item of `items()`, in order, by `size` forked processes.

    Every process goes through the items itself and works on each `size`-th of them. What the items are made
    of never travels between processes, only results do: for text, reading it again costs less than sending
    it. A process waits when its results are not taken, so memory stays bounded.
    """

    def __init__(self, work: Callable[[T], R], items: Callable[[], Iterable[T]], size: int):
        self._work, self._items, self._size = work, items, size
        self._members: list[tuple[multiprocessing.process.BaseProcess, Connection]] = []

    def __enter__(self) -> Iterator[R]:
        context = multiprocessing.get_context("fork")
        for number in range(self._size):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=self._run, args=(number, sender, os.getpid()), daemon=True)
            process.start()
            sender.close()  # the other end is the process's alone, so its death is the end of the stream
            self._members.append((process, receiver))
        return self._results()

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        for process, receiver in self._members:
            receiver.close()
            process.terminate()
        for process, _ in self._members:
            process.join()

    def _results(self) -> Iterator[R]:
        while True:
            for _, receiver in self._members:
                try:
                    what, value = receiver.recv()
                except EOFError:
                    raise WorkerLostError(
                        "a worker process was killed, perhaps because memory ran out; try fewer (--workers 1)"
                    ) from None
                if what == "end":
                    return
                if what == "error":
                    raise value
                yield value

    def _run(self, number: int, sender: Connection, parent: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says that it was stopped, once
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with suppress(OSError, AttributeError):  # no worker outlives its parent
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() != parent:
            return
        try:
            for i, item in enumerate(self._items()):
                if i % self._size == number:
                    sender.send(("result", self._work(item)))
            sender.send(("end", None))
        except BrokenPipeError:
            pass
        except Exception as error:
            sender.send(("error", error))
