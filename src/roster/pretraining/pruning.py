"""Structured pruning of a BERT-like model: some of its layers, hidden dimensions, heads and units.

What the larger model uses most is kept, measured by the norm of the weights that read it. A row of weights
that loses some of its inputs is scaled to its previous norm, so that its output stays about as large. The
result is an initialisation, much worse than the larger model and better than random weights.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from roster.errors import ConfigError, ModelError
from roster.model.bert_layout import NotStackableError, layer_modules, layers_at, shape_of


def evenly(total: int, count: int) -> tuple[int, ...]:
    """Return `count` of `total` layers, evenly spaced, the last one included.

    >>> evenly(12, 4), evenly(6, 6), evenly(6, 4)
    ((2, 5, 8, 11), (0, 1, 2, 3, 4, 5), (1, 2, 4, 5))
    """
    if count > total:
        raise ConfigError(f"'layers': the model has {total} layers, not {count}")
    return tuple(round((i + 1) * total / count + 1e-9) - 1 for i in range(count))


@torch.no_grad()
def prune(model: Any, numbers: Sequence[int], width: int, heads: int, inner: int) -> Any:
    """Return a smaller model.

    Parameters:
        model: a masked language model of transformers, BERT-like.
        numbers: the layers to keep.
        width: the size of the hidden states.
        heads: the number of attention heads.
        inner: the number of units of the feed-forward networks.

    Raises:
        ModelError: the model is not BERT-like.
        ConfigError: the shape is not smaller, or its numbers do not fit each other.
    """
    old = model.config
    try:
        shape_of(old)
    except NotStackableError as error:
        raise ModelError(
            f"only BERT-like models can be pruned ({error}); leave the shape as it is, or start from "
            "another encoder"
        ) from None
    _check(old, width, heads, inner)
    config = copy.deepcopy(old)
    config.num_hidden_layers, config.hidden_size, config.num_attention_heads = len(numbers), width, heads
    setattr(config, "hidden_dim" if old.model_type == "distilbert" else "intermediate_size", inner)
    smaller = type(model)(config)

    state, prefix = model.state_dict(), f"{model.base_model_prefix}."
    layers = [_Layer(state, prefix, layer_modules(old, i)) for i in range(old.num_hidden_layers)]
    states = _largest(sum((layer.importance for layer in layers), torch.zeros(old.hidden_size)), width)
    smaller_state = {}
    inside = f"{prefix}{layers_at(old)}."
    for name, tensor in state.items():
        if not name.startswith(inside):
            smaller_state[name] = _outside(name, tensor, old.hidden_size, states)
    for new, number in enumerate(numbers):
        cut = layers[number].pruned(states, heads, width // heads, inner, old.num_attention_heads)
        for ours, theirs in layer_modules(config, new).items():
            for i, module in enumerate(theirs):
                for kind in ("weight", "bias"):
                    smaller_state[f"{prefix}{module}.{kind}"] = cut[ours, i, kind]
    smaller.load_state_dict(smaller_state)
    smaller.tie_weights()
    return smaller


def inner_size(config: Any) -> int:
    """Number of units of a feed-forward network."""
    return int(config.hidden_dim if config.model_type == "distilbert" else config.intermediate_size)


def _check(config: Any, width: int, heads: int, inner: int) -> None:
    size = config.hidden_size // config.num_attention_heads
    units = inner_size(config)
    if width % heads:
        raise ConfigError(f"'width' ({width}) must be a multiple of 'heads' ({heads})")
    limits = {"width": (width, config.hidden_size), "heads": (heads, config.num_attention_heads)}
    for name, (new, most) in {**limits, "inner": (inner, units)}.items():
        if new > most:
            raise ConfigError(f"'{name}' ({new}) is more than the {most} of the model that is pruned")
    if width // heads > size:
        raise ConfigError(
            f"'width' {width} with {heads} heads makes heads of {width // heads}; the model that is pruned "
            f"has heads of {size}: use at least {-(-width // size)} heads"
        )


class _Layer:
    """The weights of one layer, and the importance of its parts."""

    def __init__(self, state: dict[str, Tensor], prefix: str, modules: dict[str, tuple[str, ...]]):
        self.weights = {
            (ours, i, kind): state[f"{prefix}{module}.{kind}"]
            for ours, theirs in modules.items()
            for i, module in enumerate(theirs)
            for kind in ("weight", "bias")
        }

    def __getitem__(self, key: tuple[str, int]) -> Tensor:
        return self.weights[(*key, "weight")]

    @property
    def importance(self) -> Tensor:
        """Importance of each hidden dimension: the norm of the weights that read it."""
        parts = [self["qkv", i] for i in range(3)] + [self["up", 0]]
        gain = self["network_norm", 0].square() + self["attention_norm", 0].square()
        return torch.stack([part.square().sum(0) for part in parts]).sum(0) * gain

    def pruned(
        self, states: Tensor, heads: int, size: int, inner: int, old_heads: int
    ) -> dict[tuple[str, int, str], Tensor]:
        q, k, v, out = self["qkv", 0], self["qkv", 1], self["qkv", 2], self["projection", 0]
        key_use = (q.norm(dim=1) * k.norm(dim=1)).view(old_heads, -1)
        value_use = (v.norm(dim=1) * out.norm(dim=0)).view(old_heads, -1)
        chosen = _largest(key_use.sum(1) / key_use.sum() + value_use.sum(1) / value_use.sum(), heads)
        old_size = key_use.shape[1]
        at, of = (
            (chosen[:, None] * old_size + torch.stack([_largest(part[i], size) for i in chosen])).flatten()
            for part in (key_use, value_use)
        )
        units = _largest(self["up", 0].norm(dim=1) * self["down", 0].norm(dim=0), inner)
        rows = {
            ("qkv", 0): at, ("qkv", 1): at, ("qkv", 2): of, ("projection", 0): states,
            ("attention_norm", 0): states, ("up", 0): units, ("down", 0): states, ("network_norm", 0): states,
        }  # fmt: skip
        columns = {"qkv": states, "projection": of, "up": states, "down": units}
        weights = {}
        for (ours, i, kind), tensor in self.weights.items():
            part = tensor[rows[ours, i]]
            if tensor.dim() == 2:
                part = _select_columns(part, columns[ours])
            if ours == "qkv" and i == 0:  # attention scores are divided by the root of the head size
                part = part * (size / old_size) ** 0.5
            weights[ours, i, kind] = part
        return weights


def _outside(name: str, tensor: Tensor, hidden: int, states: Tensor) -> Tensor:
    """Prune embeddings and the head in every dimension of the hidden size, embedding tables by columns."""
    if tensor.dim() == 2 and tensor.shape[1] == hidden:
        if tensor.shape[0] == hidden and not any(
            part in name for part in ("embeddings", "decoder", "projector")
        ):
            return _select_columns(tensor[states], states)
        return tensor[:, states]
    if (
        tensor.dim() == 1
        and len(tensor) == hidden
        and not name.endswith(("predictions.bias", "decoder.bias"))
    ):
        return tensor[states]
    return tensor


def _largest(score: Tensor, count: int) -> Tensor:
    """Indices of the `count` largest, ascending."""
    return score.topk(count).indices.sort().values


def _select_columns(weight: Tensor, columns: Tensor) -> Tensor:
    """Select columns of a matrix and scale each row to its previous norm."""
    part = weight[:, columns]
    return part * (weight.norm(dim=1) / part.norm(dim=1).clamp(min=1e-12))[:, None]
