"""How far a trained model is from the labels it was given, by type. No gold label is needed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from roster.model.decoding import decode, io_classes
from roster.training.mentions import TypeCount, count_by_type
from roster.training.run import Run
from roster.training.task import Task

FEWEST = 10
"""A type is judged by at least so many labels."""
FAR = 0.3
"""A model that finds less than this share of a type's labels in its training text is far from them."""


def compare_with_labels(task: Task, run: Run, scheme: str, p: np.ndarray) -> dict[str, TypeCount]:
    """Notes what the model finds in its own training text, and warns where that is far from the labels.

    `p` [words, classes] are its predictions there, in its tagging scheme.
    """
    spans = decode(scheme, p, map(len, task.sentences), task.types)
    found = [s.with_spans(x) for s, x in zip(task.sentences, spans, strict=True)]
    counts = count_by_type(io_classes(found, task.types), task.mentions, task.starts, task.types)
    run.results["found"] = {name: count.as_dict() for name, count in counts.items()}
    run.results["warnings"] = far_from_labels(counts)
    for warning in run.results["warnings"]:
        run.log(f"warning: {warning}")
    return counts


def far_from_labels(counts: Mapping[str, TypeCount]) -> list[str]:
    """One sentence for each type whose labels the model mostly does not find.

    >>> far_from_labels({"PER": TypeCount(50, 40, 60), "ORG": TypeCount(50, 2, 3)})
    ['ORG: the model finds 2 of the 50 labels in its own training text']
    """
    return [
        f"{name}: the model finds {c.labels_found} of the {c.labels} labels in its own training text"
        for name, c in counts.items()
        if c.labels >= FEWEST and c.labels_found < FAR * c.labels
    ]
