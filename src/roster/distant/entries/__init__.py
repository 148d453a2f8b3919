"""Readers of dictionaries: names with their types, in several formats.

Each file may be plain or gzip (recognised by its first bytes) and is read in bounded memory. White space
around names and types, blank lines, a byte order mark and carriage returns are ignored. Lines before the
first entry that begin with `# ` and have no tab are comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path

from roster.distant.entries.batch import EntryBatch
from roster.distant.entries.blocks import Block, Broken, past_comments, read_blocks, unpacked
from roster.distant.entries.detect import format_of
from roster.distant.entries.records import read_csv, read_jsonl
from roster.distant.entries.tables import read_phrases, read_table
from roster.errors import ConfigError, DataError

__all__ = ["DICTIONARY_FORMATS", "EntryBatch", "detect_dictionary", "read_entries"]

DICTIONARY_FORMATS = {
    "tsv": "name<TAB>type, more columns ignored; or any columns after a first line such as surface<TAB>type",
    "autoner": "type[,type]<TAB>name, as AutoNER's core dictionary",
    "phrases": "one name on a line, without a type, as AutoNER's full dictionary",
    "csv": "comma or semicolon between cells, with a first line that names the columns (name,type)",
    "jsonl": 'a JSON object on each line: {"name": ..., "type": ... or [...]}',
}

_Reader = Callable[[Iterable[Block], Path, Broken], Iterator[EntryBatch]]


def read_entries(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    skip_broken: bool = False,
    on_broken: Callable[[DataError], None] | None = None,
    batch_size: int = 65536,
) -> Iterator[EntryBatch]:
    """The entries of a dictionary in the order of the file, at most `batch_size` in a batch.

    Without `format`, the format is detected (`detect_dictionary`). A broken line raises DataError; with
    `skip_broken`, `on_broken` is called with the error and the line is skipped. An error of the whole file is
    raised in any case: no entries, missing column names, damaged gzip data, a format that was detected
    wrongly. Errors are raised while the batches are read.
    """
    if format is not None and format not in DICTIONARY_FORMATS:
        raise ConfigError(f"unknown dictionary format {format!r}; one of {', '.join(DICTIONARY_FORMATS)}")
    if batch_size < 1:
        raise ConfigError(f"batch_size must be at least 1, not {batch_size}")

    def broken(error: DataError) -> None:
        if not skip_broken:
            raise error
        if on_broken is not None:
            on_broken(error)

    return _read(Path(path), format, broken, batch_size)


def _read(path: Path, format: str | None, broken: Broken, batch_size: int) -> Iterator[EntryBatch]:
    empty = True
    with unpacked(path) as file:
        blocks = past_comments(read_blocks(file, path, broken))
        first = next(blocks, None)
        if first is not None:
            reader = _reader(format or format_of(first), guessed=format is None)
            for batch in reader(chain([first], blocks), path, broken):
                empty = False
                yield from batch.pieces(batch_size)
    if empty:
        raise DataError("no entries; expected one name on a line, with its type", path=path)


def _reader(format: str, *, guessed: bool) -> _Reader:
    readers: dict[str, _Reader] = {
        "tsv": partial(read_table, autoner=False, guessed=guessed),
        "autoner": partial(read_table, autoner=True, guessed=guessed),
        "phrases": read_phrases,
        "csv": read_csv,
        "jsonl": read_jsonl,
    }
    return readers[format]


def detect_dictionary(path: str | PathLike[str]) -> str:
    """The format of a dictionary, guessed from its first 200 lines and its name: a key of DICTIONARY_FORMATS.

    The rules are in `roster.distant.entries.detect`. A table that could be `tsv` or `autoner` raises
    DataError; the format must be given then.
    """
    path = Path(path)

    def ignore(error: DataError) -> None:
        """Detection skips broken lines; the reader reports them."""

    with unpacked(path) as file:
        first = next(past_comments(read_blocks(file, path, ignore)), None)
    if first is None:
        raise DataError("no entries; the format of the dictionary cannot be guessed", path=path)
    return format_of(first)
