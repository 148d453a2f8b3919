"""Corrections of the dictionary by a review: names to add, to remove, to give another type, or to deny.

One line each, its fields separated by tabs:

    add     NAME  TYPE            a name that the model missed
    remove  NAME  TYPE            is not a name of this type wherever it was asked about
    retype  NAME  TYPE  NEWTYPE   has the other type wherever it was asked about
    deny    NAME                  was no name of any type, `DENY` times or more

A name that was answered one way here and another way there is left alone: a dictionary cannot tell them
apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from roster.corpus.sentence import Sentence, Span
from roster.distant.entries.patch import Change
from roster.reviewing.answers import Reviewed

DENY = 2


def corrections(closed: Iterable[tuple[Sentence, Reviewed]]) -> list[Change]:
    """The corrections that follow from finished sentences, sorted by name.

    >>> s = Sentence.from_words(["May", "met", "Ada"], [Span(0, 1, "PER")])
    >>> from roster.reviewing.answers import Answer, reviewed
    >>> answers = [Answer(0, "no name", 0), Answer(0, "missing", span=Span(2, 3, "PER")), Answer(0, "done")]
    >>> [str(change) for change in corrections([(s, reviewed(s, answers, ["PER"]))])]
    ['add Ada PER', 'remove May PER']
    """
    pairs = list(closed)
    wrong: defaultdict[tuple[str, str], list[str | None]] = defaultdict(list)
    true: defaultdict[str, Counter[str]] = defaultdict(Counter)
    added: set[tuple[str, str]] = set()
    for sentence, state in pairs:
        labels = {(span.start, span.end): span.label for span in state.gold}
        for span in state.gold:
            true[_name(sentence, span)][span.label] += 1
        for span in state.corrected:
            added.add((_name(sentence, span), span.label))
        for span, verdict in zip(sentence.spans or (), state.verdicts, strict=True):
            if verdict in ("type", "no name", "border"):
                # The type instead; None for no name; an empty one where a part of it, or more, is the name.
                now = None if verdict == "no name" else labels.get((span.start, span.end), "")
                wrong[_name(sentence, span), span.label].append(now)
    unmarked = _unmarked(pairs, {name for name, _ in added})
    found: set[Change] = set()
    for (name, label), instead in wrong.items():
        if true[name][label]:
            continue
        now = instead[0]
        if len(set(instead)) > 1:
            continue
        if now:
            found.add(Change("retype", name, label, now))
        elif now is None and not true[name]:
            found.add(Change("deny", name) if len(instead) >= DENY else Change("remove", name, label))
    retyped = {(one.name, one.new_type) for one in found if one.action == "retype"}
    for name, label in added - retyped:
        if name and not unmarked[name] and len(true[name]) == 1:
            found.add(Change("add", name, label))
    return sorted(found, key=lambda one: (one.name, one.action, one.type, one.new_type))


def _name(sentence: Sentence, span: Span) -> str:
    """The text of a name on one line."""
    return " ".join(sentence.span_text(span).split())


def _unmarked(pairs: Iterable[tuple[Sentence, Reviewed]], names: set[str]) -> Counter[str]:
    """How often each of these names occurs in the sentences without being one, or as a part of another."""
    longest = max((len(name.split()) for name in names), default=0) + 3
    found: Counter[str] = Counter()
    for sentence, state in pairs:
        gold = {(span.start, span.end) for span in state.gold}
        for start in range(len(sentence)):
            for end in range(start + 1, min(start + longest, len(sentence)) + 1):
                if (start, end) in gold or any(a <= start and end <= b for a, b in gold):
                    continue
                name = _name(sentence, Span(start, end, ""))
                if name in names:
                    found[name] += 1
    return found
