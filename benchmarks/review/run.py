"""`python -m benchmarks review`: coverage of the intervals, and answers for a width, beside random
sampling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import OK, machine, versions
from benchmarks.report import Report, Row, table
from benchmarks.review.annotator import answers
from benchmarks.review.simulation import (
    SCORES,
    System,
    Truth,
    at_answers,
    ours,
    random_sampling,
    until_width,
)
from roster.corpus.io import read
from roster.corpus.sentence import Sentence
from roster.errors import DataError
from roster.infer.recogniser import load
from roster.reviewing.expectation import Expectation
from roster.reviewing.prediction import predict

SYSTEMS = {"ours": ours, "random sampling": random_sampling}
KEYS = {"each name": False, "all right": True}
"""Ways to answer: one answer for each name, or one for all that is right in the rest of a sentence."""
NOTES = """\
coverage: how often an interval holds the true value. margin: half the width of an interval, the mean. error:
root mean square error. until: answers until F1 is known to the width, the mean and the 90th percentile;
coverage and error then. Random sampling of sentences: ratio estimates, linearised variance. answered by name:
one answer for each predicted name, one whether names are missing, one for each of these; all right: one for
the rest of a sentence, as soon as that is all right."""


@dataclass(frozen=True)
class Work:
    """What is simulated."""

    model: str
    gold: str
    labels: str | None
    times: int
    width: float
    budgets: tuple[int, ...]
    confidence: float
    seed: int


class ReviewReport(Report):
    def name(self, result: dict[str, Any]) -> str:
        return f"{result['system']}, {result['keys']}"

    def text(self) -> str:
        about = self.conditions
        true = ", ".join(f"{name} {about['truth'][name]:.3f}" for name in SCORES)
        lines = [f"{about['sentences']} sentences, true {true}; {about['repeat']} reviews each", ""]
        head = ["", "answers", *(f"{name} coverage" for name in SCORES), "F1 margin", "F1 error"]
        rows: list[Row] = [(head, "")]
        for result in self.results:
            rows.append(([self.name(result)], ""))
            for one in result["at"]:
                numbers = [f"{one['coverage'][name]:.3f}" for name in SCORES]
                rows.append(
                    (["", f"{one['answers']}", *numbers, f"{one['margin']:.4f}", f"{one['error']:.4f}"], "")
                )
        lines += [*table(rows), ""]
        stops: list[Row] = [([f"until ±{about['width']:g}", "answers", "90 %", "coverage", "F1 error"], "")]
        for result in self.results:
            one = result["until"]
            cells = [f"{one['answers']:.0f}", f"{one['most']:.0f}", f"{one['coverage']:.3f}"]
            stops.append(([self.name(result), *cells, f"{one['error']:.4f}"], ""))
        return "\n".join([*lines, *table(stops), "", NOTES])


def run(work: Work, log: Callable[[str], None]) -> ReviewReport:
    """Predict the text once, then simulate reviews of it."""
    sentences, expected, gold, types = prepare(work)
    truths = {name: truth(sentences, gold, types, short) for name, short in KEYS.items()}
    scores = truths["all right"].scores(expected.predicted)
    results = []
    for keys, one in truths.items():
        for name, build in SYSTEMS.items():
            log(f"{name}, {keys}")
            figures = simulated(build(expected, one, work.confidence), one, work, scores)
            results.append({"status": OK, "message": "", "system": name, "keys": keys, **figures})
    about: dict[str, Any] = {"benchmark": "review", "machine": machine(), "versions": versions(("numpy",))}
    about |= {"repeat": work.times, **asdict(work), "sentences": len(sentences)}
    about["truth"] = dict(zip(SCORES, scores, strict=True))
    return ReviewReport(about, tuple(results))


def prepare(work: Work) -> tuple[list[Sentence], Expectation, list[Sentence], tuple[str, ...]]:
    """Return predicted sentences, what to expect of them, gold ones, and the types.

    Raises:
        DataError: the labels are not those of the gold sentences.
    """
    ner = load(work.model)
    gold = [sentence for sentence in read(work.gold, labels=_true(work.gold)) if sentence.words]
    if any(sentence.spans is None for sentence in gold):
        raise DataError("the sentences need gold labels", path=work.gold)
    source = [sentence.with_spans(None) for sentence in gold]
    if work.labels:
        source = [sentence for sentence in read(work.labels) if sentence.words]
        if [s.words for s in source] != [s.words for s in gold]:
            raise DataError("other sentences than those of the gold file", path=work.labels)
    sentences, expected = predict(ner, source)
    types = sorted({*ner.types, *(span.label for sentence in gold for span in sentence.spans or ())})
    return sentences, expected, gold, tuple(types)


def truth(sentences: list[Sentence], gold: list[Sentence], types: tuple[str, ...], all_right: bool) -> Truth:
    """Return what a simulated person answers about every sentence."""
    pairs = [(set(s.spans or ()), set(g.spans or ())) for s, g in zip(sentences, gold, strict=True)]
    return Truth(
        np.array([len(p & g) for p, g in pairs], float),
        np.array([len(g) for _, g in pairs], float),
        np.array([
            len(answers(i, s, sorted(g), types, all_right))
            for i, (s, (_, g)) in enumerate(zip(sentences, pairs, strict=True))
        ]),
    )  # fmt: skip


def simulated(system: System, truth: Truth, work: Work, scores: tuple[float, float, float]) -> dict[str, Any]:
    """Return coverage, margins and errors of simulated reviews with one system."""

    def generators() -> Iterator[np.random.Generator]:
        return (np.random.default_rng([work.seed, i]) for i in range(work.times))

    budgets = [budget for budget in work.budgets if budget < truth.answers.sum()]
    found = at_answers(system, truth, budgets, generators())
    at = []
    for budget, one in zip(budgets, found.transpose(1, 2, 0, 3), strict=True):
        covered = {name: _coverage(one[i], scores[i]) for i, name in enumerate(SCORES)}
        margin = float(np.nanmean(one[-1, :, 2] - one[-1, :, 1]) / 2)
        at.append(
            {"answers": budget, "coverage": covered, "margin": margin, "error": _error(one[-1], scores[-1])}
        )
    spent, last = until_width(system, truth, work.width, generators())
    until = {
        "answers": float(spent.mean()),
        "most": float(np.quantile(spent, 0.9)),
        "coverage": _coverage(last, scores[-1]),
        "error": _error(last, scores[-1]),
    }
    return {"at": at, "until": until}


def _coverage(intervals: np.ndarray, true: float) -> float:
    return float(((intervals[:, 1] <= true + 1e-9) & (true - 1e-9 <= intervals[:, 2])).mean())


def _error(intervals: np.ndarray, true: float) -> float:
    return float(np.sqrt(np.nanmean((intervals[:, 0] - true) ** 2)))


def _true(path: str) -> Any:
    """Gold labels of a file of lines lie beside distant ones; other formats have one kind."""
    return "true" if Path(path).name.endswith("_text.txt") else None
