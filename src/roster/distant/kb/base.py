"""What the embedded store and a SPARQL endpoint have in common: they answer the same queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, Self

Row = dict[str, str]
"""A solution: variable name (without `?`) to the text of its value: an IRI without <>, or a literal's string.
Variables that are not bound are left out."""


class Backend(Protocol):
    """Answers SPARQL SELECT queries; a `with` block closes it."""

    name: str
    """What users call it: the path of a store or the address of an endpoint."""

    def select(self, query: str) -> Iterator[Row]:
        """The solutions, streamed where the backend can. Raises `RosterError` when anything goes wrong."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
