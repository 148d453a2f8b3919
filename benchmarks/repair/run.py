"""`python -m benchmarks repair`: the points that have no result yet, several at a time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.repair.arms import BASE, ROUNDS, Arm, maker
from benchmarks.repair.measure import Measure, Point
from benchmarks.repair.source import Source
from roster.errors import ConfigError, RosterError
from roster.experiments.runner import OutOfTimeError
from roster.experiments.store import Results, runs_of
from roster.experiments.workers import finished
from roster.files import fingerprint

VERSION = 1
"""Part of the keys, raised by a change of what is measured."""


@dataclass(frozen=True)
class Asked:
    """What is measured, and how."""

    sources: tuple[Source, ...]
    seeds: tuple[int, ...]
    arms: tuple[Arm, ...]
    backbone: str | None = None
    overrides: dict[str, Any] = field(default_factory=dict)
    """Values of the config by name, as for `roster.train`."""
    device: str | None = None
    workers: int = 1
    minutes: float | None = None
    keep: Path | None = None
    cache: Path | None = None

    def check(self) -> None:
        """Raise ConfigError for two data sets of one name."""
        names = [source.name for source in self.sources]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(
                    f"two data sets are called {name}; give one of them another name in its file"
                )

    @property
    def budgets(self) -> tuple[int, ...]:
        """The numbers of answers, rising."""
        return tuple(sorted({arm.budget for arm in self.arms if arm.budget}))

    @property
    def rounds(self) -> int:
        """How many audits are needed."""
        files = {file for arm in self.arms for file in arm.needs}
        return sum(f"{kind}.tsv" in files for kind in ROUNDS)


@dataclass(frozen=True)
class Chain:
    """All points of a data set with a seed."""

    points: dict[Arm, Point]

    @property
    def base(self) -> Point:
        return self.points[Arm(BASE)]


def chains(asked: Asked) -> list[Chain]:
    """Return the points that are asked for, and those that make what they need, with their keys."""
    from roster.methods.request import load_request
    from roster.methods.train import backbone_fingerprint

    named: dict[str, Any] = {"backbone.name": asked.backbone} if asked.backbone else {}
    given: dict[str, Any] = {**asked.overrides, **named}
    encoder = backbone_fingerprint(load_request(overrides=given).config())
    settings = [VERSION, encoder, sorted(map(list, asked.overrides.items()))]
    listed = []
    needed = (*asked.arms, *(maker(file) for arm in asked.arms for file in arm.needs), Arm(BASE))
    for source in asked.sources:
        content = source.fingerprint()
        for seed in asked.seeds:
            keys = {arm: fingerprint(*settings, source.name, content, seed, str(arm)) for arm in needed}
            base = keys[Arm(BASE)]
            listed.append(Chain({arm: Point(source, seed, arm, key, base) for arm, key in keys.items()}))
    return listed


class Schedule:
    """Which points can be started: those without a result, as soon as there is what they need.

    A point whose result is known is measured again only if another one needs what it makes, and that is not
    there any more.
    """

    def __init__(self, asked: Asked, listed: Sequence[Chain], results: Results, measure: Measure):
        self._asked, self._results, self._measure = asked, results, measure
        self._chain = {point.key: chain for chain in listed for point in chain.points.values()}
        self._started: set[str] = set()
        self._all = listed

    def left(self, chain: Chain) -> list[Point]:
        """The points of a chain that are asked for and have no result."""
        points = (chain.points[arm] for arm in self._asked.arms)
        return [point for point in points if point.key not in self._results.points]

    def first(self) -> list[Point]:
        """The points to begin with."""
        return [point for chain in self._all for point in self._startable(chain)]

    def then(self, point: Point) -> list[Point]:
        """The points that can be started now that this one is finished."""
        return list(self._startable(self._chain[point.key]))

    def _startable(self, chain: Chain) -> Iterator[Point]:
        made = self._measure.made(chain.base)
        for point in self.left(chain):
            while missing := [file for file in point.arm.needs if not (made / file).exists()]:
                point = chain.points[maker(missing[0])]
            if point.key not in self._started:
                self._started.add(point.key)
                yield point

    def tidy(self, chain: Chain) -> None:
        """Delete what the points of a chain made for each other, when none of them is left."""
        if not self.left(chain):
            shutil.rmtree(self._measure.made(chain.base), ignore_errors=True)

    def chain_of(self, point: Point) -> Chain:
        return self._chain[point.key]


def rank(point: Point) -> float:
    """Return the place in the queue: the longest work, with what follows from it, is started first."""
    return -float(point.source.size * (1 + point.arm.rounds_after))


@dataclass
class Outcome:
    """Counts of points; `failed` has names and messages, `left` names of points without a result."""

    measured: int = 0
    known: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def run(asked: Asked, results: Results, log: Callable[[str], None]) -> Outcome:
    """Measure the points that have no result yet; a point that fails does not stop those of other chains."""
    asked.check()
    runs = runs_of(results.path)
    end = None if asked.minutes is None else time.monotonic() + 60 * asked.minutes
    measure = Measure(
        runs.resolve(), asked.backbone, asked.overrides, asked.device, asked.budgets, asked.rounds,
        (asked.cache or runs / "dictionaries").resolve(), asked.keep and asked.keep.resolve(), end, log,
    )  # fmt: skip
    log("reading the data")
    listed = chains(asked)
    schedule = Schedule(asked, listed, results, measure)
    outcome = Outcome(known=sum(len(asked.arms) - len(schedule.left(chain)) for chain in listed))
    for point, done in finished(measure, schedule.first(), asked.workers, schedule.then, rank):
        try:
            record = done.result()
        except OutOfTimeError:
            continue
        except Exception as error:  # an error in one point must not stop the others
            known = isinstance(error, RosterError)
            message = str(error) if known else " ".join(f"{type(error).__name__}: {error}".split())
            outcome.failed.append((point.name, message))
            log(f"{point.name}: failed: {message}")
            continue
        if point.key not in results.points:
            results.add_point(record)
            outcome.measured += 1
        results.remove_run(point.key)
        schedule.tidy(schedule.chain_of(point))
        log(f"{point.name}: {sum(record['seconds'].values()):.0f} s")
    outcome.left = [point.name for chain in listed for point in schedule.left(chain)]
    if not outcome.left:
        shutil.rmtree(runs / "dictionaries", ignore_errors=True)
    return outcome
