"""A synthetic text whose right and missed names are known, with a model that is too sure of itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from roster.reviewing.expectation import CONTROLS, Expectation


@dataclass(frozen=True)
class Text:
    expected: Expectation
    right: np.ndarray
    gold: np.ndarray

    @property
    def f1(self) -> float:
        return float(2 * self.right.sum() / (self.expected.predicted.sum() + self.gold.sum()))


def make_text(sentences: int, seed: int, wrong: float = 1.0) -> Text:
    """Names are wrong, or missed, `wrong` times as often as drawn."""
    g = np.random.default_rng(seed)
    names = g.poisson(1.5, sentences)
    right, missed, sure, doubt = (np.zeros(sentences) for _ in range(4))
    for i, n in enumerate(names):
        p = g.beta(4, 1, n)
        right[i] = (g.random(n) < 1 - wrong * (1 - p)).sum()
        sure[i] = (p**0.3).sum()
        doubt[i] = g.gamma(0.5, 0.4)
        missed[i] = g.poisson(wrong * doubt[i])
    # Some of the wrong names stand for another one that is there.
    gold = right + g.binomial((names - right).astype(int), 0.5) + missed
    controls = np.zeros((sentences, len(CONTROLS) + 1))
    controls[:, 0], controls[:, 1], controls[:, 2], controls[:, 3] = names, sure, doubt / 3, 5 + 2 * names
    q = sure / np.maximum(names, 1)
    spread = np.sqrt(1.5 * names * q * (1 - q) + 0.5 * doubt / 3 + 0.05)
    columns = (names, sure, sure + doubt / 3)
    return Text(Expectation(*(x[:, None].astype(float) for x in columns), controls, spread), right, gold)


@pytest.fixture(scope="session")
def text() -> Text:
    return make_text(1200, 0)
