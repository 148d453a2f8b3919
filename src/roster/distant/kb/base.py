"""The interface of the embedded store and of a SPARQL endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, Self

Row = dict[str, str]
"""A solution: variable name (without `?`) to the text of its value: an IRI without <>, or a literal's string.
Variables that are not bound are left out."""


class Backend(Protocol):
    """Answers SPARQL SELECT queries; a `with` block closes it."""

    name: str
    """For messages: the path of a store or the address of an endpoint."""

    def select(self, query: str) -> Iterator[Row]:
        """The solutions, streamed where the backend can. Raises `RosterError` if the query fails."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
