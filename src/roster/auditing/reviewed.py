"""Precision and recall of the labels by type, where a person has checked some of the sentences.

The estimate that needs no gold label is the prior, a Beta distribution with the error of such estimates. The
checked sentences update it: each counts with its sampling weight, and all together as many as an equally
precise sample without weights would have (Kish's effective size, the squared sum of the weights by the sum of
their squares).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roster.auditing.quality import NORMAL, Estimate, TypeQuality
from roster.corpus.sentence import Sentence
from roster.errors import DataError

LEAST_STRENGTH = 1.0
"""A prior counts as one label at least."""


def updated(
    estimates: Sequence[TypeQuality], labelled: Sequence[Sentence], checked: Sequence[Sentence]
) -> list[TypeQuality]:
    """Return the estimates of all types, updated by checked sentences.

    Args:
        estimates: of every type, without gold labels.
        labelled: the training sentences with their distant labels.
        checked: some of these with true labels, and their sampling weights; found by their words.

    Raises:
        DataError: none of the checked sentences is a training sentence.
    """
    counts = _Counts.of([one.label for one in estimates], labelled, checked)
    return [
        TypeQuality(
            one.label,
            one.labels,
            one.predicted,
            posterior(one.precision, counts.right[i], counts.labels[i]),
            posterior(one.recall, counts.right[i], counts.true[i]),
        )
        for i, one in enumerate(estimates)
    ]


def posterior(prior: Estimate | None, right: float, of: float) -> Estimate | None:
    """Return the mean of the Beta distribution after `right` of `of` observations, with its deviation.

    >>> posterior(Estimate(0.5, 0.125), 30.0, 40.0).value > 0.7
    True
    """
    if prior is None:
        return None
    mean = min(0.99, max(0.01, prior.value))
    deviation = NORMAL * prior.error
    strength = max(LEAST_STRENGTH, mean * (1 - mean) / deviation**2 - 1)
    value = (mean * strength + right) / (strength + of)
    spread = (value * (1 - value) / (strength + of + 1)) ** 0.5
    return Estimate(value, spread / NORMAL) if of else prior


class _Counts:
    """By type, effective numbers: labels, right labels and true names of the checked sentences."""

    def __init__(self, labels: np.ndarray, right: np.ndarray, true: np.ndarray):
        self.labels, self.right, self.true = labels, right, true

    @classmethod
    def of(cls, types: Sequence[str], labelled: Sequence[Sentence], checked: Sequence[Sentence]) -> _Counts:
        by_words: dict[tuple[str, ...], Sentence] = {}
        for sentence in labelled:
            by_words.setdefault(sentence.words, sentence)
        pairs = [(by_words[one.words], one) for one in checked if one.words in by_words]
        if not pairs:
            raise DataError("none of the reviewed sentences is one that the run was trained on")
        weights = np.array([one.weight for _, one in pairs])
        weights *= weights.sum() / (weights**2).sum()
        number = {name: i for i, name in enumerate(types)}
        labels, right, true = np.zeros((3, len(types)))
        for weight, (given, gold) in zip(weights, pairs, strict=True):
            names = set(gold.spans or ())
            for span in given.spans or ():
                labels[number[span.label]] += weight
                right[number[span.label]] += weight * (span in names)
            for span in names:
                if span.label in number:  # a person can name types that the labels lack
                    true[number[span.label]] += weight
        return cls(labels, right, true)
