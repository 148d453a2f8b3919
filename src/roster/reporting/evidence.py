"""What the final model finds: in the training text beside the labels, and in sentences with true labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from roster.corpus.dataset import Dataset
from roster.corpus.sentence import Sentence, Span
from roster.infer.calibration import ScoredEntities
from roster.infer.recogniser import Found, Recogniser
from roster.methods.quality import TESTED
from roster.model.decoding import decode
from roster.reporting.facts import RunFacts
from roster.scores import Evaluation, evaluate_spans

MOST_TRAIN, MOST_GOLD = 1500, 2000
"""Sentences that the model reads for the report, evenly spaced where there are more."""
EXAMPLES = 24
OTHER_BORDERS, MISSED, NO_ENTITY = "other boundaries", "not found", "no entity"
ADDED, LEFT_OUT, OTHER_TYPE = "only the model", "only the labels", "another type"


@dataclass(frozen=True)
class Difference:
    """A sentence in whose words from `start` to `end` the labels and the model differ."""

    kind: str
    type: str
    start: int
    end: int
    score: float
    labels: Sentence
    model: Sentence


@dataclass(frozen=True)
class Checked:
    """What the model finds in sentences with true labels; scores are not calibrated."""

    name: str
    gold: tuple[Sentence, ...]
    found: tuple[Found, ...]
    of: int
    """How many sentences there are; `gold` may be some of them."""

    @property
    def scores(self) -> Evaluation:
        return evaluate_spans(
            (one.sentence.spans or (), gold.spans or ())
            for gold, one in zip(self.gold, self.found, strict=True)
        )

    @property
    def judged(self) -> ScoredEntities:
        return ScoredEntities.of(self.gold, self.found)


@dataclass(frozen=True)
class Findings:
    differences: tuple[Difference, ...] = ()
    compared: int = 0
    """How many sentences of the training text were compared with their labels."""
    checked: Checked | None = None


def gather(facts: RunFacts, model: Recogniser, gold: Sequence[Sentence] | None) -> Findings:
    """Reads with the model what the run did not keep."""
    raw = Recogniser(model.engine)
    labelled, found = _train(facts, raw)
    return Findings(
        tuple(spread(differences(labelled, found), EXAMPLES)), len(labelled), _check(facts.dataset, gold, raw)
    )


def _train(facts: RunFacts, model: Recogniser) -> tuple[list[Sentence], list[Found]]:
    """Training sentences with their labels, and what the final model finds in them."""
    kept = facts.predictions
    if kept is not None and facts.sentences:
        p, scheme = kept.final.astype(np.float32), model.engine.facts.scheme
        best, spans_of = p.max(-1), decode(scheme, p, map(len, facts.sentences), facts.types)
        starts = accumulate(map(len, facts.sentences), initial=0)
        found = [
            Found(s.with_spans(spans), tuple(float(best[at + x.start : at + x.end].mean()) for x in spans))
            for s, spans, at in zip(facts.sentences, spans_of, starts, strict=False)
        ]
        return list(facts.sentences), found
    chosen = evenly(facts.sentences, MOST_TRAIN)
    return chosen, list(model.find(chosen))


def _check(dataset: Dataset | None, gold: Sequence[Sentence] | None, model: Recogniser) -> Checked | None:
    name, sentences = "the given sentences", list(gold or ())
    if not sentences and dataset is not None:
        for name in TESTED:
            sentences = getattr(dataset, name)
            if sentences and all(s.spans is not None for s in sentences):
                break
        else:
            return None
    if not sentences:
        return None
    chosen = evenly(sentences, MOST_GOLD)
    return Checked(name, tuple(chosen), tuple(model.find(chosen)), len(sentences))


def evenly(sentences: Sequence[Sentence], most: int) -> list[Sentence]:
    """At most so many, evenly spaced."""
    if len(sentences) <= most:
        return list(sentences)
    return [sentences[i * len(sentences) // most] for i in range(most)]


def differences(labelled: Iterable[Sentence], found: Iterable[Found]) -> list[Difference]:
    """One for each span of one side that overlaps with none of the other, or with others than itself."""
    made = []
    for labels, one in zip(labelled, found, strict=True):
        spans, model = labels.spans or (), one.sentence.spans or ()
        for span, score in zip(model, one.scores, strict=True):
            if span not in spans:
                kind = _kind(span, spans, ADDED)
                made.append(Difference(kind, span.label, span.start, span.end, score, labels, one.sentence))
        for span in spans:
            if not any(_overlap(span, other) for other in model):
                made.append(Difference(LEFT_OUT, span.label, span.start, span.end, 0.0, labels, one.sentence))
    return made


def _kind(span: Span, others: Iterable[Span], without: str) -> str:
    overlapping = [other for other in others if _overlap(span, other)]
    if any((span.start, span.end) == (other.start, other.end) for other in overlapping):
        return OTHER_TYPE
    return OTHER_BORDERS if overlapping else without


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def spread(found: Sequence[Difference], most: int) -> list[Difference]:
    """Some of them, by turns from each type and kind, the most confident first, each sentence at most
    once."""
    groups: dict[tuple[str, str], list[Difference]] = {}
    for one in sorted(found, key=lambda d: -d.score):
        groups.setdefault((one.kind, one.type), []).append(one)
    chosen, used = list[Difference](), set[tuple[str, ...]]()
    waiting = [groups[key] for key in sorted(groups)]
    while waiting and len(chosen) < most:
        for group in waiting:
            while group:
                one = group.pop(0)
                if one.labels.words not in used and len(chosen) < most:
                    used.add(one.labels.words)
                    chosen.append(one)
                    break
        waiting = [group for group in waiting if group]
    return sorted(chosen, key=lambda d: (d.kind, d.type))


def confusion(checked: Checked) -> dict[tuple[str, str], int]:
    """Entities by (true type, type found). A true entity without one of its boundaries counts as
    `OTHER_BORDERS` or `MISSED`; an entity found where there is none has the true type `NO_ENTITY`."""
    counts: dict[tuple[str, str], int] = {}
    for gold, one in zip(checked.gold, checked.found, strict=True):
        true, found = gold.spans or (), one.sentence.spans or ()
        by_place = {(x.start, x.end): x.label for x in found}
        pairs = [(x.label, by_place.get((x.start, x.end)) or _without(x, found)) for x in true] + [
            (NO_ENTITY, x.label) for x in found if not any(_overlap(x, y) for y in true)
        ]
        for pair in pairs:
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def _without(span: Span, found: Iterable[Span]) -> str:
    return OTHER_BORDERS if any(_overlap(span, other) for other in found) else MISSED


def agreements(members: Mapping[str, np.ndarray]) -> list[list[float]]:
    """The agreement of each two, on the words where either has an entity."""
    from roster.methods.roster.stage_checks import agreement

    classes = [p.argmax(-1) for p in members.values()]
    return [[agreement(a, b) for b in classes] for a in classes]
