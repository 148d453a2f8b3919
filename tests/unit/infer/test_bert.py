"""Our own reader of BERT's family against transformers, on the same folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from roster.corpus.sentence import Sentence
from roster.errors import ModelError
from roster.infer.bert import bert_reader
from roster.infer.recogniser import Recogniser, load
from roster.infer.torch_engine import HubReader, TorchEngine
from roster.methods.registry import head_of, heads
from roster.model.folder import load_model, read_facts

Models = Callable[[str, str], Path]
FAMILY = ["roberta", "bert", "distilbert"]


@pytest.mark.parametrize("kind", sorted(kind for kind, head in heads().items() if not head.whole))
@pytest.mark.parametrize("name", FAMILY)
def test_the_same_logits(name: str, kind: str, models: Models, texts: list[Sentence]) -> None:
    """Windows of several lengths in one batch, so that there is padding."""
    folder = models(name, kind)
    engine = TorchEngine(folder, read_facts(folder), "cpu")
    assert not isinstance(engine.reader, HubReader)
    ours = Recogniser(engine).logits(texts)
    engine.reader = HubReader(load_model(folder, head_of)[0])
    theirs = Recogniser(engine).logits(texts)
    assert ours.shape == theirs.shape == (74, 7 if kind == "one-head" else 4)
    assert abs(theirs).max() > 1
    torch.testing.assert_close(torch.from_numpy(ours), torch.from_numpy(theirs), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["deberta-v2", "modernbert"])
def test_others_are_left_to_transformers(name: str, models: Models) -> None:
    folder = models(name, "two-heads")
    assert bert_reader(folder, read_facts(folder)) is None
    assert load(folder, "cpu")("Anna went to Paris .") is not None


def changed(source: Path, target: Path, **changes: Any) -> Path:
    shutil.copytree(source, target)
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps({**config, **changes}))
    return target


@pytest.mark.parametrize(
    "changes", [{"hidden_act": "relu"}, {"is_decoder": True}, {"model_type": "electra"}, {"hidden_act": None}]
)
def test_a_bert_that_is_none(changes: dict[str, Any], models: Models, tmp_path: Path) -> None:
    folder = changed(models("bert", "two-heads"), tmp_path / "m", **changes)
    assert bert_reader(folder, read_facts(folder)) is None


@pytest.mark.parametrize(
    "changes",
    [{"hidden_size": 64}, {"intermediate_size": 32}, {"num_hidden_layers": 1}, {"num_hidden_layers": 3},
     {"vocab_size": 7}, {"max_position_embeddings": 9}, {"num_attention_heads": 3}],
)  # fmt: skip
def test_weights_of_another_size(changes: dict[str, int], models: Models, tmp_path: Path) -> None:
    folder = changed(models("bert", "two-heads"), tmp_path / "m", **changes)
    with pytest.raises(ModelError, match=str(folder)):
        load(folder, "cpu")


@pytest.mark.parametrize("change", [{"types": ["A"]}, {"kind": "one-head"}])
def test_weights_of_other_heads(change: dict[str, Any], models: Models, tmp_path: Path) -> None:
    folder = shutil.copytree(models("roberta", "two-heads"), tmp_path / "m")
    facts = json.loads((folder / "roster.json").read_text())
    (folder / "roster.json").write_text(json.dumps({**facts, **change}))
    (folder / "checksums.json").unlink()
    with pytest.raises(ModelError, match="do not fit the model's own description"):
        load(folder, "cpu")
