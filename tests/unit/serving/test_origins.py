"""`/explain`: why a name was labelled, from the files of a labelling and of an audit."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import roster
from roster.corpus.provenance import read_provenance
from roster.errors import ConfigError
from roster.serving import origins
from roster.serving.app import create_app
from roster.serving.models import ServedModel, named_audits
from roster.serving.origins import BROKEN, LATER, MOVED, NOTHING, UNLABELLED, Origins, Places, find_places
from tests.unit.serving.conftest import FakeModel

TEXT = """\
Anna Berg lives in Oslo .
Oslo is cold , and OSLO FC won .
Berg met Anna Berg in Rome .
"""
NAMES = "surface\ttype\nAnna Berg\tPER\nBerg\tPER\nOslo\tLOC\nRome\tLOC\nRome\tORG\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The files of a run that are looked at, with labels that `roster label` made."""
    (tmp_path / "news.txt").write_text(TEXT)
    (tmp_path / "names.tsv").write_text(NAMES)
    roster.label_file(
        tmp_path / "news.txt", tmp_path / "data", tmp_path / "names.tsv", policy={"case": "exact"}
    )
    folder = tmp_path / "run"
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "roster.json").write_text("{}")
    results = {"stages": {"model": {}}, "data": {"path": str(tmp_path / "data")}}
    (folder / "results.json").write_text(json.dumps(results))
    return folder


def audit(folder: Path, *rows: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "audit.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


OSLO = {"kind": "entry", "source": "names.tsv", "entry": "Oslo", "line": 4, "label": "LOC",
        "verdict": "wrong type", "believed": "ORG", "longer": "", "labels": 2, "confidence": 0.5}  # fmt: skip
MISSING = {"kind": "name", "name": "OSLO FC", "label": "ORG", "count": 3, "confidence": 0.25}


def entries(answer: dict[str, Any]) -> list[tuple[str, str, int, int]]:
    return [(one["entry"], one["label"], one["line"], one["labels"]) for one in answer["entries"]]


def test_entries_of_a_name(run: Path, tmp_path: Path) -> None:
    for folder in (run, run / "model"):
        found = Origins(find_places(folder))
        assert entries(found.explain("Oslo")) == [("Oslo", "LOC", 4, 2)]
        assert entries(found.explain(" Anna  Berg ")) == [("Anna Berg", "PER", 2, 2)]
        assert entries(found.explain("anna berg")) == [("Anna Berg", "PER", 2, 2)]
        assert entries(found.explain("Oslo", "PER")) == []
        answer = found.explain("Nobody")
        assert (answer["known"], answer["entries"], answer["note"]) == (True, [], UNLABELLED)
        found.close()


def test_counts_are_those_of_the_provenance(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "CHUNK", 2)  # rows go to the database in many parts
    places = find_places(run)
    assert places.provenance is not None
    count: Counter[tuple[str, str, int]] = Counter()
    for line in places.provenance.read_text().splitlines():
        label = json.loads(line)
        for one in label["evidence"]:
            for kind in label["types"]:
                count[one["entry"], kind, one["line"]] += 1
    found = Origins(places)
    assert count
    for (entry, label, line), number in count.items():
        assert (entry, label, line, number) in entries(found.explain(entry))


def test_the_audit_is_beside_its_entry(run: Path, tmp_path: Path) -> None:
    audit(run / "audit", OSLO, MISSING, {"kind": "label"}, {"kind": "type"})
    (found,) = (answer := Origins(find_places(run)).explain("Oslo"))["entries"]
    assert found["audit"] == {"verdict": "wrong type", "believed": "ORG", "longer": "", "confidence": 0.5}
    assert answer["missing"] is None
    assert Origins(find_places(run)).explain("Oslo FC")["missing"] == {
        key: MISSING[key] for key in ("name", "label", "count", "confidence")
    }
    elsewhere = audit(tmp_path / "other", {**OSLO, "verdict": "right"})
    assert Origins(find_places(run, elsewhere)).explain("Oslo")["entries"][0]["audit"]["verdict"] == "right"


def test_an_audit_is_enough(tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    found = Origins(find_places(tmp_path / "export", audit(tmp_path / "audit", OSLO)))
    answer = found.explain("oslo")
    assert (entries(answer), answer["note"]) == ([("Oslo", "LOC", 4, 2)], None)


def test_without_origins(run: Path, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    bare = Origins(find_places(tmp_path / "export"))
    assert not bare.places
    assert bare.explain("Oslo")["note"] == NOTHING
    (tmp_path / "data").rename(tmp_path / "moved")
    assert Origins(find_places(run)).explain("Oslo") == {
        "name": "Oslo",
        "known": False,
        "note": MOVED,
        "entries": [],
        "more": 0,
        "missing": None,
    }


def test_labels_that_are_newer_than_the_run(run: Path) -> None:
    os.utime(run / "results.json", (1, 1))
    assert Origins(find_places(run)).explain("Oslo")["note"] == LATER


@pytest.mark.parametrize("content", ["no json\n", '{"sentence": 0}\n', "[]\n", b"\xff\n"])
def test_a_broken_file(run: Path, content: str | bytes) -> None:
    places = find_places(run)
    assert places.provenance is not None
    places.provenance.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = Origins(places)
    assert found.explain("Oslo")["note"] == BROKEN
    assert found.explain("Oslo")["known"] is False
    if isinstance(content, str):
        with pytest.raises(ValueError):
            list(read_provenance(places.provenance))


def test_few_entries_of_many(tmp_path: Path) -> None:
    rows = [{**OSLO, "line": line, "labels": line} for line in range(1, 60)]
    answer = Origins(find_places(tmp_path, audit(tmp_path / "audit", *rows))).explain("Oslo")
    assert [one["line"] for one in answer["entries"]] == list(range(59, 39, -1))
    assert answer["more"] == 39


def test_no_audit_where_one_is_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no audit: it has no"):
        find_places(run, tmp_path)
    for given, message in (
        (["x"], "give NAME=FOLDER"),
        (["a=x", "a=y"], "one folder for each"),
        (["a="], "one folder"),
    ):
        with pytest.raises(ConfigError, match=message):
            named_audits(given, ["a", "b"])


@pytest.fixture
def client(run: Path, model: FakeModel) -> TestClient:
    served = ServedModel(("PER", "LOC"), model.find, Origins(find_places(run)))
    bare = ServedModel(("PER",), model.find, Origins(Places(note=NOTHING)))
    return TestClient(create_app({"news": served, "bare": bare}), raise_server_exceptions=False)


def test_the_route(client: TestClient) -> None:
    listed = client.get("/models").json()
    assert [one["explains"] for one in listed["models"]] == [True, False]
    assert listed["limits"]["texts"] == 256
    answer = client.get("/explain", params={"model": "news", "name": "Oslo", "label": "LOC"})
    assert (answer.status_code, entries(answer.json())) == (200, [("Oslo", "LOC", 4, 2)])
    assert client.get("/explain", params={"model": "bare", "name": "Oslo"}).json()["note"] == NOTHING


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("model=news", "name"),
        ("model=news&name=%20", "name"),
        (f"model=news&name={'a' * 1001}", "name"),
        ("name=Oslo", "model"),
        ("model=no&name=Oslo", "model"),
        ("model=bare&name=Oslo&label=LOC", "label"),
        ("model=news&name=Oslo&name=Rome", "name"),
        ("model=news&name=Oslo&other=1", "other"),
    ],
)
def test_wrong_parameters(client: TestClient, query: str, where: str) -> None:
    answer = client.get(f"/explain?{query}")
    assert (answer.status_code, answer.json()["where"]) == (422, where)


def test_any_name_is_answered(client: TestClient) -> None:
    for name in ("%00", "%ED%A0%80", "%F0%9F%98%80", "'; DROP TABLE label; --", "<script>", "%%", "a" * 1000):
        answer = client.get(f"/explain?model=news&name={name}")
        assert (answer.status_code, answer.json()["entries"]) == (200, [])
