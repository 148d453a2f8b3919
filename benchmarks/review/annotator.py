"""A simulated person: answers the questions about a sentence by its gold labels."""

from __future__ import annotations

from collections.abc import Sequence

from roster.corpus.sentence import Sentence, Span
from roster.reviewing.answers import Answer, Reviewed, reviewed


def answers(
    number: int, sentence: Sentence, gold: Sequence[Span], types: Sequence[str], all_right: bool
) -> list[Answer]:
    """Return the answers about a sentence with predicted names, until nothing is left to ask.

    With `all_right` the person uses that answer as soon as it holds; without, there is an answer for each
    name.

    >>> s = Sentence.from_words(["Ada", "ran"], [Span(0, 1, "PER")])
    >>> [len(answers(0, s, s.spans, ["PER"], short)) for short in (True, False)]
    [1, 2]
    """
    given: list[Answer] = []
    while not (state := reviewed(sentence, given, types)).closed:
        given.append(_answer(number, sentence, state, gold, all_right))
    return given


def _answer(
    number: int, sentence: Sentence, state: Reviewed, gold: Sequence[Span], all_right: bool
) -> Answer:
    predicted, at = sentence.spans or (), state.mention
    if at is None:
        missing = sorted({*gold} - {*state.gold})
        return Answer(number, "missing", None, missing[0]) if missing else Answer(number, "done")
    rest = [one for one, verdict in zip(predicted, state.verdicts, strict=True) if verdict is None]
    if all_right and {*state.gold, *rest} == {*gold}:
        return Answer(number, "all right")
    mention = predicted[at]
    if mention in gold:
        return Answer(number, "right", at)
    true = max(gold, key=lambda one: _common(one, mention), default=mention)
    if (true.start, true.end) == (mention.start, mention.end) and true != mention:
        return Answer(number, "type", at, true)
    if _common(true, mention) > 0 and true != mention:
        return Answer(number, "border", at, true)
    return Answer(number, "no name", at)


def _common(a: Span, b: Span) -> int:
    return min(a.end, b.end) - max(a.start, b.start)
