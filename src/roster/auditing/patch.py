"""The repaired dictionary: changes that a person can read and edit, and `roster label --patch` takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from roster.auditing.changes import Row, changes_of, is_default
from roster.distant.entries.patch import Change, contradict, patch_line, plain

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
class Proposal:
    """A change, how sure it is, and what speaks for it."""

    change: Change
    confidence: float
    why: str
    contradicted: bool = False
    """Whether a surer change contradicts it."""

    @property
    def applied(self) -> bool:
        return self.confidence >= SURE and not self.contradicted

    def line(self) -> str:
        return f"{'' if self.applied else '# '}{patch_line(self.change, [self.why])}"


def proposals(rows: Iterable[Row]) -> list[Proposal]:
    """What the rows of an audit would change in the dictionaries, the surest first, each once."""
    found = [
        Proposal(change, row["confidence"], _why(row))
        for row in rows
        if is_default(row)
        for change in changes_of(row)
    ]
    found.sort(key=lambda one: (-one.confidence, str(one.change)))
    by_name: dict[str, list[Change]] = {}
    listed = []
    for one in found:
        surer = by_name.setdefault(plain(patch_line(one.change).split("\t")[1]), [])
        if one.change in surer:
            continue
        contradicted = any(contradict(one.change, other) for other in surer)
        listed.append(Proposal(one.change, one.confidence, one.why, contradicted))
        if not contradicted:
            surer.append(one.change)
    return listed


def patch(found: Iterable[Proposal]) -> Iterator[str]:
    """The lines of the file."""
    yield HEAD
    yield from (f"{one.line()}\n" for one in found if one.confidence >= UNSURE)


def _why(row: Row) -> str:
    if row["kind"] == "name":
        return f"found {row['count']} times" if row["count"] > 1 else "found once"
    told = f"{row['wrong']:.0f} of {row['labels']} labels believed wrong"
    return f"{told}, mostly part of {row['longer']}" if row.get("longer") else told
