"""How good the labels of each type are, as the members estimate it without gold labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from roster.auditing.evidence import Evidence
from roster.auditing.labels import DOUBTED, JudgedLabels
from roster.training.mentions import found_mentions

ERROR = {"precision": 0.125, "recall": 0.1}
"""The mean absolute error of the estimates by type, where gold labels could tell (docs/results.md)."""
TRUE_OUTSIDE = 0.65
"""So large a part of what is found beside the labels counts as missing names. Chosen by leaving out one text
of four: .60 to .65."""
LEAST_FOUND = 0.1
"""Names that the members have not learned are found at least this often."""
Z = 1.96
NORMAL = 1.2533
"""Standard deviation by mean absolute error, of a normal distribution."""


@dataclass(frozen=True)
class Estimate:
    """A share with bounds from the known error of such estimates, and from the number of labels."""

    value: float
    error: float
    labels: int = 0
    """How many the share is of; 0: so many that chance does not count."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Wider than the error alone where the labels are few."""
        chance = self.value * (1 - self.value) / self.labels if self.labels else 0.0
        half = Z * math.sqrt((NORMAL * self.error) ** 2 + chance)
        return max(0.0, self.value - half), min(1.0, self.value + half)

    def as_dict(self) -> dict[str, float]:
        low, high = self.bounds
        return {"value": round(self.value, 4), "low": round(low, 4), "high": round(high, 4)}


@dataclass(frozen=True)
class TypeQuality:
    """Of one type: the labels, and the estimated precision and recall of them; None without any."""

    label: str
    labels: int
    predicted: int
    precision: Estimate | None
    recall: Estimate | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "labels": self.labels,
            "predicted": self.predicted,
            "precision": self.precision and self.precision.as_dict(),
            "recall": self.recall and self.recall.as_dict(),
        }


def quality(evidence: Evidence, judged: JudgedLabels, outside: float = TRUE_OUTSIDE) -> list[TypeQuality]:
    """For every type: precision is the share of its labels that the mean of the members gives with exactly
    their span and type. Recall is the number of these by all true names: these, and the missing ones.

    Missing are names that the members find beside the labels, of which the share `outside` is true, and
    names that they do not find: of names that a member has not learned, it finds the share `held_out`.
    """
    m, mean = evidence.mentions, evidence.opinions.mean()
    same = found_mentions(mean.argmax(-1), m, evidence.starts)
    size = len(evidence.types) + 1
    labels = np.bincount(m.label, minlength=size)
    right = np.bincount(m.label[same], minlength=size)
    found = np.bincount(judged.instead.label, minlength=size)
    finds = np.maximum(LEAST_FOUND, held_out(judged, size))
    true = right + outside * (found - right) / finds
    return [
        TypeQuality(
            name,
            int(labels[i]),
            int(found[i]),
            _share(right[i], labels[i], ERROR["precision"], labels[i]),
            _share(right[i], true[i], ERROR["recall"], labels[i]),
        )
        for i, name in enumerate(evidence.types, 1)
    ]


def held_out(judged: JudgedLabels, size: int) -> np.ndarray:
    """[size]: by class, the share of the labels that the member finds which did not learn them; where all
    learned a label, the mean of the members counts."""
    blind = np.where(np.isnan(judged.out_of_fold), judged.certainty, judged.out_of_fold) >= DOUBTED
    hits = np.bincount(judged.spans.label[blind], minlength=size)
    shares: np.ndarray = hits / np.maximum(1, np.bincount(judged.spans.label, minlength=size))
    return shares


def _share(part: float, whole: float, error: float, labels: int) -> Estimate | None:
    return Estimate(float(part / whole), error, int(labels)) if whole else None
