"""Triton kernels for everything in a stacked layer that is not a matrix product.

Each reads its input once and writes its output once. The same formulas in torch are in
`roster.accelerate.ops` and `adamw`; tests hold kernels and formulas together.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import torch
from torch import Tensor

from roster.accelerate.parameters import Group, Segment
from roster.model.bert_layout import Shape

try:
    import triton
    import triton.language as tl

    AVAILABLE = True
except ImportError:  # no Triton on this system: torch's own operations serve
    AVAILABLE = False

PROGRAMS = 264
"""Blocks that add up columns: two for each multiprocessor of a large GPU."""


def _grid(x: Tensor) -> tuple[int, int, int]:
    if not x.is_contiguous():
        raise ValueError("the kernels need contiguous states")
    return tuple(x.shape)  # type: ignore[return-value]


def add_norm(x: Tensor, residual: Tensor, bias: Tensor, scale: Tensor, shift: Tensor,
             eps: float, p: float, seed: Tensor, place: int) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`norm(residual + dropout(x + bias))`, its states before scale and shift, and 1 / their deviation."""
    k, tokens, width = _grid(x)
    _grid(residual)
    y, unit = torch.empty_like(x), torch.empty_like(x)
    root = torch.empty(k, tokens, device=x.device)
    _add_norm[(k * tokens,)](
        x, residual, bias, scale, shift, y, unit, root, seed, place, tokens, width, bias.stride(0), eps, p,
        BLOCK=triton.next_power_of_2(width), num_warps=4,
    )  # fmt: skip
    return y, unit, root


def add_norm_backward(
    dy: Tensor, unit: Tensor, root: Tensor, scale: Tensor, bias_grad: Tensor, scale_grad: Tensor,
    shift_grad: Tensor, p: float, seed: Tensor, place: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Gradients of `x` and of the residual; adds those of the weights to what lies there."""
    dy = dy.contiguous()
    k, tokens, width = _grid(dy)
    dx, dh = torch.empty_like(dy), torch.empty_like(dy)
    programs = max(1, min(tokens, PROGRAMS // k))
    _add_norm_backward[(programs, k)](
        dy, unit, root, scale, dx, dh, bias_grad, scale_grad, shift_grad, seed, place, tokens, width,
        scale.stride(0), p, BLOCK=triton.next_power_of_2(width), num_warps=4,
    )  # fmt: skip
    return dx, dh


def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    k, tokens, width = _grid(x)
    y = torch.empty_like(x)
    grid = (triton.cdiv(tokens, 16), triton.cdiv(width, 256), k)
    _bias_gelu[grid](x, bias, y, tokens, width, bias.stride(0), ROWS=16, COLUMNS=256, num_warps=8)
    return y


def bias_gelu_backward(dy: Tensor, x: Tensor, bias: Tensor, bias_grad: Tensor) -> Tensor:
    """The gradient of `x`; adds the bias's to what lies there."""
    dy = dy.contiguous()
    k, tokens, width = _grid(dy)
    dx = torch.empty_like(x)
    grid = (triton.cdiv(tokens, 32), triton.cdiv(width, 128), k)
    _bias_gelu_backward[grid](
        dy, x, bias, dx, bias_grad, tokens, width, bias.stride(0), ROWS=32, COLUMNS=128, num_warps=8
    )
    return dx


def attention(
    qkv: Tensor, bias: Tensor, lengths: Tensor, heads: int, p: float, seed: Tensor, place: int
) -> Tensor:
    """Self-attention of each row of [K, rows, length, 3 width] to itself, [K, rows x length, width].

    A row and a head are one block: no scores are ever written. Lengths up to `LONGEST`.
    """
    mixed = torch.empty(*qkv.shape[:3], qkv.shape[3] // 3, dtype=qkv.dtype, device=qkv.device)
    grid, sizes, options = _attention_plan(qkv, bias, heads, p)
    _attention[grid](qkv, bias, lengths, mixed, seed, place, *sizes, **options)
    return mixed.flatten(1, 2)


def attention_backward(
    d_mixed: Tensor, qkv: Tensor, bias: Tensor, lengths: Tensor, bias_grad: Tensor,
    heads: int, p: float, seed: Tensor, place: int,
) -> Tensor:  # fmt: skip
    """The gradient of `qkv`; adds the bias's to what lies there."""
    d_qkv = torch.empty_like(qkv)
    grid, sizes, options = _attention_plan(qkv, bias, heads, p)
    _attention_backward[grid](
        d_mixed.contiguous(), qkv, bias, lengths, d_qkv, bias_grad, seed, place, *sizes, **options
    )
    return d_qkv


LONGEST = 128
"""Sub-words whose scores fit into one block."""


def _attention_plan(qkv: Tensor, bias: Tensor, heads: int, p: float) -> tuple[Any, Any, dict[str, Any]]:
    k, rows, length, triple = qkv.shape
    size = triple // 3 // heads
    block = max(32, triton.next_power_of_2(length))
    options = {"BLOCK": block, "SIZE": size, "num_warps": {32: 2, 64: 4}.get(block, 8)}
    return (heads, k * rows), (rows, length, triple // 3, bias.stride(0), size**-0.5, p), options


def can_attend(length: int, width: int, heads: int) -> bool:
    """Whether the attention kernels have a shape for it."""
    size = width // heads
    return length <= LONGEST and size in (16, 32, 64, 128)


def adamw(
    segment: Segment, scale: Tensor, rate: Tensor, corrections: Tensor, decay: float, betas: Any, eps: float
) -> None:
    """`roster.accelerate.adamw.update` in one pass."""
    k, size = segment.master.shape
    work = segment.master if segment.work is None else segment.work
    _adamw[(triton.cdiv(size, 2048), k)](
        segment.master, segment.grad, segment.first, segment.second, work, scale, rate, corrections,
        size, segment.master.stride(0), decay, *betas, eps,
        COPIES=segment.work is not None, BLOCK=2048, num_warps=8,
    )  # fmt: skip


def prepare(shape: Shape, inner: int, dtype: torch.dtype, device: torch.device) -> list[Future[object]]:
    """Compiles, in the background, all kernels that models of a shape will need: each is run once on very
    little. A kernel that is compiled is kept on disk for the next process."""
    if not AVAILABLE:
        return []
    work = _trials(shape, inner, dtype, device)
    pool = ThreadPoolExecutor(len(work))
    jobs = [pool.submit(one) for one in work]
    pool.shutdown(wait=False)
    return jobs


def _trials(shape: Shape, inner: int, dtype: torch.dtype, device: torch.device) -> list[Callable[[], object]]:
    seed = torch.zeros((), dtype=torch.int64, device=device)
    width, heads = shape.width, shape.heads
    row = torch.zeros(1, 3 * width, device=device)[:, :width]
    small = torch.zeros(1, 16, width, dtype=dtype, device=device)
    wide, wide_row = small.new_zeros(1, 16, inner), torch.zeros(1, inner, device=device)

    def norm() -> None:
        _, unit, root = add_norm(small, small, row, row, row, shape.eps, 0.0, seed, 2)
        add_norm_backward(small, unit, root, row, row, row, row, 0.0, seed, 2)

    def gelu() -> None:
        bias_gelu(wide, wide_row)
        bias_gelu_backward(wide, wide, wide_row, wide_row)

    def attend(length: int) -> None:
        qkv = small.new_zeros(1, 2, length, 3 * width)
        lengths, bias = seed.new_ones(2), torch.zeros(1, 3 * width, device=device)
        attention(qkv, bias, lengths, heads, 0.0, seed, 2)
        attention_backward(qkv[..., :width], qkv, bias, lengths, bias, heads, 0.0, seed, 2)

    def update(work: torch.dtype) -> None:
        rest = torch.zeros(1, 64, device=device)
        low = None if work == torch.float32 else rest.to(work)
        segment = Segment(Group(False, False), rest, low, rest.to(work), rest.clone(), rest.clone())
        one = torch.ones(2, device=device)
        adamw(segment, one, one, one, 0.0, (0.9, 0.999), 1e-8)

    lengths = [n for n in (32, 64, 128) if can_attend(n, width, heads)]
    updates = [partial(update, work) for work in {dtype, torch.float32}]
    return [norm, gelu, *updates, *(partial(attend, n) for n in lengths)]


if AVAILABLE:

    @triton.jit
    def _keep(seed, place, at, p):
        """Whether dropout spares an element: a hash of seed, place and number, and no state."""
        mixed = tl.load(seed) + place * 1000003
        h = at.to(tl.uint32) * 0x9E3779B1 + (mixed ^ (mixed >> 32)).to(tl.uint32)
        h ^= h >> 16
        h *= 0x7FEB352D
        h ^= h >> 15
        h *= 0x846CA68B
        h ^= h >> 16
        return (h >> 8).to(tl.float32) * (1.0 / 16777216.0) >= p

    @triton.jit(do_not_specialize=["place", "tokens"])
    def _add_norm(x, residual, bias, scale, shift, y, unit, root, seed, place, tokens, width, stride, eps, p,
                  BLOCK: tl.constexpr):  # fmt: skip
        row = tl.program_id(0)
        columns = tl.arange(0, BLOCK)
        inside = columns < width
        at = row.to(tl.int64) * width + columns
        of_member = (row // tokens).to(tl.int64) * stride + columns
        h = tl.load(x + at, inside, 0.0).to(tl.float32) + tl.load(bias + of_member, inside, 0.0)
        h = tl.where(_keep(seed, place, at, p), h / (1 - p), 0.0)
        h += tl.load(residual + at, inside, 0.0).to(tl.float32)
        h = tl.where(inside, h - tl.sum(h) / width, 0.0)
        over = 1.0 / tl.sqrt(tl.sum(h * h) / width + eps)
        h *= over
        tl.store(root + row, over)
        tl.store(unit + at, h.to(unit.dtype.element_ty), inside)
        h = h * tl.load(scale + of_member, inside, 0.0) + tl.load(shift + of_member, inside, 0.0)
        tl.store(y + at, h.to(y.dtype.element_ty), inside)

    @triton.jit(do_not_specialize=["place", "tokens"])
    def _add_norm_backward(dy, unit, root, scale, dx, dh, bias_grad, scale_grad, shift_grad, seed, place,
                           tokens, width, stride, p, BLOCK: tl.constexpr):  # fmt: skip
        member = tl.program_id(1)
        columns = tl.arange(0, BLOCK)
        inside = columns < width
        of_member = member.to(tl.int64) * stride + columns
        scales = tl.load(scale + of_member, inside, 0.0)
        for_bias = tl.zeros([BLOCK], tl.float32)
        for_scale = tl.zeros([BLOCK], tl.float32)
        for_shift = tl.zeros([BLOCK], tl.float32)
        for token in range(tl.program_id(0), tokens, tl.num_programs(0)):
            row = member * tokens + token
            at = row.to(tl.int64) * width + columns
            g = tl.load(dy + at, inside, 0.0).to(tl.float32)
            u = tl.load(unit + at, inside, 0.0).to(tl.float32)
            for_shift += g
            for_scale += g * u
            g *= scales
            g = tl.load(root + row) * (g - tl.sum(g) / width - u * (tl.sum(g * u) / width))
            tl.store(dh + at, g.to(dh.dtype.element_ty), inside)
            g = tl.where(_keep(seed, place, at, p), g / (1 - p), 0.0)
            tl.store(dx + at, g.to(dx.dtype.element_ty), inside)
            for_bias += g
        tl.atomic_add(bias_grad + of_member, for_bias, inside)
        tl.atomic_add(scale_grad + of_member, for_scale, inside)
        tl.atomic_add(shift_grad + of_member, for_shift, inside)

    @triton.jit
    def _tile(tokens, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
        rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
        columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        member = tl.program_id(2).to(tl.int64)
        at = (member * tokens + rows[:, None]) * width + columns[None, :]
        return member, columns, at, (rows[:, None] < tokens) & (columns[None, :] < width)

    @triton.jit(do_not_specialize=["tokens"])
    def _bias_gelu(x, bias, y, tokens, width, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
        member, columns, at, inside = _tile(tokens, width, ROWS, COLUMNS)
        b = tl.load(bias + member * stride + columns, columns < width, 0.0)
        v = tl.load(x + at, inside, 0.0).to(tl.float32) + b[None, :]
        v = 0.5 * v * (1.0 + tl.math.erf(v * 0.7071067811865476))
        tl.store(y + at, v.to(y.dtype.element_ty), inside)

    @triton.jit(do_not_specialize=["tokens"])
    def _bias_gelu_backward(dy, x, bias, dx, bias_grad, tokens, width, stride,
                            ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
        member, columns, at, inside = _tile(tokens, width, ROWS, COLUMNS)
        b = tl.load(bias + member * stride + columns, columns < width, 0.0)
        v = tl.load(x + at, inside, 0.0).to(tl.float32) + b[None, :]
        slope = 0.5 * (1.0 + tl.math.erf(v * 0.7071067811865476))
        slope += v * tl.exp(-0.5 * v * v) * 0.3989422804014327
        g = tl.load(dy + at, inside, 0.0).to(tl.float32) * slope
        tl.store(dx + at, g.to(dx.dtype.element_ty), inside)
        tl.atomic_add(bias_grad + member * stride + columns, tl.sum(g, 0), columns < width)

    @triton.jit
    def _read_head(qkv, bias, which, length, width, stride, rows, BLOCK: tl.constexpr, SIZE: tl.constexpr):
        """Queries (0), keys (1) or values (2) of one row and head, [BLOCK, SIZE], and where they lie."""
        head, row = tl.program_id(0), tl.program_id(1)
        columns = which * width + head * SIZE + tl.arange(0, SIZE)
        tokens = tl.arange(0, BLOCK)
        at = (row.to(tl.int64) * length + tokens[:, None]) * (3 * width) + columns[None, :]
        x = tl.load(qkv + at, tokens[:, None] < length, 0.0)
        of_member = (row // rows).to(tl.int64) * stride + columns
        return (x.to(tl.float32) + tl.load(bias + of_member)[None, :]).to(x.dtype), at, of_member

    @triton.jit
    def _shares(q, key, lengths, seed, place, length, scale, p, BLOCK: tl.constexpr):
        """How much each sub-word attends to each, before and after dropout, and where dropout spared them."""
        head, row = tl.program_id(0), tl.program_id(1)
        tokens = tl.arange(0, BLOCK)
        here = tl.maximum(tl.load(lengths + row), 1)
        scores = tl.dot(q, tl.trans(key), input_precision="ieee") * scale
        scores = tl.where(tokens[None, :] < here, scores, float("-inf"))
        shares = tl.exp(scores - tl.max(scores, 1)[:, None])
        shares /= tl.sum(shares, 1)[:, None]
        block = (row.to(tl.int64) * tl.num_programs(0) + head) * length
        kept = _keep(seed, place, (block + tokens[:, None]) * length + tokens[None, :], p)
        return shares, tl.where(kept, shares / (1 - p), 0.0), kept

    @triton.jit(do_not_specialize=["place", "rows", "length"])
    def _attention(qkv, bias, lengths, mixed, seed, place, rows, length, width, stride, scale, p,
                   BLOCK: tl.constexpr, SIZE: tl.constexpr):  # fmt: skip
        q, _, _ = _read_head(qkv, bias, 0, length, width, stride, rows, BLOCK, SIZE)
        key, _, _ = _read_head(qkv, bias, 1, length, width, stride, rows, BLOCK, SIZE)
        value, _, _ = _read_head(qkv, bias, 2, length, width, stride, rows, BLOCK, SIZE)
        _, dropped, _ = _shares(q, key, lengths, seed, place, length, scale, p, BLOCK)
        tokens = tl.arange(0, BLOCK)
        columns = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        at = (tl.program_id(1).to(tl.int64) * length + tokens[:, None]) * width + columns[None, :]
        found = tl.dot(dropped.to(value.dtype), value, input_precision="ieee")
        tl.store(mixed + at, found.to(mixed.dtype.element_ty), tokens[:, None] < length)

    @triton.jit(do_not_specialize=["place", "rows", "length"])
    def _attention_backward(d_mixed, qkv, bias, lengths, d_qkv, bias_grad, seed, place, rows, length, width,
                            stride, scale, p, BLOCK: tl.constexpr, SIZE: tl.constexpr):  # fmt: skip
        q, q_at, q_bias = _read_head(qkv, bias, 0, length, width, stride, rows, BLOCK, SIZE)
        key, key_at, key_bias = _read_head(qkv, bias, 1, length, width, stride, rows, BLOCK, SIZE)
        value, value_at, value_bias = _read_head(qkv, bias, 2, length, width, stride, rows, BLOCK, SIZE)
        shares, dropped, kept = _shares(q, key, lengths, seed, place, length, scale, p, BLOCK)
        tokens = tl.arange(0, BLOCK)
        inside = tokens[:, None] < length
        columns = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        at = (tl.program_id(1).to(tl.int64) * length + tokens[:, None]) * width + columns[None, :]
        g = tl.load(d_mixed + at, inside, 0.0)
        d_value = tl.dot(tl.trans(dropped.to(g.dtype)), g, input_precision="ieee")
        tl.store(d_qkv + value_at, d_value.to(d_qkv.dtype.element_ty), inside)
        tl.atomic_add(bias_grad + value_bias, tl.sum(d_value, 0))
        d_shares = tl.where(kept, tl.dot(g, tl.trans(value), input_precision="ieee") / (1 - p), 0.0)
        d_scores = shares * (d_shares - tl.sum(d_shares * shares, 1)[:, None]) * scale
        d_scores = d_scores.to(g.dtype)
        d_q = tl.dot(d_scores, key, input_precision="ieee")
        tl.store(d_qkv + q_at, d_q.to(d_qkv.dtype.element_ty), inside)
        tl.atomic_add(bias_grad + q_bias, tl.sum(d_q, 0))
        d_key = tl.dot(tl.trans(d_scores), q, input_precision="ieee")
        tl.store(d_qkv + key_at, d_key.to(d_qkv.dtype.element_ty), inside)
        tl.atomic_add(bias_grad + key_bias, tl.sum(d_key, 0))

    @triton.jit
    def _adamw(master, grad, first, second, work, scale, rate, corrections, size, stride, decay,
               beta1, beta2, eps, COPIES: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
        member = tl.program_id(1)
        columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = columns < size
        at = member.to(tl.int64) * stride + columns
        lr = tl.load(rate)
        g = tl.load(grad + at, inside, 0.0).to(tl.float32) * tl.load(scale + member)
        m = tl.load(first + at, inside, 0.0)
        m += (1 - beta1) * (g - m)
        v = beta2 * tl.load(second + at, inside, 0.0) + (1 - beta2) * g * g
        p = tl.load(master + at, inside, 0.0) * (1 - lr * decay)
        p -= lr * (m / tl.load(corrections)) / (tl.sqrt(v / tl.load(corrections + 1)) + eps)
        tl.store(first + at, m, inside)
        tl.store(second + at, v, inside)
        tl.store(master + at, p, inside)
        if COPIES:
            tl.store(work + at, p.to(work.dtype.element_ty), inside)
