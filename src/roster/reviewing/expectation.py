"""What a model expects of its own predictions in each sentence, before anybody has looked.

From the distribution of every word follow, for each predicted name, the probability that it is right, and for
the other words how many names they hold. A trained model is too sure of itself, the more so on the text that
it was trained on, so these numbers are not taken for the truth. They decide which sentences are drawn more
often (`spread`), and they are controls of a regression on the answers (`estimate.py`); both are valid for any
numbers, and better ones only save answers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from roster.corpus.sentence import Sentence, Span
from roster.model.decoding import PREFIXES

LONGEST = 6
"""Words of the longest name that is looked up in the rest of the text."""
SURE = 0.98
"""Probability of `O` above which a word that is outside all names raises no suspicion."""
TRUST = 0.8
"""How far the probability of a name is trusted; the rest is a half."""
MISSED_PER_WORD = 0.01
"""Names that a model misses without any sign of it, a word."""
TYPICAL_F1 = 0.75
"""F1 for which the spread is computed; the answers needed hardly depend on it."""
CONTROLS = (
    "names", "right", "missed", "words", "suspicious", "one word", "long", "consistent", "elsewhere",
    "only ours", "only theirs",
)  # fmt: skip
"""The first columns of `Expectation.controls`; one for each type follows, the names predicted of it."""


@dataclass(frozen=True)
class Expectation:
    """Of every sentence: counts by type [N, types] of predicted names, of those expected to be right and of
    true names; other `controls` of right and wrong names [N, controls]; and the `spread` of its part in F1
    [N]."""

    predicted: np.ndarray
    right: np.ndarray
    gold: np.ndarray
    controls: np.ndarray
    spread: np.ndarray

    def __len__(self) -> int:
        return len(self.spread)


def type_probabilities(p: np.ndarray, scheme: str) -> np.ndarray:
    """Distributions over classes to probabilities of types, [words, types].

    >>> type_probabilities(np.array([[0.25, 0.5, 0.25]]), "bio").tolist()
    [[0.75]]
    """
    classes = len(PREFIXES[scheme])
    found: np.ndarray = p[:, 1:].reshape(len(p), (p.shape[1] - 1) // classes, classes).sum(-1)
    return found


def right_probabilities(p: np.ndarray, spans: Sequence[Span], types: Sequence[str]) -> list[float]:
    """For each span the probability that its words, and no neighbour of them, have its type; `p` [words,
    types]."""
    found = []
    for span in spans:
        of_type = p[:, types.index(span.label)]
        q = float(of_type[span.start : span.end].min())
        if span.start > 0:
            q *= 1 - float(of_type[span.start - 1])
        if span.end < len(p):
            q *= 1 - float(of_type[span.end])
        found.append(q)
    return found


def expect(
    predicted: Sequence[Sentence],
    probabilities: Sequence[np.ndarray],
    types: Sequence[str],
    other: Sequence[Sequence[Span] | None] = (),
) -> Expectation:
    """What to expect of a text.

    Args:
        predicted: sentences with the names that the model found.
        probabilities: of each, the probabilities of types [words, types].
        types: the types, as in the columns of `probabilities`.
        other: labels of the same sentences from elsewhere, such as the dictionary, where there are any. Where
            they and the model differ, one of them is wrong.
    """
    uses, occurrences = _names(predicted)
    n, k = len(predicted), len(types)
    counts, right, gold = (np.zeros((n, k)) for _ in range(3))
    controls, spread = np.zeros((n, len(CONTROLS))), np.zeros(n)
    for i, (sentence, p) in enumerate(zip(predicted, probabilities, strict=True)):
        spans = sentence.spans or ()
        entity = p.sum(1)
        outside = np.ones(len(sentence), bool)
        q = right_probabilities(p, spans, types)
        consistent = 0.0
        for span, q_span in zip(spans, q, strict=True):
            t = types.index(span.label)
            outside[span.start : span.end] = False
            counts[i, t] += 1
            right[i, t] += q_span
            gold[i] += p[span.start : span.end].mean(0)
            name = sentence.words[span.start : span.end]
            # Without this mention; a name that does not occur elsewhere counts a half.
            consistent += (uses[name][span.label] - 0.5) / max(occurrences[name], uses[name].total())
        starts = (entity * (1 - np.concatenate([[0.0], entity[:-1]])))[outside]
        share = p[outside] / np.maximum(entity[outside], 1e-9)[:, None]
        gold[i] += (starts[:, None] * share).sum(0)
        elsewhere = sum(
            uses[name].total() / occurrences[name]
            for start, name in _parts(sentence)
            if name in uses and outside[start : start + len(name)].all()
        )
        theirs = other[i] if i < len(other) else None
        ours_only, theirs_only = (
            (0, 0) if theirs is None else (len({*spans} - {*theirs}), len({*theirs} - {*spans}))
        )
        missed = float(starts.sum())
        controls[i] = (
            len(spans), sum(q), missed, len(sentence), float((entity[outside] > 1 - SURE).sum()),
            sum(s.end - s.start == 1 for s in spans), sum(s.end - s.start > 2 for s in spans),
            consistent, elsewhere, ours_only, theirs_only,
        )  # fmt: skip
        sure = np.array(q) * TRUST + (1 - TRUST) / 2
        spread[i] = np.sqrt(
            (2 - TYPICAL_F1) ** 2 * float((sure * (1 - sure)).sum())
            + TYPICAL_F1**2 * (missed + MISSED_PER_WORD * len(sentence))
            + (ours_only + theirs_only) / 4
        )
    return Expectation(counts, right, gold, np.concatenate([controls, counts], 1), spread)


def _names(
    predicted: Sequence[Sentence],
) -> tuple[dict[tuple[str, ...], Counter[str]], Counter[tuple[str, ...]]]:
    """How often each predicted name has each type, and how often its words occur in the text."""
    uses: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for sentence in predicted:
        for span in sentence.spans or ():
            uses[sentence.words[span.start : span.end]][span.label] += 1
    occurrences = Counter(name for sentence in predicted for _, name in _parts(sentence) if name in uses)
    return dict(uses), occurrences


def _parts(sentence: Sentence) -> Iterator[tuple[int, tuple[str, ...]]]:
    words = sentence.words
    for start in range(len(words)):
        for end in range(start + 1, min(start + LONGEST, len(words)) + 1):
            yield start, words[start:end]
