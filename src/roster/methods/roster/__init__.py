"""RoSTER (Meng et al., EMNLP 2021), which gives the project its name.

algorithm            Algorithm 1: K noise-robust models, their ensemble, self-training
noise_robust         Section 3.2: generalised cross entropy; label_removal, folds, masking
ensemble             Section 3.2, Eq. 5: one model learns the mean of the K
self_training        Section 3.3; augmentation, name_augmentation
stage_checks         what is compared between stages, without gold labels; holdout
settings             the options; the values that are derived from the data are in this module
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from roster.config import Config
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError, RosterError
from roster.methods.base import Method, Prepared, fewer_epochs
from roster.methods.facts import Facts, epochs_for, learning_rate, round_rate
from roster.methods.roster.settings import Augmentation, Ensemble, NoiseRobust, SelfTraining

if TYPE_CHECKING:
    from torch import Tensor

    from roster.methods.roster.head import TwoHeads
    from roster.training.mentions import TypeCount
    from roster.training.run import Run
    from roster.training.task import Task

STEPS = 1500
"""A member is trained for about so many steps."""
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
LIKE_WORDS = 0.5
"""Names are written like other words if this share of the labels has no capital. An encoder does not see by
their form that a dictionary lacks them, so it learns few of them as O; and every O word that is left out
costs precision."""
ROUNDS = 3
"""The most rounds of distillation."""
READING, AUGMENTED = 1 / 3, 2.5
"""A pass without gradients costs this share of a step; a step of self-training as much as so many plain
ones."""


class RosterMethod(Method):
    name = "roster"
    title = "RoSTER"
    summary = "noise-robust training of K models, their ensemble, augmented self-training"
    sections = {
        "noise_robust": NoiseRobust,
        "ensemble": Ensemble,
        "augmentation": Augmentation,
        "self_training": SelfTraining,
    }
    derivation = 7

    @property
    def head(self) -> type[TwoHeads]:
        from roster.methods.roster.head import TwoHeads

        return TwoHeads

    def train(self, task: Task, run: Run) -> TwoHeads:
        from roster.methods.roster.algorithm import train_roster

        return train_roster(task, run)

    def kept_predictions(self, task: Task, run: Run) -> dict[str, Tensor]:
        from roster.methods.roster.algorithm import kept_predictions

        return kept_predictions(task, run)

    def check(self, config: Config) -> None:
        own = config.section(Augmentation)
        if own.by != "frozen" and own.masked_lm:
            instead = {"trained": "augments with the model itself", "names": "needs no model"}[own.by]
            raise ConfigError(
                f"'augmentation.masked_lm' names another model, but 'augmentation.by' is '{own.by}', "
                f"which {instead}; use 'augmentation.by = \"frozen\"', or leave masked_lm empty"
            )
        if own.by != "names" and own.dictionary:
            raise ConfigError(
                "'augmentation.dictionary' is read only where 'augmentation.by' is 'names'; set that too, or "
                "leave it empty"
            )

    def check_task(self, task: Task) -> None:
        """Loads the masked language model now: an encoder without one must not fail after hours."""
        if masked_lm_name(task.config) is not None:
            from roster.methods.roster.algorithm import masked_lm

            masked_lm(task)

    def check_result(self, config: Config, counts: Mapping[str, TypeCount]) -> None:
        if config.section(NoiseRobust).repair and not any(count.found for count in counts.values()):
            raise RosterError(
                "the model finds no entity in its own training text, though there are labels: nothing can be "
                "learned from them. A larger dictionary or more text gives more of them"
            )

    def prepare(self, config: Config, sentences: Sequence[Sentence], is_gold: Sequence[bool]) -> Prepared:
        """Leaves out labels on common words at the start of sentences."""
        from roster.methods.roster.common_words import describe_skipped, skip_common_words

        if not config.section(NoiseRobust).skip_common_words:
            return Prepared(sentences)
        kept, skipped = skip_common_words(sentences, is_gold)
        if not skipped:
            return Prepared(kept)
        return Prepared(kept, {"skipped_labels": skipped}, [describe_skipped(skipped)])

    def models_together(self, config: Config) -> tuple[int, int]:
        own = config.section(Ensemble)
        return (own.models if own.enabled else 1), own.at_once

    def derive(self, config: Config, facts: Facts, given: Collection[str]) -> dict[str, Any]:
        per_epoch = facts.steps_per_epoch(config.optimiser.batch_size)
        rate = learning_rate(facts)
        epochs = epochs_for(2 * STEPS if facts.phrases else STEPS, per_epoch)
        if "noise_robust.epochs" in given:
            epochs = config.section(NoiseRobust).epochs
        last = max(1, round(epochs / 6))
        if "self_training.epochs" in given:
            last = config.section(SelfTraining).epochs
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
            "ensemble.loss": "joint",
            "ensemble.epochs": max(1, round(epochs / 3)),
            "ensemble.learning_rate": rate,
            "self_training.epochs": last,
            "self_training.learning_rate": round_rate(last_rate),
            "self_training.update_every": max(1, last * per_epoch // 3),
        }
        if facts.lower > LIKE_WORDS:
            values["noise_robust.drop_o"] = 0.0
        return {**values, **TRUSTING} if facts.phrases else values

    def describe(self, config: Config, facts: Facts) -> list[str]:
        per_epoch = facts.steps_per_epoch(config.optimiser.batch_size)
        own, ensemble, last = (
            config.section(NoiseRobust),
            config.section(Ensemble),
            config.section(SelfTraining),
        )
        members = f"{ensemble.models} members" if ensemble.enabled else "One model"
        lines = [f"{members}: {own.epochs} epochs of {per_epoch} steps at a rate of {own.learning_rate:g}."]
        if own.extend:
            lines.append("As long again where the labels turn out to be complete.")
        if ensemble.enabled:
            lines.append(f"Ensemble model: {ensemble.epochs} epochs a round at {ensemble.learning_rate:g}.")
        if last.enabled:
            lines.append(f"Self-training: {last.epochs} epochs at {last.learning_rate:g}.")
        if facts.phrases:
            lines.append(
                f"{facts.phrases:,} phrases of unknown type keep possible entities out of the O words, so "
                "labels are trusted more: cross entropy for a third of the steps, and no O word is left out."
            )
        elif own.drop_o == 0 and facts.lower > LIKE_WORDS:
            lines.append(
                f"{facts.lower:.0%} of the labels have no capital, so no O word is left out of the loss."
            )
        return lines

    def cost(self, config: Config, facts: Facts) -> float:
        own, ensemble, last = (
            config.section(NoiseRobust),
            config.section(Ensemble),
            config.section(SelfTraining),
        )
        members = ensemble.models if ensemble.enabled else 1
        epochs = members * own.epochs * (1 + READING) * (2 if own.extend else 1)
        if ensemble.enabled:
            epochs += ensemble.epochs * (ROUNDS if own.repair else 1)
        if last.enabled:
            epochs += last.epochs * (AUGMENTED if config.section(Augmentation).enabled else 1)
        return epochs * facts.steps_per_epoch(config.optimiser.batch_size)

    def shorter(self, config: Config, facts: Facts) -> list[dict[str, Any]]:
        """Longer training for complete labels goes first, then members, self-training, epochs."""
        own, ensemble = config.section(NoiseRobust), config.section(Ensemble)
        once: dict[str, Any] = {"noise_robust.extend": False} if own.extend else {}
        changes = [once] if once else []
        if ensemble.enabled:
            changes += [{**once, "ensemble.models": k} for k in (4, 3, 2) if k < ensemble.models]
        base = changes[-1] if changes else {}
        alone = {**once, "ensemble.enabled": False, "self_training.enabled": False}
        changes += [{**base, "self_training.enabled": False}, alone]
        for epochs in fewer_epochs(own.epochs, facts.steps_per_epoch(config.optimiser.batch_size)):
            every = max(1, own.update_every * epochs // max(1, own.epochs))
            changes.append({**alone, "noise_robust.epochs": epochs, "noise_robust.update_every": every})
        return changes


def masked_lm_name(config: Config) -> str | None:
    """The masked language model that augments sentences, by name or folder; None where there is none."""
    augmentation = config.section(Augmentation)
    if not (config.section(SelfTraining).enabled and augmentation.enabled) or augmentation.by == "names":
        return None
    return augmentation.masked_lm or config.backbone.name


METHOD = RosterMethod()
