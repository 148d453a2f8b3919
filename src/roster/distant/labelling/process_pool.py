"""A function of many items, computed by several processes, with the results in the order of the items.

Unlike `concurrent.futures`, a pool holds one item for each process and no more, so memory stays bounded, and
no process outlives the one that started it, also when that is killed.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Generic, TypeVar

from roster.errors import RosterError

T = TypeVar("T")
R = TypeVar("R")

START_METHOD = "fork" if sys.platform == "linux" else "spawn"
"""Windows has no fork, and on macOS the system libraries do not support it."""


class WorkerLostError(RosterError):
    """A worker process ended before it sent its result."""


class WorkerTraceback(Exception):  # noqa: N818 - never raised, only the cause of what is
    """The traceback of an error in a worker process, as text: the cause of that error in this process."""

    def __str__(self) -> str:
        return f"in a worker process:\n{self.args[0]}"


class ProcessPool(Generic[T, R]):
    """Computes `work(item)` in up to `size` processes.

    A process is started when there is an item for it; a single item is computed in this process. With the
    start method `spawn`, `work` is pickled once for each process; items and results always are.

    Args:
        work: the function; the same result is expected in every process.
        size: number of processes; with 1, everything happens in this process.
        at_once: start all processes before the first item is made, for items that are made by threads or by a
            model: a process that is forked later has the state of both, and cannot use it.
        start_method: `fork` or `spawn`; by default `fork` on Linux and `spawn` elsewhere.

    >>> with ProcessPool(str.upper, 2) as pool:
    ...     list(pool.map(["a", "b", "c"]))
    ['A', 'B', 'C']
    """

    def __init__(
        self, work: Callable[[T], R], size: int, *, at_once: bool = False, start_method: str | None = None
    ):
        self._work, self._size, self._at_once = work, size, at_once
        self._context: Any = multiprocessing.get_context(start_method or START_METHOD)
        self._workers: list[tuple[BaseProcess, Connection]] = []

    def __enter__(self) -> ProcessPool[T, R]:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        for process, connection in self._workers:
            connection.close()
            process.kill()  # not SIGTERM: until `_serve` runs, a worker has the handlers of this process
        for process, _ in self._workers:
            process.join()
        self._workers = []

    def map(self, items: Iterable[T]) -> Iterator[R]:
        """The results, in the order of the items. The items are read in this process, each once.

        Raises:
            WorkerLostError: a worker process was killed or ended by itself.
            Exception: what `work` raised in a worker process, and what reading the items raised. The error
                that comes first in the order of the items is raised, as with a single process.
        """
        if self._at_once and self._size > 1:
            for _ in range(self._size):
                self._start()
        pairs = _until_error(items)
        head = list(islice(pairs, 2))
        if self._size <= 1 or len(head) < 2 or head[1][1] is not None:
            for one, error in chain(head, pairs):
                if error is not None:
                    raise error
                yield self._work(one)  # type: ignore[arg-type]
            return
        pending: deque[int] = deque()
        failure = None
        for number, (item, error) in enumerate(chain(head, pairs)):
            if error is not None:
                failure = error
                break
            if number == len(self._workers) < self._size:
                self._start()
            # A worker gets an item only when its last result was received: nobody sends to one who sends.
            done = [self._receive(pending.popleft())] if len(pending) == self._size else []
            self._send(number % self._size, item)
            pending.append(number % self._size)
            yield from done
        while pending:
            yield self._receive(pending.popleft())
        if failure is not None:
            raise failure

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._work, os.getpid()), daemon=True)
        process.start()
        theirs.close()  # only the worker has this end now, so its death ends the stream
        self._workers.append((process, ours))

    def _send(self, worker: int, item: Any) -> None:
        try:
            self._workers[worker][1].send(item)
        except OSError:
            raise self._lost_error(worker) from None

    def _receive(self, worker: int) -> R:
        try:
            result, error, trace = self._workers[worker][1].recv()
        except (EOFError, OSError):  # OSError: it ended in the middle of a result
            raise self._lost_error(worker) from None
        if error is not None:
            raise error from WorkerTraceback(trace)
        return result  # type: ignore[no-any-return]

    def _lost_error(self, worker: int) -> WorkerLostError:
        process = self._workers[worker][0]
        process.join(5)
        code = process.exitcode
        if code is None or code >= 0:
            how = f"ended with exit status {code}"
        else:
            how = f"was killed by signal {-code} ({_signal_name(-code)})"
        return WorkerLostError(
            f"a worker process {how}; if memory ran out, use fewer processes (--workers 1 uses one)"
        )


def _until_error(items: Iterable[T]) -> Iterator[tuple[T | None, Exception | None]]:
    """The items, and as the last pair the error that ended them early."""
    try:
        for item in items:
            yield item, None
    except Exception as error:
        yield None, error


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _serve(connection: Connection, work: Callable[[Any], Any], parent: int) -> None:
    """What a worker process runs: one result for each item, until the pool closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent reports it, once
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(OSError, AttributeError, TypeError):  # Linux: end with the parent, however that ends
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        return
    with suppress(EOFError, OSError):  # the pool was closed, or its process is gone
        while True:
            item = connection.recv()
            reply: tuple[Any, Exception | None, str]
            try:
                reply = work(item), None, ""
            except Exception as error:
                reply = None, _picklable(error), traceback.format_exc()
            connection.send(reply)


def _picklable(error: Exception) -> Exception:
    """The error itself if it can be sent to another process, otherwise its type and message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
