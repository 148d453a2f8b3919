"""How good the labels of each type are, as far as the members can tell without gold labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from roster.auditing.evidence import Evidence
from roster.auditing.labels import JudgedLabels
from roster.training.mentions import found_mentions

ERROR = {"precision": 0.12, "recall": 0.13}
"""The mean absolute error of the estimates by type, where gold labels could tell (docs/results.md)."""
Z = 1.96
NORMAL = 1.2533
"""Standard deviation by mean absolute error, of a normal distribution."""


@dataclass(frozen=True)
class Estimate:
    """A share with bounds from the known error of such estimates, not from the number of labels."""

    value: float
    error: float

    @property
    def bounds(self) -> tuple[float, float]:
        half = Z * NORMAL * self.error
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


def quality(evidence: Evidence, judged: JudgedLabels) -> list[TypeQuality]:
    """For every type: precision is the share of its labels that the mean of the members gives with exactly
    their span and type; recall is the number of these by all that the members find of the type.
    """
    m, mean = evidence.mentions, evidence.opinions.mean()
    same = found_mentions(mean.argmax(-1), m, evidence.starts)
    size = len(evidence.types) + 1
    labels = np.bincount(m.label, minlength=size)
    right = np.bincount(m.label[same], minlength=size)
    found = np.bincount(judged.instead.label, minlength=size)
    return [
        TypeQuality(
            name,
            int(labels[i]),
            int(found[i]),
            _share(right[i], labels[i], ERROR["precision"]),
            _share(right[i], found[i], ERROR["recall"]),
        )
        for i, name in enumerate(evidence.types, 1)
    ]


def _share(part: int, whole: int, error: float) -> Estimate | None:
    return Estimate(float(part / whole), error) if whole else None
