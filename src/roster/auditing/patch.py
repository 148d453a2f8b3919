"""The repaired dictionary: changes that a person can read and edit, and `roster label --patch` takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from roster.auditing.entries import OTHER_TYPE, PART, WRONG, Entry, by_name
from roster.auditing.names import Name

SURE = 0.65
"""Changes with at least this confidence are made, for which a name has to be found twice, or an entry to have
two labels; the others are comments in the file (docs/audit.md)."""
UNSURE = 0.5
"""Changes below this confidence are not in the file."""
HEAD = """\
# Changes of the dictionary that `roster audit` proposes; `roster label --patch` makes them.
# add NAME TYPE, remove NAME TYPE, retype NAME TYPE NEW-TYPE, deny NAME; columns are separated by tabs.
# A line that begins with "# " is not applied: take that away to apply it. The last column is a comment.
"""


@dataclass(frozen=True)
class Change:
    """One line of a patch; `why` is for people."""

    action: str
    fields: tuple[str, ...]
    confidence: float
    why: str

    def line(self) -> str:
        return "\t".join([self.action, *self.fields, self.why])


def changes(entries: Sequence[Entry], names: Iterable[Name]) -> list[Change]:
    """What would repair the dictionary, the surest first."""
    found = [*_of_entries(entries), *_of_names(names)]
    return sorted(found, key=lambda one: (-one.confidence, one.action, one.fields))


def _of_entries(entries: Sequence[Entry]) -> Iterator[Change]:
    for (name, label), same in by_name(entries).items():
        entry = max(same, key=lambda one: one.labels)
        counts = f"{entry.labels - entry.right:.0f} of {entry.labels} labels believed wrong"
        if entry.verdict == OTHER_TYPE:
            yield Change("retype", (name, label, entry.believed[0]), entry.confidence, counts)
        elif entry.verdict == PART:
            longer = f"{counts}, mostly part of {entry.believed[1]}"
            yield Change("remove", (name, label), entry.confidence, longer)
        elif entry.verdict == WRONG:
            yield Change("remove", (name, label), entry.confidence, counts)


def _of_names(names: Iterable[Name]) -> Iterator[Change]:
    for one in names:
        times = f"found {one.count} times" if one.count > 1 else "found once"
        yield Change("add", (one.name, one.label), one.confidence, times)


def patch(found: Iterable[Change]) -> Iterator[str]:
    """The lines of the file. What cannot stand in a line, as a name with a tab, is left out."""
    yield HEAD
    for change in found:
        fields = (change.action, *change.fields)
        if change.confidence < UNSURE or any(set("\t\r\n") & set(x) or not x.strip() for x in fields):
            continue
        applied = "" if change.confidence >= SURE else "# "
        yield f"{applied}{change.line()}\n"
