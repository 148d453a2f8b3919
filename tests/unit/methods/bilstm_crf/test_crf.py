"""The CRF against the enumeration of every path, and its gradient against finite differences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from roster.infer.logits import probabilities
from roster.methods.bilstm_crf.crf import best_path, chains, legal_bio, log_partition, marginals, path_score
from roster.methods.bilstm_crf.head import CrfHead
from roster.model.batches import Batch


def names(n_types: int) -> list[str]:
    return ["O", *(f"{mark}-{t}" for t in range(n_types) for mark in "BI")]


def allowed(before: str, tag: str) -> bool:
    return tag[0] != "I" or before in (f"B{tag[1:]}", tag)


@pytest.mark.parametrize("n_types", [1, 2, 5])
def test_legal(n_types: int) -> None:
    begins, follows = legal_bio(n_types)
    tags = names(n_types)
    assert begins.tolist() == [allowed("O", tag) for tag in tags]
    assert follows.tolist() == [[allowed(a, b) for b in tags] for a in tags]


class Problem(SimpleNamespace):
    """Chains of different lengths under one CRF, in double precision."""

    emissions: Tensor
    mask: Tensor
    start: Tensor
    transitions: Tensor

    @property
    def scores(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.emissions, self.mask, self.start, self.transitions

    def paths(self, chain: int) -> Iterator[tuple[tuple[int, ...], float]]:
        """Every legal path of a chain and its score, word by word."""
        tags = names((self.emissions.shape[2] - 1) // 2)
        for path in product(range(len(tags)), repeat=int(self.mask[chain].sum())):
            if all(allowed(a, b) for a, b in pairwise(["O", *(tags[t] for t in path)])):
                score = float(self.start[path[0]])
                score += sum(float(self.emissions[chain, i, t]) for i, t in enumerate(path))
                score += sum(float(self.transitions[a, b]) for a, b in pairwise(path))
                yield path, score


def problem(seed: int, lengths: list[int], n_types: int, scale: float) -> Problem:
    draw = torch.Generator().manual_seed(seed)
    size = 1 + 2 * n_types

    def normal(*shape: int) -> Tensor:
        return scale * torch.randn(*shape, generator=draw, dtype=torch.float64)

    begins, follows = legal_bio(n_types)
    return Problem(
        emissions=normal(len(lengths), max(lengths), size),
        mask=torch.arange(max(lengths)) < torch.tensor(lengths)[:, None],
        start=normal(size).masked_fill(~begins, -math.inf),
        transitions=normal(size, size).masked_fill(~follows, -math.inf),
    )


PROBLEMS = st.builds(
    problem,
    st.integers(0, 2**32),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.integers(1, 2),
    st.sampled_from([0.0, 0.1, 1.0, 5.0, 60.0]),
)


@given(PROBLEMS)
def test_against_every_path(p: Problem) -> None:
    total, p_tag, best = log_partition(*p.scores), marginals(*p.scores), best_path(*p.scores)
    for chain, length in enumerate(p.mask.sum(1).tolist()):
        paths = list(p.paths(chain))
        top = max(score for _, score in paths)
        z = top + math.log(sum(math.exp(score - top) for _, score in paths))
        assert total[chain].item() == pytest.approx(z, rel=1e-9, abs=1e-9)
        expected = np.zeros((length, p.emissions.shape[2]))
        for path, score in paths:
            expected[range(length), path] += math.exp(score - z)
        np.testing.assert_allclose(p_tag[chain, :length], expected, atol=1e-9)
        assert dict(paths)[tuple(best[chain, :length].tolist())] == pytest.approx(top, rel=1e-12)
    assert not p_tag[~p.mask].any()
    assert not best[~p.mask].any()


@given(PROBLEMS, st.randoms(use_true_random=False))
def test_the_score_of_a_path(p: Problem, draw: Any) -> None:
    tags, expected = torch.zeros(p.mask.shape, dtype=torch.long), []
    for chain in range(len(tags)):
        path, score = draw.choice(list(p.paths(chain)))
        tags[chain, : len(path)] = torch.tensor(path)
        expected.append(score)
    assert path_score(*p.scores, tags).tolist() == pytest.approx(expected, rel=1e-12)


def test_what_is_forbidden_has_no_score() -> None:
    p = problem(0, [2, 2, 1], 2, 1.0)
    tags = torch.tensor([[0, 2], [1, 4], [2, 0]])  # O I-0, B-0 I-1, and I-0 at the start
    assert path_score(*p.scores, tags).tolist() == [-math.inf] * 3


@given(PROBLEMS)
def test_padding_does_not_matter(p: Problem) -> None:
    other = p.emissions.masked_fill(~p.mask.unsqueeze(2), 1e3)
    for function in (log_partition, marginals, best_path):
        assert torch.equal(function(*p.scores), function(other, *p.scores[1:]))


@pytest.mark.parametrize(("n_types", "lengths"), [(1, [1]), (2, [3, 1, 2]), (1, [5, 4])])
def test_the_gradient_is_that_of_finite_differences(n_types: int, lengths: list[int]) -> None:
    p = problem(1, lengths, n_types, 1.0)
    begins, follows = legal_bio(n_types)
    free = [p.emissions, p.start.nan_to_num(neginf=0.3), p.transitions.nan_to_num(neginf=0.3)]
    tags = torch.zeros(p.mask.shape, dtype=torch.long)

    def loss(emissions: Tensor, start: Tensor, transitions: Tensor) -> Tensor:
        start, transitions = (
            start.masked_fill(~begins, -math.inf),
            transitions.masked_fill(~follows, -math.inf),
        )
        scores = (emissions, p.mask, start, transitions)
        return log_partition(*scores) - path_score(*scores, tags)

    weights = [x.clone().requires_grad_() for x in free]
    assert torch.autograd.gradcheck(loss, weights)
    (torch.arange(1.0, 1 + len(lengths)) * loss(*weights)).sum().backward()
    assert weights[1].grad is not None
    assert weights[2].grad is not None
    assert not weights[1].grad[~begins].any()
    assert not weights[2].grad[~follows].any()


def test_chains() -> None:
    places, mask = chains(torch.tensor([0, 0, 2, 5, 5, 5]))
    assert places.tolist() == [[0, 1, 0], [2, 0, 0], [3, 4, 5]]
    assert mask.tolist() == [[True, True, False], [True, False, False], [True, True, True]]


class States(nn.Module):
    """An encoder whose states are given: [rows, length, width]."""

    def __init__(self, states: Tensor):
        super().__init__()
        self.states, self.config = states, SimpleNamespace(hidden_size=states.shape[2])

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SimpleNamespace:
        return SimpleNamespace(last_hidden_state=self.states)


def head(states: Tensor, n_types: int, draw: torch.Generator) -> CrfHead:
    model = CrfHead(States(states), n_types).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=draw))
    return model


def rows_of(lengths: list[int]) -> Batch:
    """The words of rows of sub-words: the first stands behind a special token, the rest every place."""
    width = max(lengths) + 1
    at = torch.tensor([row * width + 1 + i for row, n in enumerate(lengths) for i in range(n)])
    ids = torch.zeros(len(lengths), width, dtype=torch.long)
    return Batch(ids, torch.ones_like(ids), at, torch.arange(len(at)))


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(1, 7), min_size=1, max_size=4),
    st.sampled_from([0.0, 1.0, 4.0]),
)
def test_the_most_likely_tags_are_the_best_path(seed: int, lengths: list[int], scale: float) -> None:
    draw, batch = torch.Generator().manual_seed(seed), rows_of(lengths)
    model = head(scale * torch.randn(*batch.ids.shape, 6, generator=draw), 2, draw)
    with torch.inference_mode():
        p, logits = model.probabilities(batch), model.logits(batch)
        places, mask = chains(batch.at // batch.ids.shape[1])
        scores = (model(batch)[places], mask, *model.steps())
        best, exact = best_path(*scores)[mask], marginals(*scores)[mask]
    assert torch.equal(p.argmax(-1), best)
    torch.testing.assert_close(p.sort(-1).values, exact.sort(-1).values, rtol=1e-4, atol=1e-5)
    served = probabilities("crf", logits.numpy())
    np.testing.assert_allclose(served, p, rtol=1e-4, atol=1e-6)
    assert served.argmax(-1).tolist() == best.tolist()


def test_the_best_path_is_not_always_the_most_likely_tag() -> None:
    """Two paths share B-0, one tag at a time; the one best path is all O. Served scores say so."""
    batch = rows_of([2])
    model = CrfHead(States(torch.zeros(1, 3, 4)), 1).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        model.start.copy_(torch.tensor([0.3, 0.0, 0.0]))
        model.transitions.copy_(torch.tensor([[0.0, -9.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        places, mask = chains(batch.at // 3)
        scores = (model(batch)[places], mask, *model.steps())
        exact, best = marginals(*scores)[mask], best_path(*scores)[mask]
        p = model.probabilities(batch)
    assert exact.argmax(-1).tolist() != best.tolist() == [0, 0]
    assert p.argmax(-1).tolist() == [0, 0]
    torch.testing.assert_close(p[0], exact[0, [1, 0, 2]], rtol=1e-4, atol=0)
    torch.testing.assert_close(p.sum(-1), torch.ones(2))


def test_scores_of_tags_are_not_taken_for_distributions() -> None:
    """The softmax of one word's scores knows nothing of the transitions; only `probabilities` does."""
    model, batch = CrfHead(States(torch.zeros(1, 3, 4)), 1).eval(), rows_of([2])
    with pytest.raises(TypeError, match="`probabilities`"):
        model.distributions(model(batch), batch.at // 3)


def test_a_fresh_head_has_ties_and_a_best_path_all_the_same() -> None:
    model, batch = CrfHead(States(torch.zeros(2, 5, 4)), 3).eval(), rows_of([4, 3])
    p = model.probabilities(batch).detach()
    places, mask = chains(batch.at // 5)
    best = best_path(model(batch)[places], mask, *model.steps())[mask]
    assert p.numpy().argmax(-1).tolist() == best.tolist()


def test_the_likelihood_of_all_paths_is_one() -> None:
    draw, batch = torch.Generator().manual_seed(0), rows_of([3])
    model = head(torch.randn(1, 4, 6, generator=draw), 1, draw)
    legal = [path for path, _ in problem(0, [3], 1, 1.0).paths(0)]
    rows = batch.at // 4
    found = [model.negative_log_likelihood(model(batch), rows, torch.tensor(path)) for path in legal]
    assert torch.cat(found).neg().exp().sum().item() == pytest.approx(1, abs=1e-5)
