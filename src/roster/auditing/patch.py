"""The repaired dictionary: changes that a person can read and edit, and `roster label --patch` takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from roster.auditing.changes import Row, changes_of, is_default, is_proposed
from roster.distant.entries.patch import Change, contradict, patch_line, plain

SURE = 0.8
"""Changes with at least this confidence are made, for which all members must agree at two occurrences; the
others are comments in the file (docs/audit.md). Chosen by leaving out one text of four: .80, once .70."""
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
    default: bool = True
    """Whether changes of this kind are made without a person."""

    @property
    def applied(self) -> bool:
        return self.default and self.confidence >= SURE and not self.contradicted

    def line(self) -> str:
        return f"{'' if self.applied else '# '}{patch_line(self.change, [self.why])}"


def proposals(rows: Iterable[Row]) -> list[Proposal]:
    """What the rows of an audit would change in the dictionaries, the surest first, each once."""
    found = [
        Proposal(change, row["confidence"], _why(row), default=is_default(row))
        for row in rows
        if is_proposed(row)
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
        listed.append(replace(one, contradicted=contradicted))
        if not contradicted:
            surer.append(one.change)
    return listed


def patch(found: Iterable[Proposal], reason: str = "") -> Iterator[str]:
    """The lines of the file; `reason` says why there is no change."""
    yield HEAD
    if reason:
        yield f"# No changes: {reason}.\n"
    yield from (f"{one.line()}\n" for one in found if one.confidence >= UNSURE)


def _why(row: Row) -> str:
    if row["kind"] == "name":
        words = row.get("occurrences", row["count"])
        if words > row["count"]:
            return f"found {row['count']} of {words} times"
        return f"found {row['count']} times" if row["count"] > 1 else "found once"
    told = f"{row['wrong']:.0f} of {row['labels']} labels believed wrong"
    return f"{told}, mostly part of {row['longer']}" if row.get("longer") else told
