"""The steps of a stacked layer, forwards and backwards.

States are [K, tokens, width], weights [K, ...]. A step writes the gradients of its weights straight into
their buffer (that of the small ones was emptied before) and hands on only the gradient of its states. What
is not a matrix product is one kernel on a GPU (`roster.accelerate.kernels`) and the same formula in torch
elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.nn.attention import SDPBackend, sdpa_kernel

from roster.accelerate.parameters import Parameter

LOW = -30000.0
"""Added to the score of a padded key: far below any score, and a number in bf16."""


@dataclass
class Dropout:
    """Where the masks of one pass come from: a seed on the device, and a number for each place that drops.

    Kernels draw their masks from seed and place, and draw them again on the way back instead of keeping
    them. Outside of kernels torch's own random numbers serve.
    """

    seed: Tensor
    place: int = 0

    def next_place(self) -> int:
        self.place += 1
        return self.place


def _kernels(x: Tensor) -> Any:
    """The fused kernels, where they can run."""
    if not x.is_cuda:
        return None
    from roster.accelerate import kernels

    return kernels if kernels.AVAILABLE else None


class _Linear(Function):
    """y = x W^T"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Parameter) -> Tensor:
        ctx.save_for_backward(x)
        ctx.weight = weight
        return torch.bmm(x, weight.work.transpose(1, 2))

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        (x,), weight = ctx.saved_tensors, ctx.weight
        torch.bmm(dy.transpose(1, 2), x, out=weight.grad)
        return torch.bmm(dy, weight.work), None


class _Bias(Function):
    """y = x + b"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Parameter) -> Tensor:
        ctx.bias = bias
        return x + bias.work.unsqueeze(1).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        torch.sum(dy, 1, dtype=torch.float32, out=ctx.bias.grad)
        return dy, None


class _BiasGelu(Function):
    """y = GELU(x + b)"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Parameter) -> Tensor:
        ctx.save_for_backward(x)
        ctx.bias = bias
        if fused := _kernels(x):
            return fused.bias_gelu(x, bias.work)
        return F.gelu(x + bias.work.unsqueeze(1).to(x.dtype))

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        (x,), bias = ctx.saved_tensors, ctx.bias
        if fused := _kernels(x):
            return fused.bias_gelu_backward(dy, x, bias.work, bias.grad), None
        dx = torch.ops.aten.gelu_backward(dy, x + bias.work.unsqueeze(1).to(x.dtype))
        torch.sum(dx, 1, dtype=torch.float32, out=bias.grad)
        return dx, None


class _AddNorm(Function):
    """y = norm(residual + dropout(x + b))"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, residual: Tensor, bias: Parameter, scale: Parameter, shift: Parameter,
                eps: float, p: float, dropout: Dropout) -> Tensor:  # fmt: skip
        ctx.weights, ctx.p, ctx.place, ctx.seed = (bias, scale, shift), p, dropout.next_place(), dropout.seed
        if fused := _kernels(x):
            y, unit, root = fused.add_norm(
                x, residual, bias.work, scale.work, shift.work, eps, p, dropout.seed, ctx.place
            )
            ctx.save_for_backward(unit, root)
            return y
        h = x + bias.work.unsqueeze(1).to(x.dtype)
        kept = None
        if p > 0:
            kept = (torch.rand(h.shape, device=h.device) >= p).to(h.dtype) / (1 - p)
            h = h * kept
        h = (h + residual).float()
        unit, _, root = torch.native_layer_norm(h, h.shape[-1:], None, None, eps)
        ctx.save_for_backward(unit, root, *([kept] if kept is not None else []))
        return torch.addcmul(shift.work.unsqueeze(1), unit, scale.work.unsqueeze(1)).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        bias, scale, shift = ctx.weights
        unit, root, *kept = ctx.saved_tensors
        nothing = (None,) * 6
        if fused := _kernels(dy):
            dx, dh = fused.add_norm_backward(
                dy, unit, root, scale.work, bias.grad, scale.grad, shift.grad, ctx.p, ctx.seed, ctx.place
            )
            return dx, dh, *nothing
        g = dy.float()
        torch.sum(g, 1, out=shift.grad)
        torch.sum(g * unit, 1, out=scale.grad)
        dh = _norm_backward(g * scale.work.unsqueeze(1), unit, root).to(dy.dtype)
        dx = dh * kept[0] if kept else dh
        torch.sum(dx, 1, dtype=torch.float32, out=bias.grad)
        return dx, dh, *nothing


def _norm_backward(g: Tensor, unit: Tensor, root: Tensor) -> Tensor:
    """From the gradient of the unit-variance states to that of the states before a norm."""
    return root * (g - g.mean(-1, keepdim=True) - unit * (g * unit).mean(-1, keepdim=True))


class _Embed(Function):
    """y = norm(word + position [+ segment]), in float32.

    `anchor` is a tensor that wants a gradient: without one autograd would not come back here.
    """

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, ids: Tensor, tables: dict[str, Parameter], scale: Parameter,
                shift: Parameter, first_position: int, eps: float) -> Tensor:  # fmt: skip
        k, _, length = ids.shape
        words, positions = tables["words"], tables["positions"]
        rows = ids + words.master.stride(0) // words.master.stride(1) * torch.arange(
            k, device=ids.device
        ).view(k, 1, 1)
        h = _rows(words.master)[rows]
        at = slice(first_position, first_position + length)
        h = h + positions.master[:, at].unsqueeze(1)
        if "segments" in tables:
            h = h + tables["segments"].master[:, :1].unsqueeze(1)
        unit, _, root = torch.native_layer_norm(h, h.shape[-1:], None, None, eps)
        ctx.save_for_backward(unit, root, rows)
        ctx.weights, ctx.tables, ctx.at = (scale, shift), tables, at
        return torch.addcmul(shift.work[:, None, None], unit, scale.work[:, None, None])

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        (unit, root, rows), (scale, shift), tables = ctx.saved_tensors, ctx.weights, ctx.tables
        torch.sum(dy, (1, 2), out=shift.grad)
        torch.sum(dy * unit, (1, 2), out=scale.grad)
        dh = _norm_backward(dy * scale.work[:, None, None], unit, root)
        _rows(tables["words"].grad).index_add_(0, rows.flatten(), dh.flatten(0, 2))
        over_rows = dh.sum(1)
        tables["positions"].grad[:, ctx.at].copy_(over_rows)
        if "segments" in tables:
            torch.sum(over_rows, 1, out=tables["segments"].grad[:, 0])
        return (None,) * 7


def _rows(table: Tensor) -> Tensor:
    """The buffer that a table [K, rows, width] lies at the beginning of, as rows of that width."""
    k, _, width = table.shape
    per_member = table.stride(0) // width
    return table.as_strided((per_member * (k - 1) + table.shape[1], width), (width, 1))


class _Head(Function):
    """Logits in float32: y = h W^T + b"""

    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Parameter, bias: Parameter) -> Tensor:
        ctx.save_for_backward(h)
        ctx.weights = weight, bias
        y = torch.bmm(h, weight.work.to(h.dtype).transpose(1, 2)).float()
        return y + bias.work.unsqueeze(1)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        (h,), (weight, bias) = ctx.saved_tensors, ctx.weights
        torch.sum(dy, 1, out=bias.grad)
        low = dy.to(h.dtype)
        weight.grad.copy_(torch.bmm(low.transpose(1, 2), h))
        return torch.bmm(low, weight.work.to(h.dtype)), None, None


linear, bias_gelu, add_norm = _Linear.apply, _BiasGelu.apply, _AddNorm.apply
embed, head = _Embed.apply, _Head.apply


class _Attention(Function):
    """The same in one kernel each way, where a row's scores fit into a block."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Parameter, lengths: Tensor, heads: int, p: float,
                dropout: Dropout) -> Tensor:  # fmt: skip
        ctx.save_for_backward(qkv, lengths)
        ctx.bias, ctx.options = bias, (heads, p, dropout.seed, dropout.next_place())
        return _kernels(qkv).attention(qkv, bias.work, lengths, *ctx.options)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        (qkv, lengths), bias = ctx.saved_tensors, ctx.bias
        dx = _kernels(qkv).attention_backward(dy, qkv, bias.work, lengths, bias.grad, *ctx.options)
        return (dx, *(None,) * 5)


def attention(
    qkv: Tensor, bias: Parameter, lengths: Tensor, heads: int, p: float, dropout: Dropout
) -> Tensor:
    """Self-attention of [K, rows, length, 3 width] after its bias; no row looks beyond its own length.

    [K, rows x length, width].
    """
    k, rows, length, triple = qkv.shape
    fused = _kernels(qkv)
    if fused and fused.can_attend(length, triple // 3, heads):
        return _Attention.apply(qkv, bias, lengths.flatten(), heads, p, dropout)  # type: ignore[no-any-return]
    size = triple // 3 // heads
    biased = _Bias.apply(qkv.flatten(1, 2), bias)
    q, key, value = biased.view(k * rows, length, 3, heads, size).permute(2, 0, 3, 1, 4).unbind(0)
    beyond = torch.arange(length, device=qkv.device) >= lengths.reshape(-1, 1)
    mask = torch.zeros(beyond.shape, dtype=qkv.dtype, device=qkv.device).masked_fill_(beyond, LOW)
    mask = mask.view(k * rows, 1, 1, length).expand(-1, heads, length, length)
    with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):  # cuDNN plans anew for each shape
        mixed = F.scaled_dot_product_attention(q, key, value, attn_mask=mask, dropout_p=p)
    return mixed.transpose(1, 2).reshape(k, rows * length, heads * size)
