"""brat's folders: each document a `.txt` file with its annotations in an `.ann` file beside it.

Read are text-bound annotations (`T` lines) that are no trigger of an event. The parts of a discontinuous one
are one span if only white space is between them, as brat writes a span over a line break; others are left
out. Of overlapping spans the longest is kept. Relations, events, attributes and notes are not read. A `.txt`
file without an `.ann` file has no labels. `doc` is the path of the file without `.txt`; documents come in the
order of their names, numbers in them by their value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from roster.corpus.formats.base import Format, Options, plain
from roster.corpus.formats.records import check_unicode, documents
from roster.corpus.formats.text import files_of, whole
from roster.corpus.formats.textfile import encoded, read_lines
from roster.corpus.formats.tools import OVERLAPS, Omitted, without_overlaps
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import CharSpan, split
from roster.errors import DataError
from roster.files import atomic_folder

TEXT, ANN, SUFFIX = ".txt", ".ann", ".brat"
BOUND = re.compile(r"(T\S*)\t(\S+) (\d+ \d+(?:;\d+ \d+)*)(?:\t(.*))?", re.DOTALL)
OTHER = re.compile(r"[RE*AMN#]\d*\t")
TRIGGER = re.compile(r"E\S*\t\S+?:(T\S*)")
OTHERS = {
    "R": "relations", "*": "relations", "E": "events", "A": "attributes", "M": "attributes", "N": "notes",
    "#": "notes",
}  # fmt: skip
NAME = re.compile(r"(?!\.)[\w .()+,=@\-]{1,100}(?:/(?!\.)[\w .()+,=@\-]{1,100})*")
LINE_BREAK = re.compile(r"\s*[\r\n]\s*")


def detect(path: Path) -> bool:
    """A folder in which some text has annotations, or one `.ann` file beside its text."""
    if path.is_dir():
        return any((path / name).with_suffix(ANN).is_file() for name in files_of(path))
    return path.suffix.lower() == ANN and path.with_suffix(TEXT).is_file()


def read(path: Path, options: Options) -> Iterator[Sentence]:
    """Sentences of our tokenizer. With a split, those of the folder of this name."""
    omitted = Omitted(path)
    if not path.is_dir():
        yield from _document(path.with_suffix(TEXT), path.stem, omitted)
    else:
        folder = path if options.split is None else _split_folder(path, options.split)
        names = sorted((name.as_posix().removesuffix(TEXT) for name in files_of(folder)), key=natural)
        for name in names:
            yield from _document(folder / f"{name}{TEXT}", name, omitted)
    omitted.tell()


def _split_folder(path: Path, split: str) -> Path:
    for place in (path / split, path / f"{split}{SUFFIX}"):
        if place.is_dir():
            return place
    raise DataError(f"it has no folder {split}", path=path)


def natural(name: str) -> tuple[list[str | int], str]:
    """A key for sorting names, in which numbers are sorted by their value.

    >>> sorted(["10", "9", "a2", "a10"], key=natural)
    ['9', '10', 'a2', 'a10']
    """
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)], name


def _document(file: Path, name: str, omitted: Omitted) -> list[Sentence]:
    text, annotations = whole(file), file.with_suffix(ANN)
    if not annotations.is_file():
        return split(text, name)
    spans = _spans(annotations, text, omitted)
    kept = without_overlaps(spans)
    omitted.add(OVERLAPS, len(set(spans)) - len(kept))
    return split(text, name, kept)


def _spans(file: Path, text: str, omitted: Omitted) -> list[CharSpan]:
    found: dict[str, CharSpan] = {}
    triggers: set[str] = set()
    for number, line in read_lines(file):
        omitted.place = f"{file.name}, line {number}"
        if line.startswith("T"):
            try:
                name, span = _bound(line, text)
            except ValueError as error:
                raise DataError(str(error), path=file, line=number) from error
            if span is None:
                omitted.add("discontinuous spans")
            else:
                found[name] = span
        elif OTHER.match(line):
            omitted.add(OTHERS[line[0]])
            if trigger := TRIGGER.match(line):
                triggers.add(trigger[1])
        elif line.strip():
            raise DataError(
                f"expected an annotation such as T1<tab>PER 0 3<tab>Ada, found {line[:40]!r}",
                path=file,
                line=number,
            )
    return [span for name, span in found.items() if name not in triggers]


def _bound(line: str, text: str) -> tuple[str, CharSpan | None]:
    """The name and the span of a T line; None for a discontinuous one. Raises ValueError for a broken one."""
    match = BOUND.fullmatch(line)
    if match is None:
        raise ValueError(f"expected T1<tab>TYPE START END<tab>TEXT, found {line[:40]!r}")
    name, label, places, stored = match.groups()
    check_unicode(label)
    parts = [(int(start), int(end)) for start, end in (place.split(" ") for place in places.split(";"))]
    for start, end in parts:
        if not start < end <= len(text):
            raise ValueError(f"span {start} to {end} is empty or outside a text of {len(text)} characters")
    shown = " ".join(text[start:end] for start, end in parts)
    if stored is not None and shown.split() != stored.split():
        raise ValueError(
            f"expected {stored!r} at {places}, found {shown!r}; offsets count every character of the .txt "
            "file, also those of line ends"
        )
    gaps = [(end, start) for (_, end), (start, _) in pairwise(parts)]
    if any(end > start or text[end:start].strip() for end, start in gaps):
        return name, None
    return name, (parts[0][0], parts[-1][1], label)


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    """A folder with two files for each document, one for a document without labels.

    The files have the names of the documents (`doc`) if these are plain, different and in order, else
    numbers.
    """
    if path.exists() and not (path.is_dir() and all(f.suffix in (TEXT, ANN) for f in path.iterdir())):
        raise DataError("is there already, with other files than .txt and .ann; choose another", path=path)
    names: list[str] = []
    count = 1
    with atomic_folder(path) as folder:
        for number, group in enumerate(documents(sentences), 1):
            names.append(group[0].doc.removesuffix(TEXT))
            _write_document(folder / f".{number}", group, path, count)
            count += len(group)
        _rename(folder, names)


def _write_document(file: Path, group: Sequence[Sentence], path: Path, number: int) -> None:
    text = group[0].text
    file.with_name(f"{file.name}{TEXT}").write_bytes(encoded(text, path))
    if all(s.spans is None for s in group):
        return
    lines: list[str] = []
    for n, sentence in enumerate(group, number):
        if sentence.spans is None:
            raise DataError(f"sentence {n}: a document has labels everywhere or nowhere", path=path)
        for span in sorted(sentence.spans):
            label = plain(span.label, "label", path=path, number=n)
            places, shown = _fragments(text, *sentence.char_span(span))
            lines.append(f"T{len(lines) + 1}\t{label} {places}\t{shown}\n")
    file.with_name(f"{file.name}{ANN}").write_bytes(encoded("".join(lines), path))


def _fragments(text: str, start: int, end: int) -> tuple[str, str]:
    """The places and the text of a span, in parts without line breaks.

    >>> _fragments("Ada\\nLovelace", 0, 12)
    ('0 3;4 12', 'Ada Lovelace')
    """
    edges = [start]
    for gap in LINE_BREAK.finditer(text, start, end):
        edges += gap.span()
    edges.append(end)
    parts = list(zip(edges[::2], edges[1::2], strict=True))
    return ";".join(f"{a} {b}" for a, b in parts), " ".join(text[a:b] for a, b in parts)


def _rename(folder: Path, names: Sequence[str]) -> None:
    """Gives the files their names."""
    different = len({name.lower() for name in names}) == len(names)
    keys = [natural(name) for name in names]
    if not different or keys != sorted(keys) or not all(map(NAME.fullmatch, names)):
        names = [str(number) for number in range(1, len(names) + 1)]
    for number, name in enumerate(names, 1):
        for suffix in (TEXT, ANN):
            old = folder / f".{number}{suffix}"
            if old.exists():
                new = folder / f"{name}{suffix}"
                new.parent.mkdir(parents=True, exist_ok=True)
                old.rename(new)


FORMAT = Format("brat", "brat's folder of .txt and .ann files", (SUFFIX,), detect, read, write)
