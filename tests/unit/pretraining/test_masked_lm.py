"""Encoder and head of a split masked LM give the results of the model, for all architectures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM, ElectraConfig, ElectraForMaskedLM

from roster.errors import ModelError
from roster.pretraining.masked_lm import SplitMaskedLM, set_dropout, size

KINDS = ("roberta", "bert", "distilbert", "deberta-v2", "modernbert", "electra")
KIN = ("roberta", "bert", "distilbert")


def load(kind: str, backbones: dict[str, Path], **more: Any) -> Any:
    torch.manual_seed(0)
    if kind == "electra":
        config = ElectraConfig(vocab_size=150, embedding_size=16, hidden_size=32, num_hidden_layers=2,
                               num_attention_heads=2, intermediate_size=64,
                               initializer_range=0.1)  # fmt: skip
        return ElectraForMaskedLM(config).eval()
    return AutoModelForMaskedLM.from_pretrained(backbones[kind], dtype=torch.float32, **more).eval()


def inputs(rows: int = 3, length: int = 12) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 90, (rows, length), generator=draw)
    places = torch.stack([torch.randperm(length, generator=draw)[:4] for _ in range(rows)])
    return ids, places


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_states_and_logits(kind: str, backbones: dict[str, Path]) -> None:
    model = load(kind, backbones)
    ids, places = inputs()
    with torch.no_grad():
        whole = model(input_ids=ids, output_hidden_states=True)
        parted = SplitMaskedLM(model)
        every, last = parted.states(ids, True), parted.states(ids, False)
        logits = parted.logits(last[0], places)
        also = parted.logits(every[-1], places)
    assert len(last) == 1
    assert len(every) == len(whole.hidden_states) == 3
    for mine, theirs in zip(every, whole.hidden_states, strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-5, rtol=1e-4)
    expected = torch.stack([whole.logits[row, place] for row in range(3) for place in places[row]])
    torch.testing.assert_close(logits, expected, atol=5e-5, rtol=1e-4)
    torch.testing.assert_close(also, expected, atol=5e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_unchanged(kind: str, backbones: dict[str, Path]) -> None:
    model = load(kind, backbones)
    ids, places = inputs()
    modules, parameters = dict(model.named_modules()), dict(model.named_parameters())
    with torch.no_grad():
        before = model(input_ids=ids).logits
        parted = SplitMaskedLM(model)
        logits = parted.logits(parted.states(ids, False)[0], places)
        assert torch.equal(model(input_ids=ids).logits, before)
        assert torch.equal(parted.logits(parted.states(ids, False)[0], places), logits)
    assert dict(model.named_modules()) == modules
    assert all(p is parameters[name] for name, p in model.named_parameters())
    assert {id(p) for p in parted.parameters()} == {id(p) for p in parameters.values()}


@pytest.mark.parametrize("kind", ["roberta", "distilbert", "modernbert"])
def test_the_same_gradients(kind: str, backbones: dict[str, Path]) -> None:
    ids, places = inputs()
    targets = torch.arange(12) + 7
    mine, theirs = load(kind, backbones), load(kind, backbones)
    parted = SplitMaskedLM(mine)
    nn.functional.cross_entropy(parted.logits(parted.states(ids, False)[-1], places), targets).backward()
    logits = theirs(input_ids=ids).logits.gather(
        1, places[..., None].expand(-1, -1, theirs.config.vocab_size)
    )
    nn.functional.cross_entropy(logits.flatten(0, 1), targets).backward()
    for (name, one), (_, other) in zip(mine.named_parameters(), theirs.named_parameters(), strict=True):
        assert (one.grad is None) == (other.grad is None), name
        if one.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-3, msg=name)


def test_parameters_once(backbones: dict[str, Path]) -> None:
    model = load("roberta", backbones)
    count, ids = sum(p.numel() for p in model.parameters()), {id(p) for p in model.parameters()}
    parted = SplitMaskedLM(model)
    assert {id(p) for p in dict(parted.named_parameters()).values()} == ids
    assert size(parted) == count


@pytest.mark.parametrize("kind", KIN)
def test_operations(kind: str, backbones: dict[str, Path]) -> None:
    """Against a count of what really goes through the linear layers, and of attention's two products."""
    model = SplitMaskedLM(load(kind, backbones))
    ids, places = inputs(rows=1)
    counted = 0

    def count(module: nn.Linear, given: tuple[Tensor], _: Tensor) -> None:
        nonlocal counted
        counted += 2 * given[0].numel() // given[0].shape[-1] * module.in_features * module.out_features

    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(count)
    with torch.no_grad():
        model.logits(model.states(ids, False)[-1], places)
    heads, length, layers = 2, ids.shape[1], 2
    per_head = 2 * length * length * (32 // heads)  # one product: queries with keys, or weights with values
    assert model.operations(length, places.shape[1]) == counted + layers * heads * 2 * per_head


@pytest.mark.parametrize("kind", KINDS)
def test_dropout(kind: str, backbones: dict[str, Path]) -> None:
    # ModernBERT alone keeps the dropout of its attention as a number, and has none by default.
    more = {"attention_dropout": 0.2} if kind == "modernbert" else {}
    model = load(kind, backbones, **more)
    before = model.config.to_dict()
    parted = SplitMaskedLM(model).train()
    ids, places = inputs()

    def twice(p: float) -> bool:
        set_dropout(parted, p)
        return torch.equal(*(parted.logits(parted.states(ids, False)[-1], places) for _ in range(2)))

    assert not twice(0.3)
    assert twice(0.0)
    assert model.config.to_dict() == before


def test_relations_need_a_kin_of_bert(backbones: dict[str, Path]) -> None:
    model = SplitMaskedLM(load("deberta-v2", backbones))
    with pytest.raises(ModelError, match=r"BERT-like models .*set 'relations' to 0"):
        model.relation_parts(torch.zeros(1, 4, 32))


def test_queries_keys_and_values(backbones: dict[str, Path]) -> None:
    whole = load("bert", backbones)
    attention = whole.bert.encoder.layer[1].attention.self
    states = torch.randn(2, 5, 32)
    expected = [layer(states) for layer in (attention.query, attention.key, attention.value)]
    for mine, theirs in zip(SplitMaskedLM(whole).relation_parts(states), expected, strict=True):
        assert torch.equal(mine, theirs)


def test_a_model_without_an_encoder_of_its_own() -> None:
    class Odd(nn.Module):
        base_model_prefix = "odd"
        config = type("Config", (), {"model_type": "odd"})

    with pytest.raises(ModelError, match="of the type odd cannot be pre-trained"):
        SplitMaskedLM(Odd())
