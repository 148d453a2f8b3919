"""The claims of an audit beside gold labels, which the audit has not seen: for measuring only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from roster.auditing.audit import Audit
from roster.auditing.entries import AMBIGUOUS, RIGHT, Entry
from roster.auditing.names import Name
from roster.auditing.spans import Spans
from roster.corpus.sentence import Sentence, Span
from roster.errors import DataError

FIRST = (100, 1000)


@dataclass(frozen=True)
class Ranking:
    """Claims of one kind in their order: which are true; and the share of true ones among all candidates."""

    name: str
    true: np.ndarray
    chance: float
    area: float | None = None
    """Under the curve, where all candidates are ranked."""

    def precision(self, first: int) -> float | None:
        """Among the first claims; None where there are fewer."""
        return float(self.true[:first].mean()) if len(self.true) >= first else None

    def as_dict(self) -> dict[str, Any]:
        return {
            "ranking": self.name,
            "claims": len(self.true),
            "precision": {str(n): self.precision(n) for n in FIRST},
            "precision_all": float(self.true.mean()) if len(self.true) else None,
            "random": self.chance,
            "area": self.area,
        }


@dataclass(frozen=True)
class AgainstGold:
    """`gold` are true labels of the training sentences of the audited run, or of some of them. Claims on the
    other sentences are not counted."""

    audit: Audit
    gold: Sequence[Sentence]

    def __post_init__(self) -> None:
        if not self.known:
            raise DataError("the gold sentences are not the sentences that the run was trained on")

    @cached_property
    def known(self) -> dict[int, tuple[Span, ...]]:
        """The true names of training sentences by their number."""
        return known(self.audit.evidence.sentences, self.gold)

    @cached_property
    def true(self) -> dict[tuple[int, int], str]:
        """The type of each gold mention by its words in the text."""
        first = self.audit.evidence.first_words.tolist()
        return {
            (first[number] + span.start, first[number] + span.end): span.label
            for number, spans in self.known.items()
            for span in spans
        }

    @cached_property
    def told(self) -> np.ndarray:
        """[words]: those whose true labels are known."""
        sentence = self.audit.evidence.index.sentence
        return np.isin(sentence, np.fromiter(self.known, np.int64))

    @cached_property
    def labels(self) -> np.ndarray:
        """[labels]: those whose truth is known."""
        return self.told[self.audit.judged.spans.start]

    @cached_property
    def right(self) -> np.ndarray:
        """[labels]: which distant labels are right, as far as is known."""
        spans, types = self.audit.judged.spans, self.audit.evidence.types
        triples = zip(spans.start.tolist(), spans.end.tolist(), spans.label.tolist(), strict=True)
        return np.array([self.true.get((a, b)) == types[c - 1] for a, b, c in triples], bool)

    def rankings(self) -> list[Ranking]:
        """Labels believed wrong, entries believed wrong, names believed missing; cleanlab's where it is
        installed."""
        theirs = cleanlab_words(self.audit)
        return [*self._labels(theirs), *self._entries(theirs), *self._names(theirs)]

    def _labels(self, theirs: np.ndarray | None) -> list[Ranking]:
        judged, right = self.audit.judged, self.right
        chance = float((~right[self.labels]).mean()) if self.labels.any() else 0.0
        wrong = judged.wrong[self.labels[judged.wrong]]

        def ranked(name: str, score: np.ndarray, order: np.ndarray) -> Ranking:
            return Ranking(name, ~right[order], chance, area(score[self.labels], right[self.labels]))

        found = [ranked("labels", judged.trust, wrong)]
        for name, score in _of_spans("labels", theirs, judged.spans).items():
            order = np.argsort(score, kind="stable")
            found.append(ranked(name, score, order[self.labels[order]]))
        return found

    def _entries(self, theirs: np.ndarray | None) -> list[Ranking]:
        judged = self.audit.judged
        listed = [e for e in self.audit.entries if self.labels[[*e.good, *e.wrong]].any()]
        chance = float(np.mean([self._bad(e) for e in listed])) if listed else 0.0
        doubted = [e for e in listed if e.verdict not in (RIGHT, AMBIGUOUS)]
        ranked = {"entries": sorted(doubted, key=lambda e: -e.doubt)}
        for name, score in _of_spans("entries", theirs, judged.spans).items():
            mean = {id(e): float(score[[*e.good, *e.wrong]].mean()) for e in listed}
            ranked[name] = sorted(listed, key=lambda e: mean[id(e)])
        return [
            Ranking(name, np.array([self._bad(e) for e in order], bool), chance)
            for name, order in ranked.items()
        ]

    def _names(self, theirs: np.ndarray | None) -> list[Ranking]:
        names = [one for one in self.audit.names if any(self.told[start] for start, _ in one.places)]
        ranked = {"names": names}
        pairs = [place for one in names for place in one.places]
        spans = Spans(*np.array([(*p, 0) for p in pairs], np.int64).reshape(-1, 3).T)
        cuts = np.cumsum([len(one.places) for one in names])[:-1]
        for name, score in _of_spans("names", theirs, spans).items():
            mean = [float(part.mean()) for part in np.split(score, cuts)] if names else []
            ranked[name] = [names[n] for n in np.argsort(mean, kind="stable")]
        true = {name: np.array([self._is_name(one) for one in order], bool) for name, order in ranked.items()}
        chance = float(true["names"].mean()) if names else 0.0
        return [Ranking(name, found, chance) for name, found in true.items()]

    def _bad(self, entry: Entry) -> bool:
        """Whether most of an entry's labels are wrong, of those whose truth is known."""
        numbers = np.array([*entry.good, *entry.wrong])
        return float(self.right[numbers[self.labels[numbers]]].mean()) < 0.5

    def _is_name(self, name: Name) -> bool:
        """Whether at least half of the places where it is found are gold mentions of its type."""
        hits = [self.true.get(place) == name.label for place in name.places if self.told[place[0]]]
        return 2 * sum(hits) >= len(hits)

    def types(self) -> list[dict[str, Any]]:
        """Estimated and true precision and recall of the labels, by type."""
        spans, evidence = self.audit.judged.spans, self.audit.evidence
        listed = []
        for number, one in enumerate(self.audit.types, 1):
            mine = (spans.label == number) & self.labels
            hits, all_true = int(self.right[mine].sum()), sum(x == one.label for x in self.true.values())
            listed.append(
                {
                    "label": one.label,
                    "labels": one.labels,
                    "precision": one.precision.value if one.precision else None,
                    "precision_bounds": one.precision.bounds if one.precision else None,
                    "true_precision": hits / int(mine.sum()) if mine.any() else None,
                    "recall": one.recall.value if one.recall else None,
                    "recall_bounds": one.recall.bounds if one.recall else None,
                    "true_recall": hits / all_true if all_true else None,
                }
            )
        assert len(listed) == len(evidence.types)
        return listed

    def text(self) -> str:
        from roster.auditing.summary import table

        def cell(value: float | None) -> str:
            return "-" if value is None else f"{value:.3f}"

        rows = [["claims", "number", *(f"first {n:,}" for n in FIRST), "all", "random order", "area"]]
        for one in self.rankings():
            told = one.as_dict()
            precisions = [*told["precision"].values(), told["precision_all"], one.chance, one.area]
            rows.append([one.name, f"{told['claims']:,}", *map(cell, precisions)])
        types = [["type", "labels", "precision", "true", "recall", "true"]]
        for row in self.types():
            shares = (row[x] for x in ("precision", "true_precision", "recall", "true_recall"))
            types.append([row["label"], f"{row['labels']:,}", *map(cell, shares)])
        of = f"{len(self.known):,} of {len(self.audit.evidence.sentences):,} sentences"
        head = f"Precision of the claims on {of}, whose gold labels are known:"
        return f"{head}\n\n{table(rows)}\n\n{table(types)}"


def area(score: np.ndarray, good: np.ndarray) -> float | None:
    """Area under the ROC curve: how often a good one has a higher score than a bad one; ties count half.

    >>> area(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    positive = int(good.sum())
    if positive in (0, len(good)):
        return None
    _, which, count = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[which]
    return float((ranks[good].sum() - positive * (positive + 1) / 2) / (positive * (len(good) - positive)))


def known(sentences: Sequence[Sentence], gold: Sequence[Sentence]) -> dict[int, tuple[Span, ...]]:
    """The true names of sentences by their number, where gold sentences tell them.

    The gold sentences are the same in the same order, or are found by their words.

    >>> text = [Sentence.from_words([word]) for word in ("Oslo", "May", "ran")]
    >>> known(text, [Sentence.from_words(["May"], [Span(0, 1, "PER")])])
    {1: (Span(start=0, end=1, label='PER'),)}
    """
    if [s.words for s in sentences] == [s.words for s in gold]:
        return {number: tuple(s.spans or ()) for number, s in enumerate(gold)}
    by_words: Mapping[tuple[str, ...], tuple[Span, ...]] = {s.words: tuple(s.spans or ()) for s in gold}
    return {number: by_words[s.words] for number, s in enumerate(sentences) if s.words in by_words}


def cleanlab_words(audit: Audit) -> np.ndarray | None:
    """[words]: the label quality by cleanlab's token classification, from the mean of the same probabilities;
    None where cleanlab is not installed."""
    try:
        from cleanlab.token_classification.rank import get_label_quality_scores
    except ImportError:
        return None
    evidence, spans = audit.evidence, audit.judged.spans
    p = evidence.opinions.mean()
    p /= p.sum(-1, keepdims=True)
    classes = np.zeros(len(p), np.int64)
    for start, end, label in zip(spans.start, spans.end, spans.label, strict=True):
        classes[start:end] = label
    cuts = evidence.first_words[1:-1]
    labels = [one.tolist() for one in np.split(classes, cuts)]
    _, tokens = get_label_quality_scores(labels, np.split(p, cuts))
    return np.concatenate([np.asarray(one) for one in tokens])


def _of_spans(name: str, words: np.ndarray | None, spans: Spans) -> dict[str, np.ndarray]:
    """Of spans the score of the worst word, and that with the words beside it."""
    if words is None:
        return {}
    pairs = list(zip(spans.start.tolist(), spans.end.tolist(), strict=True))
    return {
        f"{name}, cleanlab": np.array([words[a:b].min() for a, b in pairs]),
        f"{name}, cleanlab with neighbours": np.array([words[max(0, a - 1) : b + 1].min() for a, b in pairs]),
    }
