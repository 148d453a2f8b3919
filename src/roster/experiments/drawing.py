"""Scores by row, x and seed, from which an experiment draws its tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from roster.experiments.figures import Figure, Line
from roster.experiments.store import Results
from roster.experiments.tables import Spread, Table

SPLITS = ("test", "valid", "train")
"""The split whose scores are shown is the first available one; `train` is for distant labels only."""


@dataclass(frozen=True)
class Measured:
    """One number of a plan, with the record of its training."""

    arm: str
    data: str
    backbone: str
    x: float | None
    stage: str | None
    seed: int
    record: dict[str, Any]
    corpus: str = ""

    @property
    def scores(self) -> dict[str, float]:
        by_split = self.record["scores"] if self.stage is None else self._stage["scores"]
        split = next(name for name in SPLITS if name in by_split)
        return {key: by_split[split][key] for key in ("precision", "recall", "f1")}

    @property
    def f1(self) -> float:
        return self.scores["f1"]

    @property
    def curve(self) -> list[tuple[int, float]]:
        """F1 by step."""
        points = self._stage.get("curve", [])
        split = next((name for name in SPLITS if points and name in points[0]["scores"]), "")
        return [(point["step"], point["scores"][split]["f1"]) for point in points]

    @property
    def _stage(self) -> dict[str, Any]:
        stage: dict[str, Any] = self.record["stages"][self.stage]
        return stage


@dataclass(frozen=True)
class Drawing:
    """Tables, figures, and `texts`: files by name that contain sentences of the data."""

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    texts: dict[str, str] = field(default_factory=dict)


def measured(results: Results, experiment: str) -> list[Measured]:
    """Return the available numbers of an experiment. If two plans have the same number, the later counts."""
    numbers: dict[tuple[Any, ...], Measured] = {}
    for plan in results.plans:
        if plan["experiment"] != experiment:
            continue
        for row in plan["rows"]:
            place = (row["backbone"], row["data"], row["arm"], row["x"], row["seed"])
            numbers.pop(place, None)
            record = results.points.get(row["key"])
            if record is not None:
                numbers[place] = Measured(
                    row["arm"],
                    row["data"],
                    row["backbone"],
                    row["x"],
                    row["stage"],
                    row["seed"],
                    record,
                    row.get("corpus", ""),
                )
    return list(numbers.values())


def grouped(
    items: Iterable[Measured], key: Callable[[Measured], Any]
) -> Iterator[tuple[Any, list[Measured]]]:
    """Yield groups in the order of their first items."""
    groups: dict[Any, list[Measured]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    yield from groups.items()


def spread(items: Iterable[Measured], score: str = "f1") -> Spread | None:
    return Spread.of(item.scores[score] for item in items)


def line(label: str, items: Iterable[Measured]) -> Line:
    """Return the line of F1 over x."""
    by_x = sorted(((x, group) for x, group in grouped(items, lambda m: m.x) if x is not None))
    return Line(label, [x for x, _ in by_x], [s for _, group in by_x if (s := spread(group))])


def slug(*parts: str) -> str:
    """Return a file name made of words.

    >>> slug("main", "conll03 (50% of the names)")
    'main-conll03-50-of-the-names'
    """
    words = "".join(c if c.isalnum() or c in "-._" else " " for c in " ".join(parts))
    return "-".join(words.split())


SPREAD = "Mean ± standard deviation (number of runs) over seeds."
