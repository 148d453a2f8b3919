"""Surface features of the entries of a vocabulary, for comparing sub-words on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class TokenFeatures:
    """Surface features of the tokens of a vocabulary, each a tensor with one boolean for each token."""

    starts_word: Tensor
    capital: Tensor
    alphanumeric: Tensor
    special: Tensor

    def known(self, logits: Tensor) -> Tensor:
        """Without the entries that no token stands for: many models round their vocabulary up."""
        return logits[:, : len(self.special)]


def token_features(tokenizer: Any, device: torch.device | str = "cpu") -> TokenFeatures:
    """The features of all tokens of a vocabulary, for any convention of marking word starts.

    The convention is found by a trial: a long made-up word is tokenised, and the mark
    is what all its later pieces share (WordPiece: `##`), or what the first pieces of words after a
    space share (byte-level BPE, SentencePiece).
    """
    size = len(tokenizer)
    tokens = tokenizer.convert_ids_to_tokens(list(range(size)))
    opening, inner = word_marks(tokenizer)
    special = set(tokenizer.all_special_ids)
    starts, capital, alphanumeric = [], [], []
    for i, token in enumerate(tokens):
        token = token or ""
        begins = token.startswith(opening) if opening else not token.startswith(inner) if inner else True
        bare = token[len(opening) :] if opening and begins else token
        bare = bare[len(inner) :] if inner and not begins else bare
        if not bare.isascii():  # byte-level entries spell the bytes of é as Ã©
            bare = tokenizer.convert_tokens_to_string([bare])
        starts.append(begins and i not in special)
        capital.append(bare[:1].isupper())
        alphanumeric.append(bare.isalnum())
    return TokenFeatures(
        torch.tensor(starts, device=device),
        torch.tensor(capital, device=device),
        torch.tensor(alphanumeric, device=device),
        torch.tensor([i in special for i in range(size)], device=device),
    )


def word_marks(tokenizer: Any) -> tuple[str, str]:
    """(mark of a word's first piece, mark of its later pieces); one of them is empty."""
    word = "qzxjvwkqzxjvwk"
    encoded = tokenizer(f"{word} {word}", add_special_tokens=False, return_offsets_mapping=True)
    pieces = tokenizer.convert_ids_to_tokens(encoded["input_ids"])
    middle = len(word) + 1
    # With the space before it, which may be a piece of its own.
    second = [p for p, (_, end) in zip(pieces, encoded["offset_mapping"], strict=True) if end >= middle]
    later = second[1:]
    if later and all(p.startswith("##") for p in later):
        return "", "##"
    first = second[0] if second else ""
    mark = (
        first[: len(first) - len(first.lstrip("".join({c for c in first if not c.isascii()})))]
        if first
        else ""
    )
    return mark, ""
