"""Which labels leave the loss: by hand, at the borders, and against a loop over words."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from roster.methods.roster.label_removal import KEEP_ENTITIES, KEEP_O, dropped_o, label_weights

TAU = 0.7


def weights(
    e: list[float], r: list[list[float]], labels: list[int], **options: bool
) -> tuple[list[float], list[float]]:
    found = label_weights(torch.tensor(e), torch.tensor(r), torch.tensor(labels), TAU, 0.9, **options)
    return found[0].tolist(), found[1].tolist()


def test_each_case_by_hand() -> None:
    e = [0.1, 0.5, 0.9, 0.2, 0.9]
    r = [[0.5, 0.5], [0.5, 0.5], [0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]
    labels = [0, 0, 1, 1, 2]
    # O believed, O not believed; type 1 believed and not (half of its words), type 2 believed.
    assert weights(e, r, labels) == ([1, 0, 1, 1, 1], [0, 0, 1, 0, 1])
    assert weights(e, r, labels, remove_entities=True) == ([1, 0, 1, 0, 1], [0, 0, 1, 0, 1])


def test_only_o_labels() -> None:
    """What the model doubts of the entity labels stays."""
    assert weights([0.1, 0.5, 0.2], [[0.5, 0.5]] * 3, [0, 0, 1], only_o=True) == ([1, 0, 1], [0, 0, 1])


def test_exactly_tau_is_not_more_than_tau() -> None:
    r = [[0.7, 0.3]] + [[0.71, 0.29]] * 3
    w_e, w_t = weights([0.5] * 4, r, [1] * 4)
    assert w_t == [0, 1, 1, 1]
    # p(O) = 0.75 > tau, 0.65 < tau
    assert weights([0.25, 0.35], [[1.0], [1.0]], [0, 0])[0] == [1, 0]
    assert w_e == [1] * 4


@pytest.mark.parametrize("tens", [1, 2, 3, 7, 30, 77])
def test_ninety_percent_is_the_border(tens: int) -> None:
    n = 10 * tens
    for kept, guarded in ((tens, False), (tens - 1, True)):
        r = [[0.9, 0.1]] * kept + [[0.1, 0.9]] * (n - kept)
        w_e, w_t = weights([0.99] * n, r, [1] * n)
        assert w_t == ([1] * n if guarded else [1] * kept + [0] * (n - kept))
        assert w_e == [1] * n


def test_the_guard_is_for_each_type_alone() -> None:
    r = [[0.1, 0.9]] * 4
    w_e, w_t = weights([0.1] * 4, r, [1, 1, 2, 2], remove_entities=True)
    assert w_t == [1, 1, 1, 1]  # type 1 guarded, type 2 believed
    assert w_e == [1, 1, 0, 0]  # a guarded type keeps its entity labels too


def test_a_type_without_words_and_a_corpus_without_entities() -> None:
    w_e, w_t = weights([0.5, 0.1], [[0.8, 0.1, 0.1]] * 2, [1, 0])
    assert (w_e, w_t) == ([1, 1], [1, 0])
    w_e, w_t = weights([0.5, 0.1], [[0.8, 0.1, 0.1]] * 2, [0, 0])
    assert (w_e, w_t) == ([0, 1], [0, 0])


HUNDREDTH = st.integers(0, 100)


@given(
    st.lists(st.tuples(HUNDREDTH, HUNDREDTH, st.integers(0, 3)), min_size=1, max_size=40),
    st.sampled_from([0, 5, 50, 70, 90, 100]),
    st.sampled_from([0, 25, 50, 75, 90, 100]),
    st.booleans(),
)
def test_against_a_loop(
    words: list[tuple[int, int, int]], tau: int, keep: int, remove_entities: bool
) -> None:
    """Whole hundredths, so that the loop is exact. `r` has the given value at the label."""
    r = torch.zeros(len(words), 3, dtype=torch.float64)
    for i, (_, believed, label) in enumerate(words):
        r[i, max(label - 1, 0)] = believed / 100
        r[i, label % 3] += (100 - believed) / 100
    e = torch.tensor([x[0] / 100 for x in words], dtype=torch.float64)
    labels = torch.tensor([x[2] for x in words])
    # 1 - e in floating point is not exact at the border; stay off it.
    if any(label == 0 and 100 - x == tau for x, _, label in words):
        return
    found = label_weights(e, r, labels, tau / 100, keep / 100, remove_entities)

    guarded = set()
    for t in (1, 2, 3):
        mine = [believed for _, believed, label in words if label == t]
        gone = sum(believed <= tau for believed in mine)
        if mine and Fraction(gone, len(mine)) > Fraction(keep, 100):
            guarded.add(t)
    for i, (x, believed, label) in enumerate(words):
        if label == 0:
            expected = (float(100 - x > tau), 0.0)
        elif label in guarded:
            expected = (1.0, 1.0)
        else:
            expected = (float(x > tau) if remove_entities else 1.0, float(believed > tau))
        assert (found[0][i].item(), found[1][i].item()) == expected


@pytest.mark.parametrize(("gone", "kept"), [(0, False), (4, False), (5, False), (6, True), (10, True)])
def test_a_model_that_would_remove_most_o_labels_removes_none(gone: int, kept: bool) -> None:
    """Of ten O words; the entity word beside them is no matter."""
    assert KEEP_O == 0.5
    e, r, labels = [0.9] * gone + [0.1] * (10 - gone) + [0.9], [[0.9, 0.1]] * 11, [0] * 10 + [1]
    plain = [0] * gone + [1] * (10 - gone) + [1]
    assert weights(e, r, labels)[0] == plain
    assert weights(e, r, labels, guard=True)[0] == ([1] * 11 if kept else plain)


@pytest.mark.parametrize(("gone", "kept"), [(0, False), (5, False), (6, False), (7, True), (10, True)])
def test_a_type_keeps_its_entity_labels_where_most_would_go(gone: int, kept: bool) -> None:
    """For each type alone, and only with the guard: of the other type four of ten go in any case."""
    assert KEEP_ENTITIES == 0.6
    e = [0.2] * gone + [0.9] * (10 - gone) + [0.2] * 4 + [0.9] * 6
    r, labels = [[0.9, 0.1]] * 10 + [[0.1, 0.9]] * 10, [1] * 10 + [2] * 10
    mine, other = [0] * gone + [1] * (10 - gone), [0] * 4 + [1] * 6
    assert weights(e, r, labels, remove_entities=True)[0] == mine + other
    w_e, w_t = weights(e, r, labels, remove_entities=True, guard=True)
    assert w_e == ([1] * 10 if kept else mine) + other
    assert w_t == [1] * 20  # the type head's labels are another matter
    assert weights(e, r, labels, guard=True)[0] == [1] * 20


def test_guards_change_no_type_labels() -> None:
    generator = torch.Generator().manual_seed(0)
    e, r = torch.rand(200, generator=generator), torch.rand(200, 2, generator=generator)
    labels = torch.randint(0, 3, (200,), generator=generator)
    for remove in (False, True):
        plain, guarded = (label_weights(e, r, labels, TAU, 0.9, remove, guard) for guard in (False, True))
        assert torch.equal(plain[1], guarded[1])
        assert (guarded[0] >= plain[0]).all()


def test_guards_without_words() -> None:
    for labels in ([1, 1], [0, 0]):
        w_e, _ = weights([0.5, 0.9], [[0.8, 0.2]] * 2, labels, remove_entities=True, guard=True)
        assert len(w_e) == 2


@given(st.lists(st.integers(0, 2), max_size=60), st.floats(0, 1), st.integers(0, 5))
def test_dropped_o_is_an_exact_share_of_the_o_words(labels: list[int], share: float, seed: int) -> None:
    given = np.array(labels, np.int16)
    mask = dropped_o(given, share, np.random.default_rng(seed))
    assert not mask[given > 0].any()
    assert mask.sum() == round(share * labels.count(0))
    assert np.array_equal(mask, dropped_o(given, share, np.random.default_rng(seed)))


def test_dropped_o_is_another_draw_for_each_seed() -> None:
    labels = np.zeros(1000, np.int16)
    a, b = (dropped_o(labels, 0.5, np.random.default_rng(seed)) for seed in (1, 2))
    assert 150 < (a & b).sum() < 350  # 250 if independent
    assert 150 < a[:500].sum() < 350  # spread over the corpus
