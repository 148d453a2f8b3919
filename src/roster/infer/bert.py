"""A trained model of BERT's family, made for reading: its weights straight from the file, plain torch.

Importing an encoder of transformers takes longer than all the rest of a short `roster predict`; here
nothing of it is needed. What is read is the same, and less is computed: queries, keys and values are one
product, and after the last self-attention only the first sub-words of words go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roster.errors import ModelError
from roster.methods.registry import head_of
from roster.model.bert_layout import NotStackableError, Shape, shape_of, weights_of
from roster.model.folder import ModelFacts, weights_file
from roster.model.weights import load_tensors
from roster.parsing import parse_json


class BertReader(nn.Module):
    """Sub-words in, logits of words out; `weights` have the names of `roster.model.bert_layout`."""

    def __init__(self, shape: Shape, weights: Mapping[str, Tensor]):
        super().__init__()
        self.shape = shape
        for name, tensor in weights.items():
            self.register_buffer(name.replace(".", "_"), tensor)

    def forward(self, ids: Tensor, mask: Tensor, at: Tensor) -> Tensor:
        """`ids` and `mask` [rows, length]; `at` [words] has the place of each word in rows x length.

        Gives the logits of all heads side by side, [words, classes].
        """
        rows, length = ids.shape
        first, heads = self.shape.first_position, self.shape.heads
        h = F.embedding(ids, self.get_buffer("words"))
        h = h + self.get_buffer("places")[first : first + length]
        h = self._norm("norm", h).flatten(0, 1)
        # As numbers to add: with booleans an ONNX graph selects, and looks for NaN, in each layer.
        hidden = torch.zeros_like(mask, dtype=h.dtype).masked_fill(mask == 0, -torch.inf)[:, None, None, :]
        for i in range(self.shape.layers):
            qkv = self._linear(f"{i}_qkv", h).chunk(3, -1)
            q, k, v = (part.view(rows, length, heads, -1).transpose(1, 2) for part in qkv)
            mixed = F.scaled_dot_product_attention(q, k, v, hidden.to(q.dtype))
            mixed = mixed.transpose(1, 2).reshape(rows * length, -1)
            if i == self.shape.layers - 1:
                mixed, h = mixed[at], h[at]
            h = self._norm(f"{i}_attention_norm", h + self._linear(f"{i}_projection", mixed))
            inner = F.gelu(self._linear(f"{i}_up", h))
            h = self._norm(f"{i}_network_norm", h + self._linear(f"{i}_down", inner))
        return self._linear("head", h)

    def _linear(self, name: str, x: Tensor) -> Tensor:
        return F.linear(x, self.get_buffer(f"{name}_weight"), self.get_buffer(f"{name}_bias"))

    def _norm(self, name: str, x: Tensor) -> Tensor:
        weight, bias = self.get_buffer(f"{name}_weight"), self.get_buffer(f"{name}_bias")
        return F.layer_norm(x, weight.shape, weight, bias, self.shape.eps)


def bert_reader(folder: Path, facts: ModelFacts) -> BertReader | None:
    """The model in a folder, or None where its encoder is not of the family, or words are not read alone."""
    if head_of(facts.kind).whole:
        return None
    tensors, _ = load_tensors(weights_file(folder))
    try:
        config = SimpleNamespace(**parse_json((folder / "config.json").read_text(encoding="utf-8")))
        sizes = {n.removeprefix("encoder."): t.shape for n, t in tensors.items() if n.startswith("encoder.")}
        shape, weights = shape_of(config), weights_of(config, sizes)
        known = _fits(config, shape, {w.name: w.shape for w in weights})
    except (NotStackableError, AttributeError, TypeError, ValueError, OSError):
        known = False
    if not known:
        return None  # transformers loads it, or raises an error
    found = {w.name: _joined(tensors, [f"encoder.{source}" for source in w.sources]) for w in weights}
    segments = found.pop("segments", None)
    places = found.pop("positions")
    found["places"] = places if segments is None else places + segments[0]
    heads = head_of(facts.kind).heads
    others = {name for name in tensors if not name.startswith("encoder.")}
    _need(
        others == {f"{head}.{part}" for head in heads for part in ("weight", "bias")}, folder, "other heads"
    )
    for part in ("weight", "bias"):
        found[f"head.{part}"] = _joined(tensors, [f"{head}.{part}" for head in heads])
    _need(len(found["head.bias"]) == facts.classes, folder, f"they are not for {len(facts.types)} types")
    return BertReader(shape, found).eval()


def _fits(config: Any, shape: Shape, sizes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether the weights have the sizes of the description."""
    wide = shape.width
    inner = config.hidden_dim if config.model_type == "distilbert" else config.intermediate_size
    expected: dict[str, tuple[int, ...]] = {
        "words": (config.vocab_size, wide),
        "positions": (config.max_position_embeddings, wide),
    }
    layer = {"qkv": (3 * wide, wide), "projection": (wide, wide), "attention_norm": (wide,),
             "up": (inner, wide), "down": (wide, inner), "network_norm": (wide,)}  # fmt: skip
    for i in range(shape.layers):
        for name, size in layer.items():
            expected |= {f"{i}.{name}.weight": size, f"{i}.{name}.bias": size[:1]}
    return wide % shape.heads == 0 and all(sizes[name] == size for name, size in expected.items())


def _need(condition: bool, folder: Path, otherwise: str) -> None:
    if not condition:
        raise ModelError(f"{folder}: the weights do not fit the model's own description ({otherwise})")


def _joined(tensors: Mapping[str, Tensor], names: list[str]) -> Tensor:
    """A single tensor stays mapped to the file, and is read when it is used."""
    return tensors[names[0]] if len(names) == 1 else torch.cat([tensors[name] for name in names])
