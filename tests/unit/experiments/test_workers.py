"""Several pieces of work at the same time, in real processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
import torch

from roster.errors import RosterError
from roster.experiments.workers import finished
from roster.model.processor import cores, limit_threads


def work(item: tuple[str, str]) -> str:
    what, where = item
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "fail":
        raise RosterError("this cannot be")
    if what == "meet":  # two that wait for each other: only both at once get through
        own, other = where.split(" ")
        Path(own).touch()
        deadline = time.monotonic() + 60
        while not Path(other).exists():
            assert time.monotonic() < deadline, "the other never came"
            time.sleep(0.01)
    return f"{what} done"


@pytest.mark.parametrize("workers", [1, 2])
def test_all_are_done_and_a_failure_is_one_items(workers: int) -> None:
    items = [("a", ""), ("fail", ""), ("b", ""), ("c", "")]
    found = dict(finished(work, items, workers))
    assert set(found) == set(items)
    assert [found[item].result() for item in items if item[0] != "fail"] == ["a done", "b done", "c done"]
    with pytest.raises(RosterError, match="this cannot be"):
        found["fail", ""].result()


def test_a_worker_that_dies_costs_one_item() -> None:
    items = [("die", ""), ("a", ""), ("b", ""), ("c", "")]
    found = dict(finished(work, items, 2))
    assert [found[item].result() for item in items[1:]] == ["a done", "b done", "c done"]
    with pytest.raises(RosterError, match="the worker process died"):
        found["die", ""].result()


def test_at_the_same_time(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    items = [("meet", f"{one} {two}"), ("meet", f"{two} {one}")]
    assert [done.result() for _, done in finished(work, items, 2)] == ["meet done"] * 2


def threads(_: int) -> tuple[int, int]:
    """As the worker has them, and as training on a CPU leaves them."""
    before = torch.get_num_threads()
    limit_threads()
    return before, torch.get_num_threads()


def test_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for _, done in finished(threads, [1, 2], 2):
        before, after = done.result()
        assert 1 <= before == after <= cores(2)


def test_the_environment_has_the_last_word_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker has as many as any fresh process of torch's."""
    monkeypatch.setenv("OMP_NUM_THREADS", str(os.cpu_count()))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        many = fresh.submit(torch.get_num_threads).result()
    assert [done.result() for _, done in finished(threads, [1, 2], 2)] == [(many, many)] * 2


def test_nothing_to_do() -> None:
    assert list(finished(work, [], 3)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_items_that_follow_from_others(workers: int) -> None:
    """They are started when the caller has dealt with the one that they follow from, also with one that
    failed."""
    after = {("a", ""): [("b", ""), ("fail", "")], ("fail", ""): [("c", "")]}
    seen = []
    for item, _ in finished(work, [("a", "")], workers, lambda item: after.get(item, [])):
        seen.append(item)
    assert set(seen) == {("a", ""), ("b", ""), ("c", ""), ("fail", "")}
    assert seen.index(("fail", "")) < seen.index(("c", ""))


def test_the_least_rank_first() -> None:
    after = {"2": ["0"]}
    items = finished(str.upper, ["1", "3", "2"], 1, lambda item: after.get(item, []), float)
    assert [item for item, _ in items] == ["1", "2", "0", "3"]
