"""Which encoder a backbone's name or a model folder means: one of transformers, or our own BiLSTM-CNN.

The only module that distinguishes encoder types. What needs torch or transformers is imported where it is
used: a model that was exported needs neither.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roster.backbone.alignment import Specials, WordEncoder
from roster.backbone.loading import (
    bare_tokenizer,
    encoder_from_config,
    load_architecture,
    load_encoder,
    load_tokenizer,
    max_positions,
)
from roster.backbone.words import (
    AnyWordEncoder,
    WholeWords,
    Words,
    is_word_level,
    learn_words,
    read_vectors,
)
from roster.config import BILSTM_CNN, Config
from roster.errors import ModelError


@dataclass(frozen=True)
class Opened:
    """An encoder, what makes its inputs of words, and the dropout between it and the heads."""

    encoder: Any
    words: AnyWordEncoder
    dropout: float


def open_backbone(config: Config, sentences: Sequence[Sequence[str]]) -> Opened:
    """The backbone that the config names; one of whole words takes its vocabulary from these sentences."""
    name, most = config.backbone.name, config.backbone.max_length
    if name != BILSTM_CNN:
        encoder, tokenizer = load_encoder(name), load_tokenizer(name)
        words = WordEncoder(tokenizer, most, max_positions(load_architecture(name)))
        return Opened(encoder, words, config.backbone.dropout)
    from roster.model.bilstm import BilstmCnn

    own = config.bilstm
    vectors = read_vectors(own.word_vectors) if own.word_vectors else None
    learned = learn_words(sentences, own.min_count, own.word_size, vectors)
    return Opened(BilstmCnn.of(learned, own), WholeWords(learned.words, most), own.dropout)


@dataclass(frozen=True)
class Described:
    """What is known of a backbone without loading its weights."""

    width: int
    positions: int | None
    """The longest input; None: any."""
    pretrained: bool
    tokenizer: Any
    """None: words are read whole."""

    @property
    def masks(self) -> bool:
        return self.tokenizer is None or self.tokenizer.mask_token_id is not None

    def lengths(self, sentences: Sequence[Sequence[str]]) -> list[int]:
        """How long these sentences are as inputs, special tokens included."""
        if self.tokenizer is None or not sentences:
            return [len(words) for words in sentences]
        found = self.tokenizer([list(words) for words in sentences], is_split_into_words=True)
        return [len(ids) for ids in found["input_ids"]]


def describe_backbone(config: Config) -> Described:
    """Width, longest input and vocabulary of the backbone that the config names."""
    name = config.backbone.name
    if name == BILSTM_CNN:
        return Described(2 * config.bilstm.hidden, None, False, None)
    architecture = load_architecture(name)
    return Described(architecture.hidden_size, max_positions(architecture), True, load_tokenizer(name))


def fresh_copy(encoder: Any) -> Any:
    """An encoder to begin with: pre-trained weights as they are; one that has none draws its own."""
    from roster.model.bilstm import BilstmCnn

    found = copy.deepcopy(encoder)
    if isinstance(found, BilstmCnn):
        found.reset_parameters()
    return found


def empty_encoder(folder: Path) -> tuple[Any, Any]:
    """The encoder of a model folder, its weights still to be filled, and its tokenizer or vocabulary."""
    if not is_word_level(folder):
        return encoder_from_config(folder), load_tokenizer(str(folder))
    from roster.model.bilstm import BilstmCnn, BilstmConfig

    sizes, words = BilstmConfig.load(folder), Words.load(folder)
    found = (len(words.learned), len(words.fixed), len(words.characters))
    if found != (sizes.learned, sizes.fixed, sizes.characters):
        raise ModelError(f"{folder}: the vocabulary does not fit the model's own description")
    return BilstmCnn(sizes), words


def load_word_encoder(folder: Path, max_length: int, specials: Specials | None) -> AnyWordEncoder:
    """What makes a model's inputs; without transformers where the folder has all that is needed."""
    if specials is not None:
        return WordEncoder(bare_tokenizer(folder), max_length, specials=specials)
    if is_word_level(folder):
        return WholeWords(Words.load(folder), max_length)
    return WordEncoder(load_tokenizer(str(folder)), max_length)
