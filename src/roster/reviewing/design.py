"""Which sentence to review next: strata of like uncertainty, and a fixed turn for each.

A sentence costs as many answers as it has predicted names, and one for the question whether names are
missing. Sentences are sorted by the ratio of their expected spread (the standard deviation of their part in
F1) to the root of their cost, and cut into strata; sentences without a prediction have strata of their own,
since only they contain the sentences that the model misses altogether. By Neyman's rule the variance for a
number of answers is least if stratum h is drawn in proportion to N_h S_h / sqrt(c_h).

The turns of the strata are fixed before the first answer, and within a stratum the order is random. So the
first n sentences are a stratified random sample for every n, and the review can end anywhere.
"""

from __future__ import annotations

import numpy as np

from roster.reviewing.expectation import Expectation

STRATA = 5
"""Strata of sentences with predictions."""
EMPTY_STRATA = 2
"""Strata of sentences without."""
FIRST = 2
"""Sentences of each stratum at the beginning."""


def stratify(spread: np.ndarray, cost: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """The stratum of every sentence, from 0 to the number of strata less 1.

    Cuts are at equal sums of spread / sqrt(cost), so that each stratum gets about as many answers.
    """
    stratum = np.zeros(len(spread), np.int64)
    made = 0
    for rows, wanted in (
        (np.flatnonzero(predicted == 0), EMPTY_STRATA),
        (np.flatnonzero(predicted > 0), STRATA),
    ):
        if not len(rows):
            continue
        key = spread[rows] / np.sqrt(cost[rows])
        order = np.argsort(key, kind="stable")
        at = np.cumsum(key[order])
        cut = np.minimum((at - key[order] / 2) / max(float(at[-1]), 1e-12) * wanted, wanted - 1).astype(int)
        _, cut = np.unique(cut, return_inverse=True)
        stratum[rows[order]] = made + cut
        made += int(cut.max()) + 1
    return stratum


def turns(stratum: np.ndarray, spread: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """The stratum of the first, second, ... sentence to review, for all sentences of the text.

    Every stratum has `FIRST` turns at the beginning; then each turn goes to the stratum in which one sentence
    more reduces the variance most for its cost.
    """
    sizes = np.bincount(stratum)
    variance = np.bincount(stratum, spread**2) / sizes
    mean_cost = np.bincount(stratum, cost) / sizes
    # The n-th sentence of stratum h takes N_h^2 S_h^2 / (n (n - 1)) off the variance.
    parts = []
    for h, size in enumerate(sizes):
        n = np.arange(1, size + 1, dtype=float)
        gain = sizes[h] ** 2 * max(variance[h], 1e-12) / mean_cost[h] / np.maximum(n * (n - 1), 0.5)
        gain[:FIRST] = np.inf
        parts.append(np.stack([gain, np.full(size, h), n]))
    gain, h, n = np.concatenate(parts, 1)
    order = np.lexsort((h, n, -gain))
    return h[order].astype(np.int64)


def order(stratum: np.ndarray, turn: np.ndarray, seed: int | np.random.Generator) -> np.ndarray:
    """All sentences in the order of their review: in each turn the next of a random order of the stratum."""
    generator = np.random.default_rng(seed)
    found = np.empty(len(stratum), np.int64)
    for h in range(int(stratum.max()) + 1 if len(stratum) else 0):
        found[turn == h] = generator.permutation(np.flatnonzero(stratum == h))
    return found


def plan(expected: Expectation, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The strata of a text, and the order of its review."""
    names = expected.predicted.sum(1)
    cost = names + 1
    stratum = stratify(expected.spread, cost, names)
    return stratum, order(stratum, turns(stratum, expected.spread, cost), seed)
