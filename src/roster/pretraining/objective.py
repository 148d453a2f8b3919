"""The losses of pre-training: masked language modelling, and distillation from a teacher."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roster.errors import ConfigError
from roster.pretraining.masked_lm import SplitMaskedLM
from roster.pretraining.masking import IGNORED
from roster.pretraining.pruning import evenly
from roster.pretraining.settings import PretrainingSettings

RELATION_ROWS = 4
"""Attention relations are compared on one of so many rows, because their size is the square of the length."""


@dataclass(frozen=True)
class LossWeights:
    """Weights of the losses; `guess` is the masked-LM loss."""

    guess: float = 1.0
    imitate: float = 0.0
    hidden: float = 0.0
    relations: float = 0.0

    @classmethod
    def of(cls, settings: PretrainingSettings) -> LossWeights:
        """Return the weights in the settings; without a teacher only that of the masked-LM loss."""
        if not settings.teacher:
            return cls(settings.guess)
        return cls(settings.guess, settings.imitate, settings.hidden, settings.relations)


class PretrainingObjective(nn.Module):
    """The student, the linear maps from its hidden states to the teacher's, and the loss of a batch.

    The teacher is not a submodule: its weights are neither trained nor saved.
    """

    def __init__(
        self, student: SplitMaskedLM, teacher: SplitMaskedLM | None, weights: LossWeights, every_layer: bool
    ):
        super().__init__()
        self.student = student
        self.weights = weights
        self.pairs = layer_pairs(student, teacher, every_layer) if teacher and weights.hidden else []
        self.maps = nn.ModuleList(
            nn.Linear(student.config.hidden_size, teacher.config.hidden_size, bias=False)
            for _ in self.pairs
            if teacher is not None
        )
        for weight in self.maps.parameters():
            nn.init.orthogonal_(weight)
        if weights.relations and teacher is not None:
            check_relations(student, teacher)
        self.every = every_layer or bool(weights.relations)
        self._teacher = [teacher]  # in a list, so that torch does not register it as a submodule

    def forward(self, ids: Tensor, places: Tensor, targets: Tensor) -> Tensor:
        """[5]: the weighted total, then each loss unweighted, as a mean over what it compares."""
        w, teacher = self.weights, self._teacher[0]
        states = self.student.states(ids, self.every)
        targets = targets.flatten()
        zero = states[-1].new_zeros((), dtype=torch.float32)
        guess = imitate = hidden = relations = zero
        logits = None
        if w.guess or w.imitate:
            logits = self.student.logits(states[-1], places).float()
        if w.guess and logits is not None:
            wrong = F.cross_entropy(logits, targets, ignore_index=IGNORED, reduction="sum")
            guess = wrong / (targets != IGNORED).sum().clamp(min=1)
        if teacher is not None:
            with torch.no_grad():
                teacher_states = teacher.states(ids, self.every)
                wanted = teacher.logits(teacher_states[-1], places).float() if w.imitate else None
            if wanted is not None and logits is not None:
                imitate = divergence(wanted, logits, targets != IGNORED)
            if self.pairs:
                hidden = torch.stack(
                    [
                        distance(project(states[mine]), teacher_states[theirs])
                        for project, (mine, theirs) in zip(self.maps, self.pairs, strict=True)
                    ]
                ).mean()
            if w.relations:
                part = slice(None, max(1, len(ids) // RELATION_ROWS))
                with torch.no_grad():
                    theirs = teacher.relation_parts(teacher_states[-2][part])
                mine = self.student.relation_parts(states[-2][part])
                heads = self.student.config.num_attention_heads
                relations = torch.stack(
                    [relation_loss(m, t, heads) for m, t in zip(mine, theirs, strict=True)]
                ).mean()
        total = w.guess * guess + w.imitate * imitate + w.hidden * hidden + w.relations * relations
        return torch.stack([total, guess.detach(), imitate.detach(), hidden.detach(), relations.detach()])


PARTS = ("loss", "guess", "imitate", "hidden", "relations")


def layer_pairs(student: SplitMaskedLM, teacher: SplitMaskedLM, every_layer: bool) -> list[tuple[int, int]]:
    """The hidden states that are compared, as indices of student and teacher (0: embeddings)."""
    if not every_layer:
        return [(-1, -1)]
    mine, theirs = student.config.num_hidden_layers, teacher.config.num_hidden_layers
    if mine <= theirs:
        return [(0, 0), *((i + 1, j + 1) for i, j in enumerate(evenly(theirs, mine)))]
    return [(0, 0), *((i + 1, j + 1) for j, i in enumerate(evenly(mine, theirs)))]


def check_relations(student: SplitMaskedLM, teacher: SplitMaskedLM) -> None:
    """Raise an error if the attention relations of two models cannot be compared."""
    for model in (student, teacher):
        model.relation_modules()
    heads, width = student.config.num_attention_heads, teacher.config.hidden_size
    if width % heads:
        raise ConfigError(
            f"'relations' need a number of student heads ({heads}) that divides the width of the teacher "
            f"({width}); change 'heads', or set 'relations' to 0"
        )


def divergence(wanted: Tensor, logits: Tensor, counts: Tensor) -> Tensor:
    """Kullback-Leibler divergence of the student's distributions from the teacher's, mean where `counts`."""
    p, q = wanted.log_softmax(-1), logits.log_softmax(-1)
    each = (p.exp() * (p - q)).sum(-1)
    return (each * counts).sum() / counts.sum().clamp(min=1)


def distance(mine: Tensor, theirs: Tensor) -> Tensor:
    """One minus the cosine similarity, mean over all positions."""
    return 1 - F.cosine_similarity(mine.float(), theirs.float(), dim=-1).mean()


def relation_loss(mine: Tensor, theirs: Tensor, heads: int) -> Tensor:
    """Divergence of the attention relations (MiniLM): softmax of the scaled products of all pairs of
    positions, in `heads` parts of the vectors."""
    p, q = (_relations(x, heads) for x in (theirs, mine))
    return (p.exp() * (p - q)).sum(-1).mean()


def _relations(x: Tensor, heads: int) -> Tensor:
    rows, length, width = x.shape
    parts = x.view(rows, length, heads, width // heads).transpose(1, 2)
    scores: Tensor = (parts @ parts.transpose(-1, -2)).float() / (width // heads) ** 0.5
    return scores.log_softmax(-1)
