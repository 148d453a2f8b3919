"""A finished run folder, as the audit, the report and the review read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from roster.corpus.dataset import Dataset, load_dataset
from roster.errors import ModelError, RosterError, RunError
from roster.files import read_object
from roster.model.folder import is_model
from roster.model.weights import load_tensors
from roster.training.run import PREDICTIONS

MEMBER = "member-"
"""Begins the names of members, as stages and as predictions."""


@dataclass(frozen=True)
class FinishedRun:
    path: Path
    results: Mapping[str, Any]

    @classmethod
    def open(cls, folder: str | Path) -> FinishedRun:
        """Raises RunError for a folder that is no run, or whose run is not finished."""
        path = Path(folder)
        file = path / "results.json"
        if not file.is_file():
            raise RunError(f"{path} is not a run folder: it has no results.json; roster train makes one")
        results = read_object(file)
        if "model" not in results.get("stages", {}) or not is_model(path / "model"):
            raise RunError(f"the run {path} is not finished; continue it with the same roster train command")
        return cls(path, results)

    @property
    def data_path(self) -> str | None:
        """Where its data set was; None for one in memory, and for runs of earlier versions."""
        path: str | None = (self.results.get("data") or {}).get("path")
        return path

    def dataset(self, given: str | Path | Dataset | None = None) -> Dataset:
        """The data set that the run was trained on. `given` is where it is now, or the data set itself.

        Raises RunError if it is not there any more, or is another one.
        """
        place = given if given is not None else self.data_path
        if place is None:
            raise RunError("the run did not note where its data set lies; name it with --data")
        try:
            found = place if isinstance(place, Dataset) else load_dataset(place)
            same = found.fingerprint() == read_object(self.path / "run.json").get("data")
        except RosterError as error:
            if given is not None:
                raise
            raise RunError(
                f"the data set of {self.path} cannot be read ({error}); name it with --data if it was moved"
            ) from None
        if not same:
            where = "the given one" if isinstance(place, Dataset) else place
            raise RunError(f"{where} is not the data set of {self.path}, or was changed since the run")
        return found

    def predictions(self) -> dict[str, np.ndarray] | None:
        """What its models predict on the training text, by name (`Run.keep_predictions`); None for runs of
        earlier versions. Raises RunError for a damaged file."""
        file = self.path / PREDICTIONS
        if not file.is_file():
            return None
        try:
            return {name: tensor.numpy() for name, tensor in load_tensors(file)[0].items()}
        except ModelError as error:
            raise RunError(f"{error}; remove the file to do without it") from None


def members(predictions: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The members' distributions, from member 0 on."""
    count = sum(name.startswith(MEMBER) for name in predictions)
    return [predictions[f"{MEMBER}{number}"] for number in range(count)]
