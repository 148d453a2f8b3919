"""Strata and the order of the review."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from roster.reviewing.design import FIRST, order, plan, stratify, turns


def arrays(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    g = np.random.default_rng(seed)
    names = g.poisson(1, n)
    return g.gamma(1, 1, n), names + 1.0, names.astype(float)


@given(st.integers(0, 99), st.integers(1, 200))
def test_every_sentence_has_one_turn(seed: int, n: int) -> None:
    spread, cost, names = arrays(seed, n)
    stratum = stratify(spread, cost, names)
    turn = turns(stratum, spread, cost)
    found = order(stratum, turn, seed)
    assert sorted(found) == list(range(n))
    assert (stratum[found] == turn).all()
    assert set(stratum) == set(range(stratum.max() + 1))
    assert not set(stratum[names == 0]) & set(stratum[names > 0])


@given(st.integers(0, 99))
def test_each_stratum_is_drawn_at_the_beginning(seed: int) -> None:
    spread, cost, names = arrays(seed, 300)
    stratum = stratify(spread, cost, names)
    first = turns(stratum, spread, cost)[: FIRST * (stratum.max() + 1)]
    sizes = np.bincount(stratum)
    assert (np.bincount(first, minlength=len(sizes)) >= np.minimum(FIRST, sizes)).all()


def test_turns_follow_neyman() -> None:
    """After many turns the shares are those of N_h S_h / sqrt(c_h)."""
    sizes, s, c = np.array([4000, 2000, 4000]), np.array([1.0, 3.0, 0.5]), np.array([1.0, 4.0, 2.0])
    stratum = np.repeat(np.arange(3), sizes)
    drawn = np.bincount(turns(stratum, s[stratum], c[stratum])[:1000])
    ideal = sizes * s / np.sqrt(c)
    np.testing.assert_allclose(drawn, 1000 * ideal / ideal.sum(), atol=2)


def test_the_order_is_random_within_strata_and_nothing_else() -> None:
    """Every sentence of a stratum is as likely as any other to be among the first."""
    stratum = np.repeat([0, 1], [6, 10])
    turn = turns(stratum, np.ones(16), np.ones(16))
    n = 8
    share = np.zeros(16)
    for seed in range(2000):
        share[order(stratum, turn, seed)[:n]] += 1 / 2000
    expected = (np.bincount(turn[:n]) / np.array([6, 10]))[stratum]
    np.testing.assert_allclose(share, expected, atol=0.05)


def test_the_same_seed_gives_the_same_order(text: object) -> None:
    expected = text.expected  # type: ignore[attr-defined]
    assert (plan(expected, 3)[1] == plan(expected, 3)[1]).all()
    assert (plan(expected, 3)[1] != plan(expected, 4)[1]).any()
