"""AutoNER's `.ck`: a word per line, whether a chunk begins there, and the chunk's type.

    <s> O None
    lithium I Chemical        I: a break before the word, so it begins a chunk
    carbonate O Chemical      O: the word is tied to the one before
    toxicity I None           a chunk of type None is no entity
    <eof> I None

The type of a chunk is that of its first word; AutoNER's own files repeat it on the others. Its
distant annotations have a fourth column (S or D, whether a position is safe), which is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from roster.corpus.formats.base import Format, Options, plain
from roster.corpus.formats.textfile import FIELD, head, read_lines, writer
from roster.corpus.sentence import Sentence, Span
from roster.corpus.tags import encode
from roster.errors import DataError

START, END, NONE = "<s>", "<eof>", "None"
Row = tuple[int, list[str]]


def detect(path: Path) -> bool:
    if not path.is_file():
        return False
    first = next((fields for line in head(path) if (fields := FIELD.findall(line))), [])
    return first[:3] == [START, "O", NONE]


def read(path: Path, options: Options) -> Iterator[Sentence]:
    rows: list[Row] = []
    for number, line in read_lines(path):
        fields = FIELD.findall(line)
        if fields:
            if len(fields) not in (3, 4) or fields[1] not in ("I", "O"):
                message = f"expected a word, I or O, and a type or None, found {line.strip()!r}"
                raise DataError(message, path=path, line=number)
            rows.append((number, fields))
        elif rows:
            yield _sentence(rows, path)
            rows = []
    if rows:
        yield _sentence(rows, path)


def _sentence(rows: list[Row], path: Path) -> Sentence:
    for (number, fields), mark, where in ((rows[0], START, "begin"), (rows[-1], END, "end")):
        if fields[0] != mark:
            raise DataError(
                f"expected the sentence to {where} with {mark}, found {fields[0]!r}", path=path, line=number
            )
    spans: list[Span] = []
    inside = rows[1:-1]
    starts = [i for i, (_, fields) in enumerate(inside) if fields[1] == "I"]
    if inside and starts[:1] != [0]:
        raise DataError("expected I (a break) on the first word, found O", path=path, line=inside[0][0])
    for start, end in pairwise([*starts, len(inside)]):
        label = inside[start][1][2]
        for number, fields in inside[start + 1 : end]:
            if fields[2] not in (label, NONE):
                message = f"expected {label} as on the word it is tied to, or None, found {fields[2]}"
                raise DataError(message, path=path, line=number)
        if label != NONE:
            spans.append(Span(start, end, label))
    return Sentence.from_words([fields[0] for _, fields in inside], spans)


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    """Every sentence needs labels; without entities it has an empty list."""
    with writer(path) as put:
        for number, sentence in enumerate(sentences, options.first):
            put(f"{START} O {NONE}\n")
            for word, label, tied in _chunks(sentence, path, number):
                put(f"{plain(word, 'word', path=path, number=number)} {'O' if tied else 'I'} {label}\n")
            put(f"{END} I {NONE}\n\n")


def _chunks(sentence: Sentence, path: Path, number: int) -> Iterator[tuple[str, str, bool]]:
    if sentence.spans is None:
        raise DataError(f"sentence {number} has no labels, and .ck files need them", path=path)
    for span in sentence.spans:
        if plain(span.label, "label", path=path, number=number) == NONE:
            raise DataError(f"sentence {number}: the label {NONE} means no entity in .ck files", path=path)
    try:
        tags = encode(sentence.spans, len(sentence))
    except ValueError as error:
        raise DataError(f"sentence {number}: {error}", path=path) from error
    for word, tag in zip(sentence.words, tags, strict=True):
        yield word, NONE if tag == "O" else tag[2:], tag.startswith("I-")


FORMAT = Format("ck", "AutoNER's words, breaks and types", (".ck",), detect, read, write)
