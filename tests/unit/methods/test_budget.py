"""A training that fits into a number of minutes: what is left out first, and what never is."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.config import Config
from roster.errors import ConfigError
from roster.methods.base import MINIMUM_STEPS
from roster.methods.bond import Bond
from roster.methods.budget import SHARE, check_minutes, fit_into, measure_step
from roster.methods.defaults import settle
from roster.methods.facts import Facts
from roster.methods.fine_tune import FineTune
from roster.methods.registry import get, names
from roster.methods.request import changed, load_config, load_request
from roster.methods.roster.settings import Ensemble, NoiseRobust, SelfTraining

FACTS = Facts(
    sentences=1000, words=20_000, labels=3000, names=900, types=3, phrases=0, length=40, width=384,
    positions=512, pretrained=True, masks=True,
)  # fmt: skip


def config_of(facts: Facts = FACTS, **overrides: Any) -> Config:
    return settle(load_request(overrides={k.replace("__", "."): v for k, v in overrides.items()}), facts)[0]


def fitted(config: Config, minutes: float, facts: Facts = FACTS, **more: Any) -> tuple[Config, str]:
    """With steps of a second each."""
    values, text = fit_into(config, facts, minutes, 1.0, **more)
    return changed(config, values), text


def cost(config: Config, facts: Facts) -> float:
    return get(config.method).cost(config, facts)


def minutes_for(config: Config, facts: Facts = FACTS) -> float:
    """The least budget in which all of it fits."""
    return cost(config, facts) / 60 / SHARE


def test_what_fits_stays_as_it_is() -> None:
    config = config_of()
    for minutes in (1.01 * minutes_for(config), 1e6, math.inf):
        values, text = fit_into(config, FACTS, minutes, 1.0)
        assert values == {}
        assert "fits into" in text
    assert fit_into(config, FACTS, 0.99 * minutes_for(config), 1.0)[0] != {}


def test_what_may_be_trained_for_longer_is_not_where_time_is_short() -> None:
    config = config_of()
    assert config.section(NoiseRobust).extend
    once = changed(config, {"noise_robust.extend": False})
    assert cost(config, FACTS) > 1.5 * cost(once, FACTS)
    found, text = fitted(config, 1.01 * minutes_for(once))
    assert found == once
    assert "noise_robust: extend False" in text
    assert not fitted(config, 0.1)[0].section(NoiseRobust).extend


def test_members_go_first_then_self_training_then_the_ensemble_then_epochs() -> None:
    config = config_of(noise_robust__extend=False)
    assert config.section(Ensemble).models == 5
    seen = []
    for share in (0.9, 0.8, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3, 0.2, 0.15, 0.1, 0.01):
        found, _ = fitted(config, share * minutes_for(config))
        alone = not found.section(Ensemble).enabled
        seen.append(
            (
                1 if alone else found.section(Ensemble).models,
                found.section(SelfTraining).enabled,
                found.section(NoiseRobust).epochs,
            )
        )
    members = [m for m, _, _ in seen]
    assert members == sorted(members, reverse=True)
    assert {m for m, last, _ in seen if last} >= {4, 2}
    assert any(m > 1 and not last for m, last, _ in seen)
    assert all(epochs == config.section(NoiseRobust).epochs for m, _, epochs in seen if m > 1)
    assert seen[-1][2] < config.section(NoiseRobust).epochs


@given(
    st.floats(0.01, 2000),
    st.floats(1, 3),
    st.sampled_from([40, 1000, 14_000, 10**6]),
    st.sampled_from(names()),
)
def test_more_minutes_never_shorten(minutes: float, more: float, sentences: int, method: str) -> None:
    facts = replace(FACTS, sentences=sentences)
    config = config_of(facts, method=method)
    less, much = (fitted(config, m, facts)[0] for m in (minutes, more * minutes))
    assert cost(less, facts) <= cost(much, facts) <= cost(config, facts)
    room = 60 * minutes * SHARE
    shortest = cost(fitted(config, 1e-9, facts)[0], facts)
    assert cost(less, facts) <= max(room, shortest)


@pytest.mark.parametrize("method", names())
@pytest.mark.parametrize("sentences", [40, 1000, 14_000, 10**6])
def test_never_too_short_to_learn(method: str, sentences: int) -> None:
    facts = replace(FACTS, sentences=sentences)
    config = config_of(facts, method=method)
    found, text = fitted(config, 1e-6, facts)
    section = "noise_robust" if method == "roster" else method.replace("-", "_")
    own, whole = found.own[section], config.own[section]
    per_epoch = facts.steps_per_epoch(found.optimiser.batch_size)
    assert own.epochs >= 1
    assert own.epochs * per_epoch >= min(MINIMUM_STEPS, whole.epochs * per_epoch)
    assert (own.epochs - 1) * per_epoch < MINIMUM_STEPS
    if own.epochs < whole.epochs:
        assert "so it takes longer" in text
    if method == "roster":
        assert not found.section(Ensemble).enabled
        assert not found.section(SelfTraining).enabled
        assert own.update_every * 5 <= own.epochs * per_epoch or own.update_every == 1


@given(st.floats(1e-6, 100))
def test_a_shorter_bond_still_has_its_teacher(minutes: float) -> None:
    config = config_of(method="bond")
    found, _ = fitted(config, minutes)
    bond = found.section(Bond)
    total = bond.epochs * FACTS.steps_per_epoch(found.optimiser.batch_size)
    assert bond.begin_step + bond.period <= total
    assert found.optimiser.warmup * total < bond.begin_step


def test_what_is_given_stays() -> None:
    config = config_of()
    given = ("ensemble.models", "ensemble.enabled", "noise_robust.epochs")
    values, text = fit_into(config, FACTS, 0.1, 1.0, given)
    assert not set(values) & set(given)
    assert values["self_training.enabled"] is False
    assert "models" not in text
    every = [*given, "self_training.enabled", "noise_robust.update_every", "noise_robust.extend"]
    values, text = fit_into(config, FACTS, 0.1, 1.0, every)
    assert values == {}
    assert "does not fit into 0.1 minutes" in text


def test_the_cost_counts_what_is_switched_on() -> None:
    config = config_of()
    off = [
        {"self_training__enabled": False}, {"ensemble__enabled": False}, {"ensemble__models": 4},
        {"augmentation__enabled": False}, {"noise_robust__epochs": 3},
    ]  # fmt: skip
    for less in off:
        assert cost(config_of(**less), FACTS) < cost(config, FACTS)
    fine = config_of(method="fine-tune")
    assert cost(fine, FACTS) == fine.section(FineTune).epochs * FACTS.steps_per_epoch(32)


@pytest.mark.parametrize("backbone", ["roberta", "modernbert"])
def test_a_step_is_measured(
    backbone: str, backbones: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In processor time here, which other work on the machine does not change."""
    monkeypatch.setattr("roster.methods.budget.time", SimpleNamespace(perf_counter=time.process_time))
    overrides = {
        "backbone.name": str(backbones[backbone]),
        "optimiser.device": "cpu",
        "backbone.max_length": 64,
    }
    small, large = (load_config(overrides={**overrides, "optimiser.batch_size": size}) for size in (1, 64))
    facts = replace(FACTS, words=8 * FACTS.sentences)
    quick, slow = (min(measure_step(config, facts) for _ in range(5)) for config in (small, large))
    assert 0 < quick < slow


def test_a_step_of_a_bilstm_and_of_long_sentences(tiny: Path) -> None:
    config = load_config(overrides={"method": "bilstm-crf", "optimiser.device": "cpu", "bilstm.hidden": 8})
    assert measure_step(config, FACTS) > 0
    config = load_config(
        overrides={"backbone.name": str(tiny), "optimiser.device": "cpu", "optimiser.batch_size": 2}
    )
    assert measure_step(config, replace(FACTS, words=300 * FACTS.sentences)) > 0  # several windows each


@pytest.mark.parametrize("minutes", [0, -1, math.nan])
def test_no_time_at_all(minutes: float) -> None:
    with pytest.raises(ConfigError, match="--minutes must be more than 0"):
        check_minutes(minutes, load_request())


def test_a_budget_needs_settings_that_may_change() -> None:
    check_minutes(None, Config())
    check_minutes(5, load_request())
    for asked in (Config(), load_request(preset="paper-wikigold")):
        with pytest.raises(ConfigError, match="--minutes shortens derived settings"):
            check_minutes(5, asked)
