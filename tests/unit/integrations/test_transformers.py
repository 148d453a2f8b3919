"""Models for transformers: the same probabilities, and the entities of its own pipeline; and the way back."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer, TokenClassificationPipeline, pipeline

import roster
from roster.backbone.loading import load_encoder, load_tokenizer
from roster.cli.main import main
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError, ModelError
from roster.infer.logits import probabilities
from roster.infer.recogniser import load
from roster.integrations.transformers import export_transformers
from roster.methods.card import NOT_OF_TRANSFORMERS
from roster.methods.registry import heads
from roster.model.decoding import io_spans
from roster.model.folder import EXPORTED, save_model
from roster.scores import evaluate_sentences
from tests.unit.integrations.exported import SHORT, SPOKEN, TYPES, Models

KINDS = {"two-heads": "io", "one-head": "bio"}
ARCHITECTURES = ["roberta", "bert", "distilbert", "deberta-v2", "modernbert"]
WORDS = SPOKEN.split()


def texts(folder: Path) -> list[str]:
    """Of words that begin with a letter in their first sub-word.

    Our windows have no sub-words of white space alone, which some tokenizers make of the space before a word.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder)
    words = [w for w in WORDS if tokenizer.tokenize(f" {w}")[0].strip("▁Ġ")]
    drawn = np.random.default_rng(1).choice(words, (12, 9)).tolist()
    return [" ".join(row[: 1 + n % 9]) for n, row in enumerate(drawn)]


def sentences(texts: list[str]) -> list[Sentence]:
    return [Sentence.from_words(text.split()) for text in texts]


def distributions(folder: Path, texts: list[str]) -> np.ndarray:
    found = load(folder, "cpu")
    return probabilities(found.engine.facts.kind, found.logits(sentences(texts)))


def entities(folder: Path, texts: list[str]) -> list[list[tuple[int, int, str]]]:
    found = load(folder, "cpu").find(sentences(texts))
    return [[(e.start, e.end, e.label) for e in one.entities] for one in found]


def by_pipeline(
    folder: Path, texts: Sequence[Any], strategy: str = "first", **options: Any
) -> list[list[tuple[int, int, str]]]:
    """By the library's own pipeline; offsets without the space that some tokenizers count to a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most tokenizers do not say where words begin
        ner: Any = pipeline(
            "token-classification",
            str(folder),
            aggregation_strategy=strategy,
            device="cpu",
            pipeline_class=TokenClassificationPipeline,
        )
        found = [ner(text, **options) for text in texts]
    if options:  # a list of one list of words, and a list of one list of entities
        found, texts = [one[0] for one in found], [" ".join(text[0]) for text in texts]
    return [
        [(e["end"] - len(text[e["start"] : e["end"]].strip()), e["end"], e["entity_group"]) for e in one]
        for text, one in zip(texts, found, strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_same_probabilities(name: str, kind: str, models: Models) -> None:
    spoken = [SPOKEN, *WORDS]
    ours, theirs = (distributions(folder, spoken) for folder in models(name, kind))
    assert ours.shape == theirs.shape == (2 * len(WORDS), 4 if kind == "two-heads" else 7)
    assert len(set(ours.argmax(-1).tolist())) > 2
    np.testing.assert_allclose(ours, theirs, atol=2e-5)
    facts = load(models(name, kind)[1], "cpu").engine.facts
    assert (facts.types, facts.scheme, facts.max_length) == (TYPES, KINDS[kind], 60)
    assert entities(models(name, kind)[0], spoken) == entities(models(name, kind)[1], spoken)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_pipeline_finds_our_entities_of_one_head(name: str, models: Models) -> None:
    ours, theirs = models(name, "one-head")
    spoken = texts(theirs)
    expected = entities(ours, spoken)
    assert sum(map(len, expected)) > 10
    assert by_pipeline(theirs, spoken) == expected
    with_words = by_pipeline(theirs, [[text.split()] for text in spoken], is_split_into_words=True)
    assert with_words == expected


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_pipelines_rule_for_two_heads(name: str, models: Models) -> None:
    """A word is in an entity where e > 1/2, of the type with the highest r."""
    ours, theirs = models(name, "two-heads")
    spoken, at, expected = texts(theirs), 0, []
    p = distributions(ours, spoken)
    classes = np.where(p[:, 0] < 0.5, 1 + p[:, 1:].argmax(-1), 0)
    for sentence in sentences(spoken):
        found = sentence.with_spans(io_spans(classes[at : at + len(sentence)], TYPES))
        expected.append([(*found.char_span(s), s.label) for s in found.spans or ()])
        at += len(sentence)
    assert sum(map(len, expected)) > 10
    assert by_pipeline(theirs, spoken) == expected


def test_a_trained_model_in_the_pipeline(trained: Path, toy: list[Sentence], tmp_path: Path) -> None:
    """With scores: those of an entity are the mean over its words in both."""
    found = export_transformers(trained, tmp_path / "hf", language="en", sentences=toy)
    assert found.difference < 1e-4
    assert found.agreement == 1
    assert found.as_dict()["architecture"] == "RobertaForTokenClassification"
    assert "words with the same tag by the highest probability: 100.00 %" in found.table()
    spoken = [s.text for s in toy]
    assert by_pipeline(tmp_path / "hf", spoken) == entities(trained, spoken)
    ner = pipeline(
        "token-classification",
        str(tmp_path / "hf"),
        aggregation_strategy="first",
        device="cpu",
        pipeline_class=TokenClassificationPipeline,
    )
    assert [e["score"] for e in ner("Anna went to Paris .")] == pytest.approx(
        [e.score for e in load(trained, "cpu")("Anna went to Paris .")], abs=2e-4
    )
    assert evaluate_sentences([f.sentence for f in load(tmp_path / "hf", "cpu").find(toy)], toy).f1 > 0.95


def test_the_folder_and_its_card(trained: Path, toy: list[Sentence], tmp_path: Path) -> None:
    """Ready for the hub: safetensors, no pickle, a card; nothing of ours that others could not read."""
    model = shutil.copytree(trained, tmp_path / "model")
    front = "license: mit\nlibrary_name: roster\npipeline_tag: token-classification\ntags:\n- roster\n"
    (model / "README.md").write_text(f"---\n{front}---\n\n# A model\n\nRead it.{NOT_OF_TRANSFORMERS}\n")
    roster.export(model, tmp_path / "hf", to="transformers", language="en", gold=toy)
    names = {p.name for p in (tmp_path / "hf").iterdir()}
    assert {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "README.md",
    } <= names
    assert not any(p.suffix in (".bin", ".pt", ".pkl", ".py") for p in (tmp_path / "hf").iterdir())
    card = (tmp_path / "hf" / "README.md").read_text()
    assert card.startswith("---\nlicense: mit\nlanguage: en\nlibrary_name: transformers\n")
    assert "tags:\n- roster\n---\n\n# A model\n\nRead it.\n\n## Use with transformers\n" in card
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert config["id2label"] == {"0": "O", "1": "O", "2": "I-PER", "3": "I-LOC"}
    assert str(tmp_path) not in card + json.dumps(config)
    roster.export(model, tmp_path / "hf", to="transformers", gold=toy)  # in place of the first
    assert "language:" not in (tmp_path / "hf" / "README.md").read_text()


def test_calibrated_scores_come_with_it(trained: Path, tmp_path: Path) -> None:
    model = shutil.copytree(trained, tmp_path / "model")
    (model / "calibration.json").write_text('{"calibration": {"slope": 0.5, "intercept": -1.0}}')
    (model / "checksums.json").unlink()
    export_transformers(model, tmp_path / "hf", sentences=SHORT)
    text = "Anna went to Paris ."
    assert [e.score for e in load(tmp_path / "hf", "cpu")(text)] == pytest.approx(
        [e.score for e in load(model, "cpu")(text)], abs=2e-4
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"to": "transformers", "int8": True}, ConfigError, "eight bits are only for ONNX"),
        (
            {"to": "transformers", "language": "English"},
            ConfigError,
            "'English' is not the code",
        ),
        ({"to": "keras"}, ConfigError, "there is no export to 'keras'"),
        ({"language": "en"}, ConfigError, "language is only for a transformers export"),
    ],
)
def test_wrong_options(
    options: dict[str, Any], error: type[Exception], message: str, trained: Path, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        roster.export(trained, tmp_path / "hf", **options)
    assert not (tmp_path / "hf").exists()


def test_what_cannot_be_written(backbones: dict[str, Path], trained: Path, tmp_path: Path) -> None:
    kind = next(kind for kind, head in heads().items() if head.whole)
    model = heads()[kind](load_encoder(str(backbones["bert"])), 2)
    save_model(tmp_path / "whole", model, load_tokenizer(str(backbones["bert"])), ("A", "B"), 24, "")
    with pytest.raises(ModelError, match="only models that classify words one by one"):
        export_transformers(tmp_path / "whole", tmp_path / "hf")
    exported = shutil.copytree(trained, tmp_path / "exported")
    facts = json.loads((exported / "roster.json").read_text())
    (exported / "roster.json").write_text(json.dumps({**facts, "layout": EXPORTED}))
    with pytest.raises(ModelError, match="is an export already"):
        export_transformers(exported, tmp_path / "hf")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(ConfigError, match="is there and is not an export"):
        export_transformers(trained, tmp_path / "other")
    export_transformers(trained, tmp_path / "hf", sentences=SHORT)
    for to in ("onnx", "transformers"):
        with pytest.raises(ModelError, match="is a model of transformers"):
            roster.export(tmp_path / "hf", tmp_path / "again", to=to)


def test_a_norm_that_cannot_be_undone(backbones: dict[str, Path], tmp_path: Path) -> None:
    model = heads()["one-head"](load_encoder(str(backbones["modernbert"])), 2)
    model.encoder.final_norm.weight.data[3] = 0
    save_model(tmp_path / "m", model, load_tokenizer(str(backbones["modernbert"])), ("A", "B"), 24, "")
    with pytest.raises(ModelError, match="its last norm cannot be undone"):
        export_transformers(tmp_path / "m", tmp_path / "hf")


def test_the_command(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roster.write(tmp_path / "gold.jsonl", SHORT)
    options = ["--to", "transformers", "--language", "en", "-o", str(tmp_path / "hf")]
    assert main(["export", str(trained), *options, "--gold", str(tmp_path / "gold.jsonl")]) == 0
    assert capsys.readouterr().out.startswith("architecture: RobertaForTokenClassification, 4 labels\n")
    (tmp_path / "text.txt").write_text("Anna went to Paris .\n")
    assert main(["predict", str(tmp_path / "hf"), str(tmp_path / "text.txt"), "--device", "cpu"]) == 0
    (span, _) = json.loads(capsys.readouterr().out)["spans"]
    assert (span["text"], span["start"], span["end"]) == ("Anna", 0, 4)


def test_in_a_spacy_pipeline(trained: Path, tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pytest.importorskip("roster.integrations.spacy")
    export_transformers(trained, tmp_path / "hf", sentences=SHORT)
    nlp = spacy.blank("xx")
    nlp.add_pipe("roster", config={"model": str(tmp_path / "hf"), "device": "cpu"})
    nlp.to_disk(tmp_path / "nlp")
    assert [e.text for e in spacy.load(tmp_path / "nlp")("Anna went to Paris .").ents] == ["Anna", "Paris"]
