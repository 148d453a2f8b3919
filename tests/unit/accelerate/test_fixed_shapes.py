"""Batches of fixed shapes: nothing is lost, nothing is read twice, little is padded."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from roster.accelerate.fixed_shapes import STEP, FixedShapes, choose_widths, joint_plan
from roster.backbone.alignment import Encoded
from roster.model.batches import DeviceCorpus


@given(st.lists(st.integers(1, 70), min_size=1, max_size=12), st.integers(1, 4))
def test_widths_are_the_best_there_are(lengths: list[int], most: int) -> None:
    def cost(widths: tuple[int, ...]) -> float:
        return sum(min((w for w in widths if w >= n), default=np.inf) for n in lengths)

    found = choose_widths(np.array(lengths), most)
    assert len(found) <= most
    assert found == sorted(set(found))
    assert all(w % STEP == 0 for w in found)
    options = range(STEP, max(lengths) + STEP, STEP)
    best = min(cost(c) for n in range(1, most + 1) for c in combinations(options, n))
    assert cost(tuple(found)) == best


def corpus_of(lengths: list[int]) -> DeviceCorpus:
    """Windows of given lengths; first and last sub-word of each are no word, every second other one is."""
    positions = [np.arange(1, n - 1, 2) for n in lengths]
    counts = [len(p) for p in positions]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    encoded = Encoded(
        ids=np.arange(10, 10 + sum(lengths), dtype=np.int32),
        starts=starts,
        positions=np.concatenate(positions).astype(np.int32),
        words=np.arange(sum(counts)),
        word_starts=np.concatenate([[0], np.cumsum(counts)]),
        n_words=sum(counts),
    )
    return DeviceCorpus.put(encoded, 0, torch.device("cpu"))


LENGTHS = st.lists(st.integers(3, 40), min_size=1, max_size=40)


@given(LENGTHS, st.integers(1, 3), st.integers(1, 6), st.integers(0, 9))
def test_every_member_sees_every_word_once(lengths: list[int], k: int, size: int, seed: int) -> None:
    corpus = corpus_of(lengths)
    widths = choose_widths(np.array(lengths), 3)
    plan = joint_plan(corpus, size, [np.random.default_rng((seed, i)) for i in range(k)], widths)
    static = FixedShapes(corpus, widths[-1], 2)
    static.fill([corpus, corpus.with_ids(corpus.ids * 2)])
    seen: list[list[int]] = [[] for _ in range(k)]
    assert len(plan.widths) == len(plan.rows) == -(-len(lengths) // size)
    for rows, width in zip(plan.rows, plan.widths, strict=True):
        ids, lengths_found, words = static.cut(torch.from_numpy(rows), width)
        assert ids.shape == (2, k, size, width)
        for member in range(k):
            for place, row in enumerate(rows[member]):
                if row == len(lengths):
                    assert lengths_found[member, place] == 0
                    continue
                length = lengths[row]
                assert lengths_found[member, place] == length <= width
                start = corpus.encoded.starts[row]
                expected = corpus.encoded.ids[start : start + length]
                assert ids[0, member, place, :length].tolist() == expected.tolist()
                assert ids[1, member, place, :length].tolist() == (2 * expected).tolist()
                assert not ids[:, member, place, length:].any()
            found = words[member].view(size, width)
            for place, position in (found >= 0).nonzero().tolist():
                number = int(found[place, position])
                at = int(np.flatnonzero(corpus.encoded.words == number)[0])
                assert corpus.encoded.positions[at] == position
                seen[member].append(number)
    assert all(sorted(one) == list(range(corpus.n_words)) for one in seen)


def test_members_have_batches_of_their_own() -> None:
    corpus = corpus_of(np.random.default_rng(0).integers(3, 40, 400).tolist())
    plan = joint_plan(corpus, 4, [np.random.default_rng(i) for i in range(2)], [40])
    first, second = ({frozenset(batch.tolist()) for batch in plan.rows[:, k]} for k in range(2))
    assert len(first & second) < 40
    again = joint_plan(corpus, 4, [np.random.default_rng(i) for i in range(2)], [40])
    assert np.array_equal(plan.rows, again.rows)
