"""Conversion between spans and tags, in four tagging schemes.

`IO` cannot separate two adjacent entities of one type; the other three can. Decoding is as lenient as
the conlleval script: an `I-X` with nothing before it begins an entity, so that every tag sequence can be
decoded; `check` finds sequences that are not valid in a scheme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from roster.corpus.sentence import Span

Scheme = Literal["IO", "IOB1", "BIO", "BIOES"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
PREFIXES = {"IO": "I", "IOB1": "BI", "BIO": "BI", "BIOES": "BIES"}


def split_tag(tag: str) -> tuple[str, str]:
    """`B-PER` -> (`B`, `PER`); `O` -> (`O`, ``); a bare `PER` (IO without a prefix) -> (`I`, `PER`).

    >>> split_tag("B-geo-loc"), split_tag("O"), split_tag("Disease")
    (('B', 'geo-loc'), ('O', ''), ('I', 'Disease'))
    """
    if tag == "O":
        return "O", ""
    prefix, dash, label = tag.partition("-")
    if dash and label and prefix in ("B", "I", "E", "S", "L", "U", "M"):
        return {"L": "E", "U": "S", "M": "I"}.get(prefix, prefix), label
    return "I", tag


def decode(tags: Sequence[str]) -> tuple[Span, ...]:
    """Tags of any of the four schemes to spans.

    >>> decode(["I-PER", "I-PER", "B-PER", "O", "S-LOC", "S-LOC"])
    (Span(start=0, end=2, label='PER'), Span(start=2, end=3, label='PER'), \
Span(start=4, end=5, label='LOC'), Span(start=5, end=6, label='LOC'))
    """
    spans = []
    start, open_label, closed = 0, "", False
    for i, tag in enumerate(tags):
        prefix, label = split_tag(tag)
        if open_label and (label != open_label or closed or prefix in "BS"):
            spans.append(Span(start, i, open_label))
            open_label = ""
        if label and not open_label:
            start, open_label = i, label
        closed = prefix in "ES"
    if open_label:
        spans.append(Span(start, len(tags), open_label))
    return tuple(spans)


def encode(spans: Iterable[Span], length: int, scheme: Scheme = "BIO") -> list[str]:
    """Spans to tags. Overlapping spans are an error: tags cannot represent them.

    >>> encode([Span(0, 2, "PER"), Span(2, 3, "PER")], 4, "IOB1")
    ['I-PER', 'I-PER', 'B-PER', 'O']
    """
    tags = ["O"] * length
    last_end, last_label = -1, ""
    for span in sorted(spans):
        if not 0 <= span.start < span.end <= length:
            raise ValueError(f"span {span} lies outside a sentence of {length} words")
        if span.start < last_end:
            raise ValueError(f"span {span} overlaps the one before it; tags cannot hold overlapping spans")
        touching = span.start == last_end and span.label == last_label
        for i in range(span.start, span.end):
            first, last = i == span.start, i == span.end - 1
            prefix = "I"
            if scheme == "BIOES":
                prefix = "S" if first and last else "B" if first else "E" if last else "I"
            elif first and (scheme == "BIO" or (scheme == "IOB1" and touching)):
                prefix = "B"
            tags[i] = f"{prefix}-{span.label}"
        last_end, last_label = span.end, span.label
    return tags


def check(tags: Sequence[str], scheme: Scheme) -> int | None:
    """The first position whose tag is not valid in `scheme`, or None."""
    try:
        written = encode(decode(tags), len(tags), scheme)
    except ValueError:
        return 0
    return next((i for i, (a, b) in enumerate(zip(tags, written, strict=True)) if a != b), None)
