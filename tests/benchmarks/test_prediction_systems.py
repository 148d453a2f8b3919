"""The systems find what they should, so that their speed means something; each is run for real."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

import roster
from benchmarks.measure import MISSING, OK, Limits, isolated
from benchmarks.prediction.spacy_model import build_spacy
from benchmarks.prediction.systems import BatchedPipeline, Pipeline, RosterModel
from benchmarks.prediction.tasks import predict, read_words, repeated, stream
from roster.corpus.io import write
from roster.corpus.sentence import Sentence
from roster.errors import ModelError
from roster.infer.recogniser import load

LIMITS = Limits(60)


@pytest.fixture(scope="module")
def text(toy: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("predictors") / "text.txt"
    file.write_text("".join(f"{sentence.text}\n" for sentence in toy))
    return file


@pytest.fixture(scope="module")
def one_head(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the other kind; its weights are random, and large enough for all classes to occur."""
    from roster.backbone.loading import load_encoder, load_tokenizer
    from roster.model.folder import save_model
    from roster.model.heads import OneHead

    torch.manual_seed(3)
    model = OneHead(load_encoder(str(tiny)), 2)
    torch.nn.init.normal_(model.tag.weight)
    folder = tmp_path_factory.mktemp("one-head") / "model"
    save_model(folder, model, load_tokenizer(str(tiny)), ("PER", "LOC"), 24, "")
    return folder


def labels_of_ours(folder: Path, sentences: list[Sentence]) -> list[dict[int, str]]:
    """The type at the first character of each word that is part of an entity."""
    labels = []
    for one in load(folder, "cpu").find(sentences):
        words = {i: span.label for span in one.sentence.spans or () for i in range(span.start, span.end)}
        labels.append({one.sentence.offsets[i][0]: label for i, label in words.items()})
    return labels


def labels_of_pipeline(found: list[dict[str, Any]], sentence: Sentence) -> dict[int, str]:
    """The same, from tokens of a text that begins with a space."""
    types = {token["start"] - 1: token["entity"].split("-")[-1] for token in found}
    return {start: types[start] for start, _ in sentence.offsets if start in types}


@pytest.mark.parametrize("kind", ["trained", "one_head"])
def test_the_pipeline_is_the_same_model(
    kind: str, toy: list[Sentence], request: pytest.FixtureRequest
) -> None:
    """Word for word what our recogniser says, where it is given the space before the first word, too."""
    folder: Path = request.getfixturevalue(kind)
    short = [sentence for sentence in toy if len(sentence) < 6]
    pipe = Pipeline(str(folder), "cpu").pipe
    theirs = [labels_of_pipeline(pipe(f" {sentence.text}"), sentence) for sentence in short]
    assert theirs == labels_of_ours(folder, short)
    assert sum(map(len, theirs)) > 20


@pytest.mark.parametrize("kind", ["crf", "autoner"])
def test_the_pipeline_has_no_place_for_heads_that_read_whole_sentences(
    kind: str, tiny: Path, tmp_path: Path
) -> None:
    from roster.backbone.loading import load_encoder, load_tokenizer
    from roster.methods.registry import heads
    from roster.model.folder import save_model

    model = heads()[kind](load_encoder(str(tiny)), 2)
    save_model(tmp_path / "model", model, load_tokenizer(str(tiny)), ("PER", "LOC"), 24, "")
    with pytest.raises(ModelError, match=rf"is {kind} on a transformer; .* one-head or two-heads on a tran"):
        Pipeline(str(tmp_path / "model"), "cpu")


@pytest.mark.parametrize("kind", ["two-heads", "crf"])
def test_the_pipeline_has_no_place_for_a_bilstm(kind: str, tmp_path: Path) -> None:
    from roster.methods.registry import heads
    from roster.methods.request import load_config
    from roster.model.encoders import open_backbone
    from roster.model.folder import save_model

    opened = open_backbone(load_config(overrides={"backbone.name": "bilstm-cnn"}), [["Anna", "went"]])
    model = heads()[kind](opened.encoder, 1)
    save_model(tmp_path / "model", model, opened.words.tokenizer, ("PER",), 24, "")
    with pytest.raises(ModelError, match=rf"is {kind} on a BiLSTM-CNN; .* one-head or two-heads on a tran"):
        Pipeline(str(tmp_path / "model"), "cpu")


def test_one_by_one_and_in_batches(trained: Path, text: Path) -> None:
    taken = Pipeline(str(trained), "cpu").take(read_words(text))
    counts = [kind(str(trained), "cpu").find(taken) for kind in (Pipeline, BatchedPipeline)]
    assert counts[0] == counts[1] > 0


def test_ours_with_scores(trained: Path, text: Path, toy: list[Sentence], tmp_path: Path) -> None:
    write(tmp_path / "gold.jsonl", toy)
    facts: dict[str, Any] = {}
    for some in predict("ours", str(trained), str(text), "cpu", str(tmp_path / "gold.jsonl")):
        facts.update(some)
    expected = sum(len(one.entities) for one in load(trained, "cpu").find(toy))
    assert facts["entities"] == expected > 0
    assert facts["seconds"] > 0
    assert facts["load_seconds"] > 0
    assert facts["peak_memory"] > 2**20
    assert facts["scores"]["f1"] > 0.9
    assert "torch" in facts["version"]


def test_a_stream(trained: Path, text: Path) -> None:
    (facts,) = stream(str(trained), str(text), "cpu", 2.5 * text.stat().st_size)
    once = len(text.read_text().split())
    assert 2.2 * once < facts["words"] < 2.8 * once
    ours = RosterModel(str(trained), "cpu")
    assert facts["entities"] > 2 * ours.find(ours.take(read_words(text)))


@pytest.mark.parametrize(
    ("size", "expected"), [(1, "a"), (4, "a"), (5, "a b"), (9, "a b a"), (16, "a b a b")]
)
def test_a_file_again_and_again(size: int, expected: str, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("a x\nb y\n")
    assert " ".join(words[0] for words in repeated(tmp_path / "t.txt", size)) == expected
    assert list(repeated(tmp_path / "t.txt", 1)) == [["a", "x"]]


@pytest.mark.skipif(find_spec("spacy") is None, reason="spaCy is not installed")
def test_spacy(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made here is loaded as any pipeline is, without torch, and finds capitals."""
    monkeypatch.setenv("PYTHONPATH", str(Path(roster.__file__).parents[1]))
    made = isolated(build_spacy, {"text": str(text), "folder": str(tmp_path / "nlp")}, LIMITS)
    assert (made.status, made.message) == (OK, "")
    arguments = {"text": str(text), "device": "cpu", "gold": None}
    found = [
        isolated(predict, {"system": system, "source": str(tmp_path / "nlp"), **arguments}, LIMITS)
        for system in ("spacy", "spacy-pipe")
    ]
    assert [run.message for run in found] == ["", ""]
    assert found[0].facts["entities"] == found[1].facts["entities"] > 20
    assert found[0].facts["version"].startswith("spacy 3")
    other = isolated(predict, {"system": "spacy", "source": "no_such_pipeline", **arguments}, LIMITS)
    assert (other.status, other.message) == (MISSING, "no spaCy pipeline 'no_such_pipeline' is installed")
