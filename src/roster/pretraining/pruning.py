"""A smaller model out of a larger one of BERT's kin: some of its layers, states, heads and units.

What is kept is what the larger model uses most, by the size of the weights that read it. A row of weights
that loses some of its inputs is made as long as it was, so that what it adds up to stays about as large. The
result is a place to begin from, much worse than the larger model and better than chance.
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
    """`count` of `total` layers, spread evenly, the last among them.

    >>> evenly(12, 4), evenly(6, 6), evenly(6, 4)
    ((2, 5, 8, 11), (0, 1, 2, 3, 4, 5), (1, 2, 4, 5))
    """
    if count > total:
        raise ConfigError(f"'layers': the model has {total} layers, not {count}")
    return tuple(round((i + 1) * total / count + 1e-9) - 1 for i in range(count))


@torch.no_grad()
def prune(model: Any, numbers: Sequence[int], width: int, heads: int, inner: int) -> Any:
    """The layers `numbers`, states of size `width`, `heads` heads and networks of `inner` units."""
    old = model.config
    try:
        shape_of(old)
    except NotStackableError as error:
        raise ModelError(
            f"only BERT's kin can be cut to another shape ({error}); leave the shape as it is, or name "
            "another encoder to start from"
        ) from None
    _check(old, width, heads, inner)
    config = copy.deepcopy(old)
    config.num_hidden_layers, config.hidden_size, config.num_attention_heads = len(numbers), width, heads
    setattr(config, "hidden_dim" if old.model_type == "distilbert" else "intermediate_size", inner)
    smaller = type(model)(config)

    state, prefix = model.state_dict(), f"{model.base_model_prefix}."
    layers = [_Layer(state, prefix, layer_modules(old, i)) for i in range(old.num_hidden_layers)]
    states = _most(sum((layer.reads for layer in layers), torch.zeros(old.hidden_size)), width)
    found = {}
    inside = f"{prefix}{layers_at(old)}."
    for name, tensor in state.items():
        if not name.startswith(inside):
            found[name] = _outside(name, tensor, old.hidden_size, states)
    for new, number in enumerate(numbers):
        cut = layers[number].cut(states, heads, width // heads, inner, old.num_attention_heads)
        for ours, theirs in layer_modules(config, new).items():
            for i, module in enumerate(theirs):
                for kind in ("weight", "bias"):
                    found[f"{prefix}{module}.{kind}"] = cut[ours, i, kind]
    smaller.load_state_dict(found)
    smaller.tie_weights()
    return smaller


def inner_size(config: Any) -> int:
    """Units of a feed-forward network."""
    return int(config.hidden_dim if config.model_type == "distilbert" else config.intermediate_size)


def _check(config: Any, width: int, heads: int, inner: int) -> None:
    size = config.hidden_size // config.num_attention_heads
    units = inner_size(config)
    if width % heads:
        raise ConfigError(f"'width' ({width}) must be a multiple of 'heads' ({heads})")
    limits = {"width": (width, config.hidden_size), "heads": (heads, config.num_attention_heads)}
    for name, (new, most) in {**limits, "inner": (inner, units)}.items():
        if new > most:
            raise ConfigError(f"'{name}' ({new}) is more than the {most} of the model that is cut")
    if width // heads > size:
        raise ConfigError(
            f"'width' {width} with {heads} heads makes heads of {width // heads}; the model that is cut has "
            f"heads of {size}: use at least {-(-width // size)} heads"
        )


class _Layer:
    """The weights of one layer, and how much each of its parts is used."""

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
    def reads(self) -> Tensor:
        """How much each state is read."""
        parts = [self["qkv", i] for i in range(3)] + [self["up", 0]]
        gain = self["network_norm", 0].square() + self["attention_norm", 0].square()
        return torch.stack([part.square().sum(0) for part in parts]).sum(0) * gain

    def cut(
        self, states: Tensor, heads: int, size: int, inner: int, old_heads: int
    ) -> dict[tuple[str, int, str], Tensor]:
        q, k, v, out = self["qkv", 0], self["qkv", 1], self["qkv", 2], self["projection", 0]
        looks = (q.norm(dim=1) * k.norm(dim=1)).view(old_heads, -1)
        says = (v.norm(dim=1) * out.norm(dim=0)).view(old_heads, -1)
        chosen = _most(looks.sum(1) / looks.sum() + says.sum(1) / says.sum(), heads)
        old_size = looks.shape[1]
        at, of = (
            (chosen[:, None] * old_size + torch.stack([_most(part[i], size) for i in chosen])).flatten()
            for part in (looks, says)
        )
        units = _most(self["up", 0].norm(dim=1) * self["down", 0].norm(dim=0), inner)
        rows = {
            ("qkv", 0): at, ("qkv", 1): at, ("qkv", 2): of, ("projection", 0): states,
            ("attention_norm", 0): states, ("up", 0): units, ("down", 0): states, ("network_norm", 0): states,
        }  # fmt: skip
        columns = {"qkv": states, "projection": of, "up": states, "down": units}
        found = {}
        for (ours, i, kind), tensor in self.weights.items():
            part = tensor[rows[ours, i]]
            if tensor.dim() == 2:
                part = _shorten(part, columns[ours])
            if ours == "qkv" and i == 0:  # products are divided by the root of the head's size
                part = part * (size / old_size) ** 0.5
            found[ours, i, kind] = part
        return found


def _outside(name: str, tensor: Tensor, hidden: int, states: Tensor) -> Tensor:
    """Embeddings and the head: whatever has the size of a state is cut, but tables by their columns only."""
    if tensor.dim() == 2 and tensor.shape[1] == hidden:
        if tensor.shape[0] == hidden and not any(
            part in name for part in ("embeddings", "decoder", "projector")
        ):
            return _shorten(tensor[states], states)
        return tensor[:, states]
    if (
        tensor.dim() == 1
        and len(tensor) == hidden
        and not name.endswith(("predictions.bias", "decoder.bias"))
    ):
        return tensor[states]
    return tensor


def _most(score: Tensor, count: int) -> Tensor:
    """The numbers of the `count` largest, in their order."""
    return score.topk(count).indices.sort().values


def _shorten(weight: Tensor, columns: Tensor) -> Tensor:
    """Some columns of a matrix, each row as long as before."""
    part = weight[:, columns]
    return part * (weight.norm(dim=1) / part.norm(dim=1).clamp(min=1e-12))[:, None]
