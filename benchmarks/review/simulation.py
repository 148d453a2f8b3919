"""Many simulated reviews of one text: intervals at given numbers of answers, and answers until a width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from roster.reviewing.design import order, stratify, turns
from roster.reviewing.estimate import Frame, Interval, estimate, t_quantile
from roster.reviewing.expectation import Expectation
from roster.reviewing.session import FEWEST

Estimate = tuple[Interval, ...]
"""Precision, recall and F1."""
SCORES = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Truth:
    """What a person would answer: right and true names of every sentence, and the answers that it takes."""

    right: np.ndarray
    gold: np.ndarray
    answers: np.ndarray

    def scores(self, predicted: np.ndarray) -> tuple[float, float, float]:
        """Return precision, recall and F1 of the whole text."""
        right, found, gold = float(self.right.sum()), float(predicted.sum()), float(self.gold.sum())
        return right / max(found, 1), right / max(gold, 1), 2 * right / max(found + gold, 1)


@dataclass(frozen=True)
class System:
    """A way to review: `order` draws the order of all sentences, `estimate` reads the first of them."""

    order: Callable[[np.random.Generator], np.ndarray]
    estimate: Callable[[np.ndarray], Estimate | None]


def ours(expected: Expectation, truth: Truth, confidence: float) -> System:
    """Return what `roster review` does."""
    names = expected.predicted.sum(1)
    stratum = stratify(expected.spread, names + 1, names)
    turn = turns(stratum, expected.spread, names + 1)
    frame = Frame(expected, stratum)

    def scores(rows: np.ndarray) -> Estimate | None:
        found = estimate(frame, rows, truth.right[rows], truth.gold[rows], confidence)
        if found.precision is None or found.recall is None or found.f1 is None:
            return None
        return found.precision, found.recall, found.f1

    return System(lambda generator: order(stratum, turn, generator), scores)


def random_sampling(expected: Expectation, truth: Truth, confidence: float) -> System:
    """Return what is usual: sentences drawn at random, ratios of sums, linearised variance, Student's t."""
    names = expected.predicted.sum(1)

    def ratio(rows: np.ndarray, part: np.ndarray, whole: np.ndarray) -> Interval | None:
        n, total = len(rows), float(whole[rows].sum())
        if n < 2 or not total:
            return None
        value = float(part[rows].sum()) / total
        residual = part[rows] - value * whole[rows]
        error = np.sqrt((1 - n / len(names)) * n * float(residual.var(ddof=1))) / total
        half = float(t_quantile(n - 1, confidence) * error)
        return Interval(value, value - half, value + half)

    def scores(rows: np.ndarray) -> Estimate | None:
        pairs = ((truth.right, names), (truth.right, truth.gold), (2 * truth.right, names + truth.gold))
        found = [one for part, whole in pairs if (one := ratio(rows, part, whole)) is not None]
        return tuple(found) if len(found) == len(pairs) else None

    return System(lambda generator: generator.permutation(len(names)), scores)


def at_answers(
    system: System, truth: Truth, budgets: list[int], generators: Iterator[np.random.Generator]
) -> np.ndarray:
    """Return value, low and high of each score after so many answers, [times, budgets, scores, 3].

    Rows are NaN where there is no estimate yet.
    """
    found = []
    for generator in generators:
        rows = system.order(generator)
        spent = truth.answers[rows].cumsum()
        one = np.full((len(budgets), len(SCORES), 3), np.nan)
        for i, budget in enumerate(budgets):
            scores = system.estimate(rows[: np.searchsorted(spent, budget, side="right")])
            if scores is not None:
                one[i] = [(x.value, x.low, x.high) for x in scores]
        found.append(one)
    return np.array(found)


def until_width(
    system: System, truth: Truth, width: float, generators: Iterator[np.random.Generator]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the answers until the interval of F1 is plus or minus `width`, and value, low and high then.

    Where the interval is still much too wide, some sentences are passed over without an estimate: at most a
    quarter of those that it needs.
    """
    answers, found = [], []
    for generator in generators:
        rows = system.order(generator)
        n = min(FEWEST, len(rows))
        while True:
            scores = system.estimate(rows[:n])
            margin = np.inf if scores is None else scores[-1].margin
            if margin <= width or n == len(rows):
                break
            n = min(len(rows), n + max(1, int(min(n, n * ((margin / width) ** 2 - 1) / 4))))
        assert scores is not None, "all sentences give an estimate"
        answers.append(int(truth.answers[rows[:n]].sum()))
        found.append((scores[-1].value, scores[-1].low, scores[-1].high))
    return np.array(answers), np.array(found)
