"""The BiLSTM-CNN encoder of Ma and Hovy (2016): characters, word vectors, one LSTM each way.

It offers what an encoder of transformers does, so heads, loops and stages take either. Its inputs are rows
of `roster.backbone.words`: [sentences, words, 1 + characters].
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from roster.backbone.words import FIRST, MODEL_TYPE, PAD, UNKNOWN, Learned
from roster.config import Bilstm
from roster.errors import ModelError
from roster.files import write_json
from roster.parsing import parse_json

REACH = 3
"""Characters that a filter sees at once."""
FORGOTTEN = 0.5
"""How often a word that occurs once is unknown in training."""


SIZES = ("learned", "fixed", "characters", "word_size", "char_size", "filters", "hidden")


@dataclass(frozen=True)
class BilstmConfig:
    """The sizes of an encoder, as `config.json` has them."""

    learned: int
    fixed: int
    characters: int
    word_size: int
    char_size: int
    filters: int
    hidden: int
    dropout: float
    model_type: str = MODEL_TYPE

    @property
    def hidden_size(self) -> int:
        return 2 * self.hidden

    def save_pretrained(self, folder: Path) -> None:
        write_json(folder / "config.json", asdict(self))

    @classmethod
    def load(cls, folder: Path) -> BilstmConfig:
        path = folder / "config.json"
        try:
            found = parse_json(path.read_text(encoding="utf-8"))
            values = {f.name: found[f.name] for f in fields(cls)}
            sizes = {name: int(values[name]) for name in SIZES}
            return cls(**values | sizes | {"dropout": float(values["dropout"])})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path} is damaged: {error}") from None


class BilstmCnn(nn.Module):
    """`fixed` words have vectors that never change; all else is learned."""

    fixed: Tensor
    rare: Tensor

    def __init__(self, config: BilstmConfig):
        super().__init__()
        self.config = config
        self.words = nn.Embedding(FIRST + config.learned, config.word_size, padding_idx=PAD)
        self.characters = nn.Embedding(FIRST + config.characters, config.char_size, padding_idx=PAD)
        self.filters = nn.Conv1d(config.char_size, config.filters, REACH, padding=REACH // 2)
        self.dropout = nn.Dropout(config.dropout)
        width = config.word_size + config.filters
        self.forth = nn.LSTM(width, config.hidden, batch_first=True)
        self.back = nn.LSTM(width, config.hidden, batch_first=True)
        self.register_buffer("fixed", torch.zeros(config.fixed, config.word_size))
        # Of use in training only, so not kept with the weights.
        self.register_buffer("rare", torch.zeros(FIRST + config.learned, dtype=torch.bool), persistent=False)
        self.given: Tensor | None = None

    @classmethod
    def of(cls, learned: Learned, sizes: Bilstm) -> BilstmCnn:
        """A fresh encoder for a vocabulary."""
        words = learned.words
        config = BilstmConfig(
            len(words.learned), len(words.fixed), len(words.characters), learned.given.shape[1],
            sizes.char_size, sizes.filters, sizes.hidden, sizes.dropout,
        )  # fmt: skip
        encoder = cls(config)
        encoder.given = torch.from_numpy(learned.given)
        encoder.fixed.copy_(torch.from_numpy(learned.fixed))
        encoder.rare.copy_(torch.from_numpy(learned.rare))
        return encoder

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws all weights anew; words from the file begin with their vectors."""
        for table in (self.words, self.characters):
            reach = (3 / table.embedding_dim) ** 0.5
            table.weight.uniform_(-reach, reach)
            table.weight[PAD] = 0
        if self.given is not None:
            given = self.given.to(self.words.weight.device)
            self.words.weight.copy_(torch.where(given.isnan(), self.words.weight, given))
        self.filters.reset_parameters()
        for lstm in (self.forth, self.back):
            lstm.reset_parameters()
            for name, weight in lstm.named_parameters():
                if name.startswith("bias"):
                    weight.zero_()
                if name.startswith("bias_ih"):  # it remembers at first: the second quarter is the forget gate
                    weight[self.config.hidden : 2 * self.config.hidden] = 1

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SimpleNamespace:
        """`last_hidden_state` [sentences, words, 2 x hidden]; padding changes no word's state."""
        x = torch.cat([self._vectors(input_ids[..., 0]), self._spellings(input_ids[..., 1:])], -1)
        x = self.dropout(x)
        # Both ways the words come first and the padding last, so that no LSTM sees a word after it. Packed
        # sequences do the same at half the speed on a CPU, and ask the host for lengths on a GPU.
        length = attention_mask.sum(1, keepdim=True)
        place = torch.arange(x.shape[1], device=x.device)
        mirror = torch.where(place < length, length - 1 - place, place).unsqueeze(-1)
        forth, _ = self.forth(x)
        back, _ = self.back(x.gather(1, mirror.expand_as(x)))
        back = back.gather(1, mirror.expand_as(back))
        return SimpleNamespace(last_hidden_state=torch.cat([forth, back], -1))

    def _vectors(self, words: Tensor) -> Tensor:
        learned = self.words.num_embeddings
        if self.training:
            forgotten = torch.rand(words.shape, device=words.device) < FORGOTTEN
            forgotten &= self.rare[words.clamp_max(learned - 1)] & (words < learned)
            words = words.masked_fill(forgotten, UNKNOWN)
        if not len(self.fixed):
            return self.words(words)
        fixed = F.embedding((words - learned).clamp_min(0), self.fixed)
        return torch.where((words < learned).unsqueeze(-1), self.words(words.clamp_max(learned - 1)), fixed)

    def _spellings(self, characters: Tensor) -> Tensor:
        """Each distinct word of the batch once: tanh of every filter's maximum over the word."""
        distinct, which = characters.flatten(0, 1).unique(dim=0, return_inverse=True)
        distinct = distinct[:, : max(1, int((distinct != PAD).any(0).sum()))]
        found = self.filters(self.characters(distinct).transpose(1, 2))
        found = found.masked_fill((distinct == PAD).unsqueeze(1), -torch.inf).amax(2)
        found = torch.where((distinct[:, :1] != PAD), found, 0.0).tanh()  # a hidden word has no characters
        return F.embedding(which.view(characters.shape[:2]), found)
