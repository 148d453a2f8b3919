"""What is known of the quality of a model at the end of its run: scores where gold labels were given, else
estimates. A pure function of `results.json`, for the log, the report and the model card.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

HOLD_OUT_ERROR = 0.1
"""How far the hold-out recall is from the recall on a test set: .062 to .073 on average over the seventeen
data sets of docs/results.md ("Hold-out recall"), more than .1 in a third of the cases, and several times its
own standard error."""
FEWEST = 10
"""A type is named by at least so many labels or entities."""
APART = 1.5
"""A type is named if its entities are so many times as many as its labels, or as few."""
NAMED = 3
"""Most types that are named."""
TESTED = ("test", "valid")
"""The split whose scores are shown first; then any other."""


def final_scores(results: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of the final model by split; empty where no split has gold labels.

    >>> final_scores({"stages": {"a": {"scores": {"test": 1}}, "b": {"scores": {"test": 2}}, "model": {}}})
    {'test': 2}
    """
    scored: list[dict[str, Any]] = [s["scores"] for s in stages(results).values() if s.get("scores")]
    return scored[-1] if scored else {}


def best_evidence(scores: Mapping[str, Any]) -> tuple[str, Any] | None:
    """The name and the scores of the most informative split."""
    names = [*(name for name in TESTED if name in scores), *(n for n in scores if n not in TESTED)]
    return (names[0], scores[names[0]]) if names else None


def hold_out_recall(results: Mapping[str, Any]) -> dict[str, Any]:
    """Estimates of recall by type, and of `all`; empty where no names were held out."""
    found: dict[str, Any] = stages(results).get("mean-of-members", {}).get("hold_out_recall", {})
    return found


def agreement(results: Mapping[str, Any]) -> float | None:
    """The share of the entity words on which the ensemble model has the class of the members' mean.

    None where there is no ensemble. Below .87 there is no self-training (`methods/roster/algorithm.py`).
    """
    found: float | None = stages(results).get("ensemble", {}).get("agreement")
    return found


def stages(results: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = results.get("stages", {})
    return found


def furthest_types(found: Mapping[str, Mapping[str, int]]) -> list[str]:
    """The types whose number of entities in the training text is furthest from that of their labels.

    >>> furthest_types({"PER": {"labels": 100, "found": 400}, "LOC": {"labels": 100, "found": 110}})
    ['PER']
    """

    def distance(name: str) -> float:
        return abs(math.log((found[name]["found"] + 1) / (found[name]["labels"] + 1)))

    enough = [name for name, count in found.items() if max(count["labels"], count["found"]) >= FEWEST]
    far = [name for name in enough if distance(name) > math.log(APART)]
    return sorted(far, key=distance, reverse=True)[:NAMED]


def estimate_lines(results: Mapping[str, Any]) -> list[str]:
    """Quality without gold labels, a line each: estimated recall, agreement, and the types far from their
    labels."""
    lines = []
    if "all" in (recall := hold_out_recall(results)):
        names = recall["all"]["names"]
        lines.append(
            f"estimated recall of names that the dictionary lacks: {recall_words(recall['all'])} "
            f"(hold-out of {names:,} names)"
        )
    share = agreement(results)
    if share is not None:
        lines.append(f"agreement of the ensemble model with the mean of the members: {short(share)}")
    found = results.get("found", {})
    if far := furthest_types(found):
        counts = ", ".join(f"{n} {found[n]['found']:,} ({found[n]['labels']:,} labels)" for n in far)
        lines.append(f"entities found in the training text, where furthest from the labels: {counts}")
    return lines


def recall_words(estimate: Mapping[str, float]) -> str:
    """A hold-out recall with its error: the known one of the method, or that of few names where it is
    greater.

    >>> recall_words({"value": 0.557, "error": 0.02, "names": 700})
    '.56 ± .10'
    """
    error = max(HOLD_OUT_ERROR, estimate["error"])
    return f"{short(estimate['value'])} ± {short(error)}"


def short(share: float) -> str:
    """A share with two digits.

    >>> short(0.557), short(1.0), short(0.0)
    ('.56', '1.00', '.00')
    """
    return f"{share:.2f}".removeprefix("0")
