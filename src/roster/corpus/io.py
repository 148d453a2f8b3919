"""Read and write any format: the registry of formats, and their detection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

from roster.corpus.formats import (
    argilla,
    bond,
    brat,
    ck,
    columns,
    conll,
    docbin,
    doccano,
    jsonl,
    labelstudio,
    lines,
    prodigy,
    rawwords,
    text,
)
from roster.corpus.formats.base import Format, Labels, Options
from roster.corpus.layout import split_files
from roster.corpus.sentence import Sentence
from roster.corpus.tags import SCHEMES, Scheme
from roster.errors import ConfigError, DataError

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        lines.FORMAT,
        conll.FORMAT,
        bond.FORMAT,
        ck.FORMAT,
        rawwords.FORMAT,
        jsonl.FORMAT,
        columns.PARQUET,
        columns.ARROW,
        docbin.FORMAT,
        doccano.FORMAT,
        labelstudio.FORMAT,
        prodigy.FORMAT,
        brat.FORMAT,
        argilla.FORMAT,
        text.FORMAT,
    )
}
HOW = "say which one it is with --format (in Python: format=...)"


def detect(path: str | PathLike[str]) -> str:
    """The name of the format of a file or folder, from its content and its name."""
    path = Path(path)
    if not path.exists():
        raise DataError("no such file", path=path)
    if path.is_dir() and (files := split_files(path)):
        raise DataError(
            f"a data set in a folder; give one of its files: {', '.join(one.name for one in files)}",
            path=path,
        )
    found = [name for name, form in FORMATS.items() if form.detect(path)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise DataError(
            f"its format is none of {', '.join(FORMATS)} by its content and name; {HOW}", path=path
        )
    raise DataError(f"it could be {' or '.join(found)} (of {', '.join(FORMATS)}); {HOW}", path=path)


def read(
    path: str | PathLike[str],
    format: str | None = None,
    scheme: Scheme | None = None,
    split: str | None = None,
    labels: Labels | None = None,
    *,
    comments: bool = False,
    scores: bool = False,
) -> Iterator[Sentence]:
    """The sentences of a file or folder, one at a time.

    With `scheme`, tags of another scheme are an error (without it, all four are read); `split` selects one
    part of a folder; `labels` selects the label file beside a file of lines (by default `dist`, else `true`,
    else none; `none` reads neither); `comments` skips the lines of a CoNLL file that begin with `# `;
    `scores` reads the scores of spans, which JSON lines, Parquet and Arrow can hold.
    """
    path = Path(path)
    if not path.exists():
        raise DataError("no such file", path=path)
    form = FORMATS[_known(format) if format else detect(path)]
    return form.read(path, Options(_scheme(scheme), split, labels, comments, scores=scores))


def write(
    path: str | PathLike[str],
    sentences: Iterable[Sentence],
    format: str | None = None,
    scheme: Scheme = "BIO",
    *,
    labels: Labels | None = None,
    first: int = 1,
) -> None:
    """Write sentences as a stream; after an error `path` is unchanged.

    Without `format`, the file name determines it. `labels` selects the label file beside a file of lines.
    `first` is the number of the first sentence in messages.
    """
    path = Path(path)
    form = FORMATS[_known(format) if format else format_of_name(path)]
    form.write(path, sentences, Options(_scheme(scheme), labels=labels, first=first))


def format_of_name(path: Path) -> str:
    """The format of a file to be written, from its name."""
    if path.name.endswith(lines.TEXT) or lines.LABEL_NAME.fullmatch(path.name):
        return "lines"
    ends = [(suffix, name) for name, form in FORMATS.items() for suffix in form.suffixes]
    found = [(len(suffix), name) for suffix, name in ends if _ends(path, suffix)]
    if found:
        return max(found)[1]  # a.prodigy.jsonl also ends in .jsonl
    raise DataError(
        f"its name does not tell which of {', '.join(FORMATS)} to write; give the format with --to "
        "(in Python: format=...)",
        path=path,
    )


def _ends(path: Path, suffix: str) -> bool:
    """Whether a name ends in a suffix, which may have two parts."""
    return path.suffix.lower() == suffix or (suffix.count(".") > 1 and path.name.lower().endswith(suffix))


def _known(format: str) -> str:
    if format not in FORMATS:
        raise ConfigError(f"unknown format {format!r}; known are {', '.join(FORMATS)}")
    return format


def _scheme(scheme: Scheme | None) -> Scheme | None:
    if scheme is not None and scheme not in SCHEMES:
        raise ConfigError(f"unknown tagging scheme {scheme!r}; known are {', '.join(SCHEMES)}")
    return scheme
