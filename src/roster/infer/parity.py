"""Comparison of an exported model with the original: logits, classes, scores and speed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from roster.corpus.sentence import Sentence
from roster.infer.logits import probabilities
from roster.infer.recogniser import Recogniser
from roster.scores import Evaluation, evaluate_sentences

TOLERANCE = 1e-3
"""Largest difference of two logits that rounding in float32 explains; in practice it is near 1e-5."""
SECONDS = 2.0
"""Least time for which each side is measured."""


class ParityError(Exception):
    """The exported model does not give the results of the original: a bug in the export."""


@dataclass(frozen=True)
class Parity:
    """Original against export: logits and classes of all words, speed, and scores where labels were given."""

    words: int
    logit_difference: float
    agreement: float
    words_per_second: tuple[float, float]
    scores: tuple[Evaluation, Evaluation] | None = None

    def as_dict(self) -> dict[str, Any]:
        sides = ("original", "export")
        found: dict[str, Any] = {
            k: v for k, v in asdict(self).items() if k not in ("words_per_second", "scores")
        }
        found["words_per_second"] = dict(zip(sides, self.words_per_second, strict=True))
        if self.scores:
            found["scores"] = {side: s.as_dict() for side, s in zip(sides, self.scores, strict=True)}
        return found

    def table(self) -> str:
        """The comparison as aligned text."""
        lines = [
            f"largest difference of a logit: {self.logit_difference:.2g} over {self.words:,} words",
            f"words of the same class: {100 * self.agreement:.2f} %",
            "",
        ]
        head = f"{'':8}" + ("  precision  recall     F1" if self.scores else "") + "  words/s"
        rows = [head]
        for i, (name, speed) in enumerate(zip(("original", "export"), self.words_per_second, strict=True)):
            s = self.scores[i] if self.scores else None
            scores = f"  {s.precision:9.4f}  {s.recall:6.4f}  {s.f1:.4f}" if s else ""
            rows.append(f"{name:8}{scores}  {speed:7,.0f}")
        return "\n".join(lines + rows)


def compare(
    original: Recogniser, export: Recogniser, sentences: Sequence[Sentence], *, labelled: bool
) -> Parity:
    """Both on the same sentences. Raises ParityError where not even the classes can be compared."""
    words = sum(map(len, sentences))
    logits = [side.logits(sentences) for side in (original, export)]
    if logits[0].shape != logits[1].shape or not np.isfinite(logits[1]).all():
        raise ParityError("the exported model does not give a number for every class of every word")
    kind = original.engine.facts.kind
    classes = [probabilities(kind, one).argmax(-1) for one in logits]
    speeds, found = _timed((original, export), sentences)
    return Parity(
        words=words,
        logit_difference=float(np.abs(logits[0] - logits[1]).max(initial=0.0)),
        agreement=float((classes[0] == classes[1]).mean()) if words else 1.0,
        words_per_second=speeds,
        scores=_scores(found, sentences) if labelled else None,
    )


def _timed(
    sides: tuple[Recogniser, Recogniser], sentences: Sequence[Sentence]
) -> tuple[tuple[float, float], list[list[Sentence]]]:
    """Words per second of both, and what they find.

    They take turns, each for some seconds, so that other work on the machine slows both.
    """
    words = sum(map(len, sentences))
    spent, passes, found = [0.0, 0.0], 0, list[list[Sentence]]()
    while passes == 0 or min(spent) < SECONDS:
        found = []
        for i, side in enumerate(sides):
            start = time.perf_counter()
            found.append([one.sentence for one in side.find(sentences)])
            spent[i] += time.perf_counter() - start
        passes += 1
    return (words * passes / spent[0], words * passes / spent[1]), found


def _scores(found: Sequence[Sequence[Sentence]], gold: Sequence[Sentence]) -> tuple[Evaluation, Evaluation]:
    return evaluate_sentences(found[0], gold), evaluate_sentences(found[1], gold)
