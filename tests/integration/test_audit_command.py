"""`roster audit` on a run of toy text, from its folder alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import roster as package
from roster.corpus.io import write
from roster.errors import RunError
from tests.integration.conftest import Roster


@pytest.fixture(scope="module")
def audited(roster: Roster, runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audited") / "audit"
    done = roster("audit", runs["roster"], "-o", folder)
    assert done.code == 0, done.err
    assert "The labels of each type" in done.out
    assert "patch.tsv" in done.err
    return folder


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = (folder / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == kind]


def test_types_and_claims(audited: Path) -> None:
    types = {row["label"]: row for row in rows(audited, "type")}
    assert set(types) == {"PER", "LOC"}
    assert all(0 <= row["precision"]["low"] <= row["precision"]["high"] <= 1 for row in types.values())
    labels = sum(row["labels"] for row in types.values())
    assert sum(row["labels"] for row in rows(audited, "entry")) == labels
    assert (audited / "patch.tsv").read_text().startswith("# Changes of the dictionary")


def test_claims_as_data_and_from_python(
    roster: Roster, runs: dict[str, Path], audited: Path, tmp_path: Path
) -> None:
    done = roster("audit", runs["roster"], "--json", "-o", tmp_path / "again")
    assert done.out == (audited / "audit.jsonl").read_text(encoding="utf-8")
    found = package.audit(runs["roster"])
    assert [json.loads(json.dumps(row)) for row in found.rows()] == [
        json.loads(line) for line in done.out.splitlines()
    ]


def test_a_run_without_members(roster: Roster, runs: dict[str, Path], tmp_path: Path) -> None:
    done = roster("audit", runs["fine-tune"], "-o", tmp_path / "audit")
    assert done.code == 2
    assert "no members" in done.err
    assert not (tmp_path / "audit").exists()


def test_a_run_that_kept_nothing_is_not_finished_or_none(runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run folder"):
        package.audit(tmp_path)
    old = tmp_path / "old"
    shutil.copytree(runs["roster"], old)
    (old / "predictions.safetensors").unlink()
    with pytest.raises(RunError, match="earlier version"):
        package.audit(old)
    results = json.loads((old / "results.json").read_text())
    del results["stages"]["model"]
    (old / "results.json").write_text(json.dumps(results))
    with pytest.raises(RunError, match="not finished"):
        package.audit(old)


def test_other_data_is_refused(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(corpus, other)
    assert list(package.audit(runs["roster"], other).rows())
    for name in ("train_text.txt", "train_label_dist.txt"):
        lines = (other / name).read_text().splitlines(keepends=True)
        (other / name).write_text("".join(lines[1:]))
    with pytest.raises(RunError, match="was changed since"):
        package.audit(runs["roster"], other)


def test_data_that_is_not_there_any_more(runs: dict[str, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["roster"], run)
    results = json.loads((run / "results.json").read_text())
    results["data"]["path"] = str(tmp_path / "gone")
    (run / "results.json").write_text(json.dumps(results))
    with pytest.raises(RunError, match="--data"):
        package.audit(run)


def test_reviewed_sentences_make_the_estimates_narrower(
    roster: Roster, runs: dict[str, Path], audited: Path, tmp_path: Path
) -> None:
    found = package.audit(runs["roster"])
    checked = list(found.evidence.sentences)
    write(tmp_path / "gold.jsonl", checked)  # every label is right, and no name is missing
    done = roster("audit", runs["roster"], "--reviewed", tmp_path / "gold.jsonl", "-o", tmp_path / "again")
    assert done.code == 0, done.err
    assert "sentences that a person has checked" in done.out
    before = {row["label"]: row["precision"] for row in rows(audited, "type")}
    for row in rows(tmp_path / "again", "type"):
        assert row["precision"]["value"] > 0.9
        assert row["precision"]["low"] > before[row["label"]]["low"]


def test_reviewed_sentences_of_another_text_are_refused(
    roster: Roster, runs: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "gold.jsonl").write_text('{"tokens": ["other", "words"], "tags": ["O", "O"]}\n')
    done = roster("audit", runs["roster"], "--reviewed", tmp_path / "gold.jsonl", "-o", tmp_path / "again")
    assert done.code == 2
    assert "none of the reviewed sentences" in done.err
    assert not (tmp_path / "again" / "audit.jsonl").exists()
