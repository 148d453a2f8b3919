"""The last hidden states are recentred and scaled; model outputs are unchanged."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from roster.pretraining.masked_lm import SplitMaskedLM
from roster.pretraining.recentering import SPREAD, recentre
from roster.pretraining.settings import load_settings

from .test_masked_lm import KIN, inputs, load


def last(model: SplitMaskedLM, ids: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model.states(ids, every=False)[-1]


@pytest.mark.parametrize("kind", KIN)
@pytest.mark.parametrize("factor", [0.01, 1.0, 30.0])
def test_it_says_what_it_said(kind: str, factor: float, backbones: dict[str, Path]) -> None:
    whole: Any = load(kind, backbones)
    (norm,) = [m for n, m in whole.base_model.named_modules() if n.endswith(LAST[kind])]
    with torch.no_grad():  # states as some training may leave them: small or large, around something
        norm.weight.mul_(factor).add_(torch.rand_like(norm.weight) * 0.1 * factor)
        norm.bias.mul_(factor).add_(torch.linspace(-3, 6, len(norm.bias)))
    model = SplitMaskedLM(whole)
    ids, places = inputs(rows=5)
    states = last(model, ids)
    with torch.no_grad():
        before = model.logits(states, places)
    told = recentre(model, states.flatten(0, 1))
    assert told is not None
    after = last(model, ids)
    flat = after.flatten(0, 1)
    assert flat.mean(0).abs().max() < 1e-3
    assert flat.pow(2).mean().sqrt().item() == pytest.approx(SPREAD, rel=1e-3)
    with torch.no_grad():
        torch.testing.assert_close(model.logits(after, places), before, atol=2e-4, rtol=1e-3)
    # All differences are those of before, times one number.
    torch.testing.assert_close(after - after[:1, :1], told * (states - states[:1, :1]), atol=1e-3, rtol=1e-3)


LAST = {"roberta": "1.output.LayerNorm", "bert": "1.output.LayerNorm", "distilbert": "1.output_layer_norm"}


def test_other_architectures_are_left_alone(backbones: dict[str, Path]) -> None:
    model = SplitMaskedLM(load("modernbert", backbones))
    before = copy.deepcopy(model.state_dict())
    ids, _ = inputs()
    assert recentre(model, last(model, ids).flatten(0, 1)) is None
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_states_without_differences_are_left_alone(backbones: dict[str, Path]) -> None:
    model = SplitMaskedLM(load("roberta", backbones))
    assert recentre(model, torch.ones(7, model.config.hidden_size)) is None


@pytest.mark.parametrize(
    ("given", "recentres"),
    [({}, True), ({"teacher": "t"}, True), ({"teacher": "t", "start": "s"}, True), ({"start": "s"}, False),
     ({"start": "s", "recentre": "on"}, True), ({"teacher": "t", "recentre": "off"}, False)],
)  # fmt: skip
def test_which_are_evened(given: dict[str, str], recentres: bool) -> None:
    assert load_settings(given).recentres is recentres
