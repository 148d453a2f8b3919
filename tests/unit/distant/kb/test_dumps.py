"""Dumps: what is kept of each format, and what is said of what is broken."""

from __future__ import annotations

import bz2
import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.distant.kb import dumps
from roster.distant.kb.classes import RdfVocabulary, class_map, load_classes
from roster.distant.kb.dumps import Dump
from roster.errors import DataError

VOCABULARY = load_classes().vocabulary
WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
LABEL, ALIAS = "http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#altLabel"

NT = f"""\
<{WD}Q1> <{LABEL}> "Vell"@en .
<{WD}Q1> <{LABEL}> "Wel"@de .
<{WD}Q1> <{LABEL}> "Vellum"@mul .
<{WD}Q1> <{LABEL}> "untagged" .
<{WD}Q1> <{ALIAS}> "Old \\"Vell\\""@en .
<{WD}Q1> <{WDT}P31> <{WD}Q515> .
<{WD}Q1> <{WDT}P31> _:unknown .
<{WD}Q515> <{WDT}P279> <{WD}Q486972> .
<{WD}Q1> <{WDT}P17> <{WD}Q2> .
<{WD}Q1> <http://schema.org/description> "a town"@en .
"""
KEPT = {
    ("Q1", LABEL, "Vell", "en"),
    ("Q1", LABEL, "Vellum", "mul"),
    ("Q1", ALIAS, 'Old "Vell"', "en"),
    ("Q1", WDT + "P31", WD + "Q515", None),
    ("Q515", WDT + "P279", WD + "Q486972", None),
}


def entity(name: str = "Q1", **parts: Any) -> str:
    return json.dumps({"type": "item", "id": name, **parts})


def claim(target: str | None, rank: str = "normal") -> dict[str, Any]:
    snak: dict[str, Any] = {"snaktype": "somevalue"}
    if target is not None:
        snak = {"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": {"id": target}}}
    return {"mainsnak": snak, "rank": rank}


def raising(error: DataError) -> None:
    raise error


def read(
    path: Path,
    vocabulary: RdfVocabulary = VOCABULARY,
    report: Callable[[DataError], None] = raising,
    keep_all: bool = False,
) -> list[Any]:
    return list(Dump(path, vocabulary, keep_all=keep_all).quads(report))


def facts(quads: list[Any]) -> set[tuple[str, str, str, str | None]]:
    return {
        (
            q.subject.value.removeprefix(WD),
            q.predicate.value,
            q.object.value,
            getattr(q.object, "language", None),
        )
        for q in quads
    }


@pytest.mark.parametrize("packing", ["", ".gz", ".bz2"])
@pytest.mark.parametrize("form", ["nt", "ttl", "nq", "trig", "rdf"])
def test_every_rdf_format_gives_the_same(form: str, packing: str, tmp_path: Path) -> None:
    parsed = ox.parse(NT, format=ox.RdfFormat.N_TRIPLES)
    data = ox.serialize((q.triple for q in parsed), format=ox.RdfFormat.from_extension(form))
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[packing]
    path = tmp_path / f"dump.{form}{packing}"
    path.write_bytes(pack(data))
    assert facts(read(path)) == KEPT
    assert len(read(path, keep_all=True)) == 10


def test_graphs_are_laid_together(tmp_path: Path) -> None:
    (tmp_path / "d.nq").write_text(f'<{WD}Q1> <{LABEL}> "Vell"@en <http://graph/1> .\n')
    assert [q.graph_name for q in read(tmp_path / "d.nq")] == [ox.DefaultGraph()]


def test_text_without_a_language(tmp_path: Path) -> None:
    number = f'<{WD}Q1> <{LABEL}> "3"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    (tmp_path / "d.nt").write_text(NT + number)
    vocabulary = class_map({"types": {"A": ["Q1"]}, "languages": [""]}, "test").vocabulary
    assert {q.object.value for q in read(tmp_path / "d.nt", vocabulary) if q.predicate.value == LABEL} == {
        "untagged"
    }


@pytest.mark.parametrize("array", [True, False])
def test_wikidata_json(array: bool, tmp_path: Path) -> None:
    entities = [
        entity(
            labels={"en": {"language": "en", "value": "Vell"}, "de": {"language": "de", "value": "Wel"},
                    "mul": {"language": "mul", "value": "Vellum"}},
            aliases={"en": [{"language": "en", "value": 'Old "Vell"'}]},
            claims={"P31": [claim("Q515")], "P17": [claim("Q2")]},
        ),
        entity("Q515", labels=[], aliases=[], claims={"P279": [claim("Q486972")]}),
        entity("P31", labels={"en": {"language": "en", "value": "instance of"}}),
        entity("L7", lemmas={}),
        entity("Q7", claims=[]),
    ]  # fmt: skip
    text = "[\n" + ",\n".join(entities) + "\n]\n" if array else "\n".join(entities)
    (tmp_path / "d.json.gz").write_bytes(gzip.compress(text.encode()))
    assert facts(read(tmp_path / "d.json.gz")) == KEPT


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([claim("Q2"), claim("Q3")], {"Q2", "Q3"}),
        ([claim("Q2"), claim("Q3", "preferred"), claim("Q4", "deprecated")], {"Q3"}),
        ([claim("Q2"), claim(None, "preferred")], set()),
        ([claim("Q2", "deprecated")], set()),
        ([claim(None), claim("Q2")], {"Q2"}),
    ],
)
def test_truthy_statements(claims: list[Any], expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(entity(claims={"P31": claims}))
    assert {q.object.value.removeprefix(WD) for q in read(tmp_path / "d.jsonl")} == expected


def test_old_dumps_have_numbers(tmp_path: Path) -> None:
    old = {"mainsnak": {"snaktype": "value", "datavalue": {"value": {"numeric-id": 5}}}}
    (tmp_path / "d.json").write_text(entity(claims={"P31": [old]}))
    assert [q.object.value for q in read(tmp_path / "d.json")] == [WD + "Q5"]


BROKEN = {
    "d.nt": (
        NT.replace('"Wel"@de .', '"Wel@de .').replace("<http://schema.org/description>", "what"),
        [2, 10],
    ),
    "d.ttl": (f'@prefix wd: <{WD}> .\nwd:Q1 nonsense "x"@en .\nwd:Q1 <{LABEL}> "Vell"@en .\n', [2]),
    "d.json": (
        "\n".join(
            [
                "[",
                entity(labels={"en": {"language": "en", "value": "Vell"}}) + ",",
                '{"id": "Q2", ',
                '"text",',
                '{"no": "id"},',
                entity("Q3", labels={"en": {"language": "en"}}) + ",",
                entity("Q4", claims={"P31": [{"mainsnak": 3}]}) + ",",
                entity("Q5", claims={"P31": [claim("Q5> <")]}) + ",",
                '{"id": "Q6", "labels": {"en": {"value": "\\ud800"}}}',
                "]",
            ]
        ),
        [3, 4, 5, 6, 7, 8, 9],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_lines(name: str, tmp_path: Path) -> None:
    text, lines = BROKEN[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=rf"{name}, line {lines[0]}: ") as caught:
        read(tmp_path / name)
    assert "\n" not in str(caught.value)
    found: list[DataError] = []
    kept = read(tmp_path / name, report=found.append)
    assert [error.line for error in found] == lines
    assert ("Q1", LABEL, "Vell", "en") in facts(kept)


@given(
    st.sets(st.integers(0, 59)),
    st.sampled_from(["", " ", "\n", '<a> <b> "open', "<a b> <c> <d> .", "\\"]),
    st.integers(1, 5000),
)
def test_good_lines_are_kept_whatever_lies_between(broken: set[int], what: str, block: int) -> None:
    good = [f'<{WD}Q{n}> <{LABEL}> "name {n}"@en .' for n in range(60)]
    text = "\n".join(what if n in broken else line for n, line in enumerate(good))
    found: list[DataError] = []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(dumps, "BLOCK", block)
        path = Path(folder, "d.nt")
        path.write_text(text)
        kept = read(path, report=found.append)
    assert [q.object.value for q in kept] == [f"name {n}" for n in range(60) if n not in broken]
    assert [error.line for error in found] == ([n + 1 for n in sorted(broken)] if what.strip() else [])


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "d.nt").write_bytes(NT.encode().replace(b"Wel", b"W\xffl"))
    with pytest.raises(DataError, match=r"d\.nt, line 2: .*UTF-8"):
        read(tmp_path / "d.nt")
    (tmp_path / "d.json").write_bytes(entity().encode() + b'\n{"id": "Q\xff"}\n')
    with pytest.raises(DataError, match=r"d\.json, line 2: .*decode byte 0xff"):
        read(tmp_path / "d.json")


def test_broken_xml_is_never_passed_over(tmp_path: Path) -> None:
    (tmp_path / "d.rdf").write_text("<rdf:RDF><a></b></rdf:RDF>")
    with pytest.raises(DataError, match=r"d\.rdf"):
        read(tmp_path / "d.rdf", report=lambda error: None)


@pytest.mark.parametrize("form", ["nt", "json"])
@pytest.mark.parametrize(("packing", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_cut_and_damaged_archives(
    packing: str, pack: Callable[[bytes], bytes], form: str, tmp_path: Path
) -> None:
    whole = pack((NT if form == "nt" else entity() + "\n").encode() * 50)
    for data in (whole[:-9], b"not an archive at all"):
        path = tmp_path / f"d.{form}{packing}"
        path.write_bytes(data)
        with pytest.raises(DataError, match=rf"{path.name}: the compressed file is cut or damaged"):
            read(path, report=lambda error: None)


def test_a_line_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "MAX_LINE", 1000)
    (tmp_path / "d.json").write_text("[" + ",".join(entity() for _ in range(100)) + "]")
    with pytest.raises(DataError, match=r"line 1: more than .* expected one entity a line"):
        read(tmp_path / "d.json", report=lambda error: None)


def test_names_that_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "dump.gz").write_bytes(b"")
    with pytest.raises(DataError, match=r"dump\.gz: not a format we read; the name must end in one of \.nt"):
        Dump(tmp_path / "dump.gz", VOCABULARY)
    with pytest.raises(DataError, match="no such file"):
        Dump(tmp_path / "none.nt", VOCABULARY)


def test_progress_counts_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "d.nt").write_text(NT * 4000)
    dump, told = Dump(tmp_path / "d.nt", VOCABULARY), []
    list(dump.quads(raising, told.append))
    assert sum(told) == dump.size >> 20 == 3
