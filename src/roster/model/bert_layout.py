"""Which encoders can be stacked, and where their weights lie.

BERT and its kin (RoBERTa, DistilBERT, XLM-R, CamemBERT) are one architecture under several names: embeddings
and a norm, then layers of self-attention and a GELU network, each followed by a residual norm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ROBERTAS = ("roberta", "xlm-roberta", "camembert")
BERTS = ("bert", *ROBERTAS)


class NotStackableError(Exception):
    """Says what about an encoder is not as in BERT, or about the heads on it not linear."""


@dataclass(frozen=True)
class Shape:
    """The sizes and dropouts of a BERT-like encoder."""

    layers: int
    width: int
    heads: int
    eps: float
    first_position: int
    """Row of the table of positions that the first sub-word has."""
    embedding_dropout: float
    attention_dropout: float
    projection_dropout: float
    """After self-attention's output projection."""
    network_dropout: float
    """After the feed-forward network."""


@dataclass(frozen=True)
class Weight:
    """One stacked weight: its name here, the parameters it is made of (rows below each other), its shape."""

    name: str
    sources: tuple[str, ...]
    shape: tuple[int, ...]


def shape_of(config: Any) -> Shape:
    """The shape of an encoder from its Hugging Face config, or `NotStackableError`."""
    kind = config.model_type
    if kind == "distilbert":
        _need(config.activation == "gelu", f"its activation is {config.activation}")
        return Shape(config.n_layers, config.dim, config.n_heads, 1e-12, 0,
                     config.dropout, config.attention_dropout, 0.0, config.dropout)  # fmt: skip
    _need(kind in BERTS, f"it is of the kind {kind}")
    _need(config.hidden_act == "gelu", f"its activation is {config.hidden_act}")
    _need(not getattr(config, "is_decoder", False), "it is a decoder")
    position = getattr(config, "position_embedding_type", None) or "absolute"
    _need(position == "absolute", f"its positions are {position}")
    return Shape(
        config.num_hidden_layers,
        config.hidden_size,
        config.num_attention_heads,
        config.layer_norm_eps,
        config.pad_token_id + 1 if kind in ROBERTAS else 0,
        config.hidden_dropout_prob,
        config.attention_probs_dropout_prob,
        config.hidden_dropout_prob,
        config.hidden_dropout_prob,
    )


def network_width(config: Any) -> int:
    """The inner width of the feed-forward networks of an encoder that `shape_of` accepts."""
    return int(config.hidden_dim if config.model_type == "distilbert" else config.intermediate_size)


def _need(condition: bool, otherwise: str) -> None:
    if not condition:
        raise NotStackableError(otherwise)


def weights_of(config: Any, sizes: Mapping[str, Sequence[int]]) -> list[Weight]:
    """All weights of an encoder whose parameters have these sizes; one with any other cannot be stacked."""
    shape, distil = shape_of(config), config.model_type == "distilbert"
    sizes = {name: tuple(size) for name, size in sizes.items()}
    found = []

    def take(name: str, *sources: str) -> None:
        for source in sources:
            _need(source in sizes, f"it has no {source}")
        parts = [sizes.pop(source) for source in sources]
        rows = sum(part[0] for part in parts)
        found.append(Weight(name, sources, (rows, *parts[0][1:])))

    def take_both(name: str, *modules: str) -> None:
        for kind in ("weight", "bias"):
            take(f"{name}.{kind}", *(f"{module}.{kind}" for module in modules))

    take("words", "embeddings.word_embeddings.weight")
    take("positions", "embeddings.position_embeddings.weight")
    if not distil:
        take("segments", "embeddings.token_type_embeddings.weight")
    take_both("norm", "embeddings.LayerNorm")
    for i in range(shape.layers):
        for ours, theirs in layer_modules(config, i).items():
            take_both(f"{i}.{ours}", *theirs)
    _need(not sizes, f"it has {next(iter(sizes), '')} besides")
    return found


def layer_modules(config: Any, i: int) -> dict[str, tuple[str, ...]]:
    """Where the parts of layer `i` lie in an encoder, by our names for them."""
    names = _DISTIL if config.model_type == "distilbert" else _BERT
    return {ours: tuple(f"{layers_at(config)}.{i}.{one}" for one in theirs) for ours, theirs in names.items()}


def layers_at(config: Any) -> str:
    """Where an encoder has its list of layers."""
    return "transformer.layer" if config.model_type == "distilbert" else "encoder.layer"


def encoder_weights(encoder: Any) -> list[Weight]:
    """All weights of an encoder of transformers."""
    return weights_of(encoder.config, {name: p.shape for name, p in encoder.named_parameters()})


_BERT = {
    "qkv": tuple(f"attention.self.{one}" for one in ("query", "key", "value")),
    "projection": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
    "up": ("intermediate.dense",),
    "down": ("output.dense",),
    "network_norm": ("output.LayerNorm",),
}
_DISTIL = {
    "qkv": tuple(f"attention.{one}" for one in ("q_lin", "k_lin", "v_lin")),
    "projection": ("attention.out_lin",),
    "attention_norm": ("sa_layer_norm",),
    "up": ("ffn.lin1",),
    "down": ("ffn.lin2",),
    "network_norm": ("output_layer_norm",),
}
