"""The columns, or keys, of the name and of its type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

# In order of preference. `label` can mean the type or the name (in a thesaurus, in Wikidata), so it is the
# last of both: in `name, label` it is the type, in `label, type` the name.
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
    """The positions of name and type if `names` are names of columns, in any case; else None.

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
    """The end of an error message about `names` without a name and a type."""
    shown = ", ".join(repr(name[:40]) for name in names[:8]) + (", ..." if len(names) > 8 else "")
    return (
        f"one for the name ({', '.join(SURFACE_NAMES[:4])}, ...) and one for its type "
        f"({', '.join(TYPE_NAMES[:2])}, category, label, ...); found {shown or 'none'}"
    )
