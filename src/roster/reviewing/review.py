"""A review: questions, answers, estimate; every answer is saved when it is given.

The terminal (`roster.cli.review`) is one user of this class; a web page can be another.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from roster.corpus.io import write
from roster.corpus.sentence import Sentence, Span
from roster.distant.entries.patch import write_patch
from roster.reviewing import design
from roster.reviewing.answers import Answer, Verdict
from roster.reviewing.corrections import corrections
from roster.reviewing.estimate import Frame, Scores
from roster.reviewing.folder import About, AnswerFile, read_about, read_sentences
from roster.reviewing.session import Closed, Question, Session

GOLD, CORRECTIONS = "gold.jsonl", "corrections.tsv"
FEWEST_OF_TYPE = 20
"""Names of a type, predicted or true, among those reviewed, before it has an estimate of its own."""


class Review:
    """A review in a folder. `roster.start_review` makes one, `roster.open_review` opens it again.

    Only one process at a time can have a review open; `close` it, or use it in a `with` statement.

    Args:
        folder: the folder of the review.

    Raises:
        RunError: the folder holds no whole review, or another process has it open.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.about: About = read_about(self.folder)
        self._file = AnswerFile(self.folder)
        try:
            sentences, expected = read_sentences(self.folder)
            stratum, order = design.plan(expected, self.about.seed)
            self.session = Session(sentences, self.about.types, Frame(expected, stratum), order)
            self._file.replay(self.session)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Review:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    @property
    def types(self) -> tuple[str, ...]:
        """The types that a name can have."""
        return self.about.types

    def next(self) -> Question | None:
        """The next question; None if all sentences have been reviewed."""
        return self.session.next()

    def answer(self, verdict: Verdict, span: Span | None = None) -> None:
        """Answers the next question, and saves the answer.

        Args:
            verdict: about a name: `right`, `type`, `border`, `no name`; about missing names: `missing`,
                `done`; at any time: `all right` for the rest of the sentence, `skip`.
            span: the true name, for `type`, `border` and `missing`: words of the sentence, counted from 0.

        Raises:
            AnswerError: the answer does not fit the question; nothing is saved.
        """
        question = self.next()
        if question is None:
            return
        mention = question.mention if verdict in ("right", "type", "border", "no name") else None
        answer = Answer(question.number, verdict, mention, span)
        self.session.answer(answer)
        self._file.append(answer.as_dict())

    def undo(self) -> bool:
        """Takes the last answer back; its question is asked again. False if there is none."""
        if self.session.undo() is None:
            return False
        self._file.append({"undo": True})
        return True

    def estimate(self, kind: str | None = None, confidence: float = 0.95) -> Scores | None:
        """Precision, recall and F1 with intervals; None while too few sentences are finished.

        Args:
            kind: one type; all names without it.
            confidence: the probability with which an interval holds the true value.
        """
        return self.session.estimate(kind, confidence)

    def by_type(self, confidence: float = 0.95) -> dict[str, Scores]:
        """The estimates of the types of which enough names have been reviewed."""
        found = {}
        for kind in self.types:
            names = 0
            for one in self.session.closed():
                predicted = {s for s in one.sentence.spans or () if s.label == kind}
                names += len(predicted | {s for s in one.state.gold if s.label == kind})
            scores = self.estimate(kind, confidence) if names >= FEWEST_OF_TYPE else None
            if scores is not None:
                found[kind] = scores
        return found

    def status(self, confidence: float = 0.95) -> dict[str, Any]:
        """Counts and estimates, as data."""
        scores = self.estimate(None, confidence)
        return {
            "answers": self.session.answered,
            "sentences": len(self.session.closed()),
            "skipped": self.session.skipped,
            "population": len(self.session.sentences),
            "text_sentences": self.about.sentences,
            "confidence": confidence,
            "scores": None if scores is None else scores.as_dict(),
            "types": {kind: one.as_dict() for kind, one in self.by_type(confidence).items()},
        }

    def gold(self) -> list[Closed]:
        """The finished sentences with their true names and weights, in the order of the text."""
        return sorted(self.session.closed(), key=lambda one: one.number)

    def save(self) -> None:
        """Writes the gold sentences and the corrections of the dictionary; the answers are saved already."""
        closed = self.gold()
        if not closed:
            return
        write(self.folder / GOLD, (_labelled(one) for one in closed), "jsonl")
        changes = corrections((one.sentence, one.state) for one in closed)
        write_patch(self.folder / CORRECTIONS, ((change, ()) for change in changes))

    def close(self) -> None:
        """Saves, and lets other processes open the review."""
        try:
            self.save()
        finally:
            self._file.close()


def _labelled(one: Closed) -> Sentence:
    sentence = one.sentence.with_spans(one.state.gold)
    # A document each, with the number of the sentence, so that neighbours are not joined.
    return replace(sentence, doc=str(one.number), weight=round(one.weight, 4))
