"""Distant labels believed wrong, and what is believed instead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roster.auditing.evidence import Evidence
from roster.auditing.spans import Spans, certainty, means, overlapping, predicted
from roster.auditing.trust import places, trust
from roster.corpus.provenance import Source

DOUBTED = 0.5
"""A label that the members give less certainty than this is believed wrong."""


@dataclass(frozen=True)
class JudgedLabels:
    """All labels of the text with what the members think of each; arrays are in the order of `spans`."""

    spans: Spans
    certainty: np.ndarray
    """By the mean of the members: of span and type."""
    out_of_fold: np.ndarray
    """By the member that did not learn the label; NaN where all did."""
    doubts: np.ndarray
    """How often members removed the label, as a share of the most often removed one."""
    instead: Spans
    """What the mean of the members predicts in the whole text."""
    trust: np.ndarray
    """Log odds that the label is right, by all signals together (`trust.py`)."""
    meets: np.ndarray
    """Of each label the number of the prediction that shares a word with it, or -1."""

    @property
    def wrong(self) -> np.ndarray:
        """The numbers of labels believed wrong, the least trusted first."""
        doubted = np.flatnonzero(self.certainty < DOUBTED)
        return doubted[np.argsort(self.trust[doubted], kind="stable")]

    @property
    def held_out(self) -> float:
        """The share of the labels that the member finds which did not learn them; NaN where all did."""
        blind = self.out_of_fold[~np.isnan(self.out_of_fold)]
        return float((blind >= DOUBTED).mean()) if len(blind) else float("nan")

    def believed(self, number: int) -> tuple[int, int, int] | None:
        """What the members find in the place of a label: words and class. None: no name."""
        met = int(self.meets[number])
        if met < 0:
            return None
        return int(self.instead.start[met]), int(self.instead.end[met]), int(self.instead.label[met])


def judge(evidence: Evidence) -> JudgedLabels:
    """What the members think of every label.

    The mean of the members is the judge: each of them did not learn the names of its fold. Certainty of the
    whole span separates right from wrong labels better than that of its words: many wrong labels are parts of
    longer names, whose words have the right type.
    """
    opinions, starts, m = evidence.opinions, evidence.starts, evidence.mentions
    spans = Spans(m.start, m.end, m.label)
    mean = opinions.mean()
    instead = predicted(mean, starts)
    out_of_fold = certainty(opinions.out_of_fold(), spans, starts)
    out_of_fold[~opinions.is_out_of_fold()[spans.start]] = np.nan
    sure, doubts = certainty(mean, spans, starts), means(opinions.doubts(), spans)
    meets = overlapping(spans, instead)
    trusted = trust(
        sure, doubts, places(spans, instead, meets), entry_numbers(evidence, spans), spans.label, DOUBTED
    )
    return JudgedLabels(spans, sure, out_of_fold, doubts, instead, trusted, meets)


def entry_numbers(evidence: Evidence, spans: Spans) -> np.ndarray:
    """[labels]: the number of the entry that made a label, the first of several."""
    numbers: dict[tuple[Source, int], int] = {}
    rows = zip(spans.start.tolist(), spans.end.tolist(), spans.label.tolist(), strict=True)
    keys = ((evidence.made(start, end)[0], label) for start, end, label in rows)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
