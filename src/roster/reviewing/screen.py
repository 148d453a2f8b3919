"""A question as text that is safe to print: no character of the text controls the terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from roster.corpus.sentence import Sentence, Span
from roster.reviewing.estimate import Interval, Scores
from roster.reviewing.session import Question

JOINERS = "\u200c\u200d"
"""Format characters that the spelling of some languages needs."""
FIRST_STRONG, POP = "\u2068", "\u2069"
RIGHT_TO_LEFT = ("R", "AL", "AN")
BOLD, DIM, UNDERLINE, REVERSE, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[4m", "\x1b[7m", "\x1b[0m"
COLOUR = re.compile(r"\x1b\[\d*m")
LEAST = 20
"""Columns below which lines are left to the terminal."""


def safe(text: str) -> str:
    """Text without control characters, line breaks, direction overrides or half surrogate pairs.

    White space becomes a space; the others are written as Python would escape them. Text with letters that
    are written from right to left is isolated, so that it does not change the order of what stands around it.

    >>> safe("a\\tb\\x1b[31m\\u202ec")
    'a b\\\\x1b[31m\\\\u202ec'
    """
    found = "".join(map(_safe, text))
    if any(unicodedata.bidirectional(c) in RIGHT_TO_LEFT for c in found):
        return f"{FIRST_STRONG}{found}{POP}"
    return found


def _safe(c: str) -> str:
    if c in "\t\n\r\x0b\x0c\x85\u2028\u2029" or unicodedata.category(c) == "Zs":
        return " "
    if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn", "Co") and c not in JOINERS:
        return c.encode("unicode_escape").decode()
    return c


def wrapped(text: str, columns: int | None) -> str:
    """Text whose lines break between words where the terminal would break them anywhere; without `columns`
    as it is. A word that is longer than a line is left to the terminal.

    >>> print(wrapped("Swiss Bank Corp sets warrants", 20))
    Swiss Bank Corp sets
    warrants
    """
    if columns is None or columns < LEAST:
        return text
    lines = []
    for line in text.split("\n"):
        made, used = [""], 0
        for word in re.findall(r" *[^ ]+", line):
            size = columns_of(word)
            if used and used + size > columns:
                made.append("")
                used, word = 0, word.lstrip(" ")
                size = columns_of(word)
            made[-1] += word
            used += size
        lines += made
    return "\n".join(lines)


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes; Chinese and Japanese characters take two.

    >>> columns_of("Oslo"), columns_of("東京"), columns_of(f"{BOLD}é{PLAIN}")
    (4, 4, 1)
    """
    return sum(_columns(c) for c in COLOUR.sub("", text))


def _columns(c: str) -> int:
    if unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1


def marked(question: Question, colour: bool = False) -> str:
    """The sentence on one line; the name that is asked about in [[ ]], other names in [ ], each with its
    type."""
    sentence, asked = question.sentence, question.span
    shown = list(question.state.gold)
    for span, verdict in zip(sentence.spans or (), question.state.verdicts, strict=True):
        if verdict is None:
            shown.append(span)
    parts, at = [], 0
    for span in sorted(shown):
        start, end = sentence.char_span(span)
        name, label = safe(sentence.text[start:end]), safe(span.label)
        parts.append(safe(sentence.text[at:start]))
        if span == asked:
            text = f"[[{name}]]"
            parts.append(f"{REVERSE}{text}{PLAIN}{BOLD}{label}{PLAIN}" if colour else f"{text}{label}")
        else:
            parts.append(f"{UNDERLINE}[{name}]{PLAIN}{BOLD}{label}{PLAIN}" if colour else f"[{name}]{label}")
        at = end
    return "".join([*parts, safe(sentence.text[at:])])


def dimmed(text: str, colour: bool) -> str:
    """What stands around the sentences: less bright than they are."""
    return "\n".join(f"{DIM}{line}{PLAIN}" for line in text.split("\n")) if colour else text


def numbered(sentence: Sentence) -> str:
    """The words with their numbers, by which the borders of a name are given.

    >>> numbered(Sentence.from_words(["Swiss", "Bank"]))
    '1:Swiss 2:Bank'
    """
    return " ".join(f"{i}:{safe(word)}" for i, word in enumerate(sentence.words, 1))


def estimate_lines(scores: Scores | None, answered: int, width: float | None, left: int | None) -> str:
    """The estimate after so many answers, and how many more are needed for an interval of plus or minus
    `width`; precision and recall on a line of their own."""
    count = f"{answered} answer{'' if answered == 1 else 's'}"
    if scores is None or scores.f1 is None:
        return f"{count}; an estimate follows after a few sentences"
    text = f"{count}: F1 {_interval(scores.f1)}"
    if width is not None and left:
        text += f"; about {left} more for ± {width:g}"
    others = [
        f"{name} {_interval(one)}"
        for name, one in (("precision", scores.precision), ("recall", scores.recall))
        if one is not None
    ]
    return "\n".join([text, *([f"  {', '.join(others)}"] if others else [])])


def _interval(one: Interval) -> str:
    return f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})"


def summary(status: dict[str, Any]) -> str:
    """The counts and estimates of `Review.status` as a table."""
    counts = "{sentences} of {population} sentences reviewed with {answers} answers, {skipped} skipped"
    lines = [counts.format(**status)]
    rows = {**status["types"], **({"all": status["scores"]} if status["scores"] else {})}
    if not rows:
        return f"{lines[0]}; too few for an estimate"
    width = max(len("type"), *(len(safe(name)) for name in rows))
    level = f"{100 * status['confidence']:g} %"
    lines += ["", f"{'type':{width}}  {'precision':21}  {'recall':21}  F1   ({level} intervals)"]
    for name, scores in rows.items():
        cells = [f"{_cell(scores[key]):21}" for key in ("precision", "recall", "f1")]
        lines.append(f"{safe(name):{width}}  {'  '.join(cells)}".rstrip())
    return "\n".join(lines)


def _cell(one: dict[str, float] | None) -> str:
    return "-" if one is None else f"{one['value']:.3f} ({one['low']:.3f} to {one['high']:.3f})"


def parse_span(text: str, sentence: Sentence, types: Sequence[str], default: str | None) -> Span:
    """A name as it is typed: the number of its first word, of its last, and its type or the number of the
    type.

    The last word is left out for a name of one word; the type where `default` is meant.

    Raises:
        ValueError: with a message for the person.

    >>> parse_span("1 2 ORG", Sentence.from_words(["Swiss", "Bank"]), ["ORG"], None)
    Span(start=0, end=2, label='ORG')
    """
    fields = text.replace("-", " ", 1).split() if text[:1].isdigit() else text.split()
    numbers: list[int] = []
    while fields and len(numbers) < 2 and fields[0].isascii() and fields[0].isdigit():
        numbers.append(int(fields.pop(0)))
    if not numbers:
        raise ValueError(f"expected the first word, the last word and the type, such as 2 3 {types[0]}")
    label = parse_type(" ".join(fields), types) if fields else default
    if label is None and len(numbers) == 2 and len(types) == 1:
        label = types[0]
    if label is None:
        raise ValueError(f"expected a type after the words: {type_list(types)}")
    first, last = numbers[0], numbers[-1]
    if not 1 <= first <= last <= len(sentence):
        raise ValueError(f"expected words from 1 to {len(sentence)}, the first not after the last")
    return Span(first - 1, last, label)


def parse_type(text: str, types: Sequence[str]) -> str:
    """A type by its name, in any case, or by its number in `type_list`.

    >>> parse_type("org", ["LOC", "ORG"]), parse_type("t1", ["LOC", "ORG"])
    ('ORG', 'LOC')
    """
    given = text.strip()
    for name in types:
        if given == name or given.casefold() == name.casefold():
            return name
    number = given.removeprefix("t")
    if number.isascii() and number.isdigit() and 1 <= int(number) <= len(types):
        return types[int(number) - 1]
    raise ValueError(f"unknown type {safe(given)}; known are {type_list(types)}")


def type_list(types: Sequence[str]) -> str:
    """
    >>> type_list(["LOC", "ORG"])
    '1 LOC, 2 ORG'
    """
    return ", ".join(f"{i} {safe(name)}" for i, name in enumerate(types, 1))
