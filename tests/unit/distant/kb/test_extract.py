"""Extraction: every name of every instance once, whatever the pages, and going on after any end."""

from __future__ import annotations

import gzip
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.distant.entries import read_entries
from roster.distant.kb.base import Row
from roster.distant.kb.classes import PREFIXES, class_map
from roster.distant.kb.extract import extract, plan
from roster.distant.kb.lookup import types_of
from roster.errors import ConfigError, RosterError

WD, WDT = PREFIXES["wd"], PREFIXES["wdt"]
LABEL, ALIAS = PREFIXES["rdfs"] + "label", PREFIXES["skos"] + "altLabel"
INSTANCE, SUBCLASS = WDT + "P31", WDT + "P279"
CLASSES = class_map(
    {
        "types": {"PER": ["Q5"], "LOC": ["Q6"], "ORG": {"classes": ["Q7"], "exclude": ["Q77"]}},
        "exclude": ["Q9"],
    },
    "test",
)


class Memory:
    """A store in memory that can fail at a given query."""

    name = "memory"

    def __init__(self, fail_at: int = 0):
        self.store, self.asked, self.fail_at = ox.Store(), 0, fail_at

    def put(self, subject: str, predicate: str, value: str, language: str = "en") -> None:
        literal = predicate in (LABEL, ALIAS)
        target = ox.Literal(value, language=language) if literal else ox.NamedNode(WD + value)
        self.store.add(ox.Quad(ox.NamedNode(WD + subject), ox.NamedNode(predicate), target))

    def select(self, query: str) -> Iterator[Row]:
        self.asked += 1
        if self.asked == self.fail_at:
            raise RosterError("the endpoint has gone")
        solutions = self.store.query(query)
        names = [v.value for v in solutions.variables]
        return ({n: v.value for n, v in zip(names, s, strict=True) if v is not None} for s in solutions)


def world(seed: int = 0, items: int = 300) -> Memory:
    """Classes 5 to 99 in a tangle with cycles; items of one to three classes, some in none of ours."""
    draw, backend = random.Random(seed), Memory()
    for c in range(10, 100):
        for _ in range(draw.choice((1, 1, 2))):
            backend.put(f"Q{c}", SUBCLASS, f"Q{draw.choice((5, 6, 7, 8, 9, 9 + draw.randrange(1, 90)))}")
    for n in range(1000, 1000 + items):
        for _ in range(draw.choice((1, 1, 2, 3))):
            backend.put(f"Q{n}", INSTANCE, f"Q{draw.choice((5, 5, 5, draw.randrange(5, 100)))}")
        backend.put(f"Q{n}", LABEL, f"name {n % 250}")
        for k in range(draw.randrange(3)):
            backend.put(f"Q{n}", ALIAS, f"alias {k}  of\t{n}")
        backend.put(f"Q{n}", LABEL, f"Name {n}", language="de")
    return backend


def expected(backend: Memory) -> set[tuple[str, str, str]]:
    """By looking up every name there is, which shares nothing of the walk down."""
    names = [row["n"] for row in backend.select(f"SELECT ?n {{ ?i <{LABEL}>|<{ALIAS}> ?n }}")]
    return {
        (" ".join(name.split()), hit.type, hit.item.removeprefix(WD))
        for name, hits in types_of(backend, names, CLASSES).items()
        for hit in hits
    }


def lines(path: Path) -> list[tuple[str, ...]]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [tuple(line.split("\t")) for line in raw.decode().splitlines()]


@pytest.mark.parametrize("page", [1, 7, 60, 10_000])
@pytest.mark.parametrize("batch", [3, 200])
def test_every_name_once_whatever_the_pages(page: int, batch: int, tmp_path: Path) -> None:
    backend = world()
    done = extract(backend, tmp_path / "names.tsv", CLASSES, page=page, batch=batch)
    header, *found = lines(tmp_path / "names.tsv")
    assert header == ("surface", "type", "item")
    assert len(found) == len(set(found)) == done.names
    assert set(found) == expected(backend)
    assert {kind for _, kind, _ in found} == {"PER", "LOC", "ORG"}
    assert done.resumed == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["names.tsv"]


def test_the_class_map_is_not_replaced(tmp_path: Path) -> None:
    classes = tmp_path / "classes.toml"
    classes.write_text('[types]\nPER = ["Q5"]\n')
    with pytest.raises(RosterError, match=r"classes\.toml is an input of this command"):
        extract(world(), classes, classes)
    assert classes.read_text() == '[types]\nPER = ["Q5"]\n'
    assert extract(world(), tmp_path / "names.tsv", classes).names > 0


def test_it_is_a_dictionary(tmp_path: Path) -> None:
    extract(world(), tmp_path / "names.tsv.gz", CLASSES)
    read = [
        e
        for batch in read_entries(tmp_path / "names.tsv.gz")
        for e in zip(batch.surfaces, batch.kinds, strict=True)
    ]
    assert read == [(surface, kind) for surface, kind, _ in lines(tmp_path / "names.tsv.gz")[1:]]


def test_compressed_and_repeatable(tmp_path: Path) -> None:
    for name in ("a.tsv.gz", "b.tsv.gz", "c.tsv"):
        extract(world(), tmp_path / name, CLASSES, page=40)
    assert (tmp_path / "a.tsv.gz").read_bytes() == (tmp_path / "b.tsv.gz").read_bytes()
    assert lines(tmp_path / "a.tsv.gz") == lines(tmp_path / "c.tsv")


def test_pages_are_of_the_size_asked() -> None:
    backend = world()
    pages = plan(backend, CLASSES, page=40, batch=10)
    large = {c for p in pages if p.offset is not None for c in p.classes}
    assert large == {WD + "Q5"}
    assert max(len(p.classes) for p in pages) <= 10
    counted = {
        row["c"]: int(row["n"])
        for row in backend.select(f"SELECT ?c (COUNT(?i) AS ?n) {{ ?i <{INSTANCE}> ?c }} GROUP BY ?c")
    }
    for p in pages:
        if p.offset is None:
            assert sum(counted[c] for c in p.classes) <= 40
    offsets = [p.offset for p in pages if p.offset is not None]
    assert offsets == list(range(0, counted[WD + "Q5"], 40))
    once = [c for p in pages for c in p.classes if c not in large]
    assert len(once) == len(set(once))


@given(st.integers(1, 200), st.integers(0, 60))
@settings(max_examples=25)
def test_it_goes_on_after_any_failure(fail_at: int, cut: int) -> None:
    """Also when the end of the work file is lost, as by a process that was killed while it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        output, whole = Path(folder, "names.tsv"), Path(folder, "whole.tsv")
        backend = world(items=60)
        extract(backend, whole, CLASSES, page=5, batch=10)
        asked, backend.asked, backend.fail_at = backend.asked, 0, fail_at
        if fail_at > asked:
            return
        with pytest.raises(RosterError, match="has gone"):
            extract(backend, output, CLASSES, page=5, batch=10)
        assert not output.exists()
        work = Path(folder, "names.tsv.work")
        os.truncate(work, max(0, work.stat().st_size - cut))
        backend.asked = backend.fail_at = 0
        done = extract(backend, output, CLASSES, page=5, batch=10)
        assert output.read_bytes() == whole.read_bytes()
        assert not work.exists()
        if done.resumed:
            assert backend.asked < asked


def test_another_run_is_not_continued(tmp_path: Path) -> None:
    output, backend = tmp_path / "names.tsv", world()
    backend.fail_at = 40
    with pytest.raises(RosterError, match="has gone"):
        extract(backend, output, CLASSES, page=5)
    with pytest.raises(RosterError, match=r"names\.tsv\.work was begun from another place or with other"):
        extract(backend, output, CLASSES, page=6)
    (tmp_path / "names.tsv.work").write_text("something else\n")
    with pytest.raises(RosterError, match=r"names\.tsv\.work is not a work file of ours; move it away"):
        extract(backend, output, CLASSES, page=5)
    assert (tmp_path / "names.tsv.work").read_text() == "something else\n"


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """And no file is left beside the output afterwards."""
    with FileLock(tmp_path / "names.tsv.work.lock"), pytest.raises(RosterError, match="in use by another"):
        extract(world(), tmp_path / "names.tsv", CLASSES)
    extract(world(), tmp_path / "names.tsv", CLASSES)
    assert [path.name for path in tmp_path.iterdir()] == ["names.tsv"]


def test_nothing_to_extract(tmp_path: Path) -> None:
    assert extract(Memory(), tmp_path / "names.tsv", CLASSES).names == 0
    assert lines(tmp_path / "names.tsv") == [("surface", "type", "item")]
    with pytest.raises(ConfigError, match="page: at least 1 item, not 0"):
        extract(Memory(), tmp_path / "names.tsv", CLASSES, page=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(RosterError, match="cannot write"):
        extract(Memory(), tmp_path / "file" / "names.tsv", CLASSES)
