"""A masked language model of transformers, taken apart: the encoder, and the head for chosen places only.

Most of what a small masked LM computes is logits: a row of the vocabulary's size for every sub-word, of which
four fifths are not asked for. Every architecture has its head in another place and form, but all of them put
it on the encoder's output; so the model's own `forward` is kept, with a stand-in for the encoder that hands
over the states it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from roster.errors import ModelError
from roster.model.bert_layout import NotStackableError, layer_modules, layers_at, shape_of


class EncoderStub(nn.Module):
    """Stands for the encoder: says what it is told."""

    def forward(self, *_: Any, inputs_embeds: Tensor, **__: Any) -> Any:
        from transformers.modeling_outputs import BaseModelOutput

        return BaseModelOutput(last_hidden_state=inputs_embeds)


class SplitMaskedLM(nn.Module):
    """Encoder and head of a model of transformers; `whole` puts it together again."""

    def __init__(self, model: Any):
        super().__init__()
        self.prefix = model.base_model_prefix
        encoder = getattr(model, self.prefix, None)
        if not isinstance(encoder, nn.Module):
            raise ModelError(f"a masked LM of the kind {model.config.model_type} cannot be pre-trained here")
        self.encoder = encoder
        setattr(model, self.prefix, EncoderStub())
        self.head = model

    @property
    def config(self) -> Any:
        return self.head.config

    @contextmanager
    def whole(self) -> Iterator[Any]:
        """The model as it was."""
        setattr(self.head, self.prefix, self.encoder)
        try:
            yield self.head
        finally:
            setattr(self.head, self.prefix, EncoderStub())

    def states(self, ids: Tensor, every: bool) -> tuple[Tensor, ...]:
        """The encoder's output [rows, length, width], alone or after all that lie before it."""
        encoder: Any = self.encoder
        if not self._plain:
            told = encoder(input_ids=ids, output_hidden_states=every)
            return tuple(told.hidden_states) if every else (told.last_hidden_state,)
        # As transformers does it, without its masks (nothing is padded) and its way of collecting states,
        # which the compiler cannot follow: a quarter faster on a GPU.
        found = [encoder.embeddings(ids)]
        for layer in encoder.get_submodule(layers_at(self.config)):
            out = layer(found[-1])
            found.append(out if isinstance(out, Tensor) else out[0])
        return tuple(found) if every else (found[-1],)

    @property
    def _plain(self) -> bool:
        """Whether the encoder is of BERT's kin."""
        try:
            shape_of(self.config)
        except NotStackableError:
            return False
        return True

    def logits(self, states: Tensor, places: Tensor) -> Tensor:
        """[rows x n, vocabulary] at `places` [rows, n]."""
        chosen = states.gather(1, places[..., None].expand(-1, -1, states.shape[-1]))
        found: Tensor = self.head(inputs_embeds=chosen).logits
        return found.flatten(0, 1)

    def relation_parts(self, before: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of the last layer, from the states that go into it."""
        q, k, v = (module(before) for module in self.relation_modules())
        return q, k, v

    def relation_modules(self) -> list[nn.Module]:
        """What makes queries, keys and values in the last layer; an error where there is no such thing."""
        try:
            shape = shape_of(self.encoder.config)
        except NotStackableError as error:
            raise ModelError(
                f"attention relations can be learned between models of BERT's kin only ({error}); "
                "set 'relations' to 0"
            ) from None
        return [
            self.encoder.get_submodule(name)
            for name in layer_modules(self.encoder.config, shape.layers - 1)["qkv"]
        ]

    def operations(self, length: int, places: int) -> float:
        """Multiplications and additions of one row, forward: two for each weight, and attention."""
        per_token = sum(m.weight.numel() for m in self.encoder.modules() if isinstance(m, nn.Linear))
        per_place = sum(m.weight.numel() for m in self.head.modules() if isinstance(m, nn.Linear))
        config = self.config
        attention = 2 * config.num_hidden_layers * config.hidden_size * length
        return float(2 * (length * (per_token + attention) + places * per_place))


def set_dropout(model: nn.Module, p: float) -> None:
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = p
        for name in ("dropout_prob", "attention_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, p)


def size(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())
