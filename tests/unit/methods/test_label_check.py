"""The comparison of a trained model with the labels it was given."""

from __future__ import annotations

from dataclasses import replace

from roster.methods.label_check import FAR, FEWEST, far_from_labels
from roster.training.mentions import TypeCount


def test_far_from_labels() -> None:
    near = TypeCount(labels=100, labels_found=round(FAR * 100), found=500)
    assert far_from_labels({"PER": near}) == []
    (told,) = far_from_labels({"PER": near, "LOC": replace(near, labels_found=near.labels_found - 1)})
    assert told == "LOC: the model finds 29 of the 100 labels in its own training text"
    few = TypeCount(labels=FEWEST - 1, labels_found=0, found=0)
    assert far_from_labels({"PER": few}) == []
    assert far_from_labels({"PER": replace(few, labels=FEWEST)}) != []
