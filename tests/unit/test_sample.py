"""The bundled sample is what its README says."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from roster.corpus.io import read
from roster.demo import FIRST, PLAIN
from roster.distant.entries import read_entries
from roster.distant.labels import Labels
from roster.distant.settings import load_settings

SAMPLE = Path(str(resources.files("roster") / "sample"))
TYPES = {"PER", "LOC", "ORG", "MISC"}


def lines(name: str) -> list[str]:
    return (SAMPLE / name).read_text(encoding="utf-8").splitlines()


def test_the_text() -> None:
    news = lines("news.txt")
    assert len(news) >= 600
    assert len(set(news)) == len(news)
    assert all(line and line == line.strip() for line in news)
    read_back = list(read(SAMPLE / "news.txt", "text"))
    assert len(read_back) >= len(news)
    assert all(sentence.spans is None for sentence in read_back)


def test_the_gold_sentences() -> None:
    gold = [json.loads(line) for line in lines("gold.jsonl")]
    assert len(gold) >= 200
    for record in gold:
        text, at = record["text"], 0
        for span in sorted(record["spans"], key=lambda span: span["start"]):
            assert at <= span["start"] < span["end"] <= len(text), "spans do not overlap"
            name = text[span["start"] : span["end"]]
            assert name == name.strip()
            assert span["label"] in TYPES
            at = span["end"]
    sentences = list(read(SAMPLE / "gold.jsonl"))
    assert sum(len(s.spans or ()) for s in sentences) == sum(len(record["spans"]) for record in gold)


def test_no_sentence_is_in_both_parts() -> None:
    assert not set(lines("news.txt")) & {json.loads(line)["text"] for line in lines("gold.jsonl")}


def test_the_dictionary() -> None:
    names: dict[str, set[str]] = {}
    for batch in read_entries(SAMPLE / "dictionary.tsv"):
        for surface, kind in zip(batch.surfaces, batch.kinds, strict=True):
            names.setdefault(surface, set()).add(kind)
    assert len(names) >= 500
    assert set().union(*names.values()) == TYPES
    assert sum(len(types) > 1 for types in names.values()) == 5


def test_what_the_dictionary_alone_reaches() -> None:
    """Room above it for what a model can learn, and enough below it to learn from."""
    gold = list(read(SAMPLE / "gold.jsonl"))
    settings = load_settings(dictionaries=[SAMPLE / "dictionary.tsv"], policy=PLAIN, conflicts=FIRST)
    scores = Labels(lambda: gold, settings).score(gold)
    assert 0.5 < scores.f1 < 0.7
    # The README's numbers.
    assert (scores.precision, scores.recall, scores.f1) == pytest.approx((0.769, 0.537, 0.632), abs=5e-4)
