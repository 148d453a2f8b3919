"""Worker processes: order, errors with their place, workers that are killed, both start methods."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roster.distant.labelling.process_pool import ProcessPool, WorkerLostError, WorkerTraceback
from roster.errors import DataError

METHODS = [method for method in ("fork", "spawn") if method in multiprocessing.get_all_start_methods()]


class AwkwardError(Exception):
    """Cannot be pickled."""

    def __init__(self, one: int, two: int):
        super().__init__(f"{one} and {two}")


def work(item: Any) -> Any:
    if item == "data":
        raise DataError("expected 2 columns", path="corpus.conll", line=7)
    if item == "awkward":
        raise AwkwardError(1, 2)
    if item == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "exit":
        os._exit(3)
    return item, os.getpid()


@pytest.mark.parametrize("method", METHODS)
def test_results_in_order_from_several_processes(method: str) -> None:
    with ProcessPool(work, 3, start_method=method) as pool:
        results = list(pool.map(range(20)))
    assert [item for item, _ in results] == list(range(20))
    processes = {pid for _, pid in results}
    assert len(processes) == 3
    assert os.getpid() not in processes
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(("items", "size"), [([1], 4), ([1, 2, 3], 1), ([], 4)])
def test_no_process_where_one_is_enough(items: list[int], size: int) -> None:
    with ProcessPool(work, size) as pool:
        assert list(pool.map(items)) == [(item, os.getpid()) for item in items]


def test_large_items_and_results() -> None:
    """More than a pipe holds, in both directions."""
    items = [bytes(3_000_000 + n) for n in range(7)]
    with ProcessPool(work, 2) as pool:
        assert [item for item, _ in pool.map(items)] == items


def test_items_are_read_no_further_than_needed() -> None:
    read = []

    def items() -> Iterator[int]:
        for n in range(100):
            read.append(n)
            yield n

    with ProcessPool(work, 2) as pool:
        results = pool.map(items())
        assert next(results)[0] == 0
    assert read == [0, 1, 2]
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("method", METHODS)
def test_an_error_with_its_place(method: str) -> None:
    with ProcessPool(work, 2, start_method=method) as pool:
        results = pool.map([0, 1, 2, "data", 4])
        assert [next(results)[0] for _ in range(3)] == [0, 1, 2]
        with pytest.raises(DataError, match=r"corpus\.conll, line 7: expected 2 columns") as caught:
            next(results)
    assert (caught.value.path, caught.value.line) == ("corpus.conll", 7)
    assert isinstance(caught.value.__cause__, WorkerTraceback)
    assert "in work" in str(caught.value.__cause__)


def test_an_error_that_cannot_be_pickled() -> None:
    with ProcessPool(work, 2) as pool, pytest.raises(RuntimeError, match="AwkwardError: 1 and 2"):
        list(pool.map([0, "awkward"]))


def test_the_first_error_in_the_order_of_the_items() -> None:
    """The next item cannot be read; the one before it fails in its worker, and later."""

    def items() -> Iterator[Any]:
        yield from [0, "data"]
        raise DataError("not UTF-8", path="corpus.txt", line=3)

    with ProcessPool(work, 4) as pool, pytest.raises(DataError, match=r"corpus\.conll, line 7"):
        list(pool.map(items()))


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_an_error_in_reading_comes_after_the_results(size: int, count: int) -> None:
    def items() -> Iterator[int]:
        yield from range(count)
        raise DataError("not UTF-8", path="corpus.txt", line=3)

    with ProcessPool(work, size) as pool:
        results = pool.map(items())
        assert [next(results)[0] for _ in range(count)] == list(range(count))
        with pytest.raises(DataError, match=r"corpus\.txt, line 3: not UTF-8"):
            next(results)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("what", "how"), [("kill", r"killed by signal 9 \(SIGKILL\)"), ("exit", "exit status 3")]
)
def test_a_worker_that_ends(method: str, what: str, how: str) -> None:
    with ProcessPool(work, 2, start_method=method) as pool, pytest.raises(WorkerLostError, match=how):
        list(pool.map([0, 1, what, 3, 4, 5]))
    assert not multiprocessing.active_children()


def test_the_file_of_a_real_reader(tmp_path: Path) -> None:
    """A bad line is reported by the reader in this process, with the results before it."""
    from roster.corpus.io import read

    (tmp_path / "c.conll").write_text("Ada B-PER\nleft O\n\n" * 5 + "Oslo O O\n", encoding="utf-8")
    with ProcessPool(work, 2) as pool, pytest.raises(DataError, match=r"c\.conll, line 16"):
        list(pool.map(read(tmp_path / "c.conll")))


def deaf(item: int) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return item


def test_workers_that_ignore_signals_end_with_the_pool() -> None:
    with ProcessPool(deaf, 2) as pool:
        results = pool.map(range(100))
        assert next(results) == 0
        processes = [process for process, _ in pool._workers]
    assert [process.is_alive() for process in processes] == [False, False]
