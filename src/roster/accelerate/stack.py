"""K models with one architecture in one object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roster.accelerate import ops
from roster.accelerate.parameters import Group, Parameters
from roster.model.batches import DeviceCorpus
from roster.model.bert_layout import NotStackableError, Weight, encoder_weights, shape_of
from roster.model.heads import WordStates
from roster.model.memory import in_fitting_batches
from roster.model.reading import TOKENS


class Stack:
    """K models that are read and trained together. `Stack.of` makes it from plain ones."""

    def __init__(self, plain: WordStates, k: int, dtype: torch.dtype, device: torch.device,
                 *, training: bool = True):  # fmt: skip
        if not plain.stackable:
            raise NotStackableError(f"its heads are of the kind {plain.kind}")
        self.heads, self.k, self.dtype, self.device = type(plain), k, dtype, device
        self.shape = shape_of(plain.encoder.config)
        self.head_dropout = plain.dropout.p
        self.sizes = {name: p.shape[0] for name, p in plain.named_parameters()}
        weights = [
            (replace(w, sources=tuple(f"encoder.{s}" for s in w.sources)), Group(False, len(w.shape) > 1))
            for w in encoder_weights(plain.encoder)
        ]
        for kind in ("weight", "bias"):
            names = tuple(f"{name}.{kind}" for name in plain.heads)
            shapes = [tuple(plain.get_parameter(name).shape) for name in names]
            shape = (sum(s[0] for s in shapes), *shapes[0][1:])
            weights.append((Weight(f"head.{kind}", names, shape), Group(True, kind == "weight")))
        self.parameters = Parameters(k, weights, dtype, device, training=training)
        self.dropout_seed = torch.zeros((), dtype=torch.int64, device=device)
        self._anchor = torch.zeros((), device=device, requires_grad=training)

    @classmethod
    def of(cls, models: Sequence[WordStates], dtype: torch.dtype, device: torch.device) -> Stack:
        stack = cls(models[0], len(models), dtype, device)
        for member, model in enumerate(models):
            stack.parameters.fill(member, model.state_dict())
        return stack

    def state_dict(self, member: int) -> dict[str, Tensor]:
        """A member's weights under the names of the plain model."""
        return self.parameters.state_dict(member, self.sizes)

    def logits(self, ids: Tensor, lengths: Tensor, *, training: bool) -> Tensor:
        """The heads' raw output at every sub-word: `ids` [K, rows, length] to [K, rows, length, classes]."""
        _, rows, length = ids.shape
        w, shape, on = self.parameters, self.shape, float(training)
        if training:
            w.rest.grad.zero_()
        dropout = ops.Dropout(self.dropout_seed)
        tables = {name: w[name] for name in ("words", "positions", "segments") if name in w.by_name}
        h = ops.embed(
            self._anchor, ids, tables, w["norm.weight"], w["norm.bias"], shape.first_position, shape.eps
        )
        h = F.dropout(h, shape.embedding_dropout, training).to(self.dtype).flatten(1, 2)
        for i in range(shape.layers):
            qkv = ops.linear(h, w[f"{i}.qkv.weight"]).unflatten(1, (rows, length))
            mixed = ops.attention(
                qkv, w[f"{i}.qkv.bias"], lengths, shape.heads, on * shape.attention_dropout, dropout
            )
            mixed = ops.linear(mixed, w[f"{i}.projection.weight"])
            h = self._add_norm(
                f"{i}.projection", f"{i}.attention_norm", mixed, h, on * shape.projection_dropout, dropout
            )
            inner = ops.bias_gelu(ops.linear(h, w[f"{i}.up.weight"]), w[f"{i}.up.bias"])
            inner = ops.linear(inner, w[f"{i}.down.weight"])
            h = self._add_norm(
                f"{i}.down", f"{i}.network_norm", inner, h, on * shape.network_dropout, dropout
            )
        h = F.dropout(h, self.head_dropout, training)
        return ops.head(h, w["head.weight"], w["head.bias"]).unflatten(1, (rows, length))

    def _add_norm(
        self, before: str, norm: str, x: Tensor, residual: Tensor, p: float, dropout: ops.Dropout
    ) -> Tensor:
        w = self.parameters
        return ops.add_norm(x, residual, w[f"{before}.bias"], w[f"{norm}.weight"], w[f"{norm}.bias"],
                            self.shape.eps, p, dropout)  # fmt: skip

    def outputs(self, logits: Tensor) -> Any:
        """Raw logits [..., classes] as the plain model's `forward` gives them."""
        return self.heads.outputs(logits)

    @torch.no_grad()
    def read(self, corpus: DeviceCorpus, *, predicting: bool = False) -> Tensor:
        """[K, words, classes]: every member's distribution of every word, without dropout."""
        tokens = TOKENS.get(self.device.type, 2048) // self.k
        return in_fitting_batches(partial(self._read, corpus), max(1, tokens))

    def _read(self, corpus: DeviceCorpus, tokens: int) -> Tensor:
        parts, numbers = [], []
        for batch in corpus.readings(tokens):
            ids = batch.ids.expand(self.k, *batch.ids.shape)
            logits = self.logits(ids, batch.mask.sum(1).expand(self.k, -1), training=False)
            row = batch.at // batch.ids.shape[1]
            parts.append(self._probabilities(logits.flatten(1, 2)[:, batch.at], row))
            numbers.append(batch.words)
        if not parts:
            return torch.zeros(self.k, 0, 1, device=self.device)
        p = torch.cat(parts, 1)
        found = torch.empty_like(p)
        found[:, torch.cat(numbers)] = p
        return found

    @torch.no_grad()
    def read_rows(self, corpus: DeviceCorpus, rows: Sequence[np.ndarray]) -> list[tuple[Tensor, Tensor]]:
        """Of each member the words of its own windows, by number, and their distributions."""
        tokens = TOKENS.get(self.device.type, 2048) // self.k
        return in_fitting_batches(partial(self._read_rows, corpus, rows), max(1, tokens))

    def _read_rows(
        self, corpus: DeviceCorpus, rows: Sequence[np.ndarray], tokens: int
    ) -> list[tuple[Tensor, Tensor]]:
        lengths = corpus.encoded.lengths
        sorted_rows = [mine[np.argsort(-lengths[mine], kind="stable")] for mine in rows]
        # Where a member has fewer windows, it reads its last one again.
        most = max(map(len, rows))
        order = np.stack([np.pad(mine, (0, most - len(mine)), mode="edge") for mine in sorted_rows])
        start = 0
        on_device = torch.from_numpy(order).to(self.device)
        lengths_on_device = torch.from_numpy(lengths).to(self.device)
        found: list[list[tuple[Tensor, Tensor]]] = [[] for _ in rows]
        while start < most:
            width = int(lengths[order[:, start]].max())
            part = on_device[:, start : start + max(1, tokens // width)]
            logits = self.logits(corpus.ids[part, :width].long(), lengths_on_device[part], training=False)
            words = corpus.words[part, :width].long()
            for member, mine in enumerate(found):
                at = words[member] >= 0
                p = self._probabilities(logits[member][at], at.nonzero()[:, 0])
                mine.append((words[member][at], p))
            start += part.shape[1]
        return [(torch.cat([w for w, _ in mine]), torch.cat([q for _, q in mine])) for mine in found]

    def _probabilities(self, logits: Tensor, row: Tensor) -> Tensor:
        """Of words in order; `row` [words] numbers their windows."""
        return self.heads.distributions(self.outputs(logits), row)
