"""Columns: the word first, the tag last, one word per line, a blank line after each sentence.

A sentence without words cannot be written in columns and is left out. `-DOCSTART-` begins a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import dropwhile
from pathlib import Path

from roster.corpus.formats.base import Format, Options, TagError, decode, encode, plain
from roster.corpus.formats.lines import TAG
from roster.corpus.formats.textfile import FIELD, head, read_lines, writer
from roster.corpus.sentence import Sentence
from roster.errors import DataError

DOCSTART = "-DOCSTART-"
SUFFIXES = (".conll", ".conll03", ".iob", ".iob1", ".iob2", ".bio", ".bioes", ".tsv")


def detect(path: Path) -> bool:
    """At least two columns in every line, and tags in the last; with one of our suffixes, columns only."""
    if not path.is_file():
        return False
    rows = [
        columns for line in head(path) if (columns := _columns(line)) and columns[0] not in (DOCSTART, "#")
    ]
    if not rows:
        return False
    if path.suffix.lower() in SUFFIXES:
        return True
    if path.suffix.lower() == ".ck" or any(
        len(columns) != len(rows[0]) or len(columns) < 2 for columns in rows
    ):
        return False
    return all(TAG.fullmatch(columns[-1]) for columns in rows) and not all(
        TAG.fullmatch(row[0]) for row in rows
    )


def looks_like_dictionary(path: Path) -> bool:
    """Whether a file has a name, a tab and a type on each line, and neither sentences nor tags.

    No line between the first and the last is blank, no last column is O, and fewer than half of the last
    columns have a prefix such as B- (a dictionary with the names last may list `B-52`).
    """
    lines = "\n".join(head(path)).rstrip().split("\n")
    # A dictionary may have comments and blank lines before its entries.
    entries = list(dropwhile(lambda line: "\t" not in line and (not line.strip() or line[0] == "#"), lines))
    tags = [_columns(line)[-1] for line in entries if "\t" in line.strip()]
    return (
        len(tags) == len(entries) > 0
        and "O" not in tags
        and 2 * sum(TAG.fullmatch(tag) is not None for tag in tags) < len(tags)
    )


def _columns(line: str) -> list[str]:
    """The columns of a line, split at tabs if it has any, because a word can have a space then."""
    if "\t" in line.strip(" \t"):
        return [column.strip(" ") for column in line.strip(" \t").split("\t")]
    return FIELD.findall(line)


def read(path: Path, options: Options) -> Iterator[Sentence]:
    """Sentences; with one column only, they have no labels. All lines must have the same columns."""
    document, width = 0, 0
    words: list[str] = []
    tags: list[str] = []
    lines: list[int] = []

    def sentence() -> Sentence:
        try:
            spans = decode(tags, len(words), options.scheme) if width > 1 else None
        except TagError as error:
            raise DataError(str(error), path=path, line=lines[error.word]) from error
        return Sentence.from_words(words, spans, str(document) if document else "")

    for number, line in read_lines(path):
        columns = _columns(line)
        starts = bool(columns) and columns[0] == DOCSTART
        if (not columns or starts) and words:
            yield sentence()
            words, tags, lines = [], [], []
        if starts:
            document += 1
        if not columns or starts or (options.comments and line.startswith("# ")):
            continue
        width = width or len(columns)
        if len(columns) != width:
            message = f"expected {width} columns, word first and tag last, found {len(columns)}"
            raise DataError(message, path=path, line=number)
        words.append(columns[0])
        tags.append(columns[-1])
        lines.append(number)
    if words:
        yield sentence()


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    """Word and tag, separated by a space; only the word where no sentence has labels."""
    doc, labelled = "", None
    with writer(path) as put:
        for number, sentence in enumerate(sentences, 1):
            if labelled is None:
                labelled = sentence.spans is not None
            elif labelled != (sentence.spans is not None):
                raise DataError(
                    f"sentence {number}: labels for some sentences only cannot be written", path=path
                )
            if sentence.doc != doc:
                doc = sentence.doc
                put(f"{DOCSTART}{' O' if labelled else ''}\n\n")
            if DOCSTART in sentence.words:
                raise DataError(
                    f"sentence {number}: the word {DOCSTART} begins a document in this format", path=path
                )
            words = [plain(word, "word", path=path, number=number) for word in sentence.words]
            if labelled:
                tags = encode(sentence, options, path=path, number=number)
                rows = [
                    f"{w} {plain(t, 'tag', path=path, number=number)}\n"
                    for w, t in zip(words, tags, strict=True)
                ]
            else:
                rows = [f"{word}\n" for word in words]
            if rows:
                put("".join(rows) + "\n")


FORMAT = Format(
    "conll", "columns, word first, tag last, a blank line after a sentence", SUFFIXES, detect, read, write,
    keeps_empty=False,
)  # fmt: skip
