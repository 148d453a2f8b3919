"""Stacked models against the plain ones: the same words, losses, gradients and steps."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from roster.accelerate.adamw import StackedAdamW
from roster.accelerate.stack import Stack
from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_encoder, load_tokenizer
from roster.corpus.sentence import Sentence
from roster.methods.registry import heads
from roster.model.batches import DeviceCorpus
from roster.model.bert_layout import NotStackableError, shape_of
from roster.model.reading import read_probabilities

CPU = torch.device("cpu")
STACKABLE = ("roberta", "bert", "distilbert")


def corpus_of(folder: Path, sentences: list[Sentence]) -> DeviceCorpus:
    tokenizer = load_tokenizer(str(folder))
    encoded = WordEncoder(tokenizer, 32).encode([s.words for s in sentences])
    return DeviceCorpus.put(encoded, tokenizer.pad_token_id, CPU)


def members(folder: Path, kind: str, k: int) -> list[Any]:
    """K models that differ in all their weights, without dropout."""
    found = []
    for seed in range(k):
        torch.manual_seed(seed)
        model = heads()[kind](load_encoder(str(folder)), 3, dropout=0.0)
        with torch.no_grad():
            for p in model.parameters():
                p.add_(torch.randn_like(p) * 0.05)
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout"):
            if hasattr(model.encoder.config, name):
                setattr(model.encoder.config, name, 0.0)
        for module in model.modules():
            if hasattr(module, "dropout") and isinstance(module.dropout, float):
                module.dropout = 0.0
        found.append(model.train())
    return found


def assert_same_update(tensor: torch.Tensor, expected: torch.Tensor, key: str, largest: float) -> None:
    """Equal within rounding, but for a few weights.

    Where a gradient is all rounding, AdamW divides it by its own size: the weight may be off by as much as
    the steps are long (`largest`).
    """
    difference = (tensor - expected).abs()
    off = difference > 2e-5 + 1e-3 * expected.abs()
    assert int(off.sum()) <= max(3, tensor.numel() // 500), f"{key}: {int(off.sum())} weights differ"
    assert float(difference.max()) <= largest, f"{key}: off by {float(difference.max()):.2g}"


@pytest.mark.parametrize("kind", ["two-heads", "one-head"])
@pytest.mark.parametrize("name", STACKABLE)
def test_it_reads_as_the_plain_models_do(
    name: str, kind: str, backbones: dict[str, Path], toy: list[Sentence]
) -> None:
    corpus = corpus_of(backbones[name], toy)
    models = members(backbones[name], kind, 3)
    found = Stack.of(models, torch.float32, CPU).read(corpus)
    for p, model in zip(found, models, strict=True):
        torch.testing.assert_close(p, read_probabilities(model, corpus), rtol=1e-4, atol=1e-5)


def test_a_crf_is_refused(tiny: Path) -> None:
    """A stack has no transitions: it would read each word by itself, and lose them on the way back."""
    with pytest.raises(NotStackableError, match="kind crf"):
        Stack.of(members(tiny, "crf", 2), torch.float32, CPU)


@pytest.mark.parametrize("name", STACKABLE)
def test_weights_come_back_as_they_went_in(name: str, backbones: dict[str, Path]) -> None:
    models = members(backbones[name], "two-heads", 2)
    stack = Stack.of(models, torch.float32, CPU)
    for i, model in enumerate(models):
        found, expected = stack.state_dict(i), model.state_dict()
        assert found.keys() == dict(model.named_parameters()).keys()
        assert all(torch.equal(found[key], expected[key]) for key in found)
        model.load_state_dict(found)


def losses(outputs: Any, targets: Tensor) -> Tensor:
    """Any smooth function of all outputs, one for each row of members."""
    parts = outputs if isinstance(outputs, tuple) else (outputs,)
    return sum((torch.sin(x.flatten(1) * 3) * targets[: x[0].numel()]).sum(1) for x in parts)  # type: ignore[return-value]


@pytest.mark.parametrize("kind", ["two-heads", "one-head"])
@pytest.mark.parametrize("name", STACKABLE)
def test_a_step_is_the_plain_step(
    name: str, kind: str, backbones: dict[str, Path], toy: list[Sentence]
) -> None:
    """Loss, every gradient, and the weights after each of three steps of clipped AdamW, each member by itself
    and on a batch of its own, beside torch's own optimiser on the plain modules."""
    corpus = corpus_of(backbones[name], toy)
    models = members(backbones[name], kind, 3)
    stack = Stack.of(models, torch.float32, CPU)
    rates = [1e-3, 2e-3, 5e-4]
    stacked = StackedAdamW(
        stack.parameters, lambda group: [r * (3 if group.head else 1) for r in rates], 0.1, 0.5
    )
    adams = [adamw_of(model) for model in models]
    generator = np.random.default_rng(0)
    for rate in rates:
        rows = torch.from_numpy(generator.permutation(corpus.encoded.n_windows)[:12]).view(3, 4)
        lengths = torch.from_numpy(corpus.encoded.lengths)[rows]
        width = -(-int(lengths.max()) // 8) * 8
        ids = nn.functional.pad(corpus.ids, (0, 32), value=corpus.pad)[rows, :width].long()
        targets = torch.from_numpy(generator.normal(size=4 * width * 9)).float()
        inside = torch.arange(width) < lengths.unsqueeze(-1)
        logits = stack.logits(ids, lengths, training=True) * inside.unsqueeze(-1)
        found = losses(stack.outputs(logits.flatten(1, 2)), targets)
        found.sum().backward()
        for i, (model, adam) in enumerate(zip(models, adams, strict=True)):
            loss = plain_losses(model, ids[i], inside[i], targets)
            torch.testing.assert_close(found[i], loss, rtol=1e-4, atol=1e-4)
            loss.backward()
            compare_gradients(stack, i, model)
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            for group, is_head in zip(adam.param_groups, (False, False, True, True), strict=True):
                group["lr"] = rate * (3 if is_head else 1)
            adam.step()
            adam.zero_grad()
        stacked.step()
        for i, model in enumerate(models):
            weights = stack.state_dict(i)
            for key, tensor in weights.items():
                if key.endswith(("key.bias", "k_lin.bias")):
                    continue  # softmax does not see it: its gradient is rounding, which Adam makes large
                assert_same_update(tensor, model.state_dict()[key], key, largest=3 * sum(rates))
            # The next step begins with the same weights: rounding that Adam made large is not carried on.
            model.load_state_dict(weights)


def plain_losses(model: Any, ids: Tensor, inside: Tensor, targets: Tensor) -> Tensor:
    hidden = model.encoder(input_ids=ids, attention_mask=inside.long()).last_hidden_state
    weights = torch.cat([model.get_submodule(h).weight for h in model.heads])
    biases = torch.cat([model.get_submodule(h).bias for h in model.heads])
    logits = nn.functional.linear(hidden, weights, biases) * inside.unsqueeze(-1)
    return losses(model.outputs(logits.flatten(0, 1).unsqueeze(0)), targets).squeeze(0)


def adamw_of(model: Any) -> torch.optim.AdamW:
    groups = []
    for is_head in (False, True):
        for decays in (True, False):
            chosen = [
                p
                for name, p in model.named_parameters()
                if name.startswith("encoder.") != is_head and (p.ndim > 1) == decays
            ]
            groups.append({"params": chosen, "weight_decay": 0.1 if decays else 0.0})
    return torch.optim.AdamW(groups, lr=1.0)


def compare_gradients(stack: Stack, member: int, model: Any) -> None:
    expected = {name: p.grad for name, p in model.named_parameters()}
    for weight in stack.parameters.weights:
        grad = torch.cat([expected[name] for name in weight.sources])
        found = stack.parameters[weight.name].grad[member]
        torch.testing.assert_close(
            found, grad, rtol=2e-3, atol=2e-4, msg=lambda m, w=weight: f"{w.name}: {m}"
        )


def test_dropout_drops(backbones: dict[str, Path], toy: list[Sentence]) -> None:
    corpus = corpus_of(backbones["distilbert"], toy)
    torch.manual_seed(0)
    model = heads()["two-heads"](load_encoder(str(backbones["distilbert"])), 3, dropout=0.1)
    stack = Stack.of([model, copy.deepcopy(model)], torch.float32, CPU)
    ids = corpus.ids[:4].long().expand(2, 4, -1)
    lengths = torch.from_numpy(corpus.encoded.lengths[:4]).expand(2, 4)
    first = stack.logits(ids, lengths, training=True)
    assert not torch.equal(first[0], first[1])  # each member has masks of its own
    assert not torch.equal(first, stack.logits(ids, lengths, training=True))
    calm = stack.logits(ids, lengths, training=False)
    assert torch.equal(calm[0], calm[1])


def test_bf16_keeps_float32_masters(backbones: dict[str, Path], toy: list[Sentence]) -> None:
    corpus = corpus_of(backbones["roberta"], toy)
    models = members(backbones["roberta"], "two-heads", 2)
    stack = Stack.of(models, torch.bfloat16, CPU)
    for p, model in zip(stack.read(corpus), models, strict=True):
        assert (p - read_probabilities(model, corpus)).abs().max() < 0.05
    assert all(torch.equal(t, models[0].state_dict()[name]) for name, t in stack.state_dict(0).items())
    ids = corpus.ids[:4].long().expand(2, 4, -1)
    lengths = torch.from_numpy(corpus.encoded.lengths[:4]).expand(2, 4)
    adam = StackedAdamW(stack.parameters, lambda group: [1e-6], 0.0, 1.0)
    stack.logits(ids, lengths, training=True).square().sum().backward()
    adam.step()  # too small a step for bf16 to show
    changed = stack.state_dict(0)["encoder.encoder.layer.0.output.dense.weight"]
    assert not torch.equal(changed, models[0].state_dict()["encoder.encoder.layer.0.output.dense.weight"])
    part = stack.parameters["0.down.weight"]
    assert torch.equal(part.work, part.master.bfloat16())


@pytest.mark.parametrize("name", ["modernbert", "deberta-v2"])
def test_what_cannot_be_stacked(name: str, backbones: dict[str, Path]) -> None:
    with pytest.raises(NotStackableError, match=name):
        shape_of(load_encoder(str(backbones[name])).config)


def test_another_activation_cannot_be_stacked(backbones: dict[str, Path]) -> None:
    encoder = load_encoder(str(backbones["bert"]))
    encoder.config.hidden_act = "relu"
    with pytest.raises(NotStackableError, match="relu"):
        shape_of(encoder.config)
