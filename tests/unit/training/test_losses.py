"""The losses against plain Python, at the borders where a careless formula gives NaN."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr
from torch import Tensor

from roster.training.losses import bce, gce, kl, noise_robust_loss, wmean

QS = (0.0, 0.3, 0.7, 1.0)
P = st.floats(1e-6, 1.0)


def plain_gce(p: float, q: float) -> float:
    return -math.log(p) if q == 0 else (1 - p**q) / q


def double(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


@given(st.lists(P, min_size=1, max_size=5), st.floats(1e-3, 1.0))
def test_gce_is_the_formula(ps: list[float], q: float) -> None:
    found = gce(double(*ps).log(), q)
    np.testing.assert_allclose(found.numpy(), [plain_gce(p, q) for p in ps], rtol=1e-9, atol=1e-12)


def test_gce_known_values() -> None:
    assert gce(double(0.25).log(), 0.5).item() == pytest.approx(1.0)
    assert gce(double(0.5).log(), 0.7).item() == pytest.approx((1 - 0.5**0.7) / 0.7)
    assert gce(double(1.0).log(), 0.7).item() == 0
    assert gce(double(-math.inf), 0.7).item() == pytest.approx(1 / 0.7)


def test_gce_at_q_1_is_mean_absolute_error() -> None:
    p = torch.linspace(0.01, 1, 50, dtype=torch.float64)
    torch.testing.assert_close(gce(p.log(), 1.0), 1 - p)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gce_goes_to_cross_entropy(dtype: torch.dtype) -> None:
    log_p = torch.linspace(0.01, 1, 50, dtype=dtype).log()
    torch.testing.assert_close(gce(log_p, 0.0), -log_p)
    torch.testing.assert_close(gce(log_p, 1e-6), -log_p, rtol=1e-4, atol=1e-6)


@given(st.lists(st.tuples(P, st.floats(0.0, 1.0)), min_size=1, max_size=5))
def test_exponents_of_a_tensor_are_those_of_numbers(pairs: list[tuple[float, float]]) -> None:
    """Each word with an exponent of its own; 0 is cross entropy in the loss and in its gradient."""
    qs = double(*(q for _, q in pairs))
    for exact in (qs, torch.where(qs < 0.1, 0.0, qs)):
        log_p = double(*(p for p, _ in pairs)).log().requires_grad_()
        alone = [gce(one, float(q)) for one, q in zip(log_p, exact, strict=True)]
        found = gce(log_p, exact)
        torch.testing.assert_close(found, torch.stack(alone), rtol=1e-12, atol=0)
        wanted = torch.autograd.grad(torch.stack(alone).sum(), log_p)[0]
        torch.testing.assert_close(torch.autograd.grad(found.sum(), log_p)[0], wanted, rtol=1e-12, atol=0)


def test_a_tensor_exponent_goes_to_cross_entropy() -> None:
    log_p = torch.linspace(0.01, 1, 50, dtype=torch.float64).log()
    torch.testing.assert_close(gce(log_p, double(0.0)), -log_p, rtol=0, atol=0)
    torch.testing.assert_close(gce(log_p, double(1e-9)), -log_p, rtol=1e-7, atol=1e-12)


def test_no_gradient_of_a_tensor_exponent_is_lost_at_an_impossible_label() -> None:
    """A probability of 0: the branch that is not taken must not make the gradient NaN."""
    log_p = double(-1e4, -1e4).requires_grad_()
    gce(log_p, double(0.0, 0.7)).sum().backward()
    assert log_p.grad is not None
    assert log_p.grad.tolist() == [-1.0, 0.0]


def test_the_heads_have_exponents_of_their_own() -> None:
    b, z, labels = double(0.3, -1.2), torch.tensor([[0.4, -0.2], [0.1, 0.9]]).double(), torch.tensor([1, 2])
    on = double(1.0, 1.0)

    def loss(q_e: float | Tensor, q_t: float | Tensor) -> float:
        return noise_robust_loss(b, z, labels, on, on, q_e, q_t).item()

    entity, kind = loss(0.7, 0.7) - loss(0.0, 0.7), loss(0.7, 0.7) - loss(0.7, 0.0)
    assert loss(0.7, 0.7) - loss(0.0, 0.0) == pytest.approx(entity + kind)
    assert min(abs(entity), abs(kind)) > 0.01
    assert loss(double(0.7), double(0.0)) == pytest.approx(loss(0.7, 0.0), rel=1e-12)


@given(P, st.sampled_from(QS))
def test_gce_gradient_is_minus_p_to_q(p: float, q: float) -> None:
    log_p = double(math.log(p)).requires_grad_()
    gce(log_p, q).sum().backward()
    assert log_p.grad is not None
    assert log_p.grad.item() == pytest.approx(-(p**q))


@pytest.mark.parametrize("q", QS)
def test_gradients_are_finite_differences(q: float) -> None:
    generator = torch.Generator().manual_seed(0)
    b = torch.randn(6, dtype=torch.float64, generator=generator).requires_grad_()
    z = torch.randn(6, 3, dtype=torch.float64, generator=generator).requires_grad_()
    labels = torch.tensor([0, 1, 2, 3, 0, 1])
    w_e, w_t = double(1, 1, 0, 1, 1, 1), double(0, 1, 1, 0, 0, 1)
    assert torch.autograd.gradcheck(lambda b, z: noise_robust_loss(b, z, labels, w_e, w_t, q, q), (b, z))
    # And by hand, through plain Python.
    noise_robust_loss(b, z, labels, w_e, w_t, q, q).backward()
    assert b.grad is not None
    assert z.grad is not None
    arguments = (labels.tolist(), w_e.tolist(), w_t.tolist(), q)
    flat_b, flat_z, step = b.tolist(), z.tolist(), 1e-6
    for i in range(6):
        up, down = [x + step * (j == i) for j, x in enumerate(flat_b)], list(flat_b)
        down[i] -= step
        slope = (plain_loss(up, flat_z, *arguments) - plain_loss(down, flat_z, *arguments)) / (2 * step)
        assert b.grad[i].item() == pytest.approx(slope, abs=1e-7)
        for t in range(3):
            high, low = [list(row) for row in flat_z], [list(row) for row in flat_z]
            high[i][t] += step
            low[i][t] -= step
            slope = (plain_loss(flat_b, high, *arguments) - plain_loss(flat_b, low, *arguments)) / (2 * step)
            assert z.grad[i, t].item() == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_stable_where_the_label_has_no_probability(q: float, size: float) -> None:
    b = torch.tensor([size, size, -size]).requires_grad_()
    z = torch.tensor([[size, -size], [size, -size], [-size, size]]).requires_grad_()
    labels = torch.tensor([0, 2, 2])
    loss = noise_robust_loss(b, z, labels, torch.ones(3), torch.tensor([0.0, 1, 1]), q, q)
    loss.backward()
    assert torch.isfinite(loss)
    for grad in (b.grad, z.grad):
        assert grad is not None
        assert torch.isfinite(grad).all()
    if q == 0:  # cross entropy still pulls there; the gradient is not just cut off
        assert b.grad is not None
        assert b.grad.abs().max() > 0.3


def test_cross_entropy_of_an_impossible_label() -> None:
    b = torch.tensor([1e4])
    loss = noise_robust_loss(b, torch.zeros(1, 2), torch.tensor([0]), torch.ones(1), torch.zeros(1), 0.0, 0.0)
    assert loss.item() == pytest.approx(1e4)
    loss = noise_robust_loss(b, torch.zeros(1, 2), torch.tensor([0]), torch.ones(1), torch.zeros(1), 0.7, 0.7)
    assert loss.item() == pytest.approx(1 / 0.7)


def test_wmean() -> None:
    x = double(1, 5, 100)
    assert wmean(x, double(1, 1, 0)).item() == 3
    assert wmean(x, double(0.5, 1.5, 0)).item() == 4
    x.requires_grad_()
    nothing = wmean(x, torch.zeros(3, dtype=torch.float64))
    nothing.backward()
    assert nothing.item() == 0
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0, 0]
    assert wmean(torch.zeros(0), torch.zeros(0)).item() == 0


def plain_loss(
    b: list[float], z: list[list[float]], labels: list[int], w_e: list[float], w_t: list[float], q: float
) -> float:
    """The two weighted means, word by word."""
    entity = entity_weight = kind = kind_weight = 0.0
    for i, label in enumerate(labels):
        e = 1 / (1 + math.exp(-b[i]))
        entity += w_e[i] * plain_gce(e if label else 1 - e, q)
        entity_weight += w_e[i]
        if label:
            r = math.exp(z[i][label - 1]) / sum(math.exp(x) for x in z[i])
            kind += w_t[i] * plain_gce(r, q)
            kind_weight += w_t[i]
    return (entity / entity_weight if entity_weight else 0) + (kind / kind_weight if kind_weight else 0)


LOGIT = st.floats(-8, 8)


@given(
    st.lists(
        st.tuples(LOGIT, st.tuples(LOGIT, LOGIT, LOGIT), st.integers(0, 3), st.booleans(), st.booleans()),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(QS),
)
def test_noise_robust_loss_word_by_word(words: list[tuple], q: float) -> None:  # type: ignore[type-arg]
    b, z, labels, w_e, w_t = (list(column) for column in zip(*words, strict=True))
    found = noise_robust_loss(double(*b), torch.tensor(z, dtype=torch.float64), torch.tensor(labels),
                              double(*map(float, w_e)), double(*map(float, w_t)), q, q)  # fmt: skip
    assert found.item() == pytest.approx(plain_loss(b, z, labels, w_e, w_t, q), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(("labels", "weight"), [([0, 0], 1.0), ([0, 1], 0.0), ([0, 0], 0.0)])
def test_batches_with_nothing_to_learn(labels: list[int], weight: float) -> None:
    """No entity word: no type loss. No weight at all: no loss."""
    b, z = torch.randn(2, requires_grad=True), torch.randn(2, 3, requires_grad=True)
    w = torch.full((2,), weight)
    loss = noise_robust_loss(b, z, torch.tensor(labels), w, w, 0.7, 0.7)
    loss.backward()
    assert b.grad is not None
    assert z.grad is not None
    assert z.grad.abs().sum() == 0
    assert torch.isfinite(b.grad).all()
    assert (loss.item() == 0) == (weight == 0)
    assert (b.grad.abs().sum() == 0) == (weight == 0)


def test_w_t_on_an_o_word_does_not_count() -> None:
    b, z, labels = torch.zeros(2), torch.tensor([[3.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1])
    on, off = torch.ones(2), torch.tensor([0.0, 1.0])
    both = [noise_robust_loss(b, z, labels, on, w_t, 0.7, 0.7) for w_t in (on, off)]
    assert both[0] == both[1]


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_kl_is_scipys(seed: int, types: int) -> None:
    generator = np.random.default_rng(seed)
    target = generator.dirichlet(np.full(types, 0.5), size=4)
    target[0] = np.eye(types)[0]  # zeros: 0 log 0 = 0
    logits = generator.normal(size=(4, types)) * 3
    r = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    found = kl(torch.from_numpy(target), torch.from_numpy(logits)).numpy()
    np.testing.assert_allclose(found, rel_entr(target, r).sum(-1), rtol=1e-6, atol=1e-9)


def test_kl_is_torchs() -> None:
    target, logits = torch.tensor([[0.2, 0.5, 0.3]]).double(), torch.tensor([[1.0, -2.0, 0.5]]).double()
    categorical = torch.distributions.Categorical
    other = torch.distributions.kl_divergence(categorical(probs=target), categorical(logits=logits))
    torch.testing.assert_close(kl(target, logits), other)


def test_kl_with_zeros_and_large_logits() -> None:
    logits = torch.tensor([[1e4, -1e4], [1e4, -1e4]], requires_grad=True)
    found = kl(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), logits)
    found.sum().backward()
    assert found.tolist() == [0, 0]
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


@given(st.floats(0, 1), LOGIT)
def test_bce(target: float, b: float) -> None:
    e = 1 / (1 + math.exp(-b))
    expected = -target * math.log(e) - (1 - target) * math.log(1 - e)
    assert bce(double(target), double(b)).item() == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_bce_is_stable() -> None:
    b = torch.tensor([1e4, -1e4], requires_grad=True)
    found = bce(torch.tensor([0.0, 1.0]), b)
    found.sum().backward()
    assert found.tolist() == [1e4, 1e4]
    assert b.grad is not None
    assert b.grad.tolist() == [1, -1]
