"""Which column, or which key, holds the name and which its type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

# In order of preference. `label` is a type to some and a name to others (a thesaurus's, Wikidata's), so it
# comes last in both: `name, label` has its type in `label`, `label, type` its name.
SURFACE_NAMES = (
    *("surface", "surface_form", "name", "text", "term", "phrase", "mention", "entity", "alias"),
    *("synonym", "string", "title", "word", "label"),
)
TYPE_NAMES = (
    *("type", "types", "entity_type", "semantic_type", "category", "categories", "class", "kind", "tag"),
    *("label", "labels"),
)


class Columns(NamedTuple):
    surface: int
    kind: int


@lru_cache(maxsize=64)
def find_columns(names: tuple[str, ...]) -> Columns | None:
    """Where the name and its type stand, if `names` are names of columns; case does not matter.

    >>> find_columns(("id", "Type", "Name"))
    Columns(surface=2, kind=1)
    >>> find_columns(("label", "type")), find_columns(("name", "label"))
    (Columns(surface=0, kind=1), Columns(surface=0, kind=1))
    >>> find_columns(("Oslo", "type")), find_columns(("label", "id"))
    (None, None)
    """
    plain = [_plain(name) for name in names]
    kind = next((plain.index(name) for name in TYPE_NAMES if name in plain), None)
    if kind is None:
        return None
    plain[kind] = ""
    surface = next((plain.index(name) for name in SURFACE_NAMES if name in plain), None)
    return None if surface is None else Columns(surface, kind)


def _plain(name: str) -> str:
    return name.strip().lstrip("#").strip().casefold().replace(" ", "_").replace("-", "_")


def not_found(names: Sequence[str]) -> str:
    """The end of an error about `names`, in which no name and type were found."""
    shown = ", ".join(repr(name[:40]) for name in names[:8]) + (", ..." if len(names) > 8 else "")
    return (
        f"one for the name ({', '.join(SURFACE_NAMES[:4])}, ...) and one for its type "
        f"({', '.join(TYPE_NAMES[:2])}, category, label, ...); found {shown or 'none'}"
    )
