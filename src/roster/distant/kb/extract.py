"""All names of all instances of a class map, as a dictionary: `surface<TAB>type<TAB>item`.

Public endpoints stop a query after about a minute. So the extraction is divided into pages of a few quick
queries: several small classes, or a part of a large one. Finished pages are kept in a work file beside the
output; after an interruption the same command resumes there. The output is written after the last page.

An item of several classes belongs to the page of the first of them and is skipped on the others, so that no
line is written twice.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import IO, BinaryIO

from roster.distant.kb import queries
from roster.distant.kb.base import Backend, Row
from roster.distant.kb.batching import select_batched
from roster.distant.kb.classes import ClassMap, RdfVocabulary, is_iri, load_classes
from roster.distant.kb.lookup import BATCH, Taxonomy
from roster.errors import ConfigError, RosterError
from roster.files import atomic, fingerprint, lock, refuse_input
from roster.parsing import parse_json
from roster.progress import bar

PAGE = 10_000
HEADER = "surface\ttype\titem\n"
DONE = b"#done\n"
"""Marks the end of a page in the work file. It has no tab, unlike the lines of a page."""


@dataclass(frozen=True)
class Page:
    """Direct instances of some small classes, or (with one class) a part of a large one."""

    classes: tuple[str, ...]
    offset: int | None = None


@dataclass(frozen=True)
class Extracted:
    names: int
    pages: int
    resumed: int
    """Number of pages finished by an earlier run."""


def extract(
    backend: Backend,
    output: str | PathLike[str],
    classes: ClassMap | str | PathLike[str] = "conll",
    *,
    page: int = PAGE,
    batch: int = BATCH,
) -> Extracted:
    """Write the dictionary `output` (compressed if it ends in .gz), resuming where an earlier run ended.

    Args:
        backend: the store or endpoint.
        output: the dictionary to write.
        classes: the class map, or its name or file as for `load_classes`.
        page: number of items between two saved points.
        batch: number of items or classes in a query.

    Raises:
        ConfigError: for a page or a batch of less than one item, or a class map that is wrong.
        RosterError: if `output` is the class map or a file of the store, or cannot be written; or if the
            backend cannot answer.
    """
    if not isinstance(classes, ClassMap):
        refuse_input(output, [backend.name, Path(classes)])
        classes = load_classes(classes)
    if page < 1:
        raise ConfigError(f"page: at least 1 item, not {page}")
    output = Path(output)
    settings = fingerprint(backend.name, asdict(classes), page)
    with _work_file(output, settings) as work:
        pages = work.pages(lambda: plan(backend, classes, page=page, batch=batch))
        reader, resumed = _Reader(backend, classes, pages, page, batch), work.finished
        with bar(description="extract", total=len(pages), initial=resumed, unit="page") as progress:
            for this in pages[resumed:]:
                work.add(reader.lines(this))
                progress.update()
        names = work.publish(output)
    return Extracted(names, len(pages), resumed)


def plan(backend: Backend, classes: ClassMap, *, page: int = PAGE, batch: int = BATCH) -> list[Page]:
    """The pages of all classes at or below those of the class map, of about `page` items each."""
    pages: list[Page] = []
    small: list[str] = []
    items = 0
    for class_, count in _sizes(backend, _below(backend, classes, batch), classes.vocabulary, batch):
        if count > page:
            pages += (Page((class_,), offset) for offset in range(0, count, page))
            continue
        if small and (items + count > page or len(small) == batch):
            pages.append(Page(tuple(small)))
            small, items = [], 0
        small.append(class_)
        items += count
    if small:
        pages.append(Page(tuple(small)))
    return pages


def _below(backend: Backend, classes: ClassMap, batch: int) -> list[str]:
    """The classes of the map and everything below them, level by level; classes seen before end cycles."""
    seen = dict.fromkeys(classes.roots)
    level = list(seen)
    with bar(description="classes", unit="class") as progress:
        while level:
            progress.update(len(level))
            rows = select_batched(
                backend, level, lambda some: queries.children(some, classes.vocabulary), batch=batch
            )
            children = {row["class"] for row in rows if is_iri(row["class"])}
            level = sorted(children - seen.keys())
            seen.update(dict.fromkeys(level))
    return list(seen)


def _sizes(
    backend: Backend, classes: Sequence[str], vocabulary: RdfVocabulary, batch: int
) -> Iterator[tuple[str, int]]:
    """The classes that have instances, in the order given, with the number of instances."""
    types = {
        row["class"]: int(row["count"])
        for row in select_batched(
            backend, classes, lambda some: queries.counts(some, vocabulary), batch=batch
        )
        if "class" in row
    }
    return ((c, types[c]) for c in classes if types.get(c))


class _Reader:
    """Reads pages. The first class of an item in `order` determines its page."""

    def __init__(self, backend: Backend, classes: ClassMap, pages: Sequence[Page], size: int, batch: int):
        self._backend, self._classes, self._size, self._batch = backend, classes, size, batch
        self._taxonomy = Taxonomy(backend, classes, batch=batch)
        self._order = {c: n for n, c in enumerate(dict.fromkeys(c for page in pages for c in page.classes))}

    def lines(self, page: Page) -> list[str]:
        """The lines of one page, in the order of the items and then of their names."""
        kinds: dict[str, set[str]] = {}
        for row in self._ask(queries.classes_of, self._items(page)):
            kinds.setdefault(row["item"], set()).add(row["class"])
        here = set(page.classes)
        ours = {item: classes for item, classes in kinds.items() if self._first(classes) in here}
        self._taxonomy.learn({c for classes in ours.values() for c in classes})
        types = {item: kind for item, classes in ours.items() if (kind := self._taxonomy.type_of(classes))}
        names: dict[str, set[str]] = {}
        for row in self._ask(queries.names_of, list(types)):
            if name := " ".join(row["name"].split()):
                names.setdefault(row["item"], set()).add(name)
        return [
            f"{name}\t{types[item]}\t{self._classes.short(item)}\n"
            for item in sorted(names, key=lambda item: (len(item), item))
            for name in sorted(names[item])
        ]

    def _items(self, page: Page) -> list[str]:
        if page.offset is None:
            rows = self._ask(queries.members, page.classes)
        else:
            vocabulary = self._classes.vocabulary
            query = queries.members_page(page.classes[0], vocabulary, limit=self._size, offset=page.offset)
            rows = self._backend.select(query)
        return sorted({row["item"] for row in rows if is_iri(row["item"])})

    def _first(self, classes: Iterable[str]) -> str | None:
        return min((c for c in classes if c in self._order), key=self._order.__getitem__, default=None)

    def _ask(
        self, query: Callable[[Sequence[str], RdfVocabulary], str], terms: Iterable[str]
    ) -> Iterator[Row]:
        vocabulary = self._classes.vocabulary
        return select_batched(self._backend, terms, lambda some: query(some, vocabulary), batch=self._batch)


class _Work:
    """The file of finished pages: a line with the plan, then for each page its lines and one that ends it."""

    def __init__(self, path: Path, file: BinaryIO, settings: str):
        self._path, self._file, self._settings = path, file, settings
        self.finished = 0

    def pages(self, make: Callable[[], list[Page]]) -> list[Page]:
        """The plan of an earlier run, whose unfinished page is removed, or a new one."""
        first = self._file.readline()
        if not first.endswith(b"\n"):  # new, or killed while the plan was written
            pages = make()
            self._file.seek(0)
            self._file.truncate()
            tree = {"settings": self._settings, "pages": [[p.classes, p.offset] for p in pages]}
            self._write(json.dumps(tree).encode() + b"\n")
            return pages
        try:
            tree = parse_json(first)
            pages = [Page(tuple(classes), offset) for classes, offset in tree["pages"]]
            same = tree["settings"] == self._settings
        except (ValueError, KeyError, TypeError):
            raise RosterError(f"{self._path} is not a work file of ours; move it away") from None
        if not same:
            raise RosterError(
                f"{self._path} was begun from another place or with other classes or pages; "
                "give the same again, or delete it to start anew"
            )
        end = self._file.tell()
        for line in iter(self._file.readline, b""):
            if line == DONE:
                self.finished += 1
                end = self._file.tell()
        self._file.seek(end)
        self._file.truncate()
        return pages

    def add(self, lines: Sequence[str]) -> None:
        self._write("".join(lines).encode() + DONE)
        self.finished += 1

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RosterError(f"cannot write {self._path}: {error.strerror}") from error

    def publish(self, output: Path) -> int:
        """Write the lines of all pages as the dictionary."""
        self._file.seek(0)
        self._file.readline()
        names = 0
        with atomic(output, "wb") as plain, _packed(plain, output) as target:
            target.write(HEADER.encode())
            for line in self._file:
                if line != DONE:
                    target.write(line)
                    names += 1
        return names


@contextmanager
def _packed(plain: IO[bytes], output: Path) -> Iterator[IO[bytes]]:
    if output.suffix != ".gz":
        yield plain
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0) as target:
        yield target  # type: ignore[misc]


@contextmanager
def _work_file(output: Path, settings: str) -> Iterator[_Work]:
    """The work file beside `output`, locked by one process; removed after the output is written."""
    path = output.with_name(f"{output.name}.work")
    guard = output.with_name(f"{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
    except OSError as error:
        raise RosterError(f"cannot write {path}: {error.strerror}") from error
    with file:
        held = lock(guard, f"{path} is in use by another process that writes {output}")
        try:
            yield _Work(path, file, settings)
            file.close()
            path.unlink()
        finally:
            with suppress(OSError):  # some systems remove it when the lock is released
                guard.unlink()
            held.release()
