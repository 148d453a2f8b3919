"""Words to sub-words, whatever the tokenizer's way of marking word starts.

The words are joined by single spaces and tokenised as text; a sub-word belongs to the word that its
last character lies in. So no marker (RoBERTa's Ġ, WordPiece's ##, SentencePiece's ▁) is looked at.
A word that leaves no sub-word behind (control or zero-width characters alone) gets the unknown
token, so that no word is ever lost.

A sentence longer than the model can take is cut into overlapping windows. Every word is classified
in exactly one of them: the one in which it stands farthest from a cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from roster.errors import ModelError

CHUNK = 2048


@dataclass(frozen=True)
class Encoded:
    """Windows of sub-words over a list of sentences, as flat arrays (no padding).

    Window `i` has the ids `ids[starts[i]:starts[i + 1]]`, special tokens included. The words it
    classifies are `words[word_starts[i]:word_starts[i + 1]]` (numbers in corpus order), whose first
    sub-words stand at `positions[...]` (within the window).
    """

    ids: np.ndarray
    starts: np.ndarray
    positions: np.ndarray
    words: np.ndarray
    word_starts: np.ndarray
    n_words: int

    @property
    def n_windows(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)


class WordEncoder:
    """Encodes sentences of words into windows for one tokenizer."""

    def __init__(self, tokenizer: Any, max_length: int, max_positions: int | None = None):
        self.limit = limit = min(max_length, max_positions or max_length)
        probe = tokenizer("a", return_special_tokens_mask=True)
        inner = [i for i, special in enumerate(probe["special_tokens_mask"]) if not special]
        self.prefix, self.suffix = probe["input_ids"][: inner[0]], probe["input_ids"][inner[-1] + 1 :]
        special = len(self.prefix) + len(self.suffix)
        self.room = limit - special
        if self.room < 4:
            raise ModelError(
                f"a maximum length of {limit} leaves no room for words; use at least {special + 4}"
            )
        self.tokenizer = tokenizer
        unknown = tokenizer.unk_token_id
        self.unknown: int = unknown if unknown is not None else tokenizer.mask_token_id or 0
        self.special = np.asarray(tokenizer.all_special_ids, np.int64)

    def subwords(self, sentences: Sequence[Sequence[str]]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each sentence: the ids of its sub-words, and for each the number of its word."""
        for at in range(0, len(sentences), CHUNK):
            chunk = sentences[at : at + CHUNK]
            # The space before the first word too: a byte-level tokenizer would cut a word at the very
            # start of a text into other pieces than it does anywhere else.
            texts = [" " + " ".join(words) if words else "" for words in chunk]
            # A text that spells a special token (`[SEP]`, `<mask>`) does not mean it. SentencePiece finds it
            # in its vocabulary all the same; `_align` makes it unknown.
            encoded = self.tokenizer(
                texts, add_special_tokens=False, split_special_tokens=True, return_attention_mask=False,
                return_offsets_mapping=True, verbose=False,
            )  # fmt: skip
            for words, ids, spans in zip(chunk, encoded["input_ids"], encoded["offset_mapping"], strict=True):
                yield self._align(words, ids, spans)

    def _align(self, words: Sequence[str], ids: list[int], spans: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        widths = np.fromiter(map(len, words), np.int64, len(words)) + 1
        # The word of every character of the text; the space before a word is nobody's.
        of_char = np.repeat(np.arange(len(words)), widths)
        of_char[np.cumsum(widths) - widths] = -1
        flat_ids, last = np.asarray(ids, np.int64), np.asarray(spans, np.int64).reshape(-1, 2)
        flat_ids = np.where(np.isin(flat_ids, self.special), self.unknown, flat_ids)
        wide = last[:, 1] > last[:, 0]
        flat_ids, owner = flat_ids[wide], of_char[last[wide, 1] - 1]
        flat_ids, owner = flat_ids[owner >= 0], np.maximum.accumulate(owner[owner >= 0])
        found = np.zeros(len(words), bool)
        found[owner] = True
        lost = np.flatnonzero(~found)
        if len(lost):
            owner = np.concatenate([owner, lost])
            flat_ids = np.concatenate([flat_ids, np.full(len(lost), self.unknown)])
            order = np.argsort(owner, kind="stable")
            owner, flat_ids = owner[order], flat_ids[order]
        return flat_ids, owner

    def encode(self, sentences: Sequence[Sequence[str]]) -> Encoded:
        """All windows of all sentences. A sentence without words has none."""
        ids: list[np.ndarray] = []
        positions: list[np.ndarray] = []
        words: list[np.ndarray] = []
        prefix, suffix = np.asarray(self.prefix, np.int64), np.asarray(self.suffix, np.int64)
        n_words = 0
        for sentence, (flat, owner) in zip(sentences, self.subwords(sentences), strict=True):
            firsts = np.flatnonzero(np.diff(owner, prepend=-1)) if len(owner) else owner
            for start, stop, first_word, last_word in windows(firsts, len(flat), self.room):
                ids.append(np.concatenate([prefix, flat[start:stop], suffix]))
                positions.append(firsts[first_word:last_word] - start + len(prefix))
                words.append(np.arange(n_words + first_word, n_words + last_word))
            n_words += len(sentence)
        return Encoded(
            ids=_concatenate(ids, np.int32),
            starts=_starts(ids),
            positions=_concatenate(positions, np.int32),
            words=_concatenate(words, np.int64),
            word_starts=_starts(positions),
            n_words=n_words,
        )


def windows(firsts: np.ndarray, length: int, room: int) -> list[tuple[int, int, int, int]]:
    """Cuts a sentence of `length` sub-words, whose words begin at `firsts`, into windows of `room`.

    Gives (first sub-word, end, first word, end) of each; neighbouring windows overlap by half, and
    each word whose first sub-word lies in both goes to the one whose border is farther from it.

    >>> windows(np.array([0, 1, 2, 3]), 4, 8)
    [(0, 4, 0, 4)]
    >>> windows(np.arange(10), 10, 4)
    [(0, 4, 0, 3), (2, 6, 3, 5), (4, 8, 5, 7), (6, 10, 7, 10)]
    """
    if length == 0:
        return []
    if length <= room:
        return [(0, length, 0, len(firsts))]
    stride = max(1, room // 2)
    begins = [*range(0, length - room, stride), length - room]
    # The border between two windows' words is the middle of what they share.
    middles = [(b + a + room) // 2 for a, b in pairwise(begins)]
    cuts = [0, *np.searchsorted(firsts, middles).tolist(), len(firsts)]
    found = zip(begins, cuts, cuts[1:], strict=False)
    return [(b, b + room, first, last) for b, first, last in found if first < last]


def _concatenate(parts: list[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)


def _starts(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)]).astype(np.int64)
