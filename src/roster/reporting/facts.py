"""What a run folder kept. Every part may be missing: runs of earlier versions and of other methods have
less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from roster.config import read_toml
from roster.corpus.dataset import Dataset
from roster.corpus.sentence import Sentence
from roster.errors import RosterError, RunError
from roster.infer.calibration import Fit, load_fit
from roster.methods.request import read_config
from roster.model.folder import read_facts
from roster.training.finished import MEMBER, FinishedRun, members
from roster.training.gold import add_gold, read_gold

DERIVATION = "Settings derived"
"""Begins the line of the log with the derived settings and their reasons."""


@dataclass(frozen=True)
class KeptPredictions:
    """Distributions [words, 1 + types] on the training text, in word order."""

    members: tuple[np.ndarray, ...]
    final: np.ndarray


@dataclass(frozen=True)
class RunFacts:
    """A finished run."""

    path: Path
    types: tuple[str, ...]
    config_text: str
    config: Mapping[str, Any]
    results: Mapping[str, Any]
    derivation: str
    notes: tuple[str, ...]
    """Lines of the log on decisions during the training."""
    predictions: KeptPredictions | None
    dataset: Dataset | None
    no_data: str
    """Why there is no data set; empty where there is one."""
    calibration: Fit | None = None
    """What `roster calibrate` kept in the model folder."""
    sentences: tuple[Sentence, ...] = ()
    """The sentences that were learned from, in the order of the predictions; empty without the data set."""

    @property
    def stages(self) -> Mapping[str, Mapping[str, Any]]:
        found: Mapping[str, Mapping[str, Any]] = self.results["stages"]
        return found

    @property
    def members(self) -> dict[str, Mapping[str, Any]]:
        return {name: facts for name, facts in self.stages.items() if name.startswith(MEMBER)}


def read_run(folder: str | Path, data: str | Path | Dataset | None = None) -> RunFacts:
    """The facts of a finished run.

    Args:
        folder: the run folder.
        data: its data set, where it was moved, or to save reading it again.

    Raises:
        RunError: the folder is no finished run, or a file in it is damaged; or `data` is another data set.
        ModelError: the calibration of its model is damaged.
    """
    run = FinishedRun.open(folder)
    path, results = run.path, run.results
    try:
        config_text = (path / "config.toml").read_text(encoding="utf-8")
        log = (path / "log.txt").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise RunError(f"{error.filename} cannot be read: {error.strerror}") from None
    lines = [line.split(" ", 2)[-1] for line in log]
    types = read_facts(path / "model").types
    dataset, no_data = _dataset(run, data)
    sentences: Sequence[Sentence] = ()
    if dataset is not None:
        try:
            gold = read_gold(read_config(path / "config.toml").gold, types)
            sentences = add_gold(dataset.train, gold)[0]
        except RosterError as error:
            no_data = f"the gold sentences that were learned from cannot be read again ({error})"
    predictions = _predictions(run)
    if predictions is not None and sentences and sum(map(len, sentences)) != len(predictions.final):
        predictions = None  # of other sentences than those that can be shown
    return RunFacts(
        path,
        types,
        config_text,
        read_toml(path / "config.toml"),
        results,
        next((line for line in reversed(lines) if line.startswith(DERIVATION)), ""),
        tuple(line for line in lines if _is_note(line, results)),
        predictions,
        dataset,
        no_data,
        load_fit(path / "model"),
        tuple(sentences),
    )


def _is_note(line: str, results: Mapping[str, Any]) -> bool:
    known = (DERIVATION, "data: ", "warning: ", *(f"{stage}: " for stage in results["stages"]))
    return not line.startswith(known)


def _dataset(run: FinishedRun, given: str | Path | Dataset | None) -> tuple[Dataset | None, str]:
    """The data set of a run, or why it is not to be had; one that is given must be right."""
    try:
        return run.dataset(given), ""
    except RunError as error:
        if given is not None:
            raise
        return None, str(error)


def _predictions(run: FinishedRun) -> KeptPredictions | None:
    kept = run.predictions()
    return None if kept is None else KeptPredictions(tuple(members(kept)), kept["final"])
