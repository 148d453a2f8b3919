"""Runs of capitalised words, and names that are only a part of one."""

from __future__ import annotations

from collections.abc import Sequence

from roster.distant.matching.candidates import rule_candidates


class CapitalRuns:
    """The runs of capitalised words of a sentence, and whether a match is only a part of one."""

    def __init__(self, words: Sequence[str]):
        self._words = words
        self._run = [-1] * (len(words) + 1)  # the last one is before and after the sentence
        for number, (start, end) in enumerate(rule_candidates(words)):
            self._run[start:end] = [number] * (end - start)
        self._parts: frozenset[tuple[int, int]] | None = None

    def is_cut(self, start: int, end: int) -> bool:
        """Whether the run continues before or after, and the match is no name within it (at a title)."""
        run = self._run
        before = run[start] >= 0 and run[start] == run[start - 1]
        after = run[end - 1] >= 0 and run[end - 1] == run[end]
        if not before and not after:
            return False
        if self._parts is None:
            self._parts = frozenset(rule_candidates(self._words, nested=True))
        return (start, end) not in self._parts
