"""One arm of one data set with one seed: label, train, score; and what other arms need from it."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import roster
from benchmarks.repair.arms import (
    AUDIT,
    BASE,
    BOTH,
    FIRST_PATCH,
    RANDOM,
    REVIEW,
    SECOND_PATCH,
    Arm,
    corrections_file,
    gold_file,
)
from benchmarks.repair.patches import judged
from benchmarks.repair.person import at_random, in_review
from benchmarks.repair.source import Source, known, labelled_as, of_types, true_sentences
from roster.corpus.dataset import Dataset, load_dataset
from roster.corpus.io import write
from roster.corpus.layout import TYPES
from roster.corpus.sentence import Sentence, Span
from roster.distant.entries.patch import Change, read_patch, write_patch
from roster.distant.entries.patches import followed, overruled
from roster.experiments.hardware import commit, gpu, machine, versions
from roster.experiments.plan import backbone_name
from roster.experiments.runner import PACKAGES, SCORES, OutOfTimeError
from roster.files import read_object, write_json, write_text
from roster.methods.request import read_config
from roster.reviewing.review import CORRECTIONS, GOLD
from roster.scores import evaluate_spans

if TYPE_CHECKING:
    from roster.infer.recogniser import Recogniser

Names = Sequence[Span]
SPENT, PATCH = "spent.json", "patch.tsv"
KEPT = ("predictions.safetensors", "results.json", "run.json", "config.toml")
MEAN = "mean-of-members"


@dataclass(frozen=True)
class Point:
    """An arm of a data set with a seed; `key` is a hash of all that determines its result, and `base` that
    of the arm `base`."""

    source: Source
    seed: int
    arm: Arm
    key: str
    base: str

    @property
    def name(self) -> str:
        return f"{self.source.name}, {self.arm}, seed {self.seed}"


@dataclass(frozen=True)
class Measure:
    """Measures a point. Workers get a pickled copy.

    `runs` is the folder of runs that are under way, `overrides` are those of `roster.train`, `budgets` the
    numbers of answers, `rounds` of audits, `cache` the folder of compiled dictionaries, and after the time
    `end` no training begins.
    """

    runs: Path
    backbone: str | None
    overrides: Mapping[str, Any]
    device: str | None
    budgets: tuple[int, ...]
    rounds: int
    cache: Path
    keep: Path | None
    end: float | None
    log: Callable[[str], None]

    def __call__(self, point: Point) -> dict[str, Any]:
        """Return the record of a point.

        Raises:
            OutOfTimeError: the time limit is over.
            RosterError: labels or training failed.
        """
        if self.end is not None and time.monotonic() >= self.end:
            raise OutOfTimeError
        began = time.monotonic()
        folder, made = self.runs / point.key, self.made(point)
        changes = patch_of(point.arm, made)
        report = self._label(point, folder, changes)
        labelled = time.monotonic()
        needs = [one for one in point.arm.needs if one.endswith(".gold.jsonl")]
        device = {"optimiser.device": self.device} if self.device else {}
        self.log(f"{point.name}: training")
        model = roster.train(
            folder / "data",
            folder / "run",
            backbone=self.backbone,
            gold=made / needs[0] if needs else None,
            overrides={**self.overrides, **device, "seed": point.seed},
        )
        trained = time.monotonic()
        data = load_dataset(folder / "data")
        gold = known(data.train, true_sentences(point.source.gold))
        if point.arm.kind == BASE:
            self._base(point, folder, data, gold, model)
        elif point.arm.kind == AUDIT and self.rounds > 1:
            _audit(folder, made / SECOND_PATCH)
        ended = time.monotonic()
        seconds = {"label": labelled - began, "train": trained - labelled, "make": ended - trained}
        true = labelled_as(data.train, gold)
        spent = read_object(made / SPENT)[str(point.arm)] if needs and point.arm.kind != BOTH else {}
        if point.arm.kind == BOTH:
            spent = read_object(made / SPENT)[str(Arm(REVIEW, point.arm.budget))]
        patch = judged(changes, true) if changes is not None else None
        if patch is not None:
            effective = report.facts.get("patch", {})
            patch["effective"] = sum(effective[one]["effective"] for one in patch["actions"])
        return {
            "key": point.key,
            "data": point.source.name,
            "arm": str(point.arm),
            "seed": point.seed,
            **outcome(folder / "run"),
            "labels": label_scores(data.train, gold),
            "answers": spent.get("answers", 0),
            "answered_sentences": spent.get("sentences", 0),
            "patch": patch,
            "seconds": {name: round(value, 2) for name, value in seconds.items()},
            "asked": {"overrides": dict(self.overrides)},
            "commit": commit(),
            "versions": versions(PACKAGES),
            "machine": {**machine(), "gpu": gpu()},
        }

    def made(self, point: Point) -> Path:
        """The folder of what the arms of a data set and seed make for each other."""
        return self.runs / f"{point.base}-made"

    def _label(self, point: Point, folder: Path, changes: Sequence[Change] | None) -> Any:
        """Write the data set of a point: labels with provenance, and the gold splits."""
        source, data = point.source, folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        patch: dict[str, Any] = {}
        if changes is not None:
            write_patch(folder / PATCH, ((change, ()) for change in changes))
            patch = {"patch": folder / PATCH}
        # Compiled dictionaries are kept without patches only: each patch has its own, used once.
        cache = self.cache if changes is None else False
        found = roster.label_file(
            source.text, data, source.dictionaries, config=source.config, cache=cache, workers=1, **patch
        )
        types = self.made(point) / TYPES
        if types.exists():  # a patch must not take a type from the model that gold sentences name
            listed = {name for one in (types, data / TYPES) if one.exists() for name in read_lines(one)}
            write_text(data / TYPES, "".join(f"{name}\n" for name in sorted(listed)))
        for name, path in (("valid", source.valid), ("test", source.test)):
            if path is not None:
                write(data / f"{name}.jsonl", true_sentences(path))
        return found.report

    def _base(
        self, point: Point, folder: Path, data: Dataset, gold: Mapping[int, Names], model: Recogniser
    ) -> None:
        """Make what the other arms need: the patch of the audit, and what the person answers."""
        new, made = folder / "made", self.made(point)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        made.mkdir(parents=True, exist_ok=True)
        write_text(new / TYPES, "".join(f"{name}\n" for name in data.types))
        if self.rounds:
            _audit(folder, new / FIRST_PATCH)
        if self.budgets:
            before = read_object(made / SPENT) if (made / SPENT).exists() else {}
            write_json(new / SPENT, {**before, **self._ask(point, folder, new, data, gold, model)})
        if self.keep is not None:
            self._keep(folder, new, self.keep / f"{point.source.name}-{point.seed}")
        # Arms are started by the files that they need, so what all of them read comes first.
        for file in sorted(new.iterdir(), key=lambda file: file.name not in (TYPES, SPENT)):
            file.replace(made / file.name)

    def _ask(
        self, point: Point, folder: Path, new: Path, data: Dataset, gold: Mapping[int, Names],
        model: Recogniser,
    ) -> dict[str, dict[str, int]]:  # fmt: skip
        """Let the person answer; return what was spent by arm."""
        text = [data.train[number] for number in gold]
        true = [of_types(spans, model.types) for spans in gold.values()]
        at = folder / "review"
        shutil.rmtree(at, ignore_errors=True)
        spent: dict[str, dict[str, int]] = {}
        with roster.start_review(model, text, at, sentences=len(text), seed=point.seed) as review:
            predicted = review.session.sentences
            for one in at_random(predicted, true, review.types, self.budgets, point.seed):
                arm = Arm(RANDOM, one.budget)
                spent[str(arm)] = one.as_dict()
                names = {number: true[number] for number in sorted(one.sentences)}
                write(new / gold_file(arm), labelled_as(predicted, names), "jsonl")
            for one in in_review(review, true, self.budgets):
                arm = Arm(REVIEW, one.budget)
                spent[str(arm)] = one.as_dict()
                shutil.copy(at / GOLD, new / gold_file(arm))
                shutil.copy(at / CORRECTIONS, new / corrections_file(arm))
        return spent

    def _keep(self, folder: Path, new: Path, place: Path) -> None:
        """Copy what an analysis of the base run needs."""
        place.mkdir(parents=True, exist_ok=True)
        for file in (*(folder / "run" / name for name in KEPT), *sorted(new.iterdir())):
            shutil.copy(file, place / file.name)


def _audit(folder: Path, patch: Path) -> None:
    from roster.auditing.audit import PATCH as PROPOSED

    roster.audit(folder / "run", folder / "data", folder / "audit")
    shutil.copy(folder / "audit" / PROPOSED, patch)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def patch_of(arm: Arm, made: Path) -> list[Change] | None:
    """Return the changes of the dictionary that an arm labels with; None if it has no patch."""

    def changes(name: str) -> list[Change]:
        return list(read_patch(made / name).changes)

    match arm.kind:
        case "audit":
            return changes(FIRST_PATCH)
        case "audit2":
            return followed(changes(FIRST_PATCH), changes(SECOND_PATCH))
        case "review":
            return changes(corrections_file(arm))
        case "both":
            return overruled(changes(FIRST_PATCH), changes(corrections_file(Arm(REVIEW, arm.budget))))
    return None


def label_scores(labelled: Sequence[Sentence], gold: Mapping[int, Names]) -> dict[str, Any]:
    """Return precision, recall and F1 of the labels of the sentences with known true names."""
    found = evaluate_spans([(labelled[n].spans or (), spans) for n, spans in gold.items()])
    return {**{name: getattr(found, name) for name in SCORES}, "sentences": len(gold)}


def outcome(run: Path) -> dict[str, Any]:
    """Return the encoder of a finished run and its scores: of the last model, and of the mean of members."""
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    scored = {name: facts["scores"] for name, facts in results["stages"].items() if facts.get("scores")}
    mean = scored.get(MEAN, {}).get("valid")
    return {
        "encoder": backbone_name(read_config(run / "config.toml").backbone.name),
        "scores": {split: _scores(one) for split, one in list(scored.values())[-1].items()},
        "mean_of_members": None if mean is None else _scores(mean),
    }


def _scores(found: Mapping[str, Any]) -> dict[str, float]:
    return {name: found[name] for name in SCORES}
