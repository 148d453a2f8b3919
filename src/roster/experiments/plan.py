"""The plan of an experiment: rows, each a number of a table or figure, and the points they come from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roster.corpus.dataset import Dataset
from roster.errors import ConfigError
from roster.experiments.data import material, name_of
from roster.experiments.point import DISTANT_MATCH, Change, Point, derived_values, key_of, same_settings
from roster.experiments.store import Results
from roster.experiments.workers import finished
from roster.methods.facts import Facts, facts_of
from roster.methods.request import readers


@dataclass(frozen=True)
class Asked:
    """The options of the user: data sets, an encoder, seeds, presets, and values of single options."""

    data: Sequence[str]
    backbone: str
    seeds: Sequence[int]
    presets: Mapping[str, str] = field(default_factory=dict)
    """Presets by name of the data set; for other data sets, settings are derived from the data."""
    overrides: tuple[tuple[str, Any], ...] = ()
    """Options of single methods are given to the trainings of these."""
    names: float = 1.0
    """Share of the names that stay in the distant labels."""

    def check(self) -> None:
        names = [name_of(data) for data in self.data]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"two data sets are called {name}; rename one of them")
        for name in self.presets:
            if name not in names:
                raise ConfigError(f"--preset-for {name}=...: the data sets are {', '.join(names)}")

    def preset(self, data: str) -> str | None:
        return self.presets.get(name_of(data))

    def point(
        self,
        data: str,
        seed: int,
        method: str = "roster",
        overrides: Mapping[str, Any] | None = None,
        change: Change | None = None,
        curves: Mapping[str, int] | None = None,
    ) -> Point:
        if change is None:
            change = Change(names=self.names)
        given = [(name, value) for name, value in self.overrides if method in (*readers(name), DISTANT_MATCH)]
        more = () if overrides is None else tuple(overrides.items())
        curve = () if curves is None else tuple(curves.items())
        return Point(
            data,
            method,
            seed,
            self.backbone,
            self.preset(data),
            (*given, *more),
            change,
            curve,
        )


@dataclass(frozen=True)
class Row:
    """One number: the line of the table or figure, the position on its x axis, and the training.

    `stage`: use the scores of this stage instead of those of the final model.
    `corpus`: the corpus of which the data set is a variant.
    """

    arm: str
    point: Point
    x: float | None = None
    stage: str | None = None
    corpus: str = ""


@dataclass(frozen=True)
class Planned:
    """A row and the key of its point; of a point that has a result, what is derived from its data now."""

    row: Row
    key: str
    derived: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        point = self.row.point
        kept = f" ({point.change.names:.0%} of the names)" if point.change.names < 1 else ""
        return {
            "arm": self.row.arm,
            "data": name_of(point.data) + kept,
            "backbone": backbone_name(point.backbone),
            "x": self.row.x,
            "stage": self.row.stage,
            "seed": point.seed,
            "key": self.key,
            **({"corpus": self.row.corpus} if self.row.corpus else {}),
        }


def backbone_name(backbone: str) -> str:
    """Return the name of a backbone: of a folder its last part.

    >>> backbone_name("backbones/roster-distil-en/"), backbone_name("roster-small-en-2")
    ('roster-distil-en', 'roster-small-en-2')
    """
    return backbone.rstrip("/").rpartition("/")[2]


def planned(
    rows: Sequence[Row],
    backbone_of: Mapping[str, str],
    workers: int = 1,
    known: Collection[str] = (),
) -> list[Planned]:
    """Return the rows with keys, sorted by seed, so that an interrupted experiment has a complete table.

    Each data set is read once, so that errors in the data show before anything is trained.

    Parameters: the rows, the fingerprint of each encoder that is trained, the number of processes, and the
    keys of the points that have a result.
    """
    seeds = list(dict.fromkeys(row.point.seed for row in rows))
    by_data: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        by_data.setdefault(row.point.data, []).append(i)
    groups = [[(i, rows[i].point) for i in numbers] for numbers in by_data.values()]
    keys: dict[int, tuple[str, Mapping[str, Any]]] = {}
    for _, done in finished(Keys(backbone_of, frozenset(known)), groups, min(workers, len(groups))):
        keys.update(done.result())
    order = sorted(range(len(rows)), key=lambda i: seeds.index(rows[i].point.seed))
    return [Planned(rows[i], *keys[i]) for i in order]


@dataclass(frozen=True)
class Keys:
    """Computes the keys and the derived values of numbered points of one data set, in a worker."""

    backbone_of: Mapping[str, str]
    known: frozenset[str] = frozenset()

    def __call__(self, points: Sequence[tuple[int, Point]]) -> dict[int, tuple[str, Mapping[str, Any]]]:
        read: dict[tuple[Change, bool], tuple[str, Dataset]] = {}
        facts: dict[tuple[Change, str], Facts] = {}
        keys = {}
        for number, point in points:
            data = (point.change, point.trains)
            if data not in read:
                found = material(point)
                read[data] = (found.fingerprint(), found.dataset)
            own, dataset = read[data]
            key = key_of(point, own, self.backbone_of.get(point.encoder, ""))
            derived: Mapping[str, Any] = {}
            if point.derives and key in self.known:
                about = (point.change, point.encoder)
                if about not in facts:
                    facts[about] = facts_of(point.config(), dataset.train)
                derived = derived_values(point, facts[about])
            keys[number] = (key, derived)
        return keys


def stored(results: Results, plan: Planned) -> bool:
    """Whether the results contain the point of a row, trained with the settings that it would have now."""
    record = results.points.get(plan.key)
    if record is None or not same_settings(plan.row.point, record["settings"]):
        return False
    before = record.get("effective", {})
    return all(before[name] == value for name, value in plan.derived.items() if name in before)
