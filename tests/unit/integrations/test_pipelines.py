"""The pipeline of transformers after `import roster`: our entities, and nothing new for models of others."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForTokenClassification, AutoTokenizer, TokenClassificationPipeline, pipeline
from transformers.pipelines import PIPELINE_REGISTRY

import roster
from roster.errors import DataError, ModelError
from roster.infer.recogniser import load
from roster.integrations import pipelines
from roster.integrations.transformers import export_transformers
from roster.methods.registry import heads
from roster.model.folder import save_model
from tests.unit.integrations.exported import SHORT, SPOKEN, TYPES, Models

LONG = " ".join(SPOKEN.split() * 8)
TEXTS = [
    "Anna Berg-Dora went to U.S.-Paris, then home.",
    "  Carl  (of Bonn)\tsaw Dr. Dora!  She saw Oslo.\n\nIt rained in Rome.Anna left… 日本 Élan's",
    "",
    "\u200b [SEP] Anna",
    LONG,
]


def ner(folder: Path, strategy: str = "simple", **options: Any) -> Any:
    return pipeline(
        "token-classification", str(folder), aggregation_strategy=strategy, device="cpu", **options
    )


def ours(folder: Path, texts: list[str]) -> list[list[dict[str, Any]]]:
    found = load(folder, "cpu").pipe(texts)
    return [
        [{"entity_group": e.label, "word": e.text, "start": e.start, "end": e.end} for e in one]
        for one in found
    ]


def without_scores(found: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    return [[{k: v for k, v in e.items() if k != "score"} for e in one] for one in found]


@pytest.mark.parametrize("kind", ["two-heads", "one-head"])
@pytest.mark.parametrize("name", ["roberta", "bert", "distilbert", "deberta-v2", "modernbert"])
def test_our_entities(name: str, kind: str, models: Models) -> None:
    """Of an exported folder and of the model folder itself, whatever the strategy, in batches or not."""
    model, exported = models(name, kind)
    expected = ours(model, TEXTS)
    assert min(map(len, (expected[0], expected[1], expected[4]))) > 0
    for folder in (model, exported):
        found = ner(folder)
        assert without_scores([found(text) for text in TEXTS]) == expected
        assert without_scores(found(TEXTS, batch_size=2)) == expected
        assert without_scores(found(TEXTS, aggregation_strategy="first", stride=4)) == expected
        assert without_scores(list(found(text for text in TEXTS))) == expected
        scores = [e["score"] for e in found(LONG)]
        assert scores == pytest.approx([e.score for e in load(model, "cpu")(LONG)], abs=2e-4)


def test_words(models: Models) -> None:
    """Lists of words, with offsets in the words joined by a delimiter."""
    model, exported = models("bert", "one-head")
    words = SPOKEN.split()
    expected = [(e.label, e.start, e.end) for one in load(model, "cpu").find(SHORT) for e in one.entities]
    ((*found,),) = ner(exported)([words], is_split_into_words=True)
    assert [(e["entity_group"], e["start"], e["end"]) for e in found] == expected
    wider = "  ".join(words)
    ((*found,),) = ner(exported)([words], is_split_into_words=True, delimiter="  ")
    assert [e["word"] for e in found] == [wider[e["start"] : e["end"]] for e in found]
    assert [" ".join(e["word"].split()) for e in found] == [SPOKEN[a:b] for _, a, b in expected]


def test_what_asks_for_more_than_entities(models: Models) -> None:
    """Labels of sub-words, and the words outside entities, come from the library's own pipeline."""
    _, exported = models("bert", "one-head")
    plain = {"pipeline_class": TokenClassificationPipeline}
    for strategy, options in (("none", {}), ("simple", {"ignore_labels": []})):
        theirs = ner(exported, strategy, **plain)(SPOKEN, **options)
        assert ner(exported, strategy)(SPOKEN, **options) == theirs
        assert len(theirs) > 5
    every = ner(exported)(LONG)
    kept = ner(exported, ignore_labels=["O", every[0]["entity_group"]])(LONG)
    assert kept == [e for e in every if e["entity_group"] != every[0]["entity_group"]]


def test_a_model_of_others_is_read_as_before(models: Models, tmp_path: Path) -> None:
    _, exported = models("bert", "one-head")
    other = shutil.copytree(exported, tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    for mark in (None, "news", {"max_length": "60"}):
        (other / "config.json").write_text(json.dumps({**config, "roster": mark}))
        made = ner(other)
        assert isinstance(made, pipelines.RosterTokenClassificationPipeline)
        assert made.recogniser is None
        for text in TEXTS[:2]:
            assert made(text) == ner(other, pipeline_class=TokenClassificationPipeline)(text)


def test_a_loaded_model_and_a_saved_pipeline(models: Models, tmp_path: Path) -> None:
    """`save_pretrained` of the pipeline writes no code, and the mark stays."""
    model, exported = models("roberta", "one-head")
    loaded = AutoModelForTokenClassification.from_pretrained(exported)
    made = pipeline("ner", loaded, tokenizer=AutoTokenizer.from_pretrained(exported), device="cpu")
    made.save_pretrained(tmp_path / "saved")
    assert not list((tmp_path / "saved").glob("*.py"))
    assert "custom_pipelines" not in json.loads((tmp_path / "saved" / "config.json").read_text())
    assert without_scores(ner(tmp_path / "saved")(TEXTS)) == ours(model, TEXTS)


def test_calibrated_scores(trained: Path, tmp_path: Path) -> None:
    model = shutil.copytree(trained, tmp_path / "model")
    (model / "calibration.json").write_text('{"calibration": {"slope": 0.5, "intercept": -1.0}}')
    (model / "checksums.json").unlink()
    export_transformers(model, tmp_path / "hf", sentences=SHORT)
    text = "Anna went to Paris ."
    expected = [e.score for e in load(model, "cpu")(text)]
    for folder in (model, tmp_path / "hf"):
        assert [e["score"] for e in ner(folder)(text)] == pytest.approx(expected, abs=2e-4)


def test_errors(backbones: dict[str, Path], models: Models, tmp_path: Path) -> None:
    from roster.backbone.loading import load_encoder, load_tokenizer

    kind = next(kind for kind, head in heads().items() if head.whole)
    whole = heads()[kind](load_encoder(str(backbones["bert"])), len(TYPES))
    save_model(tmp_path / "whole", whole, load_tokenizer(str(backbones["bert"])), TYPES, 24, "")
    with pytest.raises(ModelError, match="only models that classify words one by one"):
        ner(tmp_path / "whole")
    with pytest.raises(DataError, match="text 0 is not valid Unicode"):
        ner(models("bert", "one-head")[1])("Anna \ud800")


def test_it_is_registered() -> None:
    """`import roster` has done it, and the default model of the task is still there."""
    _, task, _ = PIPELINE_REGISTRY.check_task("ner")
    assert task["impl"] is pipelines.RosterTokenClassificationPipeline
    assert task["default"]["model"]


def test_an_error_does_not_break_transformers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pipelines, "PIPELINE_REGISTRY", None)
    with caplog.at_level("WARNING", "roster"), warnings.catch_warnings():
        roster._register_pipeline()
    assert "pipelines of transformers are without roster's own (AttributeError" in caplog.text
