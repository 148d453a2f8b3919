"""The results of the repair benchmark as Markdown tables: a line for each data set, a column for each arm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.repair.arms import BASE, PERSON, ROUNDS, Arm
from roster.experiments.tables import Spread, Table, cell, number, signed

Record = Mapping[str, Any]
SPLITS = {"dev": "valid", "test": "test"}
NOTES = """\
Mean ± standard deviation over seeds (their number). Differences are of the same seed. base: labels of the
dictionary; audit, audit2: labels again with the patch of one audit, and of two; random-N: N answers spent on
sentences drawn at random; review-N: as many in a review, with its corrections of the dictionary; both-N: with
the patch of the audit too. right: changes that gold labels confirm, of those whose name they contain."""


@dataclass(frozen=True)
class RepairReport:
    """Records of points, and the split whose scores are shown: `dev` or `test`."""

    records: Sequence[Record]
    split: str = "dev"

    def tables(self) -> list[Table]:
        """Return the tables that have a number."""
        split = SPLITS[self.split]
        score = lambda record: record["scores"].get(split, {}).get("f1")  # noqa: E731
        mean = lambda record: (record["mean_of_members"] or {}).get("f1")  # noqa: E731
        listed = [
            self._table("final", f"F1 of the final model, {self.split}", _spread_of(score)),
            self._table("difference", f"F1 less that of base, {self.split}", self._difference(score)),
        ]
        if self.split == "dev":
            title = "F1 of the mean of members"
            listed.append(self._table("members", f"{title}, dev", _spread_of(mean)))
            less = f"{title} less that of base, dev"
            listed.append(self._table("members-difference", less, self._difference(mean)))
        listed += [
            self._table("labels", "Labels of the training text: precision/recall/F1", _labels),
            self._table("person", "Answers (sentences)", _answers),
            self._table("patch", "Changes of the dictionary: number (right of known)", _changes),
        ]
        return [table for table in listed if any(set(row[1:]) != {"-"} for row in table.rows)]

    def text(self) -> str:
        """Return the tables as Markdown."""
        return "\n".join([*(table.markdown() for table in self.tables()), NOTES])

    def as_dict(self) -> dict[str, Any]:
        """Return the tables as data."""
        tables = [{"title": one.title, "head": [*one.head], "rows": [*one.rows]} for one in self.tables()]
        return {"benchmark": "repair", "split": self.split, "tables": tables}

    def _table(self, name: str, title: str, show: Callable[[Sequence[Record]], str]) -> Table:
        arms = sorted({record["arm"] for record in self.records}, key=_place)
        rows = []
        for line, group in _lines(self.records).items():
            of_arm = ([record for record in group if record["arm"] == arm] for arm in arms)
            rows.append([line, *(show(records) if records else "-" for records in of_arm)])
        return Table(name, title, ["", *arms], rows)

    def _difference(self, value: Callable[[Record], float | None]) -> Callable[[Sequence[Record]], str]:
        base = {_line(r): value(r) for r in self.records if r["arm"] == BASE}

        def show(records: Sequence[Record]) -> str:
            pairs = [(value(r), base.get(_line(r))) for r in records if r["arm"] != BASE]
            found = Spread.of(one - other for one, other in pairs if one is not None and other is not None)
            if found is None:
                return "-"
            deviation = f" ± {number(found.deviation)}" if found.runs > 1 else ""
            return f"{signed(found.mean)}{deviation} ({found.runs})"

        return show


def _spread_of(value: Callable[[Record], float | None]) -> Callable[[Sequence[Record]], str]:
    def show(records: Sequence[Record]) -> str:
        return cell(Spread.of(found for r in records if (found := value(r)) is not None))

    return show


def _labels(records: Sequence[Record]) -> str:
    return "/".join(
        number(_mean(r["labels"][name] for r in records)) for name in ("precision", "recall", "f1")
    )


def _answers(records: Sequence[Record]) -> str:
    answers = _mean(r["answers"] for r in records)
    return f"{answers:.0f} ({_mean(r['answered_sentences'] for r in records):.0f})" if answers else "-"


def _changes(records: Sequence[Record]) -> str:
    patches = [r["patch"] for r in records if r["patch"] is not None]
    if not patches:
        return "-"
    changes, right, told = (_mean(one[name] for one in patches) for name in ("changes", "right", "known"))
    return f"{changes:.0f} ({right:.0f} of {told:.0f})"


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def _lines(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records of each line: data set and encoder, with the settings where several were measured."""
    settings = {json.dumps(r["asked"]["overrides"], sort_keys=True) for r in records}
    found: dict[str, list[Record]] = {}
    for record in records:
        given = json.dumps(record["asked"]["overrides"], sort_keys=True) if len(settings) > 1 else ""
        name = ", ".join(filter(None, (record["data"], record["encoder"], given)))
        found.setdefault(name, []).append(record)
    return found


def _line(record: Record) -> tuple[Any, ...]:
    settings = json.dumps(record["asked"]["overrides"], sort_keys=True)
    return record["data"], record["encoder"], settings, record["seed"]


def _place(name: str) -> tuple[int, int]:
    arm = Arm.of(name)
    return arm.budget, (*ROUNDS, *PERSON).index(arm.kind)
