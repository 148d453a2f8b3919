"""The embedded knowledge base: a folder with the facts of a dump, indexed by Oxigraph.

A build streams: the number of triples in memory is bounded, and the folder appears when it is complete. A
finished store is read-only, for any number of processes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

from roster.distant.kb.base import Row
from roster.distant.kb.classes import ClassMap
from roster.distant.kb.dumps import Dump, oxigraph
from roster.errors import DataError, RosterError
from roster.files import atomic_folder, write_json
from roster.progress import bar

MARK = "roster-kb.json"
"""The file that marks a folder as a store, with statistics of the build."""


@dataclass(frozen=True)
class Built:
    """Statistics of a build.

    `items` counts the changes of subject: dumps list the facts of an item together, and remembering every
    item would take memory that grows with the dump.
    """

    items: int
    labels: int
    aliases: int
    triples: int
    broken: int
    first_broken: str
    seconds: float


class Store:
    """A store folder, opened for reading."""

    def __init__(self, path: str | PathLike[str]):
        self.name = str(path)
        if not Path(path).exists():
            raise RosterError(f"{path}: no such store; make one with: roster kb build DUMP -o {path}")
        if not Path(path, "CURRENT").is_file():
            raise RosterError(f"{path}: not a store; make one with: roster kb build DUMP -o STORE")
        ox = oxigraph()
        try:
            self._store = ox.Store.read_only(str(path))
        except (OSError, RuntimeError, ValueError) as error:
            raise RosterError(f"{path}: the store cannot be opened: {error}; build it again") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to do: a read-only store has no lock."""

    def select(self, query: str) -> Iterator[Row]:
        try:
            solutions = self._store.query(query)
        except SyntaxError as error:
            raise RosterError(f"{self.name}: not SPARQL: {_first_line(error)}") from error
        except (OSError, ValueError) as error:
            raise RosterError(f"{self.name}: the query failed: {_first_line(error)}") from error
        if not isinstance(solutions, oxigraph().QuerySolutions):
            raise RosterError(f"{self.name}: only SELECT queries are answered")
        names = [variable.value for variable in solutions.variables]
        try:
            for solution in solutions:
                yield {n: _text(v) for n, v in zip(names, solution, strict=True) if v is not None}
        except (OSError, RuntimeError, ValueError) as error:
            raise RosterError(f"{self.name}: the query failed: {_first_line(error)}") from error


def _text(term: Any) -> str:
    ox = oxigraph()
    return term.value if isinstance(term, ox.NamedNode | ox.Literal) else str(term)


def _first_line(error: Exception) -> str:
    """The message without the list of expected tokens that Oxigraph appends."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return text.partition("\n")[0].partition(": expected one of")[0]


def build(
    files: Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    classes: ClassMap,
    *,
    keep_all: bool = False,
    skip_broken: bool = False,
    force: bool = False,
) -> Built:
    """Build a store from dumps, with the facts that `classes` needs (with `keep_all`, all facts).

    A broken line raises `DataError`; with `skip_broken` it is counted. An existing `output` is an error; with
    `force`, a store is replaced at the end.
    """
    output = Path(output)
    if output.exists() or output.is_symlink():
        if not (output / MARK).is_file():
            raise RosterError(f"{output} is there and is not a store of ours; give -o another name")
        if not force:
            raise RosterError(f"{output} is there already; --force replaces it")
    ox = oxigraph()
    dumps = [Dump(path, classes.vocabulary, keep_all=keep_all) for path in files]
    begun, tally = time.perf_counter(), _Tally(classes, skip_broken)
    with (
        atomic_folder(output) as part,
        bar(description="read", total=sum(d.size for d in dumps) >> 20, unit="MiB") as progress,
    ):
        try:
            store = ox.Store(str(part))
            # One call for all files: it sorts a million triples at a time; more calls mean more merging.
            store.bulk_extend(quad for dump in dumps for quad in tally.count(dump, progress.update))
            store.optimize()
            store.flush()
            triples = len(store)
            del store
        except OSError as error:
            raise RosterError(f"cannot write {output}: {error.strerror or error}") from error
        if not triples:
            raise DataError(
                "nothing in there that the class map asks about; check its properties and languages",
                path=dumps[0].path if dumps else None,
            )
        built = Built(
            tally.items, tally.labels, tally.aliases, triples, tally.broken, tally.first_broken,
            round(time.perf_counter() - begun, 3),
        )  # fmt: skip
        vocabulary = {} if keep_all else asdict(classes.vocabulary)
        write_json(part / MARK, {"files": [str(d.path) for d in dumps], **vocabulary, **asdict(built)})
    return built


class _Tally:
    """Counts the triples of a build."""

    def __init__(self, classes: ClassMap, skip_broken: bool):
        self._label, self._alias = set(classes.vocabulary.label), set(classes.vocabulary.alias)
        self._skip = skip_broken
        self.items = self.labels = self.aliases = self.broken = 0
        self.first_broken = ""

    def count(self, dump: Dump, advance: Any) -> Iterator[Any]:
        last = None
        for quad in dump.quads(self._report, advance):
            if quad.subject != last:
                last = quad.subject
                self.items += 1
            predicate = quad.predicate.value
            self.labels += predicate in self._label
            self.aliases += predicate in self._alias
            yield quad

    def _report(self, error: DataError) -> None:
        if not self._skip:
            raise error
        self.broken += 1
        self.first_broken = self.first_broken or str(error)
