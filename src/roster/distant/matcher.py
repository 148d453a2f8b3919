"""Distant labels by exact longest match of dictionary names on the corpus's own words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from roster.corpus.sentence import Sentence, Span


class Matcher:
    """From left to right, at each word the longest name that starts there; a name with several types
    takes the first in alphabetical order.

    >>> m = Matcher({("Swiss", "Bank"): ("ORG",), ("Swiss",): ("MISC",)})
    >>> m.spans(("Swiss", "Bank", "and", "Swiss", "cheese"))
    (Span(start=0, end=2, label='ORG'), Span(start=3, end=4, label='MISC'))
    """

    def __init__(self, names: Mapping[tuple[str, ...], tuple[str, ...]]):
        self._types = {words: types[0] for words, types in names.items()}
        lengths: dict[str, set[int]] = {}
        for words in names:
            lengths.setdefault(words[0], set()).add(len(words))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def spans(self, words: tuple[str, ...]) -> tuple[Span, ...]:
        found, at = [], 0
        while at < len(words):
            for length in self._lengths.get(words[at], ()):
                label = self._types.get(words[at : at + length])
                if label is not None and at + length <= len(words):
                    found.append(Span(at, at + length, label))
                    at += length
                    break
            else:
                at += 1
        return tuple(found)

    def label(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences with the labels that the dictionary gives them; labels they had are replaced."""
        for sentence in sentences:
            yield sentence.with_spans(self.spans(sentence.words))
