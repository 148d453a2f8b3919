"""Items one after the other in this process, or in several of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from roster.distant.labelling.process_pool import ProcessPool
from roster.shards.engines.base import Work

T = TypeVar("T")
R = TypeVar("R")


class _Opened:
    """Work that is opened in each process when its first item comes."""

    def __init__(self, work: Work[Any, Any]):
        self._work, self._function = work, None

    def __call__(self, item: Any) -> Any:
        if self._function is None:
            self._function = self._work.open()  # type: ignore[assignment]
        return self._function(item)  # type: ignore[misc]


@dataclass(frozen=True)
class LocalEngine:
    """This machine. `workers` is the number of processes; with 1 it is this process."""

    workers: int = 1

    def map(self, work: Work[T, R], items: Sequence[T]) -> Iterator[tuple[T, R]]:
        """Each item with its result, in order. See `Engine`; a lost process ends the command, and nothing is
        lost."""
        with ProcessPool(_Opened(work), min(self.workers, max(1, len(items)))) as pool:
            yield from zip(items, pool.map(items), strict=True)
