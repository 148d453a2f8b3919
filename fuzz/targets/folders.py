"""Folders that roster wrote itself and that somebody may have changed: models, runs, reviews, results."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch

from fuzz.target import BETWEEN, Target, files_of
from roster.backbone.loading import resolve
from roster.backbone.words import Words
from roster.config import Backbone, read_toml
from roster.corpus.provenance import read_provenance
from roster.experiments.store import Results
from roster.files import read_object
from roster.infer.calibration import load_fit
from roster.model.bilstm import BilstmConfig
from roster.model.folder import is_readable, read_facts, verify
from roster.model.token_classifier import read_classifier
from roster.model.weights import load_tensors, save_tensors
from roster.pretraining.folder import PretrainingFolder
from roster.pretraining.tokens import TokenisedCorpus
from roster.reviewing.answers import Answer
from roster.reviewing.folder import read_about, read_sentences
from roster.serving.origins import Origins, Places
from roster.training.finished import FinishedRun
from roster.training.run import Run

FACTS = b"""{"kind": "two-heads", "types": ["PER", "LOC"], "max_length": 64, "layout": 1, "scheme": "io",
"specials": {"prefix": [2], "suffix": [3], "numbers": [0, 1, 2, 3], "pad": 0, "unknown": 1}}"""
CALIBRATION = b"""{"calibration": {"slope": 0.5, "intercept": 0.1}, "entities": 60,
"before": {"calibration_error": 0.1, "brier": 0.2}, "after": {"calibration_error": 0.05, "brier": 0.1}}"""
CLASSIFIER = b"""{"architectures": ["BertForTokenClassification"], "model_type": "bert", "pad_token_id": 0,
"max_position_embeddings": 64, "id2label": {"0": "O", "1": "B-PER", "2": "I-PER"}}"""
SIZES = b"""{"learned": 3, "fixed": 2, "characters": 4, "word_size": 5, "char_size": 2, "filters": 3,
"hidden": 4, "dropout": 0.5, "model_type": "roster-bilstm-cnn"}"""
REVIEW = (
    b"""{"model": "m", "text": "t", "types": ["PER"], "sentences": 9, "sample": 1, "seed": 0, "layout": 2}"""
)
ASKED = b"""{"doc": "", "text": "Ada ran", "words": [[0, 3], [4, 7]], "spans": [[0, 1, "PER"]], "expected":
{"predicted": 1.0, "right": 0.9, "gold": 1.1, "controls": [1.0, 0.5], "spread": 0.1}}""".replace(b"\n", b" ")
ORIGIN = (
    b'{"sentence": 0, "start": 0, "end": 1, "text": "Ada", "types": ["PER"], "evidence": '
    b'[{"source": "d.tsv", "entry": "Ada", "line": 3}]}\n'
)
CLAIMS = (
    b'{"kind": "entry", "entry": "Ada", "label": "PER", "source": "d.tsv", "line": 3, "verdict": "wrong", '
    b'"believed": "LOC", "longer": "", "confidence": 0.9, "labels": 3}\n'
    b'{"kind": "name", "name": "Bo", "label": "PER", "count": 2, "confidence": 0.5}\n'
)
TOKENS = b"""{"dtype": "<u2", "train": 2, "valid": 0, "documents": 1, "valid_documents": 0, "characters": 9,
"words": 2, "unknown": 0}"""
POINT = b'{"version": 1, "kind": "point", "key": "a", "scores": {}}\n'
CURVE = b'\n{"stage": "member 0", "step": 1, "scores": {"f1": 0.5}}\n'


ANSWER = b'{"sentence": 0, "verdict": "type", "mention": 0, "start": 0, "end": 1, "label": "PER"}'
WORDS = b'{"learned": ["a"], "fixed": ["b"], "characters": "ab"}'
RUN = b'{"stages": {"model": {}}, "data": {"path": "d"}}'


def targets() -> list[Target]:
    """Manifests, weights, vocabularies, calibrations, runs, reviews, provenance, results, tokens."""
    return [
        Target("model-facts", _facts, lambda: [FACTS, _joined(FACTS, b'{"roster.json": "00"}')]),
        Target("classifier", _classifier, lambda: [_joined(CLASSIFIER, b'{"model_max_length": 32}')]),
        Target("calibration", _calibration, lambda: [CALIBRATION]),
        Target("vocabulary", _vocabulary, lambda: [_joined(WORDS, SIZES)]),
        Target("weights", _weights, _weight_seeds),
        Target("tokenizer-file", _tokenizer_file, _tokenizer_seeds),
        Target("run", _run, lambda: [_joined(RUN, FACTS, b'{"layout": 3}', CURVE)]),
        Target("review", _review, lambda: [_joined(REVIEW, ASKED, ANSWER)]),
        Target("provenance", _provenance, lambda: [_joined(ORIGIN, CLAIMS)]),
        Target("results", _results, lambda: [POINT]),
        Target("pretraining", _pretraining, lambda: [_joined(b'{"loss": 2.0}\n', TOKENS, b"abcd", b"")]),
    ]


def _joined(*files: bytes) -> bytes:
    return BETWEEN.join(files)


def _facts(data: bytes, folder: Path) -> None:
    files_of(data, folder, "roster.json", "checksums.json")
    is_readable(folder)
    facts = read_facts(folder)
    assert facts.max_length > 0
    assert facts.classes > 0
    verify(folder)


def _classifier(data: bytes, folder: Path) -> None:
    files_of(data, folder, "config.json", "tokenizer_config.json")
    (folder / "model.safetensors").touch()
    is_readable(folder)
    found = read_classifier(folder)
    assert len(found.labels.classes) >= 2
    assert found.max_length > 0


def _calibration(data: bytes, folder: Path) -> None:
    files_of(data, folder, "calibration.json")
    load_fit(folder)


def _vocabulary(data: bytes, folder: Path) -> None:
    files_of(data, folder, "words.json", "config.json")
    Words.load(folder).rows(["Ada", "b"])
    BilstmConfig.load(folder)


def _weights(data: bytes, folder: Path) -> None:
    tensors, _ = load_tensors(files_of(data, folder, "a.safetensors")[0])
    for tensor in tensors.values():
        tensor.sum()


def _weight_seeds() -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a.safetensors"
        save_tensors(path, {"a": torch.arange(4.0), "b": torch.ones(2, 2, dtype=torch.int8)}, {"x": [1]})
        return [path.read_bytes()]


def _tokenizer_file(data: bytes, folder: Path) -> None:
    from roster.backbone.loading import bare_tokenizer

    files_of(data, folder, "tokenizer.json")
    bare_tokenizer(folder).encode("Ada Lovelace ran")


@cache
def _tokenizer_seeds() -> Sequence[bytes]:
    content = json.loads((Path(resolve(Backbone().name)) / "tokenizer.json").read_text(encoding="utf-8"))
    content["model"]["vocab"] = dict(list(content["model"]["vocab"].items())[:150])
    return [json.dumps(content).encode()]


def _run(data: bytes, folder: Path) -> None:
    (folder / "model").mkdir()
    (folder / "points").mkdir()
    files_of(data, folder, "results.json", "model/roster.json", "run.json", "points/curve.jsonl")
    if (folder / "points" / "curve.jsonl").exists():
        Run(folder).curve("member 0")
    found = FinishedRun.open(folder)
    read_object(folder / "run.json")
    _ = found.data_path
    found.predictions()


def _review(data: bytes, folder: Path) -> None:
    parts = files_of(data, folder, "review.json", "sentences.jsonl", "answer")
    read_about(folder)
    read_sentences(folder)
    if len(parts) == 3:
        try:
            Answer.from_dict(json.loads(parts[2].read_bytes()))
        except ValueError:
            return


def _provenance(data: bytes, folder: Path) -> None:
    files = files_of(data, folder, "d.provenance.jsonl", "audit.jsonl")
    try:
        for origin in read_provenance(files[0]):
            _ = origin.sources
    except ValueError as error:
        assert str(error)
    origins = Origins(Places(files[0], files[1] if len(files) > 1 else None))
    origins.explain("Ada", None)
    origins.close()


def _results(data: bytes, folder: Path) -> None:
    path = files_of(data, folder, "results.jsonl")[0]
    Results.read(path)
    Results.open(path).close()


def _pretraining(data: bytes, folder: Path) -> None:
    files_of(data, folder, "training.jsonl", "tokens.json", "train.bin", "valid.bin", "run.toml")
    if (folder / "run.toml").exists():
        read_toml(folder / "run.toml")
    PretrainingFolder(folder).curve()
    TokenisedCorpus.load(folder)
