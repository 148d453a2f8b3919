"""`python -m benchmarks audit` on runs whose predictions are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.audit import choice
from benchmarks.audit.measure import AuditReport, by_kind, records
from benchmarks.audit.source import Source, read_source
from roster.auditing.audit import Audit
from roster.auditing.evidence import Evidence
from roster.auditing.measure import AgainstGold
from roster.auditing.opinions import Opinions
from roster.auditing.patch import Proposal
from roster.corpus.sentence import Sentence, Span
from roster.distant.entries.patch import Change
from roster.errors import ConfigError, DataError


def audited(seed: int, name: str) -> tuple[Source, AgainstGold]:
    """Twenty names in sixty sentences; each third label is of no name, and doubted."""
    rng = np.random.default_rng(seed)
    given, gold, classes = [], [], []
    for number in range(60):
        word, wrong = f"N{number % 20}", number % 20 % 3 == 0
        given.append(Sentence.from_words([word, "ran"], [Span(0, 1, "PER")]))
        gold.append(Sentence.from_words([word, "ran"], [] if wrong else [Span(0, 1, "PER")]))
        classes += [int(not wrong), 0]
    members = []
    for _ in range(2):
        p = np.full((120, 2), 0.1, np.float32) + rng.random((120, 1), np.float32) * 0.1
        p[np.arange(120), classes] = 1 - p[:, 0]
        members.append(p)
    evidence = Evidence(given, ("PER",), Opinions(members, np.full(120, -1)), {})
    return Source(name, name, Path(), Path(), ()), AgainstGold(Audit(evidence), gold)


@pytest.fixture(scope="module")
def found() -> list[tuple[Source, AgainstGold]]:
    return [audited(seed, name) for seed, name in enumerate(("one", "two", "three"))]


def test_records_and_tables(found: list[tuple[Source, AgainstGold]]) -> None:
    listed = list(records(*found[0]))
    assert {one["kind"] for one in listed} == {"run", "ranking", "type", "change"}
    (removed,) = [one for one in listed if one["kind"] == "change"]
    assert removed == {"data": "one", "text": "one", "sentences": 60, "kind": "change", "change": "remove",
                       "applied": True, "changes": 7, "known": 7, "right": 7}  # fmt: skip
    (row,) = [one for one in listed if one["kind"] == "type"]
    assert (row["precision"], row["true_precision"], row["known"]) == (0.65, 0.65, 60)
    json.dumps(listed)
    told = AuditReport({}, tuple(listed)).text()
    assert "precision: mean error 0.000, within the bounds 1 of 1 types" in told
    assert "remove" in told


def test_numbers_are_chosen_on_the_other_texts(found: list[tuple[Source, AgainstGold]]) -> None:
    listed = list(choice.choices(found))
    assert {one["text"] for one in listed} == {"one", "two", "three"}
    by_number: dict[str, list[dict[str, Any]]] = {}
    for one in listed:
        by_number.setdefault(one["number"], []).append(one)
    assert len(by_number) == 5
    for one in by_number["least confidence of a change"]:
        assert one["chosen"] == "0.5"  # all changes are right
        assert one["results"][one["text"]]["right"] == 7
    for one in by_number["weights of the ranking"]:
        assert one["results"][one["text"]]["area"] == 1
    for one in by_number["bounds of precision"]:
        assert one["results"][one["text"]] == {"error": 0, "within": 1, "types": 1}


def test_runs_on_the_same_text_are_left_out_together(found: list[tuple[Source, AgainstGold]]) -> None:
    (_, one), (second, two), (third, three) = found
    same = [(Source("zero", "two", Path(), Path(), ()), one), (second, two), (third, three)]
    weights = choice._by_text(same, np.array([False, False, True]))
    assert weights.tolist() == [0, 0, 1]
    assert choice._by_text(same, np.array([True, True, True])).tolist() == [0.25, 0.25, 0.5]
    listed = [r for r in choice.choices(same) if r["number"] == "least confidence of a change"]
    assert [sorted(record["results"]) for record in listed] == [["two", "zero"], ["three"]]


def test_a_longer_name_is_a_kind_of_its_own() -> None:
    gold = [Sentence.from_words(["AS", "Roma"], [Span(0, 2, "ORG")])]
    some = [
        Proposal(Change("add", "AS Roma", "ORG"), 0.9, "", default=False),
        Proposal(Change("add", "Roma", "ORG"), 0.9, ""),
        Proposal(Change("add", "Lazio", "ORG"), 0.9, ""),
    ]
    assert by_kind(some, gold) == {
        "add": {"changes": 2, "known": 1, "right": 0},
        "longer name": {"changes": 1, "known": 1, "right": 1},
    }


def test_sources(tmp_path: Path) -> None:
    for name in ("run", "data", "gold.jsonl"):
        (tmp_path / name).touch()
    file = tmp_path / "news.toml"
    file.write_text('run = "run"\ndata = "data"\ngold = "gold.jsonl"\n')
    one = read_source(file)
    assert (one.name, one.text, one.gold, one.repair) == ("news", "news", (tmp_path / "gold.jsonl",), None)
    file.write_text('run = "run"\ndata = "data"\n')
    with pytest.raises(ConfigError, match="gold is missing"):
        read_source(file)
    file.write_text('run = "run"\ndata = "data"\ngold = "other"\n')
    with pytest.raises(DataError, match="no such file"):
        read_source(file)
    file.write_text('runs = "run"\n')
    with pytest.raises(ConfigError, match="unknown runs"):
        read_source(file)


def test_leaving_out_one_text_needs_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("run", "data", "gold.jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "a.toml").write_text('run = "run"\ndata = "data"\ngold = "gold.jsonl"\n')
    assert main(["audit", str(tmp_path / "a.toml"), "--leave-one-out"]) == 2
    assert "three texts" in capsys.readouterr().err
