"""Charts as data: what is drawn, and the same figures as a table. Nothing here draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from roster.infer.calibration import bins

LINES, BARS, DOTS = "lines", "bars", "dots"
RANGE = (0.0, 1.0)


@dataclass(frozen=True)
class Series:
    """Values over x; in bars and dots x is the number of a tick."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True)
class Chart:
    name: str
    title: str
    x: str
    y: str
    series: Sequence[Series]
    kind: str = LINES
    ticks: Sequence[str] = ()
    diagonal: bool = False
    limits: tuple[float, float] | None = None
    """Of the values."""


def rows(chart: Chart) -> tuple[list[str], list[list[object]]]:
    """The head and the rows of a table with the figures of a chart."""
    if chart.ticks:
        places: list[float] = list(map(float, range(len(chart.ticks))))
        names: list[object] = list(chart.ticks)
    else:
        places = sorted({x for series in chart.series for x in series.x})
        names = [round(x, 3) if x % 1 else int(x) for x in places]
    columns = [dict(zip(series.x, series.y, strict=True)) for series in chart.series]
    head = [chart.y if chart.ticks else chart.x, *(series.label for series in chart.series)]
    return head, [[name, *(c.get(x, "") for c in columns)] for name, x in zip(names, places, strict=True)]


def scores_by_stage(stages: Mapping[str, Mapping[str, Any]], split: str) -> Chart | None:
    """Precision, recall and F1 of every stage on one split."""
    scored = {name: s["scores"][split] for name, s in stages.items() if split in s.get("scores", {})}
    if not scored:
        return None
    keys = {"precision": "precision", "recall": "recall", "F1": "f1"}
    series = [
        Series(label, range(len(scored)), [s[key] for s in scored.values()]) for label, key in keys.items()
    ]
    return Chart(
        f"scores-{split}", f"Scores by stage on {split}", "score", "stage", series, DOTS, list(scored)
    )


def entities_by_type(found: Mapping[str, Mapping[str, int]]) -> Chart | None:
    if not found:
        return None
    columns = {"labels": "labels", "of them found": "labels_found", "entities found by the model": "found"}
    series = [
        Series(label, range(len(found)), [count[key] for count in found.values()])
        for label, key in columns.items()
    ]
    return Chart(
        "entities", "Entities by type in the training text", "number", "type", series, BARS, list(found)
    )


def kept_labels(members: Mapping[str, Mapping[str, Any]]) -> Chart | None:
    """The share of labels that are left after each removal: the mean of the members, and their range."""
    kept = [facts["kept_by_type"] for facts in members.values() if facts.get("kept_by_type")]
    if not kept:
        return None
    by_type: dict[str, dict[int, list[float]]] = {}
    for removals in kept:
        for one in removals:
            for name, share in {**one["types"], "O": one["O"]}.items():
                by_type.setdefault(name, {}).setdefault(one["step"], []).append(share)
    series = []
    for name, by_step in by_type.items():
        steps = sorted(by_step)
        values = [by_step[step] for step in steps]
        series.append(
            Series(
                "O (no entity)" if name == "O" else name,
                steps,
                [float(np.mean(v)) for v in values],
                [min(v) for v in values],
                [max(v) for v in values],
            )
        )
    title = "Share of labels kept after each removal"
    return Chart("kept", title, "step", "share kept", series, limits=RANGE)


def losses(stages: Mapping[str, Mapping[str, Any]]) -> list[Chart]:
    """One chart for the members, and one for each other stage of several epochs: losses of different stages
    do not compare."""
    groups: dict[str, list[Series]] = {}
    for name, facts in stages.items():
        if len(values := facts.get("losses", ())) > 1:
            group = "members" if name.startswith("member-") else name
            groups.setdefault(group, []).append(Series(name, range(1, len(values) + 1), values))
    return [
        Chart(f"loss-{number}", f"Loss by epoch: {group}", "epoch", "loss", series)
        for number, (group, series) in enumerate(groups.items())
    ]


def reliability(pairs: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Chart:
    """The share of right entities over the mean score, in intervals of the score."""
    series = []
    for label, (scores, right) in pairs.items():
        found = bins(scores, right)
        series.append(Series(label, [x for x, _, _ in found], [y for _, y, _ in found]))
    return Chart(
        "reliability", "Share of right entities by score", "score", "share right", series,
        diagonal=True, limits=RANGE,
    )  # fmt: skip


def seconds(stages: Mapping[str, Mapping[str, Any]]) -> Chart | None:
    spent = seconds_by_stage(stages)
    if not spent:
        return None
    series = [Series("seconds", range(len(spent)), list(spent.values()))]
    return Chart("seconds", "Seconds by stage", "seconds", "stage", series, BARS, list(spent))


def seconds_by_stage(stages: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """The clock of the stage `model` runs over the whole command, so the others are taken from it."""
    spent = {name: float(facts["seconds"]) for name, facts in stages.items() if "seconds" in facts}
    whole = spent.pop("model", None)
    if whole is not None:
        spent["reading, loading, saving"] = max(0.0, whole - sum(spent.values()))
    return spent
