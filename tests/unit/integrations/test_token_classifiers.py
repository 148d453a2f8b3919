"""Token classifiers that others made: labels, the entities of the pipeline of transformers, refusals."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import constants
from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer, pipeline

import roster
from roster.cli.main import main
from roster.corpus.sentence import Sentence, Span
from roster.corpus.tags import decode
from roster.errors import ModelError
from roster.infer.recogniser import load
from roster.model.token_classifier import labels_of

TAGS = {
    "io": ["PER", "O", "LOC"],
    "bio": ["I-PER", "B-LOC", "O", "I-LOC", "B-PER"],
    "bilou": ["O", *(f"{prefix}-{t}" for t in ("PER", "LOC") for prefix in "BILU")],
}
Folders = Callable[[str, str], Path]
WORDS = ["Berg", "went", "Paris", "Bonn", "with", "Dora", "then", "they", "the", "talk", "walking", "house"]


@pytest.fixture(scope="module")
def folders(backbones: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """`folders("bert", "bio")`: random weights; nothing may write to the folder."""

    @cache
    def make(name: str, tags: str) -> Path:
        labels = dict(enumerate(TAGS[tags]))
        names = {label: i for i, label in labels.items()}
        config = AutoConfig.from_pretrained(backbones[name], id2label=labels, label2id=names)
        torch.manual_seed(5)
        model = AutoModelForTokenClassification.from_config(config)
        model.classifier.weight.data.mul_(30)
        model.classifier.bias.data[TAGS[tags].index("O")] = -2
        folder = tmp_path_factory.mktemp("classifiers") / f"{name}-{tags}"
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(backbones[name]).save_pretrained(folder)
        return folder

    return make


def texts(folder: Path) -> list[str]:
    """Of words that begin with a letter in their first sub-word (see test_transformers.py)."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    words = [w for w in WORDS if tokenizer.tokenize(f" {w}")[0].strip("▁Ġ")]
    drawn = np.random.default_rng(1).choice(words, (12, 8)).tolist()
    return [" ".join(row[: 1 + n % 8]) for n, row in enumerate(drawn)]


@pytest.mark.parametrize(
    ("name", "tags"),
    [(n, "bio") for n in ("roberta", "bert", "distilbert", "deberta-v2", "modernbert")] + [("bert", "io")],
)
def test_the_entities_of_its_own_pipeline(name: str, tags: str, folders: Folders) -> None:
    """The pipeline gets a space before the first word, which we always put there."""
    folder, found = folders(name, tags), 0
    ner, ours = (
        pipeline("token-classification", str(folder), aggregation_strategy="first"),
        load(folder, "cpu"),
    )
    assert ours.types == ("PER", "LOC")
    for text in texts(folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = ner(f" {text}")
        entities = ours(text)
        ends = [(e["end"] - 1, e["entity_group"]) for e in theirs]
        assert [(e.end, e.label) for e in entities] == ends
        assert [e.text for e in entities] == [
            text[max(e["start"] - 1, 0) : e["end"] - 1].strip() for e in theirs
        ]
        assert [e.score for e in entities] == pytest.approx([float(e["score"]) for e in theirs], abs=1e-3)
        found += len(entities)
    assert found > 10


def test_bilou(folders: Folders) -> None:
    """The tags of the highest logits, decoded as spaCy and AllenNLP mean them."""
    folder = folders("bert", "bilou")
    ours, sentences = load(folder, "cpu"), [Sentence.from_words(text.split()) for text in texts(folder)]
    model = AutoModelForTokenClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for sentence, found in zip(sentences, ours.find(sentences), strict=True):
        encoded = tokenizer([list(sentence.words)], is_split_into_words=True, return_tensors="pt")
        words = encoded.word_ids(0)
        with torch.no_grad():
            best = model(**encoded).logits[0].argmax(-1).tolist()
        tags = [TAGS["bilou"][best[words.index(i)]] for i in range(len(sentence))]
        assert found.sentence.spans == decode(tags)


@pytest.mark.parametrize(
    ("names", "scheme", "classes"),
    [
        (["O", "B-A", "I-A"], "bio", (0, 1, 2)),
        (["B-A", "O", "I-B", "B-B"], "bio", (1, 0, 4, 3)),
        (["U-A", "L-A", "O", "M-A", "B-A"], "bioes", (4, 3, 0, 2, 1)),
        (["A", "O", "geo-loc", "O"], "io", (1, 0, 2, 0)),
    ],
)
def test_labels(names: list[str], scheme: str, classes: tuple[int, ...]) -> None:
    found = labels_of(names)
    assert (found.scheme, found.classes) == (scheme, classes)


def test_long_texts_and_exact_offsets(folders: Folders) -> None:
    """Nothing is cut off, which its own pipeline would do."""
    text = "Dora went\tto  Paris with the house\n" * 200
    found = load(folders("bert", "bio"), "cpu")(text)
    assert all(text[e.start : e.end] == e.text for e in found)
    assert found[-1].end > len(text) - 60


def changed(folder: Path, target: Path, file: str = "config.json", **changes: Any) -> Path:
    shutil.copytree(folder, target)
    content = json.loads((target / file).read_text())
    (target / file).write_text(json.dumps({**content, **changes}))
    return target


def test_pickles_and_code_are_refused(folders: Folders, tmp_path: Path) -> None:
    good = folders("bert", "bio")
    pickled = shutil.copytree(good, tmp_path / "pickled")
    model = AutoModelForTokenClassification.from_pretrained(good)
    torch.save(model.state_dict(), pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"has a pickle, pytorch_model\.bin, which can run code"):
        load(pickled, "cpu")
    for number, file in enumerate(("config.json", "tokenizer_config.json")):
        code = changed(good, tmp_path / f"code{number}", file, auto_map={"AutoConfig": "code.Config"})
        (code / "code.py").write_text("raise SystemExit('was run')")
        with pytest.raises(ModelError, match="wants to run code of its own"):
            load(code, "cpu")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id2label": {"0": "NOUN", "1": "VERB"}}, "none of its labels is O"),
        ({"id2label": {"0": "O"}}, "it has no label but O"),
        ({"id2label": {"0": "O", "2": "PER"}}, "are not numbered from 0 on"),
        ({"id2label": None}, "is not a model for entities"),
        ({"model_type": "unheard-of"}, "cannot be loaded by transformers"),
        ({"num_hidden_layers": 3}, "has no weights for bert.encoder.layer.2"),
        ({"id2label": {"0": "O", "1": "B-PER"}}, "cannot be loaded by transformers"),
        ({"architectures": ["BertForMaskedLM"]}, "is not a model: it has no roster.json"),
    ],
)
def test_folders_that_cannot_be_read(
    changes: dict[str, Any], message: str, folders: Folders, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=message):
        load(changed(folders("bert", "bio"), tmp_path / "m", **changes), "cpu")


def test_every_command_takes_it(folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """predict, evaluate, calibrate and review."""
    folder = shutil.copytree(folders("bert", "bio"), tmp_path / "model")
    gold = [Sentence.from_words(text.split()).with_spans([Span(0, 1, "PER")]) for text in texts(folder) * 10]
    found = list(roster.predict(folder, [s.text for s in gold], device="cpu"))
    assert [record["text"] for record in found] == [s.text for s in gold]
    own = [s.with_spans(f.sentence.spans) for s, f in zip(gold, load(folder, "cpu").find(gold), strict=True)]
    roster.write(tmp_path / "own.jsonl", own)
    assert roster.evaluate(folder, tmp_path / "own.jsonl").f1 == 1
    assert main(["evaluate", str(folder), str(tmp_path / "own.jsonl")]) == 0
    assert "1.0" in capsys.readouterr().out
    roster.calibrate(folder, gold, device="cpu")
    assert load(folder, "cpu").calibration is not None
    review = roster.start_review(folder, [s.text for s in gold], tmp_path / "review", device="cpu")
    review.close()


def test_from_the_hub(folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was downloaded before, in the layout of the cache of huggingface_hub."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    cached = tmp_path / "models--someone--news"
    shutil.copytree(folders("bert", "bio"), cached / "snapshots" / ("a" * 40))
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("a" * 40)
    text = "Dora went to Paris with Berg"
    expected = load(folders("bert", "bio"), "cpu")(text)
    assert load("hf://someone/news", "cpu")(text) == expected
    assert load(f"hf://someone/news@{'a' * 40}", "cpu")(text) == expected
    for wrong in ("hf://someone/else", "hf://", "hf://a/b/c"):
        with pytest.raises(ModelError, match=f"{wrong} could not be had from the Hugging Face hub"):
            load(wrong)
