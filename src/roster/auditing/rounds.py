"""Rounds of repair as text: what became of the labels, of their estimates, and of the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from roster.auditing.summary import table


@dataclass(frozen=True)
class Step:
    """Labels and the run that learned from them: those before the first round, or those of a round."""

    name: str
    types: Mapping[str, Mapping[str, Any]]
    """By type, what the audit of the run has of it: `labels`, and `precision` and `recall` with bounds, None
    where they cannot be estimated."""
    changes: Mapping[str, int] | None = None
    """By action, the changes that the round made; None before the first."""
    gold: Mapping[str, float] | None = None
    """Precision, recall and F1 of the labels, where true labels of the text are known."""
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The same of the model, by split of the data set with gold labels."""

    @property
    def labels(self) -> int:
        return sum(int(one["labels"]) for one in self.types.values())

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def text(steps: Sequence[Step]) -> str:
    """A table of the steps, and one of the types before the first round and after the last."""
    parts = [table(_steps(steps))]
    if len(steps) > 1:
        note = "The estimates need no gold labels; use them to compare, not to measure (roster review)."
        parts += [table(_types(steps[0], steps[-1])), note]
    return "\n\n".join(parts)


def describe(changes: Mapping[str, int]) -> str:
    """
    >>> describe({"remove": 3, "add": 1200})
    'add 1,200, remove 3'
    """
    return ", ".join(f"{action} {count:,}" for action, count in sorted(changes.items()))


def _steps(steps: Sequence[Step]) -> list[list[str]]:
    splits = list(dict.fromkeys(split for step in steps for split in step.scores))
    known = any(step.gold is not None for step in steps)
    head = ["", "changes", "labels", *(["labels P / R / F1"] if known else [])]
    rows = [[*head, *(f"model {split} P / R / F1" for split in splits)]]
    for step in steps:
        row = [step.name, "-" if step.changes is None else describe(step.changes), f"{step.labels:,}"]
        if known:
            row.append(_scores(step.gold))
        rows.append([*row, *(_scores(step.scores.get(split)) for split in splits)])
    return rows


def _scores(found: Mapping[str, float] | None) -> str:
    if found is None:
        return "-"
    return " / ".join(f"{found[name]:.3f}" for name in ("precision", "recall", "f1"))


def _types(first: Step, last: Step) -> list[list[str]]:
    rows = [["type", "labels", "precision, estimated", "recall, estimated"]]
    for name in sorted({*first.types, *last.types}):
        before, after = first.types.get(name), last.types.get(name)
        labels = [f"{one['labels']:,}" if one else "-" for one in (before, after)]
        cells = [" -> ".join(labels)]
        cells += [
            " -> ".join(_estimate(one, share) for one in (before, after)) for share in ("precision", "recall")
        ]
        rows.append([name, *cells])
    return rows


def _estimate(found: Mapping[str, Any] | None, share: str) -> str:
    estimate = None if found is None else found[share]
    return "-" if estimate is None else f"{estimate['value']:.2f}"
