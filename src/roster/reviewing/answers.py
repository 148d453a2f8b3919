"""The answers of a person about one sentence, and what follows from them. Nothing is read or written here.

A sentence is reviewed name by name, in the order of the text; then its missing names are added. The answers
are the only state: `reviewed` folds those of a sentence into its true names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from roster.corpus.sentence import Sentence, Span
from roster.errors import RosterError

Verdict = Literal["right", "type", "border", "no name", "missing", "done", "all right", "skip"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
OF_MENTIONS = ("right", "type", "border", "no name")
WITH_SPAN = ("type", "border", "missing")


class AnswerError(RosterError):
    """An answer that does not fit its question; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer about the sentence with this number.

    Those about a predicted name (`mention`, from 0): it is `right`, has another `type` or other `border`s
    (the true name is `span`), or is `no name`. Those about the sentence: `missing` is one more name, `done`
    means that there are no more, `all right` that all names not yet asked about are right and none is
    missing, and `skip` that the person is not sure.
    """

    sentence: int
    verdict: Verdict
    mention: int | None = None
    span: Span | None = None

    def as_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"sentence": self.sentence, "verdict": self.verdict}
        if self.mention is not None:
            found["mention"] = self.mention
        if self.span is not None:
            found.update(start=self.span.start, end=self.span.end, label=self.span.label)
        return found

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Answer:
        """Raises ValueError for a record that is none."""
        verdict = record.get("verdict")
        if verdict not in VERDICTS:
            raise ValueError(f"unknown verdict {verdict!r}; known are {', '.join(VERDICTS)}")
        span = None
        if verdict in WITH_SPAN:
            start, end, label = record.get("start"), record.get("end"), record.get("label")
            if not (_whole(start) and _whole(end) and isinstance(label, str)):
                raise ValueError(f"the verdict {verdict!r} needs start, end and label")
            span = Span(int(record["start"]), int(record["end"]), label)
        sentence, mention = record.get("sentence"), record.get("mention")
        if not _whole(sentence) or not (_whole(mention) or mention is None):
            raise ValueError("sentence and mention must be whole numbers")
        return cls(int(record["sentence"]), verdict, mention, span)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Reviewed:
    """The state of a sentence after the answers so far.

    `verdicts` has an entry for each predicted name: None before its answer, else the answer; `right` names
    that were confirmed, `corrected` those that the person put in place of a prediction or added.
    """

    verdicts: tuple[Verdict | None, ...] = ()
    right: tuple[Span, ...] = ()
    corrected: tuple[Span, ...] = ()
    done: bool = False
    skipped: bool = False

    @property
    def closed(self) -> bool:
        """Whether nothing is left to ask."""
        return self.done or self.skipped

    @property
    def gold(self) -> tuple[Span, ...]:
        """The true names, as far as they are known."""
        return tuple(sorted({*self.right, *self.corrected}))

    @property
    def mention(self) -> int | None:
        """The first predicted name without an answer."""
        return next((i for i, verdict in enumerate(self.verdicts) if verdict is None), None)


def reviewed(sentence: Sentence, answers: Iterable[Answer], types: Sequence[str]) -> Reviewed:
    """Apply the answers about a sentence with predicted names, in their order.

    A predicted name that overlaps a corrected one needs no answer: its borders are wrong.

    Raises:
        AnswerError: an answer does not fit.

    >>> s = Sentence.from_words(["Ada", "Byron", "ran"], [Span(0, 1, "PER")])
    >>> reviewed(s, [Answer(0, "border", 0, Span(0, 2, "PER")), Answer(0, "done")], ["PER"]).gold
    (Span(start=0, end=2, label='PER'),)
    """
    state = Reviewed((None,) * len(sentence.spans or ()))
    for answer in answers:
        state = _after(sentence, state, answer, types)
    return state


def _after(sentence: Sentence, state: Reviewed, answer: Answer, types: Sequence[str]) -> Reviewed:
    predicted = sentence.spans or ()
    if state.closed:
        raise AnswerError("the sentence is finished already; undo first")
    if answer.verdict in OF_MENTIONS:
        if answer.mention is None or answer.mention != state.mention:
            asked = "none of its names" if state.mention is None else f"name {state.mention + 1}"
            raise AnswerError(f"the next answer of this sentence is about {asked}")
        return _of_mention(sentence, state, answer, predicted[answer.mention], types)
    if answer.verdict == "missing":
        if state.mention is not None:
            raise AnswerError("answer for the marked names first; then add those that are missing")
        span = _checked(sentence, answer.span, types)
        if span in predicted or span in state.gold:
            raise AnswerError("this name is marked already")
        return _corrected(state, span, state.verdicts, predicted)
    if answer.verdict == "done" and state.mention is not None:
        raise AnswerError("answer for the marked names first")
    if answer.verdict == "skip":
        return Reviewed(state.verdicts, state.right, state.corrected, skipped=True)
    rest = [span for span, verdict in zip(predicted, state.verdicts, strict=True) if verdict is None]
    verdicts = tuple(verdict or "right" for verdict in state.verdicts)
    return Reviewed(verdicts, (*state.right, *rest), state.corrected, done=True)


def _of_mention(
    sentence: Sentence, state: Reviewed, answer: Answer, mention: Span, types: Sequence[str]
) -> Reviewed:
    at, verdict = answer.mention or 0, answer.verdict
    verdicts = (*state.verdicts[:at], verdict, *state.verdicts[at + 1 :])
    if verdict == "right":
        return Reviewed(verdicts, (*state.right, mention), state.corrected)
    if verdict == "no name":
        return Reviewed(verdicts, state.right, state.corrected)
    span = _checked(sentence, answer.span, types)
    same_place = (span.start, span.end) == (mention.start, mention.end)
    if verdict == "type" and not same_place:
        raise AnswerError("another type has the same borders; use the answer for wrong borders")
    if verdict == "type" and span.label == mention.label:
        raise AnswerError(f"the name has the type {span.label} already; the answer is then that it is right")
    if verdict == "border" and same_place:
        raise AnswerError("these are the borders that the name has; give others")
    if verdict == "border" and not _overlap(span, mention):
        raise AnswerError("these borders are those of another name, which does not overlap the marked one")
    return _corrected(state, span, verdicts, sentence.spans or ())


def _corrected(
    state: Reviewed, span: Span, verdicts: tuple[Verdict | None, ...], predicted: Sequence[Span]
) -> Reviewed:
    if clash := next((one for one in state.gold if one != span and _overlap(one, span)), None):
        raise AnswerError(
            f"words {span.start + 1} to {span.end} overlap a name that you have given, words "
            f"{clash.start + 1} to {clash.end}; undo that one first"
        )
    implied: tuple[Verdict | None, ...] = tuple(
        "border" if verdict is None and _overlap(one, span) else verdict
        for one, verdict in zip(predicted, verdicts, strict=True)
    )
    return Reviewed(implied, state.right, (*state.corrected, span))


def _checked(sentence: Sentence, span: Span | None, types: Sequence[str]) -> Span:
    if span is None:
        raise AnswerError("this answer needs the true name: its first word, its last word and its type")
    if not 0 <= span.start < span.end <= len(sentence):
        raise AnswerError(f"the words must be from 1 to {len(sentence)}, the first not after the last")
    if span.label not in types:
        raise AnswerError(f"unknown type {span.label!r}; known are {', '.join(types)}")
    return span


def _overlap(a: Span, b: Span) -> bool:
    return a.start < b.end and b.start < a.end
