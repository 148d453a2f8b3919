"""The kernels against the same formulas in torch.

They need Triton and a GPU; with TRITON_INTERPRET=1 Triton runs them on the CPU, slowly.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton")

from roster.accelerate import kernels
from roster.accelerate.adamw import update
from roster.accelerate.parameters import Group, Segment

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
pytestmark = pytest.mark.skipif(
    not (INTERPRETED or torch.cuda.is_available()), reason="needs a GPU, or TRITON_INTERPRET=1"
)
DEVICE = "cpu" if INTERPRETED else "cuda"
DTYPES = [torch.float32] if INTERPRETED else [torch.float32, torch.bfloat16]
TOLERANCE = {torch.float32: (1e-5, 1e-5), torch.bfloat16: (2e-2, 2e-2)}
K, TOKENS = 3, 37


def numbers(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator).to(DEVICE, dtype)


def in_a_buffer(width: int, seed: int = 0) -> Tensor:
    """[K, width], as a weight lies in a longer buffer."""
    return numbers(K, 3 * width + 5, seed=seed)[:, 7 : 7 + width]


def close(found: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    rtol, atol = TOLERANCE[dtype]
    expected = expected.detach()
    most = max(1.0, expected.abs().max().item())
    torch.testing.assert_close(found.float(), expected.float(), rtol=rtol, atol=atol * most)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("width", [32, 96])
def test_add_norm(width: int, p: float, dtype: torch.dtype) -> None:
    x, residual = numbers(K, TOKENS, width, dtype=dtype), numbers(K, TOKENS, width, dtype=dtype, seed=1)
    bias, scale, shift = (in_a_buffer(width, seed) for seed in (2, 3, 4))
    seed = torch.tensor(2**40 + 17, device=DEVICE)
    y, unit, root = kernels.add_norm(x, residual, bias, scale, shift, 1e-5, p, seed, 3)
    # Which ones the kernel dropped shows in what it makes of ones with nothing added.
    zero = torch.zeros_like(residual)
    kept = kept_by(p, seed, 3, zero)
    leaves = [t.float().detach().clone().requires_grad_() for t in (x, residual, bias, scale, shift)]
    xs, rs, bs, ss, hs = leaves
    h = rs + (xs + bs.unsqueeze(1)) * kept / (1 - p)
    expected = torch.nn.functional.layer_norm(h, (width,), eps=1e-5) * ss.unsqueeze(1) + hs.unsqueeze(1)
    close(y, expected, dtype)
    dy = numbers(K, TOKENS, width, dtype=dtype, seed=5)
    expected.backward(dy.float())
    grads = [torch.zeros_like(t) for t in (bias, scale, shift)]
    grads = [torch.zeros(K, 3 * width + 5, device=DEVICE)[:, 7 : 7 + width] for _ in grads]
    dx, dh = kernels.add_norm_backward(dy, unit, root, scale, *grads, p, seed, 3)
    for found, leaf in zip((dx, dh, *grads), leaves, strict=True):
        assert leaf.grad is not None
        close(found, leaf.grad, dtype)


def kept_by(p: float, seed: Tensor, place: int, like: Tensor) -> Tensor:
    """The mask of a place: the gradient of 1 through a norm that is none (unit 0, root 1)."""
    if p == 0:
        return torch.ones(like.shape, device=DEVICE)
    width = like.shape[-1]
    # dh = root * (g - mean(g)); with g alternating +1, -1 its mean is 0 and dh is g itself.
    g = (1 - 2 * (torch.arange(width, device=DEVICE) % 2)).float().expand(like.shape).contiguous()
    ones, sink = torch.ones(K, width, device=DEVICE), [torch.zeros(K, width, device=DEVICE) for _ in range(3)]
    unit, root = torch.zeros_like(g), torch.ones(K, like.shape[1], device=DEVICE)
    dx, _ = kernels.add_norm_backward(g, unit, root, ones, *sink, p, seed, place)
    return (dx != 0).float()


def test_dropout_is_random_and_of_the_right_size() -> None:
    like = torch.zeros(K, 64, 96, device=DEVICE)
    masks = [
        kept_by(0.3, torch.tensor(s, device=DEVICE), place, like)
        for s, place in ((5, 1), (6, 1), (5, 2), (2**45, 1))
    ]
    for mask in masks:
        share = mask.mean().item()
        assert share == pytest.approx(0.7, abs=0.015)
        rows, columns = mask.mean((0, 2)), mask.mean((0, 1))
        assert rows.std() < 0.06
        assert columns.std() < 0.07
    for i, a in enumerate(masks):
        for b in masks[:i]:
            both = ((a - a.mean()) * (b - b.mean())).mean() / (a.std() * b.std())
            assert abs(both) < 0.05
        shifted = a.flatten().roll(1)
        assert abs(((a.flatten() - 0.7) * (shifted - 0.7)).mean() / 0.21) < 0.05


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [96, 300])
def test_bias_gelu(width: int, dtype: torch.dtype) -> None:
    x, bias = 2 * numbers(K, TOKENS, width, dtype=dtype), in_a_buffer(width, 1)
    xs, bs = (t.float().clone().requires_grad_() for t in (x, bias))
    expected = torch.nn.functional.gelu(xs + bs.unsqueeze(1))
    close(kernels.bias_gelu(x, bias), expected, dtype)
    dy = numbers(K, TOKENS, width, dtype=dtype, seed=2)
    expected.backward(dy.float())
    grad = torch.zeros(K, 3 * width + 5, device=DEVICE)[:, 7 : 7 + width]
    assert xs.grad is not None
    assert bs.grad is not None
    close(kernels.bias_gelu_backward(dy, x, bias, grad), xs.grad, dtype)
    close(grad, bs.grad, dtype)


@pytest.mark.parametrize("copies", [False] if INTERPRETED else [False, True])
def test_adamw(copies: bool) -> None:
    n = 5000
    master, grad, first = (numbers(K, n, seed=s)[:, 3:-5] for s in range(3))
    second = numbers(K, n, seed=3).square()[:, 3:-5]
    work = torch.zeros(K, n, dtype=torch.bfloat16, device=DEVICE)[:, 3:-5] if copies else None
    one = Segment(Group(False, True), master, work, grad, first, second)
    other = replace(one, **{name: getattr(one, name).clone() for name in ("master", "first", "second")},
                    work=None if work is None else work.clone())  # fmt: skip
    scale, rate = torch.tensor([1.0, 0.3, 0.02], device=DEVICE), torch.tensor([3e-3], device=DEVICE)
    corrections = torch.tensor([0.271, 0.002997], device=DEVICE)
    update(other, scale, rate, corrections, 0.1, (0.9, 0.999), 1e-8)
    kernels.adamw(one, scale, rate, corrections, 0.1, (0.9, 0.999), 1e-8)
    for name in ("master", "first", "second"):
        torch.testing.assert_close(getattr(one, name), getattr(other, name), rtol=1e-5, atol=1e-5)
    if work is not None:
        assert torch.equal(work, one.master.bfloat16())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize(
    ("length", "size"), [(8, 32), (24, 16)] + ([] if INTERPRETED else [(56, 64), (128, 64)])
)
def test_attention(length: int, size: int, p: float, dtype: torch.dtype) -> None:
    heads, rows, width = 3, 4, 3 * size
    qkv = numbers(K, rows, length, 3 * width, dtype=dtype)
    bias = in_a_buffer(3 * width, 1).mul_(0.3)
    lengths = torch.randint(1, length + 1, (K * rows,), generator=torch.Generator().manual_seed(0))
    lengths[0], lengths[-1] = length, 0  # a full row and an empty one
    lengths, seed = lengths.to(DEVICE), torch.tensor(11, device=DEVICE)
    options = (heads, p, seed, 2)
    found = kernels.attention(qkv, bias, lengths, *options)
    # Which scores are dropped shows in a row without queries and keys, whose values are the unit vectors.
    x, b = (t.float().clone().requires_grad_() for t in (qkv, bias))
    q, key, value = (x + b[:, None, None]).view(K * rows, length, 3, heads, size).permute(2, 0, 3, 1, 4)
    scores = q @ key.mT * size**-0.5
    beyond = torch.arange(length, device=DEVICE) >= lengths.clamp_min(1)[:, None]
    shares = scores.masked_fill(beyond[:, None, None], float("-inf")).softmax(-1)
    shares = shares * kept_scores(K * rows, heads, length, size, p, seed) / (1 - p)
    expected = (shares @ value).transpose(1, 2).reshape(K, rows * length, width)
    close(found, expected, dtype)
    dy = numbers(K, rows * length, width, dtype=dtype, seed=4)
    expected.backward(dy.float())
    grad = torch.zeros(K, 9 * width + 5, device=DEVICE)[:, 7 : 7 + 3 * width]
    d_qkv = kernels.attention_backward(dy, qkv, bias, lengths, grad, *options)
    assert x.grad is not None
    assert b.grad is not None
    close(d_qkv, x.grad, dtype)
    close(grad, b.grad, dtype)


def kept_scores(rows: int, heads: int, length: int, size: int, p: float, seed: Tensor) -> Tensor:
    """The mask of the scores: with equal shares, values that are unit vectors show them, `size` at a time."""
    if p == 0:
        return torch.ones(rows, heads, length, length, device=DEVICE)
    width, parts = heads * size, []
    full = torch.full((rows,), length, device=DEVICE)
    for start in range(0, length, size):
        qkv = torch.zeros(1, rows, length, 3, heads, size, device=DEVICE)
        for i in range(min(size, length - start)):
            qkv[:, :, start + i, 2, :, i] = 1
        none = torch.zeros(1, 3 * width, device=DEVICE)
        found = kernels.attention(qkv.flatten(3), none, full, heads, p, seed, 2)
        parts.append(found.view(rows, length, heads, size).transpose(1, 2)[..., : length - start] > 0)
    return torch.cat(parts, -1).float()
