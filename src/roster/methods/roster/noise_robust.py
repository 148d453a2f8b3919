"""Noise-robust training (Section 3.2), the inner loop of Algorithm 1, lines 4 to 9."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roster.methods.roster.head import split_joint
from roster.methods.roster.label_removal import dropped_o, label_weights, labels_lack_names
from roster.methods.roster.masking import InputTransform
from roster.methods.roster.settings import NoiseRobust
from roster.model.batches import DeviceCorpus
from roster.training.gold import Gold
from roster.training.losses import noise_robust_loss
from roster.training.objective import Models, Objective, Rows, Upcoming, read_upcoming

REPAIR_STEPS = 300
"""A model that is trained again gets at least so many steps."""
CHECKS, FEWEST_BATCHES = 60, 8
"""How many times in a training a model's exponent and O weight are decided anew, from how many batches at
least."""
PATIENCE, COLLAPSES, TAKES_OFF = 0.15, 0.15, 0.4
"""After this share of the steps, cross entropy takes the place of GCE while a model recognises less than
the second share of the entity words, until it recognises the third."""
TYPED = 0.6
"""The type head goes on to GCE when it gives this share of the entity words their types, mean over types."""
TARGET, STEP, LEAST = 0.5, 0.85, 0.1
"""O words weigh less while fewer entity words than `TARGET` are recognised: by a factor `STEP` at each
check, down to `LEAST`."""


def repaired(config: NoiseRobust, per_epoch: int) -> NoiseRobust:
    """Settings for a model that did not learn its labels: cross entropy on all of them, and twice the
    time."""
    return replace(
        config,
        epochs=max(2 * config.epochs, math.ceil(REPAIR_STEPS / per_epoch)),
        q=0.0,
        remove_labels=False,
        balance=True,
        mask_inputs=0.0,
        drop_o=max(0.5, config.drop_o),
    )


def type_accuracy(taught: Tensor, right: Tensor) -> list[float]:
    """[K]: the share of the words of a type that were given it, mean over the types with words [K, types].

    >>> type_accuracy(torch.tensor([[8.0, 2.0, 0.0]]), torch.tensor([[8.0, 1.0, 0.0]]))
    [0.75]
    """
    there = taught > 0
    shares = torch.where(there, right / taught.clamp_min(1), 0.0).sum(1) / there.sum(1).clamp_min(1)
    return [float(share) for share in shares.tolist()]


class NoiseRobustObjective(Objective):
    """GCE on the labels that are left; every U batches the disbelieved ones are removed anew; gold ones stay.

    GCE pays little heed to labels that a model finds unlikely, and a fresh model finds all of them unlikely:
    where entity labels are few, it may learn that nothing is an entity. A model that recognises no entities
    goes on with cross entropy on all labels until it does. Where a dictionary lacks most names, most entity
    words are labelled O, and a model that learned these proportions would rarely predict an entity: O words
    then weigh less (Elkan and Noto 2008). Both are decided by the entity words held out of the model, or by
    those that it learns where none is.

    One seed for each model: every one leaves out O words of its own, and removes labels for itself. Words
    that are `unlabelled` may be entities, and words `held_out` of a model are kept from it: both are in none
    of its losses.
    """

    capturable = True

    def __init__(
        self,
        corpus: DeviceCorpus,
        labels: np.ndarray,
        config: NoiseRobust,
        seeds: Sequence[int],
        mask: InputTransform,
        gold: Gold | None = None,
        unlabelled: np.ndarray | None = None,
        held_out: np.ndarray | None = None,
        steps: int = 1,
    ):
        super().__init__(corpus, gold)
        self.config, self.mask = config, mask
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(corpus.device)
        seen, noisy = np.ones((len(seeds), len(labels)), bool), ~self.gold.fixed.cpu().numpy()
        for row, seed in zip(seen, seeds, strict=True):
            generator = np.random.default_rng(seed)
            row[noisy] = ~dropped_o(labels[noisy], config.drop_o, generator)
        if unlabelled is not None:
            seen &= ~unlabelled
        if held_out is not None:
            seen &= ~held_out
        self.seen = torch.from_numpy(seen).to(corpus.device).float()
        self.learned = self.seen * (self.labels > 0)
        self.w_e, self.w_t = self.seen.clone(), self.learned.clone()
        self.steps = steps
        self.check_every = max(FEWEST_BATCHES, steps // CHECKS)
        self.q = torch.full((len(seeds), 1), 0.0 if config.plain else config.q, device=corpus.device)
        """The exponent of each model now; 0 is cross entropy."""
        plain_types = max(config.plain, config.plain_types)
        self.q_types = torch.full_like(self.q, 0.0 if plain_types else config.q)
        """The same of the type head."""
        self.last_plain = plain_types * steps
        """The step by which every type head goes on to GCE."""
        self.o_weight = torch.ones(len(seeds), 1, device=corpus.device)
        judged = self.learned
        if held_out is not None:
            asked = torch.from_numpy(held_out).to(corpus.device) * (self.labels > 0).float()
            judged = torch.where((asked.sum(1, keepdim=True) > 0), asked, self.learned)
        self.judged = judged
        """Of each model the entity words by which it is judged."""
        self.tally = torch.zeros(len(seeds), 2, device=corpus.device)
        """Of each model since the last check: how many of these were in its batches, and the sum of their
        e."""
        types = int(labels.max(initial=0))
        self.typed = torch.zeros(len(seeds), 2, max(1, types), device=corpus.device)
        """The same by type: how many entity words it was taught, and how many of them had the right type."""
        self.removed = torch.zeros(len(seeds), len(labels), dtype=torch.int16, device=corpus.device)
        """At how many removals a model found the label of a word wrong."""
        self.kept = torch.full((len(seeds), max(1, steps // config.update_every), types + 1), -1.0,
                               device=corpus.device)  # fmt: skip
        """The share of the labels of each class left at each removal; -1 before it, or without any."""
        self.switches = torch.full((len(seeds), 2 * CHECKS), -1.0, device=corpus.device)
        """Of each model the steps at which it went on to GCE, or back, at most one a check; then -1."""

    def prepare(self, models: Models, step: int, upcoming: Upcoming) -> None:
        """Before batch number `step`: w_i <- 1[f_{i, y_i} > tau] of the words until the next time."""
        c = self.config
        if step and step % self.check_every == 0:
            self._check(step)
        if not c.remove_labels or step == 0 or step % c.update_every or not self.removes(step).any():
            return
        removes, only_o = self.removes(step).tolist(), step < c.entity_warmup * self.steps
        rows = upcoming(c.update_every)
        for member, (words, p) in enumerate(read_upcoming(models, self.corpus, rows)):
            if not removes[member]:
                continue
            labels, fixed = self.labels[words], self.gold.fixed[words]
            e, r = split_joint(p)
            entities = c.remove_entities and not (c.repair and labels_lack_names(e, labels))
            w_e, w_t = label_weights(e, r, labels, c.tau, c.keep_minority, entities, c.repair, only_o)
            self.w_e[member, words] = torch.where(fixed, 1.0, w_e) * self.seen[member, words]
            self.w_t[member, words] = torch.where(fixed, 1.0, w_t) * self.learned[member, words]
            self._note_removal(member, words, step // c.update_every - 1)

    def _note_removal(self, member: int, words: Tensor | slice, number: int) -> None:
        """What this removal left of the labels that the model learns, by class, and which it took."""
        labels, seen = self.labels[words], self.seen[member, words] > 0
        out = torch.where(labels > 0, self.w_t[member, words], self.w_e[member, words]) == 0
        self.removed[member, words] += (out & seen).short()
        classes = self.kept.shape[-1]
        left, all_seen = (torch.bincount(labels[mask], minlength=classes) for mask in (seen & ~out, seen))
        if number < self.kept.shape[1]:
            self.kept[member, number] = torch.where(all_seen > 0, left / all_seen, -1.0)

    @property
    def robust(self) -> Tensor:
        """[K]: which models have GCE now."""
        return self.q.squeeze(1) > 0

    def removes(self, step: int) -> Tensor:
        """[K]: which models remove labels now: those with GCE, and all after `plain` where there is none."""
        if self.config.q == 0:
            return torch.full_like(self.robust, step >= self.config.plain * self.steps)
        return self.robust

    def _check(self, step: int) -> None:
        """Decides exponent and O weight of each model by what it recognised since the last check."""
        c = self.config
        accuracy = type_accuracy(*self.typed.unbind(1))
        for member, (count, total) in enumerate(self.tally.tolist()):
            plain = step < c.plain * self.steps
            if step >= self.last_plain or (not plain and accuracy[member] >= TYPED):
                self.q_types[member] = c.q
            if count == 0:
                continue
            recognised, robust = total / count, bool(self.q[member] > 0)
            if c.balance:
                factor = STEP if recognised < TARGET else 1 / STEP
                self.o_weight[member] = (self.o_weight[member] * factor).clamp(LEAST, 1.0)
            if not robust and not plain and (recognised >= TAKES_OFF or not c.repair):
                self._switch(member, c.q, step)
            elif robust and recognised < COLLAPSES and c.repair and step >= PATIENCE * self.steps:
                self._switch(member, 0.0, step)
                self.w_e[member], self.w_t[member] = self.seen[member], self.learned[member]
        self.tally.zero_()
        self.typed.zero_()

    def _switch(self, member: int, q: float, step: int) -> None:
        if float(self.q[member]) != q:
            self.q[member] = q
            self.switches[member, int((self.switches[member] >= 0).sum())] = step

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> Tensor:
        ((b, z),) = outputs
        counted = self.counted(words, present)
        labels = self.labels[words]
        w_e = own["w_e"][words] * counted * torch.where(labels > 0, 1.0, own["o_weight"])
        w_t = own["w_t"][words] * counted
        return noise_robust_loss(b, z, labels, w_e, w_t, own["q"], own["q_types"])

    def observe(self, outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> None:
        """Counts the entity words of the batch that are recognised, and those that have the right type."""
        ((b, z),) = outputs
        labels = self.labels[words]
        judged, taught = (own[name][words] * present for name in ("judged", "learned"))
        right = taught * (z.argmax(-1) + 1 == labels)
        own["tally"].add_(torch.stack([judged.sum(), (judged * b.sigmoid()).sum()]))
        by_type = F.one_hot((labels - 1).clamp_min(0), own["typed"].shape[-1]).float()
        own["typed"].add_(torch.stack([taught @ by_type, right @ by_type]))

    def own(self) -> dict[str, Tensor]:
        return {"w_e": self.w_e, "w_t": self.w_t, "judged": self.judged, "learned": self.learned, "q": self.q,
                "q_types": self.q_types, "o_weight": self.o_weight, "tally": self.tally,
                "typed": self.typed}  # fmt: skip

    def transform_inputs(self, ids: Tensor) -> Tensor:
        return self.mask(ids)

    def facts(self, member: int) -> dict[str, Any]:
        """What a run notes of a model: which share of the labels the last removal left it, the weight of O
        words at the end, and the steps at which it went on to GCE, or back to cross entropy."""
        entity = self.labels > 0
        kept_o = self.w_e[member][~entity]
        return {
            "kept_type_labels": round(float(self.w_t[member][entity].mean()), 4),
            "kept_o_labels": round(float(kept_o.mean()), 4) if len(kept_o) else 0.0,
            "o_weight": round(float(self.o_weight[member]), 4),
            "switches": [int(step) for step in self.switches[member].tolist() if step >= 0],
        }

    def kept_by_type(self, member: int, types: Sequence[str]) -> list[dict[str, Any]]:
        """For every removal its step, and the share of labels left of O and of each type that has any."""
        every = self.config.update_every
        return [
            {"step": (number + 1) * every, "O": left.pop("O", None), "types": left}
            for number, shares in enumerate(self.kept[member].tolist())
            if (left := {t: round(x, 4) for t, x in zip(["O", *types], shares, strict=False) if x >= 0})
        ]

    def state(self) -> dict[str, Tensor]:
        return {"w_e": self.w_e, "w_t": self.w_t, "q": self.q, "q_types": self.q_types,
                "o_weight": self.o_weight, "tally": self.tally, "typed": self.typed,
                "removed": self.removed, "kept": self.kept, "switches": self.switches}  # fmt: skip

    def load_state(self, state: dict[str, Tensor]) -> None:
        for name, tensor in self.state().items():
            tensor.copy_(state[name])
