"""The audit of a run: claims on labels, entries, missing names and types, as data and as files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from roster.auditing import entries as of_entries
from roster.auditing import names as of_names
from roster.auditing.entries import Entry, entries
from roster.auditing.evidence import Evidence
from roster.auditing.labels import JudgedLabels, judge
from roster.auditing.learned import too_little
from roster.auditing.names import Name, missing_names
from roster.auditing.page import write_page
from roster.auditing.patch import Proposal, patch, proposals
from roster.auditing.quality import TypeQuality, quality
from roster.auditing.reviewed import updated
from roster.auditing.trust import share
from roster.corpus.sentence import Sentence
from roster.files import atomic
from roster.model.folder import AUDIT_ROWS

ROWS, PATCH, PAGE = AUDIT_ROWS, "patch.tsv", "audit.html"
"""Names of the files."""


@dataclass(frozen=True)
class Audit:
    """What the members of a run think of its labels. Each part is computed when it is first asked for.

    `reviewed` are training sentences that a person has checked, with their sampling weights: they make the
    estimates by type narrower.
    """

    evidence: Evidence
    reviewed: Sequence[Sentence] = ()

    @cached_property
    def judged(self) -> JudgedLabels:
        return judge(self.evidence)

    @cached_property
    def entries(self) -> list[Entry]:
        """The least trusted first."""
        return entries(self.evidence, self.judged)

    @cached_property
    def names(self) -> list[Name]:
        """Names that no label names, the surest first."""
        return missing_names(self.evidence, self.judged)

    @cached_property
    def types(self) -> list[TypeQuality]:
        found = quality(self.evidence, self.judged)
        return updated(found, self.evidence.sentences, self.reviewed) if self.reviewed else found

    @cached_property
    def proposals(self) -> list[Proposal]:
        """Repairs of the dictionary, the surest first; none where the run has learned too little."""
        return [] if self.reason else proposals([*self._entries(), *self._names()])

    @cached_property
    def reason(self) -> str:
        """Why no change is proposed; empty where changes are."""
        return too_little(self.evidence.learned, self.judged.held_out)

    def rows(self) -> Iterator[dict[str, Any]]:
        """All claims as data, one kind after the other, each in its order."""
        held_back = {"held_back": True} if self.reason else {}
        yield from ({"kind": "type", **one.as_dict()} for one in self.types)
        yield from self._labels()
        yield from ({**row, **held_back} for row in self._entries())
        yield from ({**row, **held_back} for row in self._names())

    def _labels(self) -> Iterator[dict[str, Any]]:
        evidence, judged = self.evidence, self.judged
        trusted = share(judged.trust)
        for number in judged.wrong.tolist():
            start, end = int(judged.spans.start[number]), int(judged.spans.end[number])
            place = evidence.place(start, end)
            left, text, right = evidence.example(start, end)
            believed = judged.believed(number)
            row: dict[str, Any] = {
                "kind": "label",
                "sentence": place[0],
                "start": place[1],
                "end": place[2],
                "left": left,
                "text": text,
                "right": right,
                "given": evidence.types[int(judged.spans.label[number]) - 1],
                "believed": "" if believed is None else evidence.types[believed[2] - 1],
                "confidence": round(1 - float(trusted[number]), 4),
                "members": round(float(judged.certainty[number]), 4),
                "removed": round(float(judged.doubts[number]), 4),
            }
            if believed is not None and believed[:2] != (start, end):
                row["believed_text"] = evidence.name(*believed[:2])
            if judged.out_of_fold[number] == judged.out_of_fold[number]:
                row["held_out"] = round(float(judged.out_of_fold[number]), 4)
            row["sources"] = [one.as_dict() for one in evidence.sources.get(place, ())]
            yield row

    def _entries(self) -> Iterator[dict[str, Any]]:
        for entry in self.entries:
            believed, longer = entry.believed
            yield {
                "kind": "entry",
                **entry.source.as_dict(),
                "label": entry.label,
                "verdict": entry.verdict,
                "believed": believed,
                "longer": longer,
                "labels": entry.labels,
                "right": round(entry.right, 2),
                "wrong": round(entry.labels - entry.right, 2),
                "occurrences": entry.occurrences,
                "confidence": round(entry.confidence, 4),
                "examples": of_entries.examples(self.evidence, self.judged, entry),
            }

    def _names(self) -> Iterator[dict[str, Any]]:
        for name in self.names:
            yield {
                "kind": "name",
                "name": name.name,
                "label": name.label,
                "count": name.count,
                "occurrences": name.occurrences,
                "confidence": round(name.confidence, 4),
                "examples": of_names.examples(self.evidence, name),
            }

    def _repr_html_(self) -> str:
        """The labels of each type and the surest claims, for notebooks."""
        from roster.auditing.summary import as_html

        return as_html(self)

    def save(self, folder: str | Path, facts: Mapping[str, Any] | None = None) -> None:
        """Writes the page with these facts, the claims as JSON lines, and the patch."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with atomic(folder / ROWS) as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows())
        with atomic(folder / PATCH) as file:
            file.writelines(patch(self.proposals, self.reason))
        notes = [f"No changes are proposed: {self.reason}."] if self.reason else []
        facts = facts or {}
        write_page(folder / PAGE, self.rows(), {**facts, "notes": [*facts.get("notes", ()), *notes]})
