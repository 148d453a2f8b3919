"""What an engine does: one function of many items, in whatever processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Work(Protocol[T_contra, R_co]):
    """A function that is opened once in each process, for what takes long, such as loading a model.

    It is sent to other processes unopened. The same item has the same result in each.
    """

    def open(self) -> Callable[[T_contra], R_co]:
        """The function."""


class Engine(Protocol):
    """Computes a function of many items."""

    def map(self, work: Work[T, R], items: Sequence[T]) -> Iterator[tuple[T, R]]:
        """Each item with its result, as they are finished.

        An item whose process is lost is given to another one, so `work` may run more than once for an item;
        what it writes must be the same each time, and written in one step.

        Raises:
            RosterError: what `work` raised; or an item whose processes were lost again and again.
        """
