"""A document as one record (a JSON object, a row of a table) and back.

Two kinds are read: `text` with character `spans` (also as Doccano, Prodigy and spaCy name them), which
is split into sentences here, and `tokens` with `tags` or `ner_tags`, which is one sentence. `unknown`
beside `spans` are phrases of unknown type: spans without a label. `sampling_weight`
is how many sentences each of the record stands for. A span may have a `score`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise, zip_longest
from math import inf, isfinite
from pathlib import Path
from typing import Any, TypeVar

from roster.corpus.formats.base import Options, decode
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import CharSpan, at_borders, locate, sentences, split, trimmed
from roster.errors import DataError

T = TypeVar("T")

SPANS = ("spans", "label", "labels", "entities")
TAGS = ("tags", "ner_tags")
UNKNOWN = "unknown"
WEIGHT = "sampling_weight"
SCORE = "score"


def documents(several: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Groups of consecutive sentences of one document: the same `doc` and text, and increasing offsets."""
    return grouped(several, lambda sentence: sentence)


def grouped(items: Iterable[T], sentence_of: Callable[[T], Sentence]) -> Iterator[list[T]]:
    """The same for objects that have a sentence."""
    group: list[T] = []
    for item in items:
        if group and not continues(sentence_of(group[-1]), sentence_of(item)):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def continues(a: Sentence, b: Sentence) -> bool:
    """Whether `b` goes on with the document of `a`."""
    if not a.words or not b.words or a.doc != b.doc or a.offsets[-1][1] > b.offsets[0][0]:
        return False
    return a.text is b.text or a.text == b.text


def to_record(group: Sequence[Sentence], path: Path) -> dict[str, Any]:
    """`text` and `spans`; `words`, their offsets by sentence, only if those of our tokenizer differ."""
    text, doc = group[0].text, group[0].doc
    record: dict[str, Any] = {"id": doc} if doc else {}
    record["text"] = text
    chars: list[CharSpan] | None = None
    if any(s.spans is not None for s in group):
        if any(s.spans is None for s in group):
            raise DataError(
                f"some sentences of the document {doc!r} have labels and others have none", path=path
            )
        chars = [(*s.char_span(x), x.label) for s in group for x in s.spans or ()]
        record["spans"] = [{"start": a, "end": b, "label": label} for a, b, label in chars]
        unknown = [s.char_span(x) for s in group for x in s.unknown]
        if unknown:
            record[UNKNOWN] = [{"start": a, "end": b} for a, b in unknown]
            chars += [(a, b, "") for a, b in unknown]
    try:
        own: Iterable[Sentence] = sentences(text, doc) if not chars else split(text, doc, chars)
        same = all(a and b and a.offsets == b.offsets for a, b in zip_longest(own, group))
    except ValueError:  # a word of white space only, which our tokenizer does not make
        same = False
    if not same:
        record["words"] = [s.offsets for s in group]
    if group[0].weight != 1:
        record[WEIGHT] = group[0].weight
    return record


def from_record(record: Any, options: Options) -> Iterable[Sentence]:
    """The sentences of a record; those of a text without spans are made one at a time.

    Raises ValueError for a broken record, before the first sentence; the caller adds the position.
    """
    if not isinstance(record, Mapping):
        raise ValueError(f"expected an object with text or tokens, found {_kind(record)}")
    if record.get(WEIGHT) is not None:
        weight = record[WEIGHT]
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not isfinite(weight) or weight <= 0:
            raise ValueError(f"expected {WEIGHT} to be a number above 0, found {_kind(weight)}")
        rest = {key: value for key, value in record.items() if key != WEIGHT}
        return [replace(sentence, weight=float(weight)) for sentence in from_record(rest, options)]
    text, tokens = record.get("text"), record.get("tokens")
    if text is None:
        if tokens is None:
            found = ", ".join(map(str, record)) or "nothing"
            raise ValueError(f"expected text (and spans), or tokens (and tags), found {found}")
        return [_tokens(record, None, None, options)]
    if not isinstance(text, str):
        raise ValueError(f"expected text to be a string, found {_kind(text)}")
    check_unicode(text)
    chars = char_spans(record)
    unknown = _unknown(record)
    if chars is not None and unknown:
        # They are located like spans, so that no word or sentence boundary is inside one.
        several: Iterable[Sentence] = [
            _apart(s) for s in _sentences(record, text, tokens, [*chars, *unknown], options)
        ]
    else:
        several = _sentences(record, text, tokens, chars, options)
    return _scored(record, text, several) if options.scores and chars else several


def _sentences(
    record: Mapping[str, Any], text: str, tokens: Any, chars: list[CharSpan] | None, options: Options
) -> Iterable[Sentence]:
    if record.get("words") is not None:
        given = _word_offsets(record["words"], text)
        offsets = [pair for sentence in given for pair in sentence]
        located = None if chars is None else locate(text, offsets, chars)
        return at_borders(text, offsets, [0, *accumulate(map(len, given))], located, _doc(record))
    if isinstance(tokens, list) and (not tokens or isinstance(tokens[0], str)):
        return [_tokens(record, text, chars, options)]
    if chars is None and tokens is None:
        return sentences(text, _doc(record))
    return split(text, _doc(record), chars, None if tokens is None else _token_offsets(tokens, text))


def _apart(sentence: Sentence) -> Sentence:
    """Spans without a label are phrases of unknown type."""
    spans = sentence.spans or ()
    return sentence.with_spans([x for x in spans if x.label], [x for x in spans if not x.label])


def _scored(record: Mapping[str, Any], text: str, found: Iterable[Sentence]) -> list[Sentence]:
    """The sentences of a record with the scores of their spans; of equal spans the highest score counts."""
    scores: dict[CharSpan, float] = {}
    for where, item in _items(record) or ():
        if not isinstance(item, Mapping) or item.get(SCORE) is None:
            continue
        score = item[SCORE]
        if isinstance(score, bool) or not isinstance(score, int | float) or not isfinite(score):
            raise ValueError(f"{where}: expected {SCORE} to be a finite number, found {_kind(score)}")
        start, end, label = _span(item, where)
        key = (*trimmed(text, start, end), label)
        scores[key] = max(float(score), scores.get(key, -inf))
    return [
        replace(s, scores=tuple(scores.get((*s.char_span(x), x.label)) for x in s.spans or ())) for s in found
    ]


def _doc(record: Mapping[str, Any]) -> str:
    value = record.get("id")
    return str(value) if isinstance(value, str | int) else ""


def _tokens(
    record: Mapping[str, Any], text: str | None, chars: list[CharSpan] | None, options: Options
) -> Sentence:
    words = record["tokens"]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("expected tokens to be a list of strings")
    check_unicode(" ".join(words))
    sentence = Sentence.from_words(words, doc=_doc(record))
    offsets = None if text is None else _find(words, text)
    if text is not None and offsets is not None:
        sentence = Sentence(sentence.words, tuple(offsets), text, doc=sentence.doc)
    tags = next((record[key] for key in TAGS if record.get(key) is not None), None)
    if tags is not None:
        if not isinstance(tags, list):
            raise ValueError(f"expected tags to be a list, found {_kind(tags)}")
        return sentence.with_spans(decode(tags, len(words), options.scheme))
    if chars and offsets is None:
        raise ValueError("expected a text that holds the tokens, since spans point into it")
    return sentence.with_spans(None if chars is None else locate(text or "", sentence.offsets, chars))


def _find(words: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """The offsets of the words in the text, in order; None if the text has other words."""
    offsets, at = [], 0
    for word in words:
        start = text.find(word, at)
        if start < 0 or text[at:start].strip():
            return None
        at = start + len(word)
        offsets.append((start, at))
    return offsets


def char_spans(record: Mapping[str, Any]) -> list[CharSpan] | None:
    """The labelled spans of a record, None if it has no such field. Raises ValueError for broken ones."""
    found = _items(record)
    return None if found is None else [_span(item, where) for where, item in found]


def _items(record: Mapping[str, Any]) -> list[tuple[str, Any]] | None:
    """The place and the content of every span of a record; None where it has no list of spans."""
    key = next((key for key in SPANS if record.get(key) is not None), None)
    if key is None:
        return None
    items = record[key]
    if isinstance(items, Mapping):  # how Hugging Face stores a list of structures: a structure of lists
        if not all(isinstance(column, list) for column in items.values()):
            raise ValueError(f"expected {key} to be a list, or an object of lists")
        items = [dict(zip(items, row, strict=True)) for row in zip(*items.values(), strict=True)]
    if not isinstance(items, list | tuple):
        raise ValueError(f"expected {key} to be a list, found {_kind(items)}")
    return [(f"{key}[{i}]", item) for i, item in enumerate(items)]


def _unknown(record: Mapping[str, Any]) -> list[CharSpan]:
    """The phrases of unknown type, as spans with an empty label."""
    items = record.get(UNKNOWN)
    if not isinstance(items, list):
        return []
    found = []
    for i, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise ValueError(f"{UNKNOWN}[{i}]: expected start and end, found {_kind(item)}")
        found.append((*_place(item.get("start"), item.get("end"), f"{UNKNOWN}[{i}]"), ""))
    return found


def _span(item: Any, where: str) -> CharSpan:
    if isinstance(item, Mapping):
        start = item.get("start", item.get("start_offset"))
        end = item.get("end", item.get("end_offset"))
        label = item.get("label")
    elif isinstance(item, list | tuple) and len(item) == 3:
        start, end, label = item
    else:
        raise ValueError(f"{where}: expected start, end and label, found {_kind(item)}")
    start, end = _place(start, end, where)
    if not isinstance(label, str) or not label:
        raise ValueError(f"{where}: expected a label, found {label!r}")
    check_unicode(label)
    return start, end, label


def _place(start: Any, end: Any, where: str) -> tuple[int, int]:
    if not _is_int(start) or not _is_int(end):
        raise ValueError(f"{where}: expected whole numbers for start and end, found {start!r} and {end!r}")
    return start, end


def _word_offsets(words: Any, text: str) -> list[list[tuple[int, int]]]:
    """`words`, as `to_record` writes it: for each sentence the offsets of its words."""
    try:
        sentences = [[(start, end) for start, end in sentence] for sentence in words]
    except (TypeError, ValueError):
        raise ValueError("expected words to hold a list of [start, end] for each sentence") from None
    found = [[_inside(start, end, text) for start, end in sentence] for sentence in sentences]
    _check_order([pair for sentence in found for pair in sentence])
    return found


def _token_offsets(tokens: Any, text: str) -> list[tuple[int, int]]:
    """Prodigy's tokens: objects with start and end; those of white space only are skipped."""
    try:
        pairs = [_inside(token["start"], token["end"], text) for token in tokens]
    except (TypeError, KeyError):
        raise ValueError("expected tokens to be strings, or objects with start and end") from None
    found = [(start, end) for start, end in pairs if text[start:end].strip()]
    _check_order(found)
    return found


def _check_order(words: Sequence[tuple[int, int]]) -> None:
    for (_, end), (start, _) in pairwise(words):
        if start < end:
            raise ValueError(f"the word at character {start} begins before the end of the word before it")


def _inside(start: Any, end: Any, text: str) -> tuple[int, int]:
    if not _is_int(start) or not _is_int(end) or not 0 <= start <= end <= len(text):
        raise ValueError(f"the word {start} to {end} lies outside a text of {len(text)} characters")
    return start, end


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def check_unicode(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise ValueError(f"half of a surrogate pair (U+{code:04X}) at character {error.start}") from None


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", type(None): "null"}
    return kinds.get(type(value), repr(value))
