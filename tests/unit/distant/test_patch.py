"""A patch gives the labels of dictionaries that were edited by hand."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import roster
from roster.corpus.io import read
from roster.distant.labels import Labels
from roster.distant.settings import load_settings
from roster.errors import ConfigError, DataError

TEXTS = [
    "Maria Lund of Acme Corp. flew to Oslo .",
    "The Swiss sold Acme Corp ( Oslo ) to Lund in 1999 .",
    "nobody saw 12 of them in New York",
]
NAMES = [
    "Maria Lund\tPER",
    "Lund\tPER",
    "Lund\tLOC",
    "Acme Corp.\tORG",
    "Oslo\tLOC",
    "New York\tLOC",
    "Oslo\tPER",
]
SLOW = settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return tmp_path / "corpus.txt"


def save(
    corpus: Path, names: Sequence[str], out: str, patch: str | None = None, **options: Any
) -> dict[str, bytes]:
    """The files that are written for a dictionary of these lines, by their names."""
    folder = corpus.parent / out
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "in").mkdir(parents=True)
    dictionaries = [folder / "in" / "names.tsv"]
    dictionaries[0].write_text("surface\ttype\n" + "".join(f"{line}\n" for line in names), encoding="utf-8")
    if "extra" in options:
        dictionaries.append(folder / "in" / "names.patch")
        dictionaries[1].write_text(options.pop("extra"), encoding="utf-8")
    patches = []
    if patch is not None:
        patches = [folder / "in" / "names.patch"]
        patches[0].write_text(patch, encoding="utf-8")
    run = {name: options.pop(name) for name in ("cache", "workers") if name in options}
    Labels(
        lambda: read(corpus), load_settings(dictionaries=dictionaries, patch=patches, **options), **run
    ).save(folder / "data")
    return {file.name: file.read_bytes() for file in (folder / "data").iterdir()}


def report(files: dict[str, bytes]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(files["labels.json"])
    return data


def same(patched: dict[str, bytes], edited: dict[str, bytes]) -> None:
    """The same files, but for the part of the report that is about the patch."""
    assert {name: patched[name] for name in patched if name != "labels.json"} == {
        name: edited[name] for name in edited if name != "labels.json"
    }
    one, other = report(patched), report(edited)
    del one["patch"], one["warnings"], other["warnings"]
    assert one == other


def labels(corpus: Path, names: Any = (), **options: Any) -> list[list[tuple[str, str]]]:
    found = roster.label(str(corpus), names, **options)
    return [[(s.span_text(x), x.label) for x in s.spans or ()] for s in found]


@given(st.permutations(NAMES), st.booleans())
@SLOW
def test_without_its_entries_a_dictionary_gives_no_labels(
    corpus: Path, names: list[str], every_type: bool
) -> None:
    lines = [f"remove\t{name.partition(chr(9))[0] if every_type else name}\n" for name in names]
    files = save(corpus, names, "all", "".join(lines))
    assert "types.txt" not in files
    assert report(files)["types"] == {}
    assert report(files)["entries"] == 0
    assert report(files)["patch"]["remove"]["entries"] == len(names)


@given(
    st.lists(st.sampled_from(NAMES), max_size=3, unique=True),
    st.lists(st.sampled_from(NAMES), min_size=1, unique=True),
)
@SLOW
def test_additions_are_another_dictionary(corpus: Path, names: list[str], added: list[str]) -> None:
    first = "Rome\tLOC"
    patched = save(corpus, [first, *names], "patched", "".join(f"add\t{line}\n" for line in added))
    same(
        patched,
        save(corpus, [first, *names], "edited", extra="".join(f"{line}\n" for line in added), format="tsv"),
    )
    assert report(patched)["patch"]["add"] == {
        "lines": len(added),
        "effective": len(added),
        "entries": len(added),
    }


@given(st.sets(st.sampled_from(NAMES), min_size=1), st.data())
@SLOW
def test_removed_and_retyped_entries_are_edited_lines(
    corpus: Path, chosen: set[str], data: st.DataObject
) -> None:
    lines, edited = [], list(NAMES)
    for line in sorted(chosen):
        new = data.draw(
            st.sampled_from(["", "MISC", "ORG", "PER"]).filter(
                lambda kind, line=line: not line.endswith(kind or "?")
            )
        )
        name = line.partition("\t")[0]
        lines.append(f"retype\t{line}\t{new}\n" if new else f"remove\t{line}\n")
        edited[NAMES.index(line)] = f"{name}\t{new}" if new else ""
    if any(edited):
        same(save(corpus, NAMES, "patched", "".join(lines)), save(corpus, edited, "edited"))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_empty_patch_changes_nothing(corpus: Path, workers: int) -> None:
    plain = save(corpus, NAMES, "plain", workers=workers)
    assert save(corpus, NAMES, "patched", "# nothing\n\n", workers=workers) == plain


PATCH = """\
add\tSwiss\tMISC\t3 matches
add\tthe\tMISC
remove\tLund\tPER
remove\tRome
retype\tOslo\tPER\tLOC
retype\tAcme Corp.\tORG\tFIRM
deny\tNew York
deny\tBergen
"""


def test_what_a_patch_did_is_reported(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = save(corpus, NAMES, "one", PATCH)
    data = report(files)
    about = data["patch"]
    assert about["add"] == {"lines": 2, "effective": 1, "entries": 1}
    assert about["remove"] == {"lines": 2, "effective": 1, "entries": 1}
    assert about["retype"] == {"lines": 2, "effective": 2, "entries": 2}
    assert about["deny"] == {"lines": 2, "effective": 1, "matches": 1}
    assert [(row["line"], row["name"], row["why"]) for row in about["without_effect"]] == [
        (2, "the", "can match nothing: only stop-words"),
        (4, "Rome", "no dictionary has this entry"),
        (8, "Bergen", "no match has these words"),
    ]
    rows = [json.loads(line) for line in files["train.jsonl.provenance.jsonl"].decode().splitlines()]
    assert {(row["text"], *row["types"]) for row in rows} == {
        ("Maria Lund", "PER"), ("Acme Corp.", "FIRM"), ("Acme Corp", "FIRM"), ("Oslo", "LOC"),
        ("Swiss", "MISC"), ("Lund", "LOC"),
    }  # fmt: skip
    (swiss,) = (row["evidence"] for row in rows if row["text"] == "Swiss")
    assert swiss == [{"source": "names.patch", "entry": "Swiss", "kind": "MISC", "line": 1}]
    warnings = "\n".join(data["warnings"])
    assert "3 of 8 lines of the patch have no effect: names.patch, line 2: add the (can match" in warnings
    assert "names.patch, line 6: no other source has the type FIRM" in warnings
    assert "names.patch, line 1: no other source has the type MISC" in warnings

    # The same from compiled dictionaries on disk, and from worker processes.
    monkeypatch.setattr("roster.distant.labelling.chunks.CHUNK_WORDS", 8)
    cache = tmp_path / "cache"
    for workers in (1, 2):
        assert save(corpus, NAMES, "one", PATCH, cache=cache, workers=workers) == files
    assert len(list((cache / "lexicons").iterdir())) == 1
    save(corpus, NAMES, "one", "deny\tNew York\n", cache=cache)  # of the words, not of the dictionary
    save(corpus, NAMES, "one", cache=cache)
    assert len(list((cache / "lexicons").iterdir())) == 2
    save(corpus, NAMES, "one", PATCH.replace("Rome", "Bonn"), cache=cache)
    assert len(list((cache / "lexicons").iterdir())) == 3


def test_types_are_those_of_the_data_set(corpus: Path, tmp_path: Path) -> None:
    names, patch = (
        ["Oslo\tPLACE.city", "New York\tPLACE.city", "Lund\tPLACE.town", "Acme Corp.\tfirm"],
        tmp_path / "p",
    )
    (tmp_path / "names.tsv").write_text("surface\ttype\n" + "\n".join(names), encoding="utf-8")
    mapped = {"PLACE.*": "LOC", "firm": "ORG", "ORG": ""}
    options = {"labels": mapped, "patch": patch}
    patch.write_text(
        "remove\tOslo\tLOC\nremove\tNew York\tPLACE.city\nretype\tLund\tLOC\tORG\nadd\tSwiss\tORG\n"
    )
    found = labels(corpus, tmp_path / "names.tsv", **options)
    assert found == [
        [("Acme Corp.", "ORG")],
        [("Swiss", "ORG"), ("Acme Corp", "ORG"), ("Lund", "ORG")],
        [("New York", "LOC")],
    ]
    patch.write_text("\nadd\tSwiss\tPLACE.city\n")
    with pytest.raises(DataError, match=r"p, line 2: \[labels\] or --types map PLACE.city to another label"):
        labels(corpus, tmp_path / "names.tsv", **options)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("names.txt", b"PER\tLund\nLOC\tOslo\n"),
        ("names.csv", b"name,type\nLund,PER\nOslo,LOC\n"),
        ("names.jsonl", b'{"name": "Lund", "type": ["PER", "LOC"]}\n{"name": "Oslo", "type": "LOC"}\n'),
        ("names.tsv.gz", gzip.compress(b"surface\ttype\nLund\tPER\nOslo\tLOC\n", mtime=0)),
    ],
    ids=["autoner", "csv", "jsonl", "gzip"],
)
def test_every_dictionary_format(corpus: Path, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "a.patch").write_text("remove\tOslo\tLOC\nretype\tLund\tPER\tLOC\n")
    format = "autoner" if name.endswith("txt") else None
    settings = load_settings(dictionaries=[tmp_path / name], format=format, patch=tmp_path / "a.patch")
    assert labels(corpus, config=settings)[1] == [("Lund", "LOC")]


def test_denied_words_get_no_label_from_any_source(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text("surface\ttype\nOslo\tLOC\nNew York\tLOC\nYork\tLOC\n")
    (tmp_path / "a.patch").write_text("deny\tOslo\ndeny\t12\ndeny\tnew york\n")
    found = labels(corpus, tmp_path / "names.tsv", builtin=["CARDINAL", "DATE"], patch=tmp_path / "a.patch")
    flat = {label for of_sentence in found for label in of_sentence}
    assert ("New York", "LOC") in flat
    assert not {text for text, _ in flat} & {"Oslo", "12"}
    pytest.importorskip("pyoxigraph")
    from roster.distant.kb.classes import load_classes
    from roster.distant.kb.store import build

    item, label = "<http://www.wikidata.org/entity/Q1>", "<http://www.w3.org/2000/01/rdf-schema#label>"
    direct, human = "<http://www.wikidata.org/prop/direct/P31>", "<http://www.wikidata.org/entity/Q5>"
    (tmp_path / "one.nt").write_text(f'{item} {label} "Maria Lund"@en .\n{item} {direct} {human} .\n')
    build([tmp_path / "one.nt"], tmp_path / "store", load_classes("conll"))
    kb = {"source": str(tmp_path / "store")}
    assert labels(corpus, kb=kb)[0] == [("Maria Lund", "PER")]
    (tmp_path / "b.patch").write_text("deny\tMaria Lund\n")
    assert labels(corpus, kb=kb, patch=[tmp_path / "b.patch"]) == [[], [], []]


def test_an_allow_list_is_patched_too(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "a.patch").write_text("remove\tSwiss\tMISC\n")
    config = tmp_path / "c.toml"
    config.write_text('[types.MISC]\nallow = ["Swiss", "York"]\n')
    assert labels(corpus, config=config)[1] == [("Swiss", "MISC")]
    assert labels(corpus, config=config, patch=tmp_path / "a.patch")[1] == []


def test_a_patch_alone_and_in_a_config(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "a.patch").write_text("add\tOslo\tLOC\n")
    assert labels(corpus, patch=tmp_path / "a.patch")[0] == [("Oslo", "LOC")]
    config = tmp_path / "c.toml"
    config.write_text('[patch]\nfiles = ["a.patch"]\n')
    assert labels(corpus, config=config)[0] == [("Oslo", "LOC")]
    config.write_text('[patch]\nfiles = "a.patch"\n')
    with pytest.raises(ConfigError, match="files must be a list"):
        labels(corpus, config=config)
    config.write_text('[patch]\nfile = ["a.patch"]\n')
    with pytest.raises(ConfigError, match="unknown key file"):
        labels(corpus, config=config)
    (tmp_path / "a.patch").write_text("remove\tOslo\tLOC\n")
    with pytest.raises(ConfigError, match="nothing to label with"):
        labels(corpus, patch=tmp_path / "a.patch")


def test_additions_need_a_source_name_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_text("add\tOslo\tLOC\n")
    (tmp_path / "sub" / "a").write_text("add\tRome\tLOC\n")
    with pytest.raises(ConfigError, match="two dictionaries or patches are called a"):
        load_settings(patch=[tmp_path / "a", tmp_path / "sub" / "a"])
