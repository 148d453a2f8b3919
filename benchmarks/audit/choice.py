"""The free numbers of the audit, chosen on all texts but one, and what they give on that one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, TypeVar

import numpy as np

from benchmarks.audit.measure import FEW, by_kind, gold_sentences
from benchmarks.audit.source import Source
from roster.auditing.labels import DOUBTED, entry_numbers
from roster.auditing.measure import FIRST, AgainstGold, area
from roster.auditing.quality import NORMAL, Estimate, Z, quality
from roster.auditing.trust import Weights, places, trust

Value = TypeVar("Value")
Found = Sequence[tuple[Source, AgainstGold]]
WEIGHTS = [
    Weights(entry=entry, place=place, removed=removed)
    for entry, place, removed in product((0.0, 0.25, 0.5), (0.0, 0.5, 1.0), (0.0, 0.5, 1.0))
]
OUTSIDE = tuple(round(0.3 + 0.05 * n, 2) for n in range(19))
SURE = tuple(round(0.5 + 0.05 * n, 2) for n in range(10))
GOAL = 0.85
"""Precision of the changes that are made."""


def choices(found: Found) -> Iterator[dict[str, Any]]:
    """Yield one record for each number and each text that is left out."""
    orders = [[order(one, weights) for weights in WEIGHTS] for _, one in found]
    gains = np.array([[_gain(row) for row in of_set] for of_set in orders])
    yield from _left_out(found, "weights of the ranking", WEIGHTS, _best(gains), lambda n, c: orders[n][c])
    errors = np.array([[_mean(recall_errors(one, share)) for share in OUTSIDE] for _, one in found])
    yield from _left_out(
        found, "true share beside the labels", OUTSIDE, _best(-errors),
        lambda n, c: {"recall_error": round(float(errors[n, c]), 4)},
    )  # fmt: skip
    counts = [[changes(one, sure) for sure in SURE] for _, one in found]
    shares = np.array([[right / max(1, known) for _, known, right in of_set] for of_set in counts])
    yield from _left_out(
        found, "least confidence of a change", SURE, _least(shares),
        lambda n, c: dict(zip(("changes", "known", "right"), counts[n][c], strict=True)),
    )  # fmt: skip
    yield from coverage(found)


def order(found: AgainstGold, weights: Weights) -> dict[str, float | None]:
    """Return precision of the first claims on labels, all labels ranked, and the area under the curve."""
    judged, evidence = found.audit.judged, found.audit.evidence
    place = places(judged.spans, judged.instead, judged.meets)
    entry = entry_numbers(evidence, judged.spans)
    score = trust(
        judged.certainty, judged.doubts, place, entry, judged.spans.label, DOUBTED, weights
    )[found.labels]  # fmt: skip
    right = found.right[found.labels]
    wrong = ~right[np.argsort(score, kind="stable")]
    first = {f"first {n}": round(float(wrong[:n].mean()), 4) for n in FIRST if len(wrong) >= n}
    under = area(score, right)
    return {**first, "area": None if under is None else round(under, 4)}


def _gain(row: dict[str, float | None]) -> float:
    return float(np.mean([value for value in row.values() if value is not None]))


def recall_errors(found: AgainstGold, outside: float) -> list[float]:
    """Return the errors of the estimated recall by type."""
    listed = quality(found.audit.evidence, found.audit.judged, outside)
    return _errors(found, {one.label: one.recall for one in listed}, "recall")


def _errors(found: AgainstGold, estimates: dict[str, Estimate | None], name: str) -> list[float]:
    true = {row["label"]: row[f"true_{name}"] for row in found.types()}
    known = np.bincount(found.audit.judged.spans.label[found.labels], minlength=len(true) + 1)
    return [
        one.value - true[label]
        for number, (label, one) in enumerate(estimates.items(), 1)
        if known[number] >= FEW and one is not None and true[label] is not None
    ]


def changes(found: AgainstGold, sure: float) -> tuple[int, int, int]:
    """Return how many changes are made from a confidence on, how many gold can tell, how many are right."""
    some = [one for one in found.audit.proposals if one.default and one.confidence >= sure]
    some = [one for one in some if not one.contradicted]
    kinds = by_kind(some, gold_sentences(found)).values()
    changes, known, right = (sum(one[name] for one in kinds) for name in ("changes", "known", "right"))
    return changes, known, right


def coverage(found: Found) -> Iterator[dict[str, Any]]:
    """Yield how many true values lie within bounds from the mean error on the other texts."""
    for name in ("precision", "recall"):
        errors = [
            _errors(one, {t.label: getattr(t, name) for t in one.audit.types}, name) for _, one in found
        ]
        for text in dict.fromkeys(source.text for source, _ in found):
            pairs = list(zip((source for source, _ in found), errors, strict=True))
            others = [e for source, of in pairs if source.text != text for e in of]
            half = Z * NORMAL * float(np.mean(np.abs(others)))
            results = {
                source.name: {
                    "error": round(_mean(of), 4),
                    "within": sum(abs(e) <= half for e in of),
                    "types": len(of),
                }
                for source, of in pairs
                if source.text == text
            }
            yield {"kind": "left out", "number": f"bounds of {name}", "text": text,
                   "chosen": round(half, 3), "results": results}  # fmt: skip


def _mean(errors: Iterable[float]) -> float:
    return float(np.mean(np.abs(list(errors))))


def _left_out(
    found: Found, number: str, values: Sequence[Value], choose: Callable[[np.ndarray], int],
    result: Callable[[int, int], dict[str, Any]],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    for text in dict.fromkeys(source.text for source, _ in found):
        others = np.array([source.text != text for source, _ in found])
        best = choose(_by_text(found, others))
        results = {source.name: result(n, best) for n, (source, _) in enumerate(found) if not others[n]}
        yield {"kind": "left out", "number": number, "text": text, "chosen": str(values[best]),
               "results": results}  # fmt: skip


def _by_text(found: Found, which: np.ndarray) -> np.ndarray:
    """Return weights of the data sets, by which every text counts the same; 0 for those left out."""
    texts = [source.text for source, _ in found]
    counts = {text: sum(w for w, t in zip(which, texts, strict=True) if t == text) for text in texts}
    weights = np.array([float(w) / counts[t] if w else 0.0 for w, t in zip(which, texts, strict=True)])
    return weights / weights.sum()


def _best(gains: np.ndarray) -> Callable[[np.ndarray], int]:
    return lambda weights: int(np.argmax(weights @ gains))


def _least(shares: np.ndarray) -> Callable[[np.ndarray], int]:
    """The first value that reaches the goal on average over the texts, or the one that is nearest to it."""

    def choose(weights: np.ndarray) -> int:
        mean = weights @ shares
        return int(np.argmax(mean >= GOAL)) if (mean >= GOAL).any() else int(np.argmax(mean))

    return choose
