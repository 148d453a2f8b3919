"""The audit in a few lines for the terminal."""

from __future__ import annotations

from collections import Counter
from typing import Any

from roster.auditing.audit import Audit
from roster.auditing.entries import RIGHT
from roster.pages import inline

FIRST = 5
"""So many claims of each kind are shown."""


def summary(audit: Audit) -> str:
    """A table of the types, the surest claims of each kind, and what the patch has."""
    parts = [_types(audit), _labels(audit), _entries(audit), _names(audit), _changes(audit)]
    return "\n\n".join(filter(None, parts))


def as_html(audit: Audit) -> str:
    """The same as short tables in HTML, for notebooks. Names and types are escaped."""
    return "".join(
        [
            inline.table(*_type_rows(audit), caption="The labels of each type (estimates)"),
            inline.table(["label", "believed instead"], _label_rows(audit), _count_of_labels(audit)),
            inline.table(["name", "found"], _name_rows(audit), _count_of_names(audit)),
        ]
    )


def _types(audit: Audit) -> str:
    head, rows = _type_rows(audit)
    note = "Estimates without gold labels, with the error that such estimates have on other data."
    if audit.reviewed:
        note = f"Estimates from the run and from {len(audit.reviewed):,} sentences that a person has checked."
    return f"The labels of each type:\n\n{table([head, *rows])}\n\n{note}"


def _type_rows(audit: Audit) -> tuple[list[str], list[list[str]]]:
    rows = [[one.label, f"{one.labels:,}", _share(one.precision), _share(one.recall)] for one in audit.types]
    return ["type", "labels", "precision", "recall"], rows


def _share(estimate: Any) -> str:
    if estimate is None:
        return "-"
    found = estimate.as_dict()
    return f"{found['value']:.2f} ({found['low']:.2f} to {found['high']:.2f})"


def _labels(audit: Audit) -> str:
    if not len(audit.judged.wrong):
        return "No label is believed wrong."
    return f"{_count_of_labels(audit)}, first of all:\n\n{table(_label_rows(audit))}"


def _count_of_labels(audit: Audit) -> str:
    return f"{len(audit.judged.wrong):,} of {len(audit.judged.spans):,} labels are believed wrong"


def _label_rows(audit: Audit) -> list[list[str]]:
    rows = []
    for number in audit.judged.wrong[:FIRST].tolist():
        spans, evidence = audit.judged.spans, audit.evidence
        start, end = int(spans.start[number]), int(spans.end[number])
        given = evidence.types[int(spans.label[number]) - 1]
        rows.append([f"{evidence.name(start, end)} [{given}]", _instead(audit, number)])
    return rows


def _instead(audit: Audit, number: int) -> str:
    believed = audit.judged.believed(number)
    if believed is None:
        return "no name"
    start, end, label = believed
    return f"{audit.evidence.name(start, end)} [{audit.evidence.types[label - 1]}]"


def _entries(audit: Audit) -> str:
    counts = Counter(entry.verdict for entry in audit.entries)
    told = ", ".join(f"{verdict} {count:,}" for verdict, count in counts.most_common())
    doubted = [entry for entry in audit.entries if entry.verdict != RIGHT][:FIRST]
    rows = [
        [f"{e.source.entry} [{e.label}]", e.verdict, f"{e.labels - e.right:.0f} of {e.labels} labels"]
        for e in doubted
    ]
    return f"Entries of the dictionary: {told}.\n\n{table(rows)}".rstrip()


def _names(audit: Audit) -> str:
    if not audit.names:
        return "No name is missing."
    return f"{_count_of_names(audit)}:\n\n{table(_name_rows(audit))}"


def _count_of_names(audit: Audit) -> str:
    return f"{len(audit.names):,} names are found that no label names"


def _name_rows(audit: Audit) -> list[list[str]]:
    return [[f"{one.name} [{one.label}]", f"{one.count} times"] for one in audit.names[:FIRST]]


def _changes(audit: Audit) -> str:
    if audit.reason:
        return f"No changes are proposed: {audit.reason}."
    counts = Counter(one.change.action for one in audit.proposals if one.applied)
    told = ", ".join(f"{action} {count:,}" for action, count in sorted(counts.items())) or "nothing"
    return f"The patch changes what is surest: {told}. It lists more, as comments."


def table(rows: list[list[str]]) -> str:
    """Columns of equal width; control characters of names, which a terminal would obey, are shown as `?`."""
    safe = [["".join(c if c.isprintable() else "?" for c in cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*safe, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in safe
    )
