"""The parts of a round: audit, labels, training. Each makes its files from a run and its data set."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from roster.api.audit import audit
from roster.api.labelling import label_file
from roster.api.repair.folder import Round
from roster.api.training import train
from roster.auditing.audit import ROWS
from roster.auditing.evidence import read_run
from roster.auditing.rounds import Step
from roster.corpus.dataset import Dataset, Part, load_dataset
from roster.corpus.formats import lines
from roster.corpus.io import write
from roster.corpus.layout import TYPES
from roster.corpus.sentence import Sentence
from roster.distant.entries.patch import read_patch, write_patch
from roster.distant.entries.patches import followed
from roster.distant.output.record import Record, read_record
from roster.distant.output.target import MARK, beside
from roster.errors import RunError
from roster.files import atomic_folder, fingerprint, read_object, write_text
from roster.methods import registry
from roster.methods.request import Request, read_config
from roster.methods.train import backbone_fingerprint
from roster.scores import evaluate_sentences
from roster.training.finished import FinishedRun
from roster.training.gold import gold_fingerprint, read_gold

HEAD = """\
All changes of the dictionaries up to this round of `roster repair`, with those of earlier patches;
`roster label --patch` makes them."""
SCORES = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Trained:
    """A finished run, the data set it was trained on, and how that was labelled."""

    finished: FinishedRun
    dataset: Dataset
    path: Path
    record: Record

    @classmethod
    def first(cls, run: str | Path, data: str | Path | None, *, whole: bool) -> Trained:
        """The run to be repaired; checked, with its predictions if `whole`.

        Raises:
            RunError: it is not finished, has no members, was trained on labels in memory, or on other data.
            DataError: how its data set was labelled is not known, or cannot be done again.
        """
        finished = FinishedRun.open(run)
        if data is None and finished.data_path is None:
            raise RunError(
                f"{run} was trained on labels in memory, which cannot be made again; label from files "
                "(roster label CORPUS --dictionary FILE -o DATA), train on DATA and repair that run"
            )
        dataset = finished.dataset(data)
        if whole:
            read_run(run, dataset)
        path = Path(data if data is not None else finished.data_path or "")
        record = read_record(path)
        record.check_unchanged()
        _check_training(finished, dataset)
        return cls(finished, dataset, path, record)

    @classmethod
    def of(cls, this: Round) -> Trained:
        """The run of a finished round."""
        return cls(FinishedRun.open(this.run), load_dataset(this.data), this.data, read_record(this.data))

    @property
    def identity(self) -> dict[str, str]:
        """What a folder of rounds belongs to."""
        made_from = read_object(self.finished.path / "run.json")
        return {"run": fingerprint({name: one for name, one in made_from.items() if name != "version"})}


def audit_run(now: Trained, folder: Path, changes: Path | None = None) -> dict[str, Any]:
    """Audit a run into a folder. The file `changes` gets the patch of its labels, followed by the sure
    changes of the audit."""
    found = audit(now.finished.path, now.dataset)
    sure = [one.change for one in found.proposals if one.applied]
    with atomic_folder(folder) as part:
        found.save(part, {"run": str(now.finished.path), "data": str(now.path)})
    if changes is not None:
        every = followed(now.record.settings.patch.changes, sure)
        write_patch(changes, ((change, ()) for change in every), HEAD)
    return {"reason": found.reason, "changes": dict(Counter(change.action for change in sure))}


def label_again(now: Trained, changes: Path, folder: Path) -> dict[str, Any]:
    """Label the text of a data set from the same sources with other changes of them; its gold splits too."""
    shutil.rmtree(folder, ignore_errors=True)
    record = now.record
    settings = replace(record.settings, patch=read_patch(changes)).checked()
    label_file(
        record.corpus,
        folder,
        config=settings,
        format=record.format,
        split=record.split,
        to=record.to,
        scheme=record.scheme,
        provenance=record.provenance,
        gold=record.gold,
        cache=bool(settings.kb.source),  # answers are worth keeping; a dictionary with a patch is used once
    )
    _copy_gold(now.dataset, folder, record.to)
    return {}


def train_again(first: Trained, data: Path, run: Path) -> dict[str, Any]:
    """Train on another data set as a run was asked to, or go on with that."""
    asked = first.finished.results.get("asked")
    if asked is None:  # a complete config was given, or an earlier version made the run
        train(data, run, config=read_config(first.finished.path / "config.toml"))
    else:
        train(data, run, preset=asked["preset"], overrides=asked["given"], minutes=asked["minutes"])
    return {}


def copy_folder(source: Path, folder: Path) -> dict[str, Any]:
    with atomic_folder(folder) as part:
        shutil.copytree(source, part, dirs_exist_ok=True)
    return {}


def step(name: str, now: Trained, audited: Path, changes: Mapping[str, int] | None) -> Step:
    """What is reported of a run, from the folder of its audit."""
    with (audited / ROWS).open(encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row["kind"] == "type"]
    types = {row["label"]: {key: row[key] for key in ("labels", "precision", "recall")} for row in rows}
    stages = now.finished.results["stages"].values()
    scored = [facts["scores"] for facts in stages if facts.get("scores")]
    scores = {split: _three(one) for split, one in scored[-1].items()} if scored else {}
    return Step(name, types, changes, _label_scores(now), scores)


def _three(found: Mapping[str, Any]) -> dict[str, float]:
    return {name: found[name] for name in SCORES}


def _label_scores(now: Trained) -> dict[str, float] | None:
    """Those of the labels, where the data set has true labels of the text or was labelled with `--gold`."""
    if now.dataset.train_gold is not None:
        return _three(evaluate_sentences(now.dataset.train, now.dataset.train_gold).as_dict())
    report = beside(now.path, MARK)
    gold = read_object(report).get("gold") if report.is_file() else None
    return None if gold is None else _three(gold)


def _copy_gold(dataset: Dataset, folder: Path, format: str) -> None:
    """Write the gold splits of a data set into the folder of another; and its types, so that a patch takes no
    type from the model that gold sentences have."""
    types = folder / TYPES
    new = types.read_text(encoding="utf-8").splitlines() if types.exists() else []
    write_text(types, "".join(f"{name}\n" for name in dict.fromkeys([*dataset.types, *new])))
    for name, split in (("valid", dataset.valid), ("test", dataset.test)):
        if split and all(one.spans is not None for one in split):
            _write_split(folder, name, split, format)
    true = dataset.parts.get("train_gold")
    if isinstance(true, Part) and format == "lines":
        file = lines.label_file(true.paths[0], "true")
        shutil.copyfile(file, lines.label_file(folder / f"train{lines.TEXT}", "true"))


def _write_split(folder: Path, name: str, split: list[Sentence], format: str) -> None:
    """In a folder with lines of text only those are read; beside all other formats, JSON lines."""
    if format == "lines":
        write(folder / f"{name}{lines.TEXT}", split, "lines", labels="true")
    else:
        write(folder / f"{name}.jsonl", split, "jsonl")


def _check_training(finished: FinishedRun, dataset: Dataset) -> None:
    """Raise RunError if the backbone or the gold sentences of a run are others now."""
    asked = finished.results.get("asked")
    config = read_config(finished.path / "config.toml") if asked is None else Request.of_dict(asked).config()
    made_from = read_object(finished.path / "run.json")
    gold = read_gold(config.gold, registry.get(config.method).types(dataset.types))
    now = {
        "backbone": (config.backbone.name, backbone_fingerprint(config)),
        "gold": (config.gold.file, gold_fingerprint(gold) if gold else None),
    }
    for part, (name, found) in now.items():
        if found != made_from.get(part):
            raise RunError(
                f"{name} ({part}) was changed since {finished.path} was trained; train again, and repair "
                "that run"
            )
