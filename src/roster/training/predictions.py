"""The predictions that a stage keeps of its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

SPLIT = "split."


@dataclass(frozen=True)
class Predictions:
    """The distributions of a model for every word, [words, classes], in float16.

    `train` is of the training text, `splits` of each report split by its name. `removed` [words] is how often
    label removal found the label of a word wrong, where the training removes labels.
    """

    train: Tensor
    splits: Mapping[str, Tensor] = field(default_factory=dict)
    removed: Tensor | None = None

    def tensors(self) -> dict[str, Tensor]:
        """The same by names, for a file."""
        removed = {} if self.removed is None else {"removed": self.removed}
        return {"train": self.train, **removed, **{f"{SPLIT}{name}": p for name, p in self.splits.items()}}

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Tensor]) -> Predictions:
        """Takes back what `tensors` gave.

        >>> import torch
        >>> one = Predictions(torch.zeros(2, 3), {"test": torch.ones(1, 3)})
        >>> Predictions.of_tensors(one.tensors()).splits["test"].tolist()
        [[1.0, 1.0, 1.0]]
        """
        splits = {name[len(SPLIT) :]: p for name, p in tensors.items() if name.startswith(SPLIT)}
        return cls(tensors["train"], splits, tensors.get("removed"))
