"""A masked language model of transformers, split into encoder and head, with logits at chosen positions only.

Most of the cost of a small masked LM are the logits: a row of the size of the vocabulary for every sub-word,
four fifths of which are not needed. The head differs between architectures, but takes the output of the
encoder in all of them; so the model's own `forward` is used, on a shallow copy of the model in which a stub
replaces the encoder and returns the hidden states that it is given.
"""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn

from roster.errors import ModelError
from roster.model.bert_layout import NotStackableError, layer_modules, layers_at, shape_of


class EncoderStub(nn.Module):
    """Replaces the encoder in the copy of the model: returns its input."""

    def forward(self, *_: Any, inputs_embeds: Tensor, **__: Any) -> Any:
        from transformers.modeling_outputs import BaseModelOutput

        return BaseModelOutput(last_hidden_state=inputs_embeds)


def without_encoder(model: Any) -> Any:
    """A shallow copy of a masked LM with a stub as encoder; all other modules are those of the model."""
    head = copy.copy(model)
    head._modules = {**model._modules, model.base_model_prefix: EncoderStub()}
    return head


class SplitMaskedLM(nn.Module):
    """Encoder and head of a model of transformers; they share its weights and leave it unchanged."""

    def __init__(self, model: Any):
        super().__init__()
        encoder = getattr(model, model.base_model_prefix, None)
        if not isinstance(encoder, nn.Module):
            raise ModelError(f"masked LMs of the type {model.config.model_type} cannot be pre-trained")
        self.encoder = encoder
        self.head = without_encoder(model)

    @property
    def config(self) -> Any:
        return self.head.config

    def states(self, ids: Tensor, every: bool) -> tuple[Tensor, ...]:
        """Hidden states [rows, length, width] of all layers, embeddings first, or of the last layer only."""
        encoder: Any = self.encoder
        if not self._is_bert_like:
            output = encoder(input_ids=ids, output_hidden_states=every)
            return tuple(output.hidden_states) if every else (output.last_hidden_state,)
        # As in transformers, without attention masks (nothing is padded) and without its hooks for hidden
        # states, which torch.compile cannot trace: a quarter faster on a GPU.
        states = [encoder.embeddings(ids)]
        for layer in encoder.get_submodule(layers_at(self.config)):
            out = layer(states[-1])
            states.append(out if isinstance(out, Tensor) else out[0])
        return tuple(states) if every else (states[-1],)

    @property
    def _is_bert_like(self) -> bool:
        """Whether the layers have the structure of BERT's."""
        try:
            shape_of(self.config)
        except NotStackableError:
            return False
        return True

    def logits(self, states: Tensor, places: Tensor) -> Tensor:
        """Logits [rows x n, vocabulary] at `places` [rows, n]."""
        chosen = states.gather(1, places[..., None].expand(-1, -1, states.shape[-1]))
        logits: Tensor = self.head(inputs_embeds=chosen).logits
        return logits.flatten(0, 1)

    def relation_parts(self, before: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of the last layer, computed from its input."""
        q, k, v = (module(before) for module in self.relation_modules())
        return q, k, v

    def relation_modules(self) -> list[nn.Module]:
        """The projections to queries, keys and values in the last layer.

        Raises:
            ModelError: the encoder is not BERT-like.
        """
        try:
            shape = shape_of(self.encoder.config)
        except NotStackableError as error:
            raise ModelError(
                f"attention relations need BERT-like models ({error}); set 'relations' to 0"
            ) from None
        return [
            self.encoder.get_submodule(name)
            for name in layer_modules(self.encoder.config, shape.layers - 1)["qkv"]
        ]

    def operations(self, length: int, places: int) -> float:
        """Floating-point operations of the forward pass of one row: two per weight, and attention."""
        per_token = sum(m.weight.numel() for m in self.encoder.modules() if isinstance(m, nn.Linear))
        per_place = sum(m.weight.numel() for m in self.head.modules() if isinstance(m, nn.Linear))
        config = self.config
        attention = 2 * config.num_hidden_layers * config.hidden_size * length
        return float(2 * (length * (per_token + attention) + places * per_place))


def set_dropout(model: nn.Module, p: float) -> None:
    """Set the dropout probability of all layers."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = p
        for name in ("dropout_prob", "attention_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, p)


def size(model: nn.Module) -> int:
    """Number of parameters."""
    return sum(p.numel() for p in model.parameters())
