"""AutoNER's decoding, against a walk from word to word."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Span
from roster.methods.autoner.decoding import tie_probabilities
from roster.model.decoding import decode

TYPES = ("A", "B")


def random_outputs(seed: int, n: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    after, before = (torch.randn(n, generator=generator).double() for _ in range(2))
    first, last = (2 * torch.randn(n, 3, generator=generator).double() for _ in range(2))
    return after, before, first, last


def walk(outputs: tuple[torch.Tensor, ...], lengths: list[int]) -> list[list[tuple[int, int, np.ndarray]]]:
    """The spans of every row, with their distributions over None and the types."""
    after, before, first, last = (x.numpy() for x in outputs)
    found, at = [], 0
    for length in lengths:
        breaks = [i for i in range(1, length) if after[at + i - 1] + before[at + i] < 0]
        row = []
        for a, b in pairwise([0, *breaks, length]):
            e = np.exp(first[at + a] + last[at + b - 1])
            row.append((a, b, e / e.sum()))
        found.append(row)
        at += length
    return found


@given(st.integers(0, 10**6), st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_the_distributions_and_what_they_spell(seed: int, lengths: list[int]) -> None:
    outputs = random_outputs(seed, sum(lengths))
    rows = torch.repeat_interleave(torch.arange(len(lengths)) * 3, torch.tensor(lengths))
    p = tie_probabilities(outputs, rows).numpy()  # type: ignore[arg-type]
    at, spans = 0, []
    for length, row in zip(lengths, walk(outputs, lengths), strict=True):
        for a, b, expected in row:
            for i in range(a, b):
                one = p[at + i]
                np.testing.assert_allclose([one[0], one[1] + one[2], one[3] + one[4]], expected, atol=1e-12)
                begins = i == a > 0
                assert not one[[2, 4] if begins else [1, 3]].any()
        best = [(a, b, int(q.argmax())) for a, b, q in row]
        spans.append(tuple(Span(a, b, TYPES[t - 1]) for a, b, t in best if t))
        at += length
    # Each row as a sentence: every span has its best type, and None is dropped.
    assert decode("bio", p, lengths, TYPES) == spans


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_several_models_at_once(seed: int, k: int) -> None:
    outputs = [random_outputs(seed + i, 7) for i in range(k)]
    rows = torch.tensor([0, 0, 0, 1, 1, 2, 2])
    together = tie_probabilities(tuple(torch.stack(x) for x in zip(*outputs, strict=True)), rows)  # type: ignore[arg-type]
    for one, p in zip(outputs, together, strict=True):
        torch.testing.assert_close(p, tie_probabilities(one, rows))  # type: ignore[arg-type]


def test_a_name_goes_on_in_the_next_window() -> None:
    """A sentence in two rows: one type on both sides of the cut is one name, two types are two."""
    tied = torch.full((4,), 5.0)
    certain = {"A": [-9.0, 9.0, -9.0], "B": [-9.0, -9.0, 9.0]}
    rows = torch.tensor([0, 0, 1, 1])
    for second, expected in (("A", (Span(0, 4, "A"),)), ("B", (Span(0, 2, "A"), Span(2, 4, "B")))):
        types = torch.tensor([certain["A"]] * 2 + [certain[second]] * 2)
        p = tie_probabilities((tied, tied, types, types), rows).numpy()
        assert decode("bio", p, [4], TYPES) == [expected]
