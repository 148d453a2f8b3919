"""A trained model on text as it comes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence
from roster.errors import ModelError
from roster.infer.recogniser import Recogniser, load
from roster.model.batches import DeviceCorpus
from roster.model.reading import read_probabilities
from roster.scores import evaluate_sentences


@pytest.fixture(scope="session")
def recogniser(trained: Path) -> Recogniser:
    return load(trained, "cpu")


def test_it_knows_the_toy_task(recogniser: Recogniser, toy: list[Sentence]) -> None:
    found = [f.sentence for f in recogniser.find(toy)]
    assert evaluate_sentences(found, toy).f1 > 0.95
    entities = recogniser("Anna went to Paris .")
    assert [(e.text, e.label, e.start, e.end) for e in entities] == [
        ("Anna", "PER", 0, 4),
        ("Paris", "LOC", 13, 18),
    ]
    assert all(0.5 < e.score <= 1 for e in entities)
    assert entities[0].as_dict() == {
        "text": "Anna", "label": "PER", "start": 0, "end": 4, "score": entities[0].score
    }  # fmt: skip


SPACES = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "\xa0", "\u2028", "\u3000", "\u200b", "\ufeff", "\x00"]
ODD = ["é", "e\u0301", "👩‍💻", "🇨🇭", "日本", "'s", "<s>", "</s>", "<mask>", "-"]
PIECE = st.sampled_from(["Anna", "Paris", "Carl", "Oslo", "went", "to", ".", *SPACES, *ODD])
TEXT = st.lists(PIECE, max_size=15).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=20
)


@given(texts=st.lists(TEXT, max_size=5))
@settings(max_examples=60)
def test_offsets_are_exact_and_pipe_is_single_calls(texts: list[str], recogniser: Recogniser) -> None:
    found = list(recogniser.pipe(texts))
    assert len(found) == len(texts)
    for text, entities in zip(texts, found, strict=True):
        for entity in entities:
            assert text[entity.start : entity.end] == entity.text
            assert entity.text.strip() == entity.text != ""
            assert entity.label in recogniser.types
            assert 0 <= entity.score <= 1
        for a, b in pairwise(entities):
            assert a.end <= b.start
        alone = recogniser(text)
        assert [(e.start, e.end, e.label) for e in alone] == [(e.start, e.end, e.label) for e in entities]
        assert [e.score for e in alone] == pytest.approx([e.score for e in entities], abs=2e-4)


def test_offsets_in_an_odd_text(recogniser: Recogniser) -> None:
    text = "\ufeff\n\n  👩‍💻 Anna \t\xa0saw\u2028 Paris\r\n\x00 and\u3000Carl  "
    found = recogniser(text)
    assert {"Anna", "Paris", "Carl"} <= {e.text for e in found}
    assert all(text[e.start : e.end] == e.text for e in found)


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u3000"])
def test_empty_texts(text: str, recogniser: Recogniser) -> None:
    assert recogniser(text) == []
    found = list(recogniser.pipe([text, "Anna went to Paris .", text, text]))
    assert [len(x) for x in found] == [0, 2, 0, 0]


def test_no_texts(recogniser: Recogniser) -> None:
    assert list(recogniser.pipe([])) == []
    assert list(recogniser.find([])) == []


def test_a_long_text_goes_through_windows(recogniser: Recogniser) -> None:
    """One sentence of thousands of words, without a full stop: all its names are found where they stand."""
    text = "Anna went to Paris and then " * 700
    found = recogniser(text)
    assert all(text[e.start : e.end] == e.text for e in found)
    assert sum(e.text == "Paris" for e in found) > 650
    assert sum(e.text == "Anna" for e in found) > 650
    assert found[-1].start > len(text) - 40


def test_words_outside_the_windows_border_see_the_same(recogniser: Recogniser) -> None:
    """Sentences of one window are read as if alone; chunks do not matter."""
    sentences = [Sentence.from_words(["Carl", "saw", "Rome", "."]) for _ in range(50)]
    for chunk in (1, 7, 10**6):
        found = list(recogniser.find(sentences, chunk_words=chunk))
        assert [f.sentence.words for f in found] == [s.words for s in sentences]
        assert {f.sentence.spans for f in found} == {found[0].sentence.spans}


def test_pipe_reads_ahead_only_a_chunk(recogniser: Recogniser) -> None:
    taken = []

    def endless() -> Iterator[str]:
        i = 0
        while True:
            taken.append(i)
            yield "Anna went to Paris and saw the house with Carl . " * 100
            i += 1

    stream = recogniser.pipe(endless())
    assert len(next(stream)) > 50
    assert len(taken) < 30


def test_the_score_is_the_mean_probability_of_the_words(recogniser: Recogniser) -> None:
    sentence = Sentence.from_words(["then", "Anna", "Berg", "saw", "Rome"])
    (found,) = recogniser.find([sentence])
    encoded = recogniser._encoder.encode([sentence.words])
    p = read_probabilities(recogniser.model, DeviceCorpus.put(encoded, recogniser._pad, torch.device("cpu")))
    best = p.max(-1).values.tolist()
    assert found.sentence.spans
    for span, score in zip(found.sentence.spans, found.scores, strict=True):
        assert score == pytest.approx(sum(best[span.start : span.end]) / (span.end - span.start), abs=1e-4)


def test_folders(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run" / "model")
    assert load(tmp_path / "run", "cpu").types == ("PER", "LOC")
    assert load(str(trained), "cpu").types == ("PER", "LOC")
    with pytest.raises(ModelError, match="there is no model folder"):
        load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="is not a model"):
        load(tmp_path / "empty")
