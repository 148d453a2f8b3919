"""Words that get no label from any source: the `deny` lines of a patch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from roster.distant.matching.mention import Mention
from roster.distant.subtokens import APOSTROPHES, EDGES, TEXT_EDGES, to_subtokens

MAX_KNOWN = 1 << 16

Words = Sequence[Sequence[str]]


class Denied:
    """Finds the mentions whose words are a denied name.

    Words are compared as names are, but with the same capitals: by subtokens, and without punctuation at the
    edges or a possessive ending, which a match passes over too.

    >>> denied = Denied(["Swiss", "New York"])
    >>> [denied.number(text) for text in ("Swiss", "(Swiss)", "Swiss's", "SWISS", "New  York", "NewYork")]
    [0, 0, 0, None, 1, None]
    """

    def __init__(self, names: Sequence[str]):
        self._names = {
            name: number for number, name in reversed(list(enumerate(_as_written(map(_trimmed, names)))))
        }
        self._known: dict[str, int | None] = {}

    def number(self, text: str) -> int | None:
        """Which of the names `text` is, if any."""
        self._look_up([text])
        return self._known[text]

    def remove(
        self, words: Words, mentions: Sequence[list[Mention]]
    ) -> tuple[list[list[Mention]], Counter[int]]:
        """The mentions of some sentences that are not denied, and how many are, by name."""
        texts = [
            [" ".join(row[m.start : m.end]) for m in found]
            for row, found in zip(words, mentions, strict=True)
        ]
        self._look_up([text for row in texts for text in row])
        counts: Counter[int] = Counter()
        kept: list[list[Mention]] = []
        for row, found in zip(texts, mentions, strict=True):
            numbers = [self._known[text] for text in row]
            counts.update(number for number in numbers if number is not None)
            kept.append([m for m, number in zip(found, numbers, strict=True) if number is None])
        return kept, counts

    def _look_up(self, texts: Sequence[str]) -> None:
        """Puts all of `texts` into the table of known ones."""
        if len(self._known) > MAX_KNOWN:
            self._known.clear()
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        forms = [_forms(text) for text in new]
        written = iter(_as_written([form for of_text in forms for form in of_text]))
        for text, of_text in zip(new, forms, strict=True):
            numbers = [self._names.get(next(written)) for _ in of_text]
            self._known[text] = next((number for number in numbers if number is not None), None)


def _forms(text: str) -> list[str]:
    """What a name may be that matches `text`.

    >>> _forms("(Japan's)")
    ["(Japan's)", "Japan's", 'Japan']
    """
    inner = text.strip("".join(TEXT_EDGES)) or text
    forms = [_trimmed(text), inner]
    if inner[-2:-1] in APOSTROPHES and inner[-1:] in "sS":
        forms.append(inner[:-2].rstrip())
    return forms


def _trimmed(name: str) -> str:
    return name.strip().strip("".join(EDGES)) or name


def _as_written(strings: Sequence[str] | map[str]) -> list[bytes]:
    """The subtokens of each string with their capitals: equal where strings differ only in white space."""
    subtokens = to_subtokens(list(strings))
    row = np.stack(
        [subtokens.key, subtokens.check.astype(np.uint64), subtokens.shape.astype(np.uint64)], axis=1
    )
    bounds = subtokens.starts.tolist()
    return [row[first:last].tobytes() for first, last in pairwise(bounds)]
