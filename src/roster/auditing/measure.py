"""The claims of an audit beside gold labels, which the audit has not seen: for measuring only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from roster.auditing.audit import Audit
from roster.auditing.entries import AMBIGUOUS, RIGHT, Entry
from roster.auditing.names import Name
from roster.corpus.sentence import Sentence
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
    """`gold` are the training sentences of the audited run with true labels."""

    audit: Audit
    gold: Sequence[Sentence]

    def __post_init__(self) -> None:
        ours = self.audit.evidence.sentences
        if len(ours) != len(self.gold) or any(
            a.words != b.words for a, b in zip(ours, self.gold, strict=True)
        ):
            raise DataError("the gold sentences are not the sentences that the run was trained on")

    @cached_property
    def true(self) -> dict[tuple[int, int], str]:
        """The type of each gold mention by its words in the text."""
        first = self.audit.evidence.first_words.tolist()
        return {
            (at + span.start, at + span.end): span.label
            for at, sentence in zip(first, self.gold, strict=False)
            for span in sentence.spans or ()
        }

    @cached_property
    def right(self) -> np.ndarray:
        """[labels]: which distant labels are right."""
        spans, types = self.audit.judged.spans, self.audit.evidence.types
        triples = zip(spans.start.tolist(), spans.end.tolist(), spans.label.tolist(), strict=True)
        return np.array([self.true.get((a, b)) == types[c - 1] for a, b, c in triples], bool)

    def rankings(self) -> list[Ranking]:
        """Labels believed wrong, entries believed wrong, names believed missing; cleanlab's where it is
        installed."""
        audit, right = self.audit, self.right
        sure = audit.judged.certainty
        chance = float((~right).mean()) if len(right) else 0.0
        wrong = audit.judged.wrong
        found = [Ranking("labels", ~right[wrong], chance, area(sure, right))]
        found += [
            Ranking(name, ~right[np.argsort(score, kind="stable")], chance, area(score, right))
            for name, score in cleanlab_scores(audit).items()
        ]
        doubted = [e for e in audit.entries if e.verdict not in (RIGHT, AMBIGUOUS)]
        doubted.sort(key=lambda entry: -entry.confidence)
        bad = [self._bad(entry) for entry in audit.entries]
        found.append(
            Ranking(
                "entries",
                np.array([self._bad(e) for e in doubted], bool),
                float(np.mean(bad)) if bad else 0.0,
            )
        )
        names = np.array([self._is_name(name) for name in audit.names], bool)
        found.append(Ranking("names", names, float(names.mean()) if len(names) else 0.0))
        return found

    def _bad(self, entry: Entry) -> bool:
        """Whether most of an entry's labels are wrong."""
        return float(self.right[[*entry.good, *entry.wrong]].mean()) < 0.5

    def _is_name(self, name: Name) -> bool:
        """Whether at least half of its occurrences are gold mentions of its type."""
        hits = [self.true.get(place) == name.label for place in name.places]
        return 2 * sum(hits) >= len(hits)

    def types(self) -> list[dict[str, Any]]:
        """Estimated and true precision and recall of the labels, by type."""
        spans, evidence = self.audit.judged.spans, self.audit.evidence
        listed = []
        for number, one in enumerate(self.audit.types, 1):
            mine = spans.label == number
            hits, all_true = int(self.right[mine].sum()), sum(x == one.label for x in self.true.values())
            listed.append(
                {
                    "label": one.label,
                    "labels": one.labels,
                    "precision": one.precision.value if one.precision else None,
                    "true_precision": hits / int(mine.sum()) if mine.any() else None,
                    "recall": one.recall.value if one.recall else None,
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
        return f"Precision of the claims against the gold labels:\n\n{table(rows)}\n\n{table(types)}"


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


def cleanlab_scores(audit: Audit) -> dict[str, np.ndarray]:
    """The label quality that cleanlab's token classification gives each label from the same probabilities:
    that of its worst word, and that with the words beside it. Nothing where cleanlab is not installed."""
    try:
        from cleanlab.token_classification.rank import get_label_quality_scores
    except ImportError:
        return {}
    evidence, spans = audit.evidence, audit.judged.spans
    p = evidence.opinions.mean()
    p /= p.sum(-1, keepdims=True)
    classes = np.zeros(len(p), np.int64)
    for start, end, label in zip(spans.start, spans.end, spans.label, strict=True):
        classes[start:end] = label
    cuts = evidence.first_words[1:-1]
    labels = [one.tolist() for one in np.split(classes, cuts)]
    _, tokens = get_label_quality_scores(labels, np.split(p, cuts))
    quality = np.concatenate([np.asarray(one) for one in tokens])
    pairs = list(zip(spans.start.tolist(), spans.end.tolist(), strict=True))
    return {
        "labels, cleanlab": np.array([quality[a:b].min() for a, b in pairs]),
        "labels, cleanlab with neighbours": np.array(
            [quality[max(0, a - 1) : b + 1].min() for a, b in pairs]
        ),
    }
