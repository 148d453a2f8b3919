"""Thinned dictionaries: what goes, what stays, and how much."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.dataset import load_dataset
from roster.corpus.io import write
from roster.corpus.sentence import Sentence, Span
from roster.experiments.thinning import thin, thin_dataset

WORDS = ("Bonn", "bonn", "Anna", "Berg", "saw")


@st.composite
def labelled(draw: st.DrawFn) -> Sentence:
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
    if draw(st.integers(0, 9)) == 0:
        return Sentence.from_words(words)
    spans, at = [], 0
    while at < len(words):
        end = at + draw(st.integers(1, 2))
        if draw(st.booleans()) and end <= len(words):
            spans.append(Span(at, end, draw(st.sampled_from(["PER", "LOC"]))))
        at = end
    return Sentence.from_words(words, spans)


def names(sentences: list[Sentence]) -> set[tuple[str, str]]:
    return {(s.span_text(x), x.label) for s in sentences for x in s.spans or ()}


@given(st.lists(labelled(), max_size=8), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**31))
def test_names_go_everywhere_or_nowhere(
    sentences: list[Sentence], keep: float, less: float, seed: int
) -> None:
    found = thin(sentences, keep, seed)
    kept = names(found)
    assert len(kept) == round(keep * len(names(sentences)))
    assert [s.words for s in found] == [s.words for s in sentences]
    for before, after in zip(sentences, found, strict=True):
        if before.spans is None:
            assert after.spans is None
        else:
            expected = [x for x in before.spans if (before.span_text(x), x.label) in kept]
            assert list(after.spans or ()) == expected
    assert found == thin(sentences, keep, seed)
    assert names(thin(sentences, keep * less, seed)) <= kept


def test_another_seed_takes_other_names() -> None:
    sentences = [Sentence.from_words([f"Name{i}"], [Span(0, 1, "PER")]) for i in range(40)]
    assert names(thin(sentences, 0.5, 0)) != names(thin(sentences, 0.5, 1))
    assert thin(sentences, 1.0, 0) == sentences


def test_phrases_of_unknown_type_stay() -> None:
    """They come from another dictionary than the names."""
    names_gone = Sentence.from_words(["Anna", "saw", "Red", "Hook"]).with_spans(
        [Span(0, 1, "PER")], [Span(2, 4, "")]
    )
    (found,) = thin([names_gone], 0.0, 0)
    assert (found.spans, found.unknown) == ((), (Span(2, 4, ""),))


def test_a_data_set(tmp_path: Path, toy: list[Sentence]) -> None:
    source = tmp_path / "whole"
    source.mkdir()
    write(source / "train.jsonl", toy)
    write(source / "test.jsonl", toy[:9])
    (source / "types.txt").write_text("PER\nLOC\nORG\n")
    thin_dataset(source, tmp_path / "thin", 0.2, 3)
    found = load_dataset(tmp_path / "thin")
    assert found.types == ("PER", "LOC", "ORG")
    assert [s.spans for s in found.train] == [s.spans for s in thin(toy, 0.2, 3)]
    assert [s.spans for s in found.test] == [s.spans for s in toy[:9]]
    assert found.valid == []
    with pytest.raises(FileExistsError):
        thin_dataset(source, tmp_path / "thin", 0.2, 3)
