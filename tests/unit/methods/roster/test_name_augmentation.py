"""Context-free augmentations: which names stand for which, and that words keep their numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from roster.accelerate.engine import FastEngine, PlainEngine
from roster.config import Config
from roster.corpus.io import write
from roster.corpus.sentence import Sentence, Span
from roster.errors import DataError
from roster.methods.request import load_config
from roster.methods.roster.algorithm import augmenter
from roster.methods.roster.name_augmentation import (
    NameAugmenter,
    dictionary_names,
    labelled_names,
    replace_names,
)
from roster.methods.train import train
from roster.training.task import Task

CPU = torch.device("cpu")


@st.composite
def sentences(draw: Any) -> list[Sentence]:
    """Words with non-overlapping spans of two types."""
    found = []
    for _ in range(draw(st.integers(1, 6))):
        words = draw(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=8))
        spans, at = [], 0
        while at < len(words):
            end = draw(st.integers(at + 1, len(words)))
            if draw(st.booleans()):
                spans.append(Span(at, end, draw(st.sampled_from(["PER", "LOC"]))))
            at = end
        found.append(Sentence.from_words(words, spans))
    return found


@given(sentences(), st.integers(0, 99))
def test_a_name_becomes_another_of_its_type_and_length(corpus: list[Sentence], seed: int) -> None:
    names = labelled_names(corpus)
    generator = np.random.default_rng(seed)
    for sentence in corpus:
        new = replace_names(sentence, names, generator)
        assert len(new) == len(sentence.words)
        inside = np.zeros(len(new), bool)
        for span in sentence.spans or ():
            inside[span.start : span.end] = True
            pool = {
                other.words[x.start : x.end]
                for other in corpus
                for x in other.spans or ()
                if x.label == span.label and x.end - x.start == span.end - span.start
            }
            old, put = (words[span.start : span.end] for words in (sentence.words, new))
            assert put in pool
            assert (put != old) == (len(pool) > 1)
        kept = [(a, b) for a, b, i in zip(sentence.words, new, inside, strict=True) if not i]
        assert all(a == b for a, b in kept)


def test_every_other_name_is_drawn_equally_often() -> None:
    corpus = [Sentence.from_words([name], [Span(0, 1, "PER")]) for name in "abcde"]
    corpus += corpus[:1] * 20  # how often a name occurs does not matter
    generator = np.random.default_rng(0)
    drawn = Counter(replace_names(corpus[0], labelled_names(corpus), generator)[0] for _ in range(8000))
    assert set(drawn) == set("bcde")
    assert max(abs(n / 8000 - 0.25) for n in drawn.values()) < 0.02


def test_names_of_a_dictionary(tmp_path: Path) -> None:
    file = tmp_path / "names.tsv"
    file.write_text("Oslo\tLOC\nNew York\tLOC\nSt. Ives\tLOC\nAnna\tPER\nx\tOTHER\n")
    assert dictionary_names(str(file), ["PER", "LOC"]) == {
        ("LOC", 1): [("Oslo",)],
        ("LOC", 2): [("New", "York"), ("St.", "Ives")],
        ("PER", 1): [("Anna",)],
    }
    with pytest.raises(DataError, match=r"names\.tsv: no name has one of the types ORG"):
        dictionary_names(str(file), ["ORG"])


@pytest.fixture(scope="module")
def config(tiny: Path) -> Config:
    return load_config(
        overrides={
            "backbone.name": str(tiny),
            "backbone.max_length": 12,
            "optimiser.device": "cpu",
            "optimiser.batch_size": 8,
            "augmentation.by": "names",
            "noise_robust.epochs": 1,
            "ensemble.enabled": False,
            "self_training.epochs": 2,
        }
    )


def test_the_augmented_corpus_has_the_same_words_in_other_subwords(
    config: Config, toy: list[Sentence]
) -> None:
    """Names of one to many sub-words, and sentences of several windows, which may have to stay."""
    task = Task.build(config, ("PER", "LOC"), toy, {})
    augment = augmenter(task, 3)
    assert isinstance(augment, NameAugmenter)
    new, ours = augment(None, 0).encoded, task.corpus.encoded  # type: ignore[arg-type]
    assert new.n_windows == ours.n_windows > len(toy)
    assert np.array_equal(new.words, ours.words)
    assert np.array_equal(new.word_starts, ours.word_starts)
    assert not np.array_equal(new.lengths, ours.lengths)
    again = augment(None, 0).encoded  # type: ignore[arg-type]
    assert np.array_equal(new.ids, again.ids)
    assert not np.array_equal(new.ids, augment(None, 1).encoded.ids)  # type: ignore[arg-type]


def test_self_training_with_names_is_trained_by_the_plain_engine(
    config: Config, toy: list[Sentence], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """CUDA graphs need fixed shapes; replaced names change the number of sub-words."""
    seen = []

    def choose(config: Config, *_: Any, **__: Any) -> FastEngine:
        return FastEngine(config, CPU, 1, [])

    for engine in (FastEngine, PlainEngine):
        fit = engine.fit

        def noted(self: Any, models: Any, objective: Any, *rest: Any, fit: Any = fit, **options: Any) -> Any:
            seen.append((self.name, type(objective).__name__))
            return fit(self, models, objective, *rest, **options)

        monkeypatch.setattr(engine, "fit", noted)
    monkeypatch.setattr("roster.methods.train.choose_engine", choose)

    def no_masked_lm(name: str) -> None:
        raise AssertionError("names need no masked language model")

    monkeypatch.setattr("roster.methods.roster.algorithm.load_masked_lm", no_masked_lm)
    data = tmp_path / "train.jsonl"
    write(data, toy)
    results = train(data, tmp_path / "run", config)
    assert list(results["stages"]) == ["member-0", "self-training", "model"]
    assert seen == [("fast", "NoiseRobustObjective"), ("plain", "VariableLengthSelfTraining")]
    log = (tmp_path / "run" / "log.txt").read_text()
    assert "device cpu, fast engine\n" in log
