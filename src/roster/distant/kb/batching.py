"""Queries about many items, in batches that are halved where the endpoint fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from roster.distant.kb.answers import QueryTooHeavy
from roster.distant.kb.base import Backend, Row
from roster.errors import ConfigError

T = TypeVar("T")


def select_batched(
    backend: Backend, items: Iterable[T], make_query: Callable[[Sequence[T]], str], *, batch: int
) -> Iterator[Row]:
    """The rows of `make_query(...)` over all items, `batch` items to a query.

    A batch that fails is halved, down to one item. The smaller size is kept, because each failure costs the
    whole time limit of the endpoint. An item that fails alone raises the error. The rows of a batch are
    yielded after the whole batch is answered.
    """
    if batch < 1:
        raise ConfigError(f"batch: at least 1 item, not {batch}")
    source, waiting, size = iter(items), list[T](), batch
    while True:
        waiting += islice(source, max(0, size - len(waiting)))
        if not waiting:
            return
        asked = waiting[:size]
        try:
            rows = list(backend.select(make_query(asked)))
        except QueryTooHeavy:
            if len(asked) == 1:
                raise
            size = (len(asked) + 1) // 2
        else:
            del waiting[:size]
            yield from rows
