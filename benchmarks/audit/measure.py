"""The claims of one audit beside gold labels, as records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audit.source import Source
from benchmarks.repair.patches import judged
from benchmarks.repair.source import labelled_as, true_sentences
from benchmarks.report import Report
from roster.auditing.audit import Audit
from roster.auditing.evidence import read_run
from roster.auditing.measure import FIRST, AgainstGold
from roster.auditing.patch import UNSURE, Proposal
from roster.auditing.summary import table
from roster.corpus.io import read
from roster.corpus.sentence import Sentence

FEW = 20
"""Types with fewer known labels are left out of mean errors."""


def against_gold(source: Source) -> AgainstGold:
    """Return the audit of a run beside its gold labels."""
    gold = [sentence for path in source.gold for sentence in true_sentences(Path(path))]
    return AgainstGold(Audit(read_run(source.run, source.data)), gold)


def records(source: Source, found: AgainstGold) -> Iterator[dict[str, Any]]:
    """Yield one record for each ranking, each type, and each kind of change, in the patch or as a comment."""
    audit = found.audit
    about = {"data": source.name, "text": source.text, "sentences": len(found.known)}
    yield {**about, "kind": "run", "learned": round(audit.evidence.learned, 4),
           "held_out": round(audit.judged.held_out, 4), "reason": audit.reason}  # fmt: skip
    for ranking in found.rankings():
        yield {**about, "kind": "ranking", **_rounded(ranking.as_dict())}
    known = np.bincount(audit.judged.spans.label[found.labels], minlength=len(audit.evidence.types) + 1)
    for number, row in enumerate(found.types(), 1):
        yield {**about, "kind": "type", **_rounded(row), "known": int(known[number])}
    for path in source.reviewed:
        checked = [one for one in read(path) if one.words]
        narrower = AgainstGold(replace(audit, reviewed=checked), found.gold)
        for number, row in enumerate(narrower.types(), 1):
            about_review = {"reviewed": path.stem, "checked": len(checked), "known": int(known[number])}
            yield {**about, "kind": "reviewed type", **_rounded(row), **about_review}
    gold = gold_sentences(found)
    for applied in (True, False):
        some = [one for one in audit.proposals if one.applied == applied and one.confidence >= UNSURE]
        for kind, counts in by_kind(some, gold).items():
            yield {**about, "kind": "change", "change": kind, "applied": applied, **counts}


def gold_sentences(found: AgainstGold) -> list[Sentence]:
    """Return the known sentences with their true names."""
    return labelled_as(found.audit.evidence.sentences, found.known)


def kind_of(proposal: Proposal) -> str:
    """Return `longer name` for a name that an entry is a part of, else the action."""
    action = proposal.change.action
    return "longer name" if action == "add" and not proposal.default else action


def by_kind(proposals: Iterable[Proposal], gold: Sequence[Sentence]) -> dict[str, dict[str, int]]:
    """Return of each kind of change how many there are, how many gold can tell, and how many are right."""
    kinds: dict[str, list[Proposal]] = {}
    for one in proposals:
        kinds.setdefault(kind_of(one), []).append(one)
    counts = {kind: judged([one.change for one in some], gold) for kind, some in sorted(kinds.items())}
    return {kind: {n: one[n] for n in ("changes", "known", "right")} for kind, one in counts.items()}


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return round(value, 4)
        case dict():
            return {key: _rounded(one) for key, one in value.items()}
        case tuple() | list():
            return [_rounded(one) for one in value]
    return value


class AuditReport(Report):
    """What the records say, as tables."""

    def name(self, result: dict[str, Any]) -> str:
        return str(result.get("data", ""))

    def failed(self) -> list[str]:
        return []

    def text(self) -> str:
        parts = (self._rankings(), self._types(), self._changes(), self._labels(), self._left_out())
        return "\n\n".join(filter(None, parts))

    def _of(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in self.results if one["kind"] == kind]

    def _rankings(self) -> str:
        rows = [["data", "claims", "number", *(f"first {n:,}" for n in FIRST), "all", "random", "area"]]
        for one in self._of("ranking"):
            numbers = [*one["precision"].values(), one["precision_all"], one["random"], one["area"]]
            rows.append([one["data"], one["ranking"], f"{one['claims']:,}", *map(_cell, numbers)])
        return table(rows)

    def _types(self) -> str:
        rows = [["data", "type", "labels", "precision", "true", "recall", "true"]]
        listed = self._of("type")
        shares = ("precision", "true_precision", "recall", "true_recall")
        for one in listed:
            rows.append([one["data"], one["label"], f"{one['labels']:,}", *(_cell(one[x]) for x in shares)])
        told = [f"{name}: {_errors(listed, name)}" for name in ("precision", "recall")]
        after: dict[str, list[dict[str, Any]]] = {}
        for one in self._of("reviewed type"):
            after.setdefault(one["reviewed"], []).append(one)
        for file, some in after.items():
            told += [f"{name}, with {file}: {_errors(some, name)}" for name in ("precision", "recall")]
        return "\n".join([table(rows), "", *told])

    def _changes(self) -> str:
        rows = [["data", "change", "", "number", "known", "right", "precision"]]
        for one in self._of("change"):
            share = one["right"] / one["known"] if one["known"] else None
            rows.append([one["data"], one["change"], "made" if one["applied"] else "comment",
                         *(f"{one[n]:,}" for n in ("changes", "known", "right")), _cell(share)])  # fmt: skip
        return table(rows)

    def _labels(self) -> str:
        rows = [["data", "labels", "precision", "recall", "f1"]]
        for one in self._of("labels"):
            told = "with the patch" if one["patch"] else "without"
            rows.append([one["data"], told, *(_cell(one[name]) for name in ("precision", "recall", "f1"))])
        return table(rows) if len(rows) > 1 else ""

    def _left_out(self) -> str:
        lines = []
        for one in self._of("left out"):
            told = ", ".join(f"{data} {value}" for data, value in one["results"].items())
            lines.append(f"{one['number']}, without {one['text']}: {one['chosen']}; {told}")
        return "\n".join(lines)


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _errors(listed: Sequence[dict[str, Any]], name: str) -> str:
    """Mean error of an estimate over the types, and how many true values are within the bounds."""
    some = [one for one in listed if one["known"] >= FEW and one[name] is not None]
    if not some:
        return "-"
    errors = [abs(one[name] - one[f"true_{name}"]) for one in some]
    within = sum(low <= one[f"true_{name}"] <= high for one in some for low, high in [one[f"{name}_bounds"]])
    return f"mean error {np.mean(errors):.3f}, within the bounds {within} of {len(some)} types"
