"""Types of names from a knowledge base: items with the name as label or alias, and their classes.

This is `?item wdt:P31/wdt:P279* ?class` in two steps: the items and their direct classes, for a batch of
names at once; then the super-classes of these classes, level by level, each class once in a run, because
thousands of names share a few hundred classes. The path in one query would be evaluated again for every item.
All sub-classes of the class map would be far more than the names need ("organization" has tens of thousands
in Wikidata). Classes seen before are not asked for again, which also ends cycles of P279.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from roster.distant.kb import queries
from roster.distant.kb.base import Backend
from roster.distant.kb.batching import select_batched
from roster.distant.kb.classes import ClassMap, is_iri
from roster.distant.kb.store import Store
from roster.progress import bar

BATCH = 200
"""Names in a query; about 80 kB of SPARQL with two languages and two properties."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An item with the name as its label or alias (`via`). `type` is empty where the class map has none."""

    type: str
    item: str
    via: str


def open_backend(name: str | PathLike[str], **endpoint_options: Any) -> Backend:
    """A SPARQL endpoint for an http(s) address, with the options of `Endpoint`; else a store folder."""
    if str(name).lower().startswith(("http://", "https://")):
        from roster.distant.kb.endpoint import Endpoint

        return Endpoint(str(name), **endpoint_options)
    return Store(name)


class Taxonomy:
    """The super-classes of the classes seen so far."""

    def __init__(self, backend: Backend, classes: ClassMap, *, batch: int = BATCH):
        self._backend, self._classes, self._batch = backend, classes, batch
        self._parents: dict[str, list[str]] = {}
        self._types: dict[frozenset[str], str] = {}

    def learn(self, classes: Iterable[str]) -> None:
        """Query the super-classes of these classes, those known before left out."""
        level = {c for c in classes if is_iri(c)} - self._parents.keys()
        while level:
            asked = sorted(level)
            self._parents.update((c, []) for c in asked)
            rows = select_batched(
                self._backend,
                asked,
                lambda some: queries.parents(some, self._classes.vocabulary),
                batch=self._batch,
            )
            for row in rows:
                self._parents[row["class"]].append(row["parent"])
            level = {p for c in asked for p in self._parents[c] if is_iri(p)} - self._parents.keys()

    def steps(self, classes: Iterable[str]) -> dict[str, int]:
        """The given classes and their super-classes, with the smallest number of subclass steps to each."""
        away = dict.fromkeys(classes, 0)
        level, distance = list(away), 0
        while level:
            distance += 1
            above = dict.fromkeys(p for c in level for p in self._parents.get(c, ()))
            level = [p for p in above if p not in away]
            away.update((p, distance) for p in level)
        return away

    def type_of(self, classes: Iterable[str]) -> str:
        """The type of an item with these classes (given to `learn` before); empty if it has none."""
        key = frozenset(classes)
        if key not in self._types:
            self._types[key] = self._classes.type_of(self.steps(key)) or ""
        return self._types[key]


def types_of(
    backend: Backend,
    names: Iterable[str],
    classes: ClassMap,
    *,
    batch: int = BATCH,
    case_variants: bool = False,
) -> dict[str, tuple[Hit, ...]]:
    """Each name with a hit for every item that has it and a type; names without one have ().

    Names are looked up as given; with `case_variants`, those without a hit also in other cases. Hits are
    sorted: those by label before those by alias, then by type and by item.
    """
    hits_by_name = items_of(backend, names, classes, batch=batch, case_variants=case_variants)
    return {name: tuple(hit for hit in hits if hit.type) for name, hits in hits_by_name.items()}


def items_of(
    backend: Backend,
    names: Iterable[str],
    classes: ClassMap,
    *,
    batch: int = BATCH,
    case_variants: bool = False,
) -> dict[str, tuple[Hit, ...]]:
    """As `types_of`, with the items for which the class map has no type, too."""
    taxonomy = Taxonomy(backend, classes, batch=batch)
    wanted = list(dict.fromkeys(names))
    hits_by_name = _asked(backend, wanted, classes, taxonomy, batch)
    if case_variants:
        others = {n: variants(n) for n in wanted if not any(hit.type for hit in hits_by_name.get(n, ()))}
        again = dict.fromkeys(v for some in others.values() for v in some)
        second = _asked(backend, again, classes, taxonomy, batch)
        for name, some in others.items():
            hits = [*hits_by_name.get(name, ()), *(hit for v in some for hit in second.get(v, ()))]
            hits_by_name[name] = _ordered(hits, classes)
    return {name: hits_by_name.get(name, ()) for name in wanted}


def variants(name: str) -> tuple[str, ...]:
    """Other ways to write the case of a name, without the name itself.

    >>> variants("NEW YORK"), variants("iPhone")
    (('New York', 'New york', 'new york'), ('Iphone', 'IPHONE', 'iphone'))
    """
    # Not str.title, which gives "O'Hara'S".
    words = " ".join(word[:1].upper() + word[1:].lower() for word in name.split(" "))
    sentence = name[:1].upper() + name[1:].lower()
    return tuple(v for v in dict.fromkeys((words, sentence, name.upper(), name.lower())) if v != name)


def _asked(
    backend: Backend, names: Iterable[str], classes: ClassMap, taxonomy: Taxonomy, batch: int
) -> dict[str, tuple[Hit, ...]]:
    """The hits of the names that have any."""
    asked = [name for name in names if queries.can_be_asked(name)]
    vocabulary = classes.vocabulary
    kinds: dict[tuple[str, str, str], set[str]] = {}

    def query(some: Sequence[str]) -> str:
        return queries.items_named(some, vocabulary)

    progress = bar(asked, description="look up", total=len(asked), unit="name")
    for row in select_batched(backend, progress, query, batch=batch):
        via = "label" if row["via"] in vocabulary.label else "alias"
        of_item = kinds.setdefault((row["name"], row["item"], via), set())
        if "class" in row:
            of_item.add(row["class"])
    taxonomy.learn({c for of_item in kinds.values() for c in of_item})
    hits: dict[str, list[Hit]] = {}
    for (name, item, via), of_item in kinds.items():
        hits.setdefault(name, []).append(Hit(taxonomy.type_of(of_item), item, via))
    return {name: _ordered(some, classes) for name, some in hits.items()}


def _ordered(hits: Iterable[Hit], classes: ClassMap) -> tuple[Hit, ...]:
    """Each item once, by its label if the name is its label; sorted, whatever the order of the backend."""
    place = {kind.name: n for n, kind in enumerate(classes.types)}

    def rank(hit: Hit) -> tuple[bool, int, int, str]:
        return hit.via != "label", place.get(hit.type, len(place)), len(hit.item), hit.item

    first: dict[str, Hit] = {}
    for hit in sorted(hits, key=rank):
        first.setdefault(hit.item, hit)
    return tuple(first.values())
