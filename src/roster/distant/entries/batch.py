"""Entries in batches: what every reader makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

GATHERED = 1 << 16
MOST_KEPT = 1 << 16


@dataclass(frozen=True, slots=True)
class EntryBatch:
    """Entries of a dictionary, one at each position of the three sequences.

    `surfaces` are the names as written, without the white space around them; `kinds` the types as written,
    empty for a phrase without a type; `lines` the numbers of their lines, a range where nothing was left out.
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
    """What is wrong with an entry, if something is; for trimmed strings."""
    if not surface:
        return "the name is empty"
    if not kinds or not all(kinds):
        return f"the type of {surface[:80]!r} is empty"
    return None


class Kinds(dict[str, str]):
    """From a type with the white space around it to the one string that stands for it.

    A million entries of a few types then hold a few strings, not a million.

    >>> kinds = Kinds()
    >>> kinds[" LOC"] is kinds["LOC "]
    True
    """

    def __missing__(self, written: str) -> str:
        trimmed = written.strip()
        kind = trimmed if trimmed == written else self[trimmed]
        # A column that is no set of types (an identifier for each line) must not pile up here.
        if len(self) >= MOST_KEPT:
            self.clear()
        self[written] = kind
        return kind
