"""A review under way: which question comes next, and what the answers amount to. Nothing is read or written
here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from roster.corpus.sentence import Sentence, Span
from roster.reviewing.answers import Answer, AnswerError, Reviewed, reviewed
from roster.reviewing.estimate import Frame, Scores, estimate, weights

FIRST_ESTIMATE = 10
"""Sentences before there is an estimate."""
FEWEST = 30
"""Sentences before a review can end by itself: an interval of fewer may be narrow by chance."""


@dataclass(frozen=True)
class Question:
    """Asks about a predicted name of a sentence, or with `mention` None whether names are missing.

    `number` is the sentence's in the text, `state` what has been answered about it.
    """

    number: int
    sentence: Sentence
    mention: int | None
    state: Reviewed

    @property
    def fresh(self) -> bool:
        """Whether nothing has been answered about the sentence."""
        return not any(self.state.verdicts) and not self.state.corrected

    @property
    def span(self) -> Span | None:
        """The name that is asked about."""
        return None if self.mention is None else (self.sentence.spans or ())[self.mention]


@dataclass(frozen=True)
class Closed:
    """A sentence whose review is finished: its true names, and how many sentences it stands for."""

    number: int
    sentence: Sentence
    state: Reviewed
    weight: float


class Session:
    """The answers so far, over sentences in a fixed order.

    Args:
        sentences: with the predicted names.
        types: the types that names can have.
        frame: what is known of the sentences.
        order: the numbers of the sentences in the order of the review.
    """

    def __init__(self, sentences: Sequence[Sentence], types: Sequence[str], frame: Frame, order: np.ndarray):
        self.sentences, self.types, self.frame, self.order = sentences, types, frame, order
        self._answers: list[list[Answer]] = []
        self._states: list[Reviewed] = []

    @property
    def answered(self) -> int:
        """The number of answers that hold."""
        return sum(map(len, self._answers))

    def next(self) -> Question | None:
        """The next question; None at the end of the text."""
        if self._states and not self._states[-1].closed:
            state = self._states[-1]
            number = int(self.order[len(self._states) - 1])
        elif len(self._states) < len(self.order):
            number = int(self.order[len(self._states)])
            state = reviewed(self.sentences[number], (), self.types)
        else:
            return None
        return Question(number, self.sentences[number], state.mention, state)

    def answer(self, answer: Answer) -> None:
        """Takes the answer to the next question.

        Raises:
            AnswerError: it does not fit; nothing is changed.
        """
        question = self.next()
        if question is None or answer.sentence != question.number:
            raise AnswerError(f"sentence {answer.sentence} is not the one that is asked about")
        begun = bool(self._states) and not self._states[-1].closed
        answers = [*(self._answers[-1] if begun else ()), answer]
        state = reviewed(question.sentence, answers, self.types)
        if begun:
            self._answers[-1], self._states[-1] = answers, state
        else:
            self._answers.append(answers)
            self._states.append(state)

    def undo(self) -> Answer | None:
        """Takes the last answer back and returns it; None if there is none."""
        if not self._answers:
            return None
        last = self._answers[-1].pop()
        if self._answers[-1]:
            sentence = self.sentences[int(self.order[len(self._answers) - 1])]
            self._states[-1] = reviewed(sentence, self._answers[-1], self.types)
        else:
            self._answers.pop()
            self._states.pop()
        return last

    def closed(self) -> list[Closed]:
        """The sentences that are finished, in the order of the review; skipped ones are not among them.

        A skipped sentence counts as not drawn, so that the others of its stratum stand for it.
        """
        done = [(int(n), s) for n, s in zip(self.order, self._states, strict=False) if s.done]
        if not done:
            return []
        w = weights(self.frame, np.array([n for n, _ in done]))
        return [
            Closed(number, self.sentences[number], state, float(one))
            for (number, state), one in zip(done, w, strict=True)
        ]

    @property
    def skipped(self) -> int:
        return sum(state.skipped for state in self._states)

    def estimate(self, kind: str | None = None, confidence: float = 0.95) -> Scores | None:
        """Scores over the whole text, of all names or of one type; None before enough sentences are
        finished."""
        done = [(int(n), s) for n, s in zip(self.order, self._states, strict=False) if s.done]
        if len(done) < min(FIRST_ESTIMATE, len(self.order)):
            return None
        rows = np.array([number for number, _ in done])
        names = [[*_of(kind, self.sentences[n].spans or ())] for n, _ in done]
        gold = [{*_of(kind, state.gold)} for _, state in done]
        right = np.array([len(g.intersection(p)) for p, g in zip(names, gold, strict=True)])
        index = None if kind is None else list(self.types).index(kind)
        return estimate(self.frame, rows, right, np.array([len(g) for g in gold]), confidence, index)

    def answers_left(self, width: float, confidence: float = 0.95) -> int | None:
        """About how many more answers make the interval of F1 plus or minus `width`; None before an
        estimate."""
        found = self.estimate(confidence=confidence)
        if found is None or found.f1 is None:
            return None
        # The variance falls with the answers, and to 0 at the end of the text.
        share = sum(state.done for state in self._states) / len(self.order)
        ratio = (found.f1.margin / width) ** 2
        whole = self.answered / share
        if share >= 1 or ratio <= 1:
            return 0
        # ratio = (1 / share - 1) / (1 / needed - 1)
        needed = 1 / (1 + (1 / share - 1) / ratio)
        return max(1, round(whole * (needed - share)))

    def narrow(self, width: float, confidence: float = 0.95) -> bool:
        """Whether the interval of F1 is at most plus or minus `width`."""
        if sum(state.done for state in self._states) < min(FEWEST, len(self.order)):
            return False
        found = self.estimate(confidence=confidence)
        return found is not None and found.f1 is not None and found.f1.margin <= width


def _of(kind: str | None, spans: Sequence[Span]) -> Iterator[Span]:
    return (span for span in spans if kind is None or span.label == kind)
