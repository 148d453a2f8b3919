"""How many changes of a patch are right by gold labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from roster.corpus.sentence import Sentence, Span
from roster.distant.entries.patch import ACTIONS, Change, plain


def judged(changes: Sequence[Change], gold: Sequence[Sentence]) -> dict[str, Any]:
    """Return how many changes there are, how many have a name that gold sentences contain, and how many of
    those are right, all together and by action.

    An added name is right if at least half of its occurrences are names of its type, a removed one if fewer
    are; a retyped one if the new type is more frequent than the old one, and a denied one if fewer than half
    of its occurrences are names. Parts of longer names are occurrences, but no names. Of a name that never
    occurs in its own case those in another one count, as an entry `japan` labels `Japan` too.

    >>> text = [Sentence.from_words(["May", "met", "Ada"], [Span(2, 3, "PER")])]
    >>> found = judged([Change("add", "Ada", "PER"), Change("add", "Bo", "PER"), Change("deny", "May")], text)
    >>> found["changes"], found["known"], found["right"]
    (3, 2, 2)
    """
    counts = _counts({plain(change.name) for change in changes}, gold)
    every = Counter(change.action for change in changes)
    told, right = Counter[str](), Counter[str]()
    for change in changes:
        if (found := counts[plain(change.name)]).occurrences:
            told[change.action] += 1
            right[change.action] += _right(change, found.occurrences, found.types)
    actions = {
        action: {"changes": every[action], "known": told[action], "right": right[action]}
        for action in ACTIONS
        if every[action]
    }
    return {"changes": len(changes), "known": told.total(), "right": right.total(), "actions": actions}


def _right(change: Change, occurrences: int, types: Counter[str]) -> bool:
    match change.action:
        case "add":
            return 2 * types[change.type] >= occurrences
        case "retype":
            return types[change.new_type] > types[change.type]
        case "remove" if change.type:
            return 2 * types[change.type] < occurrences
    return 2 * types.total() < occurrences


@dataclass
class _Count:
    """How often a name occurs in a text, and how often as a name of each type."""

    occurrences: int = 0
    types: Counter[str] = field(default_factory=Counter)

    def add(self, label: str | None) -> None:
        self.occurrences += 1
        if label is not None:
            self.types[label] += 1


def _counts(names: set[str], gold: Iterable[Sentence]) -> dict[str, _Count]:
    """The counts of each name as it is written; in any case where it never occurs so."""
    folded = {name.casefold() for name in names}
    beginnings = {name[:end] for name in folded for end in range(1, len(name) + 1)}
    exact: defaultdict[str, _Count] = defaultdict(_Count)
    in_any_case: defaultdict[str, _Count] = defaultdict(_Count)
    for sentence in gold:
        true = {(span.start, span.end): span.label for span in sentence.spans or ()}
        for start, end, text in _stretches(sentence, beginnings):
            exact[text].add(true.get((start, end)))
            in_any_case[text.casefold()].add(true.get((start, end)))
    return {name: exact[name] if name in exact else in_any_case[name.casefold()] for name in names}


def _stretches(sentence: Sentence, beginnings: set[str]) -> Iterator[tuple[int, int, str]]:
    """Words whose text begins a name, in any case: first, word after the last, text."""
    for start in range(len(sentence)):
        for end in range(start + 1, len(sentence) + 1):
            text = plain(sentence.span_text(Span(start, end, "")))
            if text.casefold() not in beginnings:
                break
            yield start, end, text
