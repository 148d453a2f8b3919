"""Batches of entries, the result of every reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

GATHERED = 1 << 16
MOST_KEPT = 1 << 16


@dataclass(frozen=True, slots=True)
class EntryBatch:
    """Entries of a dictionary, one at each position of the three sequences.

    `surfaces` are the names, stripped of white space; `kinds` the types as written, empty for a phrase
    without a type; `lines` the line numbers, a range if no line was left out.
    """

    surfaces: list[str]
    kinds: list[str]
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.surfaces)

    def pieces(self, size: int) -> Iterator[EntryBatch]:
        """The same entries, at most `size` in a batch."""
        if len(self) <= size:
            yield self
            return
        for at in range(0, len(self), size):
            end = at + size
            yield EntryBatch(self.surfaces[at:end], self.kinds[at:end], self.lines[at:end])


def gather(entries: Iterable[tuple[int, str, str]]) -> Iterator[EntryBatch]:
    """Batches of (line, surface, type) that come one at a time."""
    entries = iter(entries)
    while chunk := list(islice(entries, GATHERED)):
        lines, surfaces, kinds = map(list, zip(*chunk, strict=True))
        every = range(lines[0], lines[0] + len(lines))
        yield EntryBatch(surfaces, kinds, every if lines == list(every) else lines)


def problem(surface: str, kinds: Sequence[str]) -> str | None:
    """The error message for an entry, or None; for stripped strings."""
    if not surface:
        return "the name is empty"
    if not kinds or not all(kinds):
        return f"the type of {surface[:80]!r} is empty"
    return None


class Kinds(dict[str, str]):
    """Maps a type as written, with white space, to one shared string for each type.

    A million entries of a few types then need a few strings, not a million.

    >>> kinds = Kinds()
    >>> kinds[" LOC"] is kinds["LOC "]
    True
    """

    def __missing__(self, written: str) -> str:
        trimmed = written.strip()
        kind = trimmed if trimmed == written else self[trimmed]
        # A column of identifiers, with a different value on each line, must not fill the memory.
        if len(self) >= MOST_KEPT:
            self.clear()
        self[written] = kind
        return kind
