"""Smaller models out of larger ones: what is not cut is the same, and what is cut has not forgotten all."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from transformers import AutoModelForMaskedLM

from roster.errors import ConfigError, ModelError
from roster.pretraining.evaluation import evaluate
from roster.pretraining.masked_lm import SplitMaskedLM, size
from roster.pretraining.masking import Masked
from roster.pretraining.pruning import evenly, prune

KIN = ("roberta", "bert", "distilbert")


def load(kind: str, backbones: dict[str, Path]) -> Any:
    return AutoModelForMaskedLM.from_pretrained(backbones[kind], dtype=torch.float32).eval()


def logits(model: Any) -> torch.Tensor:
    ids = torch.randint(5, 250, (2, 9), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        found: torch.Tensor = model.eval()(input_ids=ids).logits
    return found


@given(total=st.integers(1, 48), data=st.data())
def test_evenly(total: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, total))
    found = evenly(total, count)
    assert len(found) == count
    assert found[-1] == total - 1
    gaps = [b - a for a, b in zip((-1, *found), found, strict=False)]
    assert min(gaps) >= 1
    assert max(gaps) - min(gaps) <= 1


def test_more_layers_than_there_are() -> None:
    with pytest.raises(ConfigError, match="the model has 4 layers, not 5"):
        evenly(4, 5)


@pytest.mark.parametrize("kind", KIN)
def test_nothing_cut_is_the_same(kind: str, backbones: dict[str, Path]) -> None:
    model = load(kind, backbones)
    again = prune(model, [0, 1], 32, 2, 64)
    torch.testing.assert_close(logits(again), logits(model), atol=1e-5, rtol=1e-4)
    assert again is not model
    assert again.config.to_dict() == model.config.to_dict()


@pytest.mark.parametrize("kind", KIN)
@pytest.mark.parametrize("numbers", [[0], [1], [1, 0], [0, 1, 1]])
def test_layers_only(kind: str, numbers: list[int], backbones: dict[str, Path]) -> None:
    model = load(kind, backbones)
    found = logits(prune(model, numbers, 32, 2, 64))
    encoder = getattr(model, model.base_model_prefix)
    stack = encoder.transformer if kind == "distilbert" else encoder.encoder
    layers = list(stack.layer)
    stack.layer = nn.ModuleList([copy.deepcopy(layers[i]) for i in numbers])
    torch.testing.assert_close(found, logits(model), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", KIN)
@pytest.mark.parametrize("shape", [(16, 1, 64), (16, 2, 20), (24, 2, 48), (32, 2, 10)])
def test_cut_models_run(kind: str, shape: tuple[int, int, int], backbones: dict[str, Path]) -> None:
    model = load(kind, backbones)
    width, heads, inner = shape
    smaller = prune(model, [1], width, heads, inner)
    assert size(smaller) < size(model)
    assert smaller.config.hidden_size == width
    assert smaller.config.num_attention_heads == heads
    assert smaller.get_input_embeddings().weight.shape[1] == width
    assert smaller.get_input_embeddings().weight is smaller.get_output_embeddings().weight
    found = logits(smaller)
    assert found.shape == logits(model).shape
    assert found.isfinite().all()


def test_a_cut_row_adds_up_to_as_much(backbones: dict[str, Path]) -> None:
    model = load("bert", backbones)
    smaller = prune(model, [0, 1], 16, 1, 64)
    before = model.bert.encoder.layer[0].intermediate.dense.weight.norm(dim=1)
    after = smaller.bert.encoder.layer[0].intermediate.dense.weight.norm(dim=1)
    torch.testing.assert_close(after, before)


def test_attention_stays_as_sharp(backbones: dict[str, Path]) -> None:
    """Products of heads of 8 are divided by less than those of heads of 16; the queries make up for it."""
    old = load("bert", backbones).bert.encoder.layer[0].attention.self
    new = prune(load("bert", backbones), [0, 1], 16, 2, 64).bert.encoder.layer[0].attention.self
    for name, factor in (("query", 0.5**0.5), ("key", 1.0), ("value", 1.0)):
        before, after = (getattr(m, name).weight.detach().norm(dim=1) for m in (old, new))
        nearest = (after[:, None] - factor * before[None]).abs().min(1).values
        assert float(nearest.max()) < 1e-5, name


def test_what_is_read_most_is_kept(backbones: dict[str, Path]) -> None:
    """States, units and heads that nothing reads or that say nothing are the first to go."""
    model = load("bert", backbones)
    with torch.no_grad():
        for layer in model.bert.encoder.layer:
            attention = layer.attention
            for reader in (*attention.self.children(), layer.intermediate.dense):
                if isinstance(reader, nn.Linear):
                    reader.weight[:, 5:21] *= 1e-4
            layer.intermediate.dense.weight[::2] *= 1e-4
            attention.self.value.weight[:16] *= 1e-4
            attention.self.query.weight[:16] *= 1e-4
    smaller = prune(model, [0, 1], 16, 1, 32)
    kept = [*range(5), *range(21, 32)]
    table = model.bert.embeddings.word_embeddings.weight
    assert torch.equal(smaller.bert.embeddings.word_embeddings.weight, table[:, kept])
    first, old = smaller.bert.encoder.layer[0], model.bert.encoder.layer[0]
    assert torch.equal(first.intermediate.dense.bias, old.intermediate.dense.bias[1::2])
    torch.testing.assert_close(first.attention.self.value.bias, old.attention.self.value.bias[16:])
    assert torch.equal(
        smaller.cls.predictions.transform.LayerNorm.weight,
        model.cls.predictions.transform.LayerNorm.weight[kept],
    )


@pytest.mark.parametrize("shape", [([1, 2], 32, 4, 64), ([0, 1, 2], 32, 4, 48), ([0, 1, 2], 24, 4, 64)])
def test_a_better_place_to_begin_than_chance(
    shape: tuple[list[int], int, int, int], learned: Any, unseen: list[Masked]
) -> None:
    numbers, width, heads, inner = shape
    whole = evaluate(SplitMaskedLM(copy.deepcopy(learned)), unseen, "float32")["valid_loss"]
    smaller = prune(learned, numbers, width, heads, inner)
    chance = []
    for seed in range(3):
        torch.manual_seed(seed)
        fresh = SplitMaskedLM(type(smaller)(smaller.config))
        chance.append(evaluate(fresh, unseen, "float32")["valid_loss"])
    cut = evaluate(SplitMaskedLM(smaller), unseen, "float32")["valid_loss"]
    assert whole < 3
    assert whole < cut < min(chance) - 1.5


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        ((20, 3, 64), "'width' (20) must be a multiple of 'heads' (3)"),
        ((64, 2, 64), "'width' (64) is more than the 32"),
        ((32, 4, 64), "'heads' (4) is more than the 2"),
        ((32, 2, 65), "'inner' (65) is more than the 64"),
        ((20, 1, 64), "heads of 20; the model that is pruned has heads of 16: use at least 2 heads"),
    ],
)
def test_shapes_that_cannot_be(shape: tuple[int, int, int], named: str, backbones: dict[str, Path]) -> None:
    with pytest.raises(ConfigError) as error:
        prune(load("roberta", backbones), [0], *shape)
    assert named in str(error.value)


def test_only_kin_of_bert(backbones: dict[str, Path]) -> None:
    with pytest.raises(ModelError, match=r"only BERT-like models can be pruned .*modernbert"):
        prune(load("modernbert", backbones), [0], 16, 1, 32)
