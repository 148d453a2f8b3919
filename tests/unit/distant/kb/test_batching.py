from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.distant.kb.answers import AnswerTooLarge, QueryTimeout
from roster.distant.kb.base import Row
from roster.distant.kb.batching import select_batched
from roster.errors import ConfigError, RosterError


class Limited:
    """Answers a query of up to `limit` numbers with these numbers; a longer one breaks off half-way."""

    name = "limited"

    def __init__(self, limit: int, error: type[RosterError] = QueryTimeout):
        self.limit, self.error = limit, error
        self.sizes: list[int] = []

    def select(self, query: str) -> Iterator[Row]:
        numbers = query.split()
        self.sizes.append(len(numbers))
        for place, number in enumerate(numbers):
            if len(numbers) > self.limit and place >= len(numbers) // 2:
                raise self.error("too much")
            yield {"n": number}


def listed(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


@given(
    st.integers(0, 60),
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from([QueryTimeout, AnswerTooLarge]),
)
def test_every_item_is_answered_once_and_in_order(
    number: int, batch: int, limit: int, error: type[RosterError]
) -> None:
    backend = Limited(limit, error)
    rows = list(select_batched(backend, iter(range(number)), listed, batch=batch))
    assert rows == [{"n": str(n)} for n in range(number)]
    refused = [size for size in backend.sizes if size > limit]
    assert backend.sizes[: len(refused)] == refused  # only at the start: the smaller size is kept
    assert all(size <= batch for size in backend.sizes)
    assert len(refused) <= 6


def test_sizes() -> None:
    backend = Limited(3)
    list(select_batched(backend, range(10), listed, batch=9))
    assert backend.sizes == [9, 5, 3, 3, 3, 1]


def test_one_item_that_is_too_heavy_raises() -> None:
    backend = Limited(0)
    with pytest.raises(QueryTimeout):
        list(select_batched(backend, range(10), listed, batch=4))
    assert backend.sizes == [4, 2, 1]


def test_other_errors_do_not_halve() -> None:
    backend = Limited(1, RosterError)
    with pytest.raises(RosterError):
        list(select_batched(backend, range(10), listed, batch=4))
    assert backend.sizes == [4]


def test_items_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []
    rows = select_batched(Limited(9), (taken.append(n) or n for n in range(10)), listed, batch=3)
    next(rows)
    assert taken == [0, 1, 2]


def test_a_batch_holds_at_least_one() -> None:
    with pytest.raises(ConfigError, match="batch: at least 1 item, not 0"):
        list(select_batched(Limited(9), [1], listed, batch=0))
