"""What every model has: an encoder, one state for each word, and heads over it.

Models classify words, not sub-words: the state of a word is that of its first sub-word. The heads of a method
are in its own folder; `OneHead` serves all that learn BIO tags word by word.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from roster.model.batches import Batch


class WordStates(nn.Module):
    """Encoder and dropout: one state `h` for each word of a batch."""

    kind: ClassVar[str]
    """The name of the class in a model folder and in the registry of methods."""
    scheme: ClassVar[str] = "bio"
    """What its classes are: a name in `roster.model.decoding.SCHEMES`."""
    heads: ClassVar[tuple[str, ...]]
    """The linear layers over the states of words."""
    stackable: ClassVar[bool] = True
    """Whether these layers are all that there is: K models can then be one (roster.accelerate)."""
    whole: ClassVar[bool] = False
    """Whether the distribution of a word needs all words of its window, and not its own logits alone."""

    def __init__(self, encoder: Any, n_types: int, dropout: float = 0.1):
        super().__init__()
        self.n_types = n_types
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.width: int = encoder.config.hidden_size

    def forward(self, batch: Batch) -> Any:
        """The heads' outputs for the words of a batch, in order: one tensor, or several."""
        raise TypeError(f"{type(self).__name__} has no forward")

    @staticmethod
    def outputs(logits: Tensor) -> Any:
        """All heads' logits, which lie side by side, as `forward` gives them. Needed where `stackable`."""
        return logits

    def states(self, batch: Batch) -> Tensor:
        hidden = self.encoder(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
        return self.dropout(hidden.flatten(0, 1)[batch.at])

    def probabilities(self, batch: Batch) -> Tensor:
        """The distribution of each word of a batch, [words, classes]."""
        return self.distributions(self(batch), batch.at // batch.mask.shape[1])

    @staticmethod
    def distributions(outputs: Any, row: Tensor) -> Tensor:
        """The same from the outputs of `forward` for words in order; `row` [words] numbers their windows.

        Only where that is sufficient: a CRF also has transitions.
        """
        raise TypeError("the outputs of these heads are no distributions; use `probabilities`")

    def logits(self, batch: Batch) -> Tensor:
        """[words, classes] as `roster.infer.logits` takes them: of all heads, side by side. Of a model that
        reads windows whole the logarithms of its distributions, of which softmax makes these again."""
        if self.whole:
            return self.probabilities(batch).clamp_min(1e-30).log()
        found = self(batch)
        return torch.cat([found[0].unsqueeze(-1), found[1]], -1) if isinstance(found, tuple) else found

    def _linear(self, size: int) -> nn.Linear:
        layer = nn.Linear(self.width, size)
        nn.init.normal_(layer.weight, std=0.02)
        nn.init.zeros_(layer.bias)
        return layer


class TagScores(WordStates):
    """One linear layer over `O` and BIO tags: class 0 is `O`, then `B-t`, `I-t` for each type in turn.

    `OneHead` takes the softmax of the scores; a CRF adds transitions between tags.
    """

    heads = ("tag",)

    def __init__(self, encoder: Any, n_types: int, dropout: float = 0.1):
        super().__init__(encoder, n_types, dropout)
        self.tag = self._linear(1 + 2 * n_types)

    def forward(self, batch: Batch) -> Tensor:
        return self.tag(self.states(batch)).float()


class OneHead(TagScores):
    """Each word's tag by itself: the softmax of its scores."""

    kind = "one-head"

    @staticmethod
    def outputs(logits: Tensor) -> Tensor:
        return logits

    @staticmethod
    def distributions(outputs: Tensor, row: Tensor) -> Tensor:
        return outputs.softmax(-1)


Model = WordStates
"""Any of them."""
