"""What is told of the quality of a model without gold labels."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roster.methods.quality import APART, best_evidence, estimate_lines, final_scores, furthest_types


def count(labels: int, found: int) -> dict[str, int]:
    return {"labels": labels, "labels_found": min(labels, found), "found": found}


def results(value: float = 0.557, error: float = 0.02, **found: dict[str, int]) -> dict[str, Any]:
    recall = {"all": {"value": value, "error": error, "names": 1755}}
    stages = {"mean-of-members": {"hold_out_recall": recall, "scores": {}}, "ensemble": {"agreement": 0.914}}
    return {"stages": stages, "found": found}


def test_lines() -> None:
    assert estimate_lines(results(PER=count(100, 340), LOC=count(100, 110), MISC=count(131, 60))) == [
        "estimated recall of names that the dictionary lacks: .56 ± .10 (hold-out of 1,755 names)",
        "agreement of the ensemble model with the mean of the members: .91",
        "entities found in the training text, where furthest from the labels: PER 340 (100 labels), "
        "MISC 60 (131 labels)",
    ]
    assert "± .25" in estimate_lines(results(error=0.25))[0]


def test_runs_that_know_less() -> None:
    assert estimate_lines({"stages": {"fine-tune": {}, "model": {}}}) == []
    assert estimate_lines({}) == []
    assert final_scores({}) == {}
    assert best_evidence({}) is None
    assert best_evidence({"gold": 1, "valid": 2}) == ("valid", 2)


@given(st.dictionaries(st.text(max_size=3), st.builds(count, st.integers(0, 99), st.integers(0, 999))))
def test_types_far_from_their_labels(found: dict[str, dict[str, int]]) -> None:
    far = furthest_types(found)
    assert len(far) <= 3
    for name in far:
        ratio = (found[name]["found"] + 1) / (found[name]["labels"] + 1)
        assert ratio > APART or ratio < 1 / APART
        assert max(found[name]["found"], found[name]["labels"]) >= 10
