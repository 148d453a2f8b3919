"""The distinct words of a text as subtokens, each split once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roster.distant.compiling.lexicon import Lexicon
from roster.distant.subtokens import APOSTROPHES, MARK, TEXT_EDGES, Array, to_subtokens

# How far a subtoken is from the border of its word: at it, only punctuation between, a possessive, inside.
AT_BORDER, PAST_PUNCTUATION, PAST_POSSESSIVE, INSIDE = range(4)

BREAK = "\x00"
"""Between sentences; no name contains it."""


class _WordNumbers(dict[str, int]):
    """Numbers of words, a new one for a word that was not seen before."""

    def __init__(self) -> None:
        super().__init__({BREAK: 0})
        self.new: list[str] = [BREAK]

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.new.append(word)
        return number


class _Column:
    """An array that grows at its end."""

    def __init__(self, dtype: type):
        self._array: Array = np.zeros(1024, dtype)
        self.size = 0

    def add(self, values: Array) -> None:
        while self.size + len(values) > len(self._array):
            self._array = np.concatenate([self._array, np.zeros_like(self._array)])
        self._array[self.size : self.size + len(values)] = values
        self.size += len(values)

    @property
    def values(self) -> Array:
        return self._array[: self.size]


class WordTable:
    """The distinct words of the text, as subtokens."""

    def __init__(self, lexicon: Lexicon):
        self.lexicon = lexicon
        self.number_of = _WordNumbers()
        self.first, self.count = _Column(np.int64), _Column(np.int64)
        self.number, self.shape, self.case = _Column(np.int32), _Column(np.uint32), _Column(np.uint8)
        self.letters, self.before, self.after = _Column(np.int32), _Column(np.uint8), _Column(np.uint8)

    def numbers(self, words: Sequence[str]) -> Array:
        numbers = np.fromiter(map(self.number_of.__getitem__, words), np.int64, len(words))
        if self.number_of.new:
            self._add(self.number_of.new)
            self.number_of.new = []
        return numbers

    def _add(self, words: list[str]) -> None:
        subtokens = to_subtokens(words, self.lexicon.form)
        counts = np.diff(subtokens.starts)
        before = np.full(len(subtokens.key), INSIDE, np.uint8)
        after = np.full(len(subtokens.key), INSIDE, np.uint8)
        filled = counts > 0
        before[subtokens.starts[:-1][filled]] = AT_BORDER
        after[subtokens.starts[1:][filled] - 1] = AT_BORDER
        for i in np.flatnonzero(counts > 1).tolist():
            first, last = subtokens.starts[i : i + 2].tolist()
            kinds, chars = subtokens.kind[first:last].tolist(), subtokens.first[first:last].tolist()
            marks = [chr(c) if k == MARK else "" for c, k in zip(chars, kinds, strict=True)]
            for at in range(1, len(marks)):
                if marks[at - 1] not in TEXT_EDGES:
                    break
                before[first + at] = PAST_PUNCTUATION
            at = len(marks) - 1
            while at > 0 and marks[at] in TEXT_EDGES:
                at -= 1
                after[first + at] = PAST_PUNCTUATION
            letter = (
                not marks[at]
                and subtokens.length[first + at] == 1
                and subtokens.first[first + at] == ord("s")
            )
            if at > 1 and letter and marks[at - 1] in APOSTROPHES:
                after[first + at - 2] = PAST_POSSESSIVE
        self.first.add(subtokens.starts[:-1] + self.number.size)
        self.count.add(counts)
        self.number.add(self.lexicon.numbers(subtokens))
        self.shape.add(subtokens.shape)
        self.case.add(subtokens.case)
        self.letters.add(np.where(subtokens.kind == MARK, 0, subtokens.length))
        self.before.add(before)
        self.after.add(after)
