"""The parts of `python -m benchmarks scaling`: the model of the time, and results."""

from __future__ import annotations

from heapq import heapify, heapreplace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.measure import OK, Measurement
from benchmarks.scaling.model import Costs, fitted, seconds
from benchmarks.scaling.run import Case, result

SIZE = 1 << 20


@given(st.integers(1, 300), st.integers(1, 40), st.floats(0, 9), st.floats(1e3, 1e6), st.floats(0, 2))
def test_the_model_is_a_queue_of_equal_shards(
    shards: int, workers: int, begin: float, rate: float, overhead: float
) -> None:
    """Each worker takes the next shard when it is free."""
    free = [begin] * workers
    heapify(free)
    for _ in range(shards):
        heapreplace(free, free[0] + SIZE / shards / rate + overhead)
    assert seconds(Costs(begin, rate, overhead), SIZE, shards, workers) == pytest.approx(max(free))


@given(st.floats(0, 9), st.floats(1e3, 1e6), st.floats(0, 2))
def test_costs_are_found_again(begin: float, rate: float, overhead: float) -> None:
    costs = Costs(begin, rate, overhead)
    few, many = ((SIZE, n, seconds(costs, SIZE, n, 1)) for n in (4, 64))
    found = fitted(few, many, rate)
    assert found.begin == pytest.approx(begin, abs=1e-4)
    assert found.overhead == pytest.approx(overhead, abs=1e-4)


def measured(shards: int, seconds: float) -> Measurement:
    facts = {"seconds": seconds, "shards": shards, "bytes": SIZE, "work": 10.0, "processor": 8.0}
    return Measurement(OK, facts)


def test_a_result_has_ratio_and_prediction() -> None:
    outcomes = {
        Case("convert", SIZE // n, engine, workers): [measured(n, time), measured(n, time * 2)]
        for n, engine, workers, time in (
            (2, "local", 1, 10.0),
            (8, "local", 1, 10.0),
            (2, "ray", 1, 12.0),
            (8, "ray", 1, 18.0),
            (8, "ray", 2, 9.0),
        )
    }
    one = result(Case("convert", SIZE // 8, "ray", 2), outcomes)
    assert one["to_local"]["median"] == pytest.approx(0.9)
    assert one["rate"]["max"] == pytest.approx(SIZE / 9)
    assert one["core_rate"]["median"] == SIZE / 8
    # On one worker 18 and 27 s in the median; the work is 10 s, so a shard costs 1.5 s and the beginning 5 s.
    assert one["predicted"] == pytest.approx(5 + 4 * (10 / 8 + 1.5))
    assert result(Case("convert", SIZE // 8, "ray", 1), outcomes)["predicted"] is None  # fitted to it
