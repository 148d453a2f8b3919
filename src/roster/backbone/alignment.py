"""Words to sub-words, whatever the tokenizer's way of marking word starts.

The words are joined by single spaces and tokenised as text; a sub-word belongs to the word that its
last character lies in. So no marker (RoBERTa's Ġ, WordPiece's ##, SentencePiece's ▁) is looked at.
A word that leaves no sub-word behind (control or zero-width characters alone) gets the unknown
token, so that no word is ever lost.

A sentence longer than the model can take is cut into overlapping windows. Every word is classified
in exactly one of them: the one in which it stands farthest from a cut. In prediction a list of words that
is several sentences is cut between them first (`borders`): most of it is then read once, not twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from roster.errors import ModelError

CHUNK = 2048
Borders = Callable[[int], Sequence[int]]
"""From the number of a list of words to the words in it that begin a new sentence, without the first."""


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


@dataclass(frozen=True)
class Specials:
    """The numbers of a tokenizer's special tokens, which cannot be read from its `tokenizer.json` alone.

    Every window begins with `prefix` and ends with `suffix`; `numbers` are all special tokens.
    """

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    pad: int
    unknown: int
    numbers: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Any) -> Specials:
        """Those of a transformers tokenizer."""
        probe = tokenizer("a", return_special_tokens_mask=True)
        inner = [i for i, special in enumerate(probe["special_tokens_mask"]) if not special]
        ids, unknown = probe["input_ids"], tokenizer.unk_token_id
        return cls(
            prefix=tuple(ids[: inner[0]]),
            suffix=tuple(ids[inner[-1] + 1 :]),
            pad=tokenizer.pad_token_id or 0,
            unknown=unknown if unknown is not None else tokenizer.mask_token_id or 0,
            numbers=tuple(tokenizer.all_special_ids),
        )


class WordEncoder:
    """Encodes sentences of words into windows for one tokenizer.

    It is a transformers tokenizer, or, with its `specials`, a bare one of the tokenizers library.
    """

    def __init__(
        self,
        tokenizer: Any,
        max_length: int,
        max_positions: int | None = None,
        specials: Specials | None = None,
    ):
        self.tokenizer = tokenizer
        self.specials = Specials.of(tokenizer) if specials is None else specials
        self._backend = tokenizer.backend_tokenizer if specials is None else tokenizer
        self.limit = limit = min(max_length, max_positions or max_length)
        special = len(self.specials.prefix) + len(self.specials.suffix)
        self.room = limit - special
        if self.room < 4:
            raise ModelError(
                f"a maximum length of {limit} leaves no room for words; use at least {special + 4}"
            )

    @property
    def vocabulary_size(self) -> int:
        return int(self._backend.get_vocab_size())

    @property
    def prefix(self) -> tuple[int, ...]:
        return self.specials.prefix

    @property
    def suffix(self) -> tuple[int, ...]:
        return self.specials.suffix

    def subwords(self, sentences: Sequence[Sequence[str]]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each sentence: the ids of its sub-words, and for each the number of its word."""
        for chunk, ids, owner in self._chunks(sentences):
            starts = _running([len(words) for words in chunk])
            cuts = np.searchsorted(owner, starts).tolist()
            for (a, b), first in zip(pairwise(cuts), starts.tolist(), strict=False):
                yield ids[a:b], owner[a:b] - first

    def encode(self, sentences: Sequence[Sequence[str]], borders: Borders | None = None) -> Encoded:
        """All windows of all sentences. A sentence without words has none.

        `borders` is asked for the sentences that are longer than a window; no window goes over one of them.
        """
        parts, at = [], 0
        for chunk, ids, owner in self._chunks(sentences):
            parts.append(self._windows(chunk, ids, owner, at, borders))
            at += len(chunk)
        n_words = sum(part.n_words for part in parts)
        return Encoded(
            ids=_concatenate([part.ids for part in parts], np.int32),
            starts=_running(_concatenate([part.lengths for part in parts], np.int64)),
            positions=_concatenate([part.positions for part in parts], np.int32),
            words=np.arange(n_words),
            word_starts=_running(_concatenate([np.diff(part.word_starts) for part in parts], np.int64)),
            n_words=n_words,
        )

    def _chunks(
        self, sentences: Sequence[Sequence[str]]
    ) -> Iterator[tuple[Sequence[Sequence[str]], np.ndarray, np.ndarray]]:
        """Thousands of sentences at a time: ids of their sub-words, and the word of each, counted on."""
        backend = self._backend
        # A text that spells a special token (`[SEP]`, `<mask>`) does not mean it. SentencePiece finds it
        # in its vocabulary all the same; it becomes the unknown token.
        # Nothing is set twice: other threads may be using the tokenizer.
        if not backend.encode_special_tokens:
            backend.encode_special_tokens = True
        if backend.truncation is not None:
            backend.no_truncation()
        if backend.padding is not None:
            backend.no_padding()
        for at in range(0, len(sentences), CHUNK):
            chunk = sentences[at : at + CHUNK]
            # The space before the first word too: a byte-level tokenizer would cut a word at the very
            # start of a text into other pieces than it does anywhere else.
            texts = [" " + " ".join(words) if words else "" for words in chunk]
            found = backend.encode_batch(texts, add_special_tokens=False)
            counts = np.fromiter(map(len, found), np.int64, len(found))
            n = int(counts.sum())
            ids = np.fromiter(chain.from_iterable(one.ids for one in found), np.int64, n)
            flat = chain.from_iterable(chain.from_iterable(one.offsets for one in found))
            spans = np.fromiter(flat, np.int64, 2 * n).reshape(-1, 2)
            begins = _running([len(text) for text in texts])[:-1]
            widths = np.fromiter((len(word) + 1 for words in chunk for word in words), np.int64)
            ids[np.isin(ids, self.specials.numbers)] = self.specials.unknown
            yield (
                chunk,
                *align(widths, ids, spans + np.repeat(begins, counts)[:, None], self.specials.unknown),
            )

    def _windows(
        self,
        sentences: Sequence[Sequence[str]],
        ids: np.ndarray,
        owner: np.ndarray,
        at: int,
        borders: Borders | None,
    ) -> Encoded:
        firsts = np.flatnonzero(np.diff(owner, prepend=-1))  # every word has a first sub-word
        word_starts = _running([len(words) for words in sentences])
        word_begins = np.append(firsts, len(ids))
        begins = word_begins[word_starts]
        lengths = np.diff(begins)
        table = np.stack([begins[:-1], begins[1:], word_starts[:-1], word_starts[1:]], 1)
        rows = [table[(lengths > 0) & (lengths <= self.room)]]
        for i in np.flatnonzero(lengths > self.room).tolist():
            inner = borders(at + i) if borders else ()
            for first, last in pairwise(word_starts[i] + np.array([0, *inner, len(sentences[i])])):
                begin, end = word_begins[first], word_begins[last]
                cut = windows(firsts[first:last] - begin, int(end - begin), self.room)
                rows.append(np.array(cut) + np.array([begin, begin, first, first]))
        table = np.concatenate(rows)
        table = table[np.argsort(table[:, 2], kind="stable")]  # by their words, as the sentences stand
        start, stop, first, last = table.T
        return Encoded(
            ids=_between(self.specials.prefix, ids, start, stop, self.specials.suffix),
            starts=_running(stop - start + self.limit - self.room),
            positions=firsts - np.repeat(start, last - first) + len(self.specials.prefix),
            words=np.arange(len(firsts)),
            word_starts=_running(last - first),
            n_words=len(firsts),
        )


def align(
    widths: np.ndarray, ids: np.ndarray, spans: np.ndarray, unknown: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sub-words to words: the ids that belong to a word, in the order of the words, and the word of each.

    The text is the words, each after a space; `widths` are their lengths with it. `spans` are the
    characters of each sub-word. One that moves back (a normaliser may move characters) goes to the word
    of the one before it; a word without any gets `unknown`.

    >>> align(np.array([3, 2, 4]), np.array([7, 8, 9]), np.array([[0, 2], [2, 3], [5, 9]]), 0)
    (array([7, 8, 0, 9]), array([0, 0, 1, 2]))
    """
    # The word of every character; the space before a word is nobody's.
    of_char = np.repeat(np.arange(len(widths)), widths)
    of_char[np.cumsum(widths) - widths] = -1
    wide = spans[:, 1] > spans[:, 0]
    ids, owner = ids[wide], of_char[spans[wide, 1] - 1]
    ids, owner = ids[owner >= 0], np.maximum.accumulate(owner[owner >= 0])
    found = np.zeros(len(widths), bool)
    found[owner] = True
    if len(lost := np.flatnonzero(~found)):
        owner = np.concatenate([owner, lost])
        ids = np.concatenate([ids, np.full(len(lost), unknown)])
        order = np.argsort(owner, kind="stable")
        owner, ids = owner[order], ids[order]
    return ids, owner


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


def _between(
    prefix: Sequence[int], ids: np.ndarray, start: np.ndarray, stop: np.ndarray, suffix: Sequence[int]
) -> np.ndarray:
    """The pieces `ids[start:stop]` one after the other, each between `prefix` and `suffix`."""
    lengths = stop - start
    before = np.cumsum(lengths) - lengths
    begins = before + np.arange(len(lengths)) * (len(prefix) + len(suffix))
    ends = begins + len(prefix) + lengths
    found = np.empty(int(lengths.sum()) + len(lengths) * (len(prefix) + len(suffix)), np.int32)
    steps = np.arange(int(lengths.sum()))
    found[steps + np.repeat(begins + len(prefix) - before, lengths)] = ids[
        steps + np.repeat(start - before, lengths)
    ]
    for i, number in enumerate(prefix):
        found[begins + i] = number
    for i, number in enumerate(suffix):
        found[ends + i] = number
    return found


def _concatenate(parts: list[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)


def _running(lengths: Any) -> np.ndarray:
    """0, and the sums up to each length: where pieces of these lengths begin, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
