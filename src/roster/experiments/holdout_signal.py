"""How well hold-out recall predicts the scores on the test split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from roster.experiments.drawing import SPREAD, Measured, slug, spread
from roster.experiments.tables import Spread, Table, cell, count_of, number, signed
from roster.experiments.variants import OURS, Variant

SIGNAL_STAGE = "mean-of-members"
"""The stage that estimates hold-out recall, with whose scores the estimate is compared."""


@dataclass(frozen=True)
class Signal:
    """Hold-out recall of a variant, and the scores that it predicts: those of the members' mean."""

    name: str
    names: int
    """Number of distinct held-out names per run."""
    error: float
    """Mean of the standard errors that the runs estimate."""
    hold_out: Spread
    recall: Spread
    f1: Spread


def signal(variant: Variant) -> Signal | None:
    """Return the signal of a variant; None if no run held names out."""
    runs = [m for m in variant.runs.get(OURS, ()) if _estimate(m)]
    estimates = [_estimate(m) for m in runs]
    members = [replace(m, stage=SIGNAL_STAGE) for m in runs]
    hold_out = Spread.of(e["value"] for e in estimates)
    recall, f1 = spread(members, "recall"), spread(members)
    if hold_out is None or recall is None or f1 is None:
        return None
    error = fmean(e["error"] for e in estimates)
    return Signal(variant.name, round(fmean(e["names"] for e in estimates)), error, hold_out, recall, f1)


def _estimate(item: Measured) -> dict[str, Any]:
    stage: dict[str, Any] = item.record["stages"].get(SIGNAL_STAGE, {})
    estimate: dict[str, Any] = stage.get("hold_out_recall", {}).get("all", {})
    return estimate


def signal_table(signals: Sequence[Signal], backbone: str) -> Table:
    head = ["variant", "names", "hold-out recall", "its error", "test recall", "hold-out - test", "test F1"]
    lines = [
        [s.name, f"{s.names:,}", cell(s.hold_out), number(s.error), cell(s.recall),
         signed(s.hold_out.mean - s.recall.mean), cell(s.f1)]
        for s in signals
    ]  # fmt: skip
    predicted = [s.hold_out.mean for s in signals]
    recall, f1 = [s.recall.mean for s in signals], [s.f1.mean for s in signals]
    off = fmean(abs(a - b) for a, b in zip(predicted, recall, strict=True))
    notes = [
        "Hold-out recall: the share of the mentions of names that a member was not taught which it finds in "
        "the training text, averaged by name; no gold label is needed for it. Test scores are those of the "
        f"members' mean. {SPREAD}",
        f"Rank correlation of hold-out recall over {count_of(len(signals), 'variant')}: "
        f"{number(rank_correlation(predicted, recall))} with test recall, "
        f"{number(rank_correlation(predicted, f1))} with test F1. Mean absolute difference from test recall: "
        f"{number(off)}.",
    ]
    title = f"Hold-out recall with {backbone}: predicted and true"
    return Table(slug("robustness", backbone, "signal"), title, head, lines, notes)


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation, with mean ranks for ties.

    None for fewer than three pairs, or if all values of one side are equal.

    >>> round(rank_correlation([1, 2, 3, 4], [10, 20, 40, 30]), 3), rank_correlation([1, 1, 1], [1, 2, 3])
    (0.8, None)
    """
    if len(x) < 3 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    return float(np.corrcoef(_ranks(x), _ranks(y))[0, 1])


def _ranks(values: Sequence[float]) -> np.ndarray:
    """
    >>> _ranks([0.3, 0.1, 0.3]).tolist()
    [2.5, 1.0, 2.5]
    """
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (np.cumsum(counts) - (counts - 1) / 2)[where]
    return ranks
