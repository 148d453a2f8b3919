"""Settings that follow from the data and the encoder: what `roster train` uses where nobody sets a value.

`facts_of` counts, `derive` decides, `settle` puts both together with what the user asked for, and
`describe` tells it. No gold label has a part in any of it. Where a number here was chosen by measuring,
docs/results.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from roster.config import Config, Request
from roster.corpus.sentence import Sentence
from roster.learn.budget import fit_into
from roster.model.encoders import describe_backbone

BASE_RATE, BASE_WIDTH, MOST_RATE = 5e-5, 768, 4e-4
"""A base-sized encoder is fine-tuned at this rate. Narrower ones take higher rates, at most the last."""
UNTRAINED_RATE = 1e-3
"""Of an encoder without pre-training."""
STEPS, FEWEST_STEPS = 1500, 300
"""A member is trained for about so many steps; where sentences are few, no less than the second."""
MOST_EPOCHS, MOST_EPOCHS_OF_FEW = 12, 60
"""Beyond the first a member only memorises its labels; few sentences may need more to reach
`FEWEST_STEPS`."""
FINE_TUNING_STEPS = 1000
BOND_STEPS = 2000
SELF_TRAINING_STEPS = 600
"""Longer self-training has a rate that is lower in proportion: a model is to move by no more."""
UPDATES = 12
"""Labels are removed, and soft labels computed, so many times in the course of a stage."""
ENTITY_WARMUP = 0.25
"""An entity label that is removed early, before the model has learned its kind of name, rarely comes back. A
missing name has to go early, before the model has learned it as O."""
TRUSTING: dict[str, Any] = {
    "noise_robust.plain": 0.33,
    "noise_robust.drop_o": 0.0,
    "noise_robust.tau": 0.5,
    "noise_robust.mask_inputs": 0.0,
    "noise_robust.remove_entities": False,
    "noise_robust.balance": False,
    "noise_robust.extend": False,
}
"""Where phrases of unknown type cover what may be an entity, other words are O, and labels on them are
right."""
SHORTEST_WINDOW, LONGEST_WINDOW, COVERED = 64, 256, 0.995
"""A window holds this share of the sentences whole, within these numbers of sub-words."""
SAMPLE = 2000
"""Sentences whose sub-words are counted."""


@dataclass(frozen=True)
class Facts:
    """What is known before training: of the data, and of the encoder."""

    sentences: int
    words: int
    labels: int
    names: int
    types: int
    phrases: int
    """Phrases of unknown type: what a dictionary lists as maybe an entity."""
    length: int
    """Sub-words of a sentence, special tokens included: as many as `COVERED` of them have at most."""
    width: int
    positions: int | None
    """The longest input of the encoder; None: any."""
    pretrained: bool
    masks: bool
    """Whether the vocabulary has a mask token."""

    def steps_per_epoch(self, batch_size: int) -> int:
        return max(1, math.ceil(self.sentences / batch_size))


def facts_of(request: Request, sentences: Sequence[Sentence]) -> Facts:
    """Counts the data, and looks at the encoder that the request names."""
    stride = max(1, len(sentences) // SAMPLE)
    backbone = describe_backbone(request.config())
    lengths = backbone.lengths([s.words for s in sentences[::stride]])
    spans = [(s.words[x.start : x.end], x.label) for s in sentences for x in s.spans or ()]
    return Facts(
        sentences=len(sentences),
        words=sum(map(len, sentences)),
        labels=len(spans),
        names=len(set(spans)),
        types=len({label for _, label in spans}),
        phrases=sum(len(s.unknown) for s in sentences),
        length=int(np.quantile(lengths, COVERED)) if len(lengths) else SHORTEST_WINDOW,
        width=backbone.width,
        positions=backbone.positions,
        pretrained=backbone.pretrained,
        masks=backbone.masks,
    )


def settle(request: Request, facts: Facts, minutes: float | None = None) -> tuple[Config, str]:
    """The effective config, what the user gave, else what is derived; and in words what it follows from."""
    values = _not_given(request, derive(request.config(), facts, request.given))
    config, budget = request.with_values(values).config(), ""
    if minutes is not None:
        fewer, budget = fit_into(config, facts, minutes, given=request.given)
        config = request.with_values({**values, **fewer}).config()
    return config, " ".join(filter(None, [describe(config, facts), budget]))


def _not_given(request: Request, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in request.given}


def derive(config: Config, facts: Facts, given: Collection[str] = ()) -> dict[str, Any]:
    """Values for the options of the config's method, by their full names. `config` tells method and batch
    sizes, and epochs where these are `given`: steps are counted in them."""
    by_method = {"roster": _roster, "fine-tune": _fine_tune, "bond": _bond, "autoner": _autoner}
    values: dict[str, Any] = {"backbone.max_length": _window(facts)}
    if config.method in by_method:
        values.update(by_method[config.method](config, facts, given))
    return values


def derivable(config: Config) -> set[str]:
    """The options of the config's method that data or an encoder may decide, by their full names.

    >>> names = derivable(Config())
    >>> "noise_robust.epochs" in names, "noise_robust.tau" in names, "noise_robust.q" in names
    (True, True, False)
    """
    facts = Facts(1, 1, 1, 1, 1, 0, 1, BASE_WIDTH, None, True, True)
    return {*derive(config, facts), *derive(config, replace(facts, phrases=1))}


def describe(config: Config, facts: Facts) -> str:
    """What a config follows from, and what it makes of it: one paragraph for the log."""
    said = [
        f"Settings derived from the data and the encoder: {facts.sentences:,} sentences "
        f"({facts.words:,} words) with {facts.labels:,} labels of {facts.names:,} names "
        f"and {facts.types} types, an encoder of width {facts.width}; windows of "
        f"{config.backbone.max_length} sub-words."
    ]
    if config.method != "roster":
        section = getattr(config, config.method.replace("-", "_"))
        said.append(f"{section.epochs} epochs at a rate of {section.learning_rate:g}.")
        if config.method == "autoner" and not config.autoner.phrases:
            said.append("No phrases of unknown type: every gap outside a name is a break.")
        return " ".join(said)
    per_epoch = facts.steps_per_epoch(config.optimiser.batch_size)
    own, ensemble, last = config.noise_robust, config.ensemble, config.self_training
    members = f"{ensemble.models} members" if ensemble.enabled else "One model"
    said.append(f"{members}: {own.epochs} epochs of {per_epoch} steps at a rate of {own.learning_rate:g}.")
    if own.extend:
        said.append("As long again where the labels turn out to be complete.")
    if ensemble.enabled:
        said.append(f"Ensemble model: {ensemble.epochs} epochs a round at {ensemble.learning_rate:g}.")
    if last.enabled:
        said.append(f"Self-training: {last.epochs} epochs at {last.learning_rate:g}.")
    if facts.phrases:
        said.append(
            f"{facts.phrases:,} phrases of unknown type keep possible entities out of the O words, so "
            "labels are trusted more: cross entropy for a third of the steps, and no O word is left out."
        )
    return " ".join(said)


def learning_rate(facts: Facts) -> float:
    """The peak rate of fine-tuning by the width of the encoder.

    >>> from dataclasses import replace
    >>> base = Facts(9, 9, 9, 9, 1, 0, 40, 768, 512, True, True)
    >>> learning_rate(base), learning_rate(replace(base, width=384)), learning_rate(replace(base, width=128))
    (5e-05, 0.0002, 0.0004)
    """
    if not facts.pretrained:
        return UNTRAINED_RATE
    return _rounded(min(MOST_RATE, BASE_RATE * (BASE_WIDTH / facts.width) ** 2))


def epochs_for(steps: int, per_epoch: int, fewest_steps: int = FEWEST_STEPS) -> int:
    """Passes for about so many steps: some for a large corpus, and no more than help with a small one.

    >>> [epochs_for(1500, n) for n in (4, 12, 36, 440, 1873, 31250)]
    [60, 25, 12, 3, 2, 1]
    """
    least = 3 if per_epoch <= 1000 else 2 if per_epoch <= 4000 else 1
    found = min(MOST_EPOCHS, max(least, round(steps / per_epoch)))
    return max(found, min(MOST_EPOCHS_OF_FEW, math.ceil(fewest_steps / per_epoch)))


def _window(facts: Facts) -> int:
    """A multiple of 8."""
    rounded = -(-facts.length // 8) * 8
    return min(max(SHORTEST_WINDOW, min(LONGEST_WINDOW, rounded)), facts.positions or LONGEST_WINDOW)


def _roster(config: Config, facts: Facts, given: Collection[str]) -> dict[str, Any]:
    per_epoch = facts.steps_per_epoch(config.optimiser.batch_size)
    rate = learning_rate(facts)
    epochs = epochs_for(2 * STEPS if facts.phrases else STEPS, per_epoch)
    if "noise_robust.epochs" in given:
        epochs = config.noise_robust.epochs
    last = max(1, round(epochs / 6))
    if "self_training.epochs" in given:
        last = config.self_training.epochs
    last_rate = rate / 5 * min(1.0, SELF_TRAINING_STEPS / (last * per_epoch))
    values: dict[str, Any] = {
        "noise_robust.epochs": epochs,
        "noise_robust.learning_rate": rate,
        "noise_robust.update_every": max(1, epochs * per_epoch // UPDATES),
        "noise_robust.mask_inputs": 0.15 if facts.masks else 0.0,
        "noise_robust.plain_types": 0.33,
        "noise_robust.folds": True,
        "noise_robust.balance": True,
        "noise_robust.skip_common_words": True,
        "noise_robust.repair": True,
        "noise_robust.extend": True,
        "noise_robust.remove_entities": True,
        "noise_robust.entity_warmup": ENTITY_WARMUP,
        "ensemble.start": "member",
        "ensemble.epochs": max(1, round(epochs / 3)),
        "ensemble.learning_rate": rate,
        "self_training.epochs": last,
        "self_training.learning_rate": _rounded(last_rate),
        "self_training.update_every": max(1, last * per_epoch // 3),
    }
    return {**values, **TRUSTING} if facts.phrases else values


def _fine_tune(config: Config, facts: Facts, given: Collection[str]) -> dict[str, Any]:
    return _one_stage("fine_tune", config, facts)


def _autoner(config: Config, facts: Facts, given: Collection[str]) -> dict[str, Any]:
    return {**_one_stage("autoner", config, facts), "autoner.phrases": facts.phrases > 0}


def _one_stage(section: str, config: Config, facts: Facts) -> dict[str, Any]:
    per_epoch = facts.steps_per_epoch(config.optimiser.batch_size)
    epochs = epochs_for(FINE_TUNING_STEPS, per_epoch)
    return {f"{section}.epochs": epochs, f"{section}.learning_rate": learning_rate(facts)}


def _bond(config: Config, facts: Facts, given: Collection[str]) -> dict[str, Any]:
    """The teacher begins after half of the steps, with hard labels: soft ones lose precision."""
    per_epoch = facts.steps_per_epoch(config.bond.batch_size)
    epochs = epochs_for(BOND_STEPS, per_epoch, 2 * FEWEST_STEPS)
    if "bond.epochs" in given:
        epochs = config.bond.epochs
    total = epochs * per_epoch
    return {
        "bond.epochs": epochs,
        "bond.learning_rate": _rounded(learning_rate(facts) / 2),
        "bond.warmup_steps": total // 10,
        "bond.begin_step": max(1, total // 2),
        "bond.period": max(1, total // 4),
        "bond.labels": "hard",
    }


def _rounded(rate: float) -> float:
    """Two digits, so that a config reads well.

    >>> _rounded(0.00012345)
    0.00012
    """
    return float(f"{rate:.1e}")
