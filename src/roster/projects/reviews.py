"""Reviews that are open in the service: questions and answers as data. The logic is `roster.reviewing`'s."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from roster.api.review import open_review
from roster.corpus.sentence import Sentence, Span
from roster.projects.project import BusyError
from roster.reviewing.answers import Verdict
from roster.reviewing.review import Review
from roster.reviewing.session import FEWEST, FIRST_ESTIMATE, Question

T = TypeVar("T")
WIDTH = 0.03


class StaleError(BusyError):
    """An answer to another question than the one that is asked now."""


class OpenReview:
    """A review, and the course of its estimate while it is open: `[answers, value, low, high]` after each
    sentence."""

    def __init__(self, folder: Path):
        self.review: Review = open_review(folder)
        self.lock = threading.Lock()
        self.course: list[list[float]] = []
        self._note()

    def answer(self, number: int, mention: int | None, verdict: Verdict, span: Span | None) -> None:
        """Answers a question, and saves the answer.

        Raises:
            StaleError: another question is asked now.
            AnswerError: the answer does not fit.
        """
        asked = self.review.next()
        if asked is None or (asked.number, asked.mention) != (number, mention):
            raise StaleError(
                "this question was answered already, in another window perhaps; here is the next one"
            )
        self.review.answer(verdict, span)
        after = self.review.next()
        if after is None or after.fresh:
            self._note()

    def undo(self) -> bool:
        """Takes the last answer back; False if there is none."""
        if not self.review.undo():
            return False
        self.course = [point for point in self.course if point[0] <= self.review.session.answered]
        return True

    def _note(self) -> None:
        scores = self.review.estimate()
        if scores is not None and scores.f1 is not None:
            f1 = scores.f1
            self.course.append([self.review.session.answered, f1.value, f1.low, f1.high])

    def view(self, width: float) -> dict[str, Any]:
        """The next question, the counts and the estimate."""
        review, session = self.review, self.review.session
        question, scores = review.next(), review.estimate()
        closed = sum(1 for _ in session.closed())
        return {
            "question": None if question is None else _question(question),
            "types": list(review.types),
            "answers": session.answered,
            "sentences": closed,
            "skipped": session.skipped,
            "population": len(session.sentences),
            "text_sentences": review.about.sentences,
            "scores": None if scores is None else scores.as_dict(),
            "needed": max(0, min(FIRST_ESTIMATE, len(session.order)) - closed) if scores is None else 0,
            "fewest": FEWEST,
            "width": width,
            "left": session.answers_left(width),
            "narrow": session.narrow(width),
            "course": self.course,
        }


def _question(question: Question) -> dict[str, Any]:
    sentence, state = question.sentence, question.state
    names = [
        {"start": span.start, "end": span.end, "label": span.label, "asked": index == question.mention}
        for index, (span, verdict) in enumerate(zip(sentence.spans or (), state.verdicts, strict=True))
        if verdict is None
    ]
    names += [{"start": s.start, "end": s.end, "label": s.label, "asked": False} for s in state.gold]
    return {
        "number": question.number,
        "mention": question.mention,
        "fresh": question.fresh,
        "words": list(sentence.words),
        "before": _gaps(sentence),
        "names": sorted(names, key=lambda one: int(one["start"])),
        "given": [[s.start, s.end] for s in state.gold],
    }


def _gaps(sentence: Sentence) -> list[str]:
    """What stands in front of each word of a sentence."""
    gaps, at = [], sentence.offsets[0][0] if sentence.offsets else 0
    for start, end in sentence.offsets:
        gaps.append(sentence.text[at:start])
        at = end
    return gaps


class Reviews:
    """The open reviews; the one that was not used for the longest time is closed for another.

    Args:
        most: how many are open at once.
    """

    def __init__(self, most: int):
        self._most = most
        self._open: OrderedDict[Path, OpenReview] = OrderedDict()
        self._lock = threading.Lock()

    def use(self, folder: Path, work: Callable[[OpenReview], T]) -> T:
        """The result of a function of an open review; one call at a time for each review. May be called by
        any thread.

        Raises:
            RunError: the folder holds no review, or another process has it open.
        """
        with self._lock:
            if folder not in self._open:
                while len(self._open) >= self._most:
                    self._close(next(iter(self._open)))
                self._open[folder] = OpenReview(folder)
            self._open.move_to_end(folder)
            found = self._open[folder]
            found.lock.acquire()
        try:
            return work(found)
        finally:
            found.lock.release()

    def close(self, below: Path) -> None:
        """Saves and closes the reviews in a folder."""
        with self._lock:
            for folder in [one for one in self._open if one.is_relative_to(below)]:
                self._close(folder)

    def _close(self, folder: Path) -> None:
        found = self._open.pop(folder)
        with found.lock:
            found.review.close()
