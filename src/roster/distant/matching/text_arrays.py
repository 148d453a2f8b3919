"""Sentences as flat arrays of subtokens, and where their capitals are informative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from roster.distant.matching.word_table import BREAK, WordTable
from roster.distant.subtokens import HAS_CAPITAL, HAS_CASE, Array, flat_ranges

HEADLINE = 0.25
"""A sentence with a smaller share of its cased words in lower case is a headline, where a capital is no
evidence of a name."""
MAX_CHUNK = 1 << 20
"""Words that are read at once, so that a match fits in 64 bits."""


@dataclass(frozen=True, slots=True)
class TextArrays:
    """Sentences as subtokens: flat arrays, one row for each subtoken."""

    number: Array
    shape: Array
    case: Array
    letters: Array
    before: Array
    after: Array
    word: Array  # counted over all sentences, breaks included
    sentence: Array
    sentence_first: Array  # the first word of each sentence
    informative: Array  # whether a capital is evidence of a name here
    small: Array  # whether the whole sentence has no capital


def to_arrays(table: WordTable, sentences: Sequence[Sequence[str]]) -> TextArrays:
    """The arrays of some sentences of at most `MAX_CHUNK` words; `table` keeps each distinct word.

    Raises:
        ValueError: there are more words.
    """
    words: list[str] = []
    for row in sentences:
        words.extend(row)
        words.append(BREAK)
    if len(words) > MAX_CHUNK:
        raise ValueError(f"at most {MAX_CHUNK} words at once, not {len(words)}")
    numbers = table.numbers(words)
    count = table.count.values[numbers]
    ends = np.cumsum(count)
    size = int(ends[-1]) if len(ends) else 0
    if size == len(numbers) and (count == 1).all():
        index, word = table.first.values[numbers], np.arange(size)
    else:
        word = np.repeat(np.arange(len(numbers)), count)
        index, _ = flat_ranges(table.first.values[numbers], count)
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences)) + 1
    sentence = np.repeat(np.arange(len(sentences)), lengths)[word]
    case = table.case.values[index]
    informative, small = _capitals(case, sentence, len(sentences))
    return TextArrays(
        number=table.number.values[index],
        shape=table.shape.values[index],
        case=case,
        letters=table.letters.values[index],
        before=table.before.values[index],
        after=table.after.values[index],
        word=word,
        sentence=sentence,
        sentence_first=np.cumsum(lengths) - lengths,
        informative=informative,
        small=small,
    )


def _capitals(case: Array, sentence: Array, sentences: int) -> tuple[Array, Array]:
    """Where a capital is informative, and which sentences have none.

    It is not in the first cased word of a sentence, nor anywhere in a headline.
    """
    cased = (case & HAS_CASE) > 0
    lower = cased & ((case & HAS_CAPITAL) == 0)
    total = np.bincount(sentence[cased], minlength=sentences)
    without = np.bincount(sentence[lower], minlength=sentences)
    headline = without < HEADLINE * total
    at = np.flatnonzero(cased)
    informative = ~headline[sentence]
    first = np.ones(len(at), bool)
    first[1:] = sentence[at[1:]] != sentence[at[:-1]]
    informative[at[first]] = False
    return informative, (without == total)[sentence]
