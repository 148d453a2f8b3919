"""Dictionaries of one entry on a line: columns between tabs, or phrases alone.

A block whose lines all have the same number of columns is split at once, with a few operations for thousands
of lines. Any other block is read line by line, so that errors have their line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from roster.distant.entries.batch import EntryBatch, Kinds, gather, problem
from roster.distant.entries.blocks import Block, Broken
from roster.distant.entries.columns import Columns, find_columns
from roster.errors import DataError

TSV = Columns(surface=0, kind=1)
AUTONER = Columns(surface=1, kind=0)
MOST_TYPES = 2_000  # more than any set of types has, fewer than a column of names

_NOT_SEPARATORS = bytes(set(range(256)) - set(b"\t\n"))


def read_table(
    blocks: Iterable[Block], path: Path, broken: Broken, *, autoner: bool, guessed: bool
) -> Iterator[EntryBatch]:
    """`name<TAB>type`, or `type[,type]<TAB>name` for AutoNER; a first line may name the columns instead.

    If neither the user nor a header gave the column of the type (`guessed`), too many types are an error,
    because the column probably has the names.
    """
    columns, kinds = AUTONER if autoner else TSV, Kinds()
    types: set[str] | None = set() if guessed else None
    first = True
    for block in blocks:
        if first:
            first = False
            named, end = header(block)
            if named is not None:
                columns, types, block = named, None, block.after(end)
        cut = _cut(block, columns, kinds, commas=autoner)
        for batch in [cut] if cut else gather(_one_by_one(block, columns, kinds, broken, commas=autoner)):
            if types is not None:
                types.update(batch.kinds)
                if len(types) > MOST_TYPES:
                    raise _too_many(path, columns, len(types), batch.lines[-1])
            yield batch


def header(block: Block) -> tuple[Columns | None, int]:
    """The columns in the header of `block`, if it has one, and the end of that line."""
    end = block.raw.find(b"\n") + 1
    cells = block.raw[:end].decode("utf-8", errors="replace").split("\t")
    return find_columns(tuple(cells)), end


def _cut(block: Block, columns: Columns, kinds: Kinds, *, commas: bool) -> EntryBatch | None:
    """All entries of a block if its lines have the same columns, none of them empty; else None."""
    text = block.text()
    if not text:
        return None
    width, count = text.count("\t", 0, text.index("\n")) + 1, block.count()
    separators = block.raw.translate(None, _NOT_SEPARATORS)
    if width <= max(columns) or len(separators) != width * count:
        return None
    if separators != (b"\t" * (width - 1) + b"\n") * count:
        return None
    cells = text.replace("\n", "\t").split("\t")
    cells.pop()
    surfaces = list(map(str.strip, cells[columns.surface :: width]))
    types = list(map(kinds.__getitem__, cells[columns.kind :: width]))
    if not all(surfaces) or not all(types) or (commas and any("," in kind for kind in set(types))):
        return None
    return EntryBatch(surfaces, types, range(block.line, block.line + count))


def _one_by_one(
    block: Block, columns: Columns, kinds: Kinds, broken: Broken, *, commas: bool
) -> Iterator[tuple[int, str, str]]:
    for number, line in block.lines(broken):
        if not line or line.isspace():
            continue
        cells = line.split("\t")
        if len(cells) <= max(columns):
            wrong: str | None = _too_few(columns, len(cells))
        else:
            surface, written = cells[columns.surface].strip(), cells[columns.kind]
            types = [kinds[kind] for kind in (written.split(",") if commas else (written,))]
            wrong = problem(surface, types)
        if wrong:
            broken(DataError(wrong, path=block.path, line=number))
            continue
        for kind in types:
            yield number, surface, kind


def _too_few(columns: Columns, count: int) -> str:
    if columns not in (TSV, AUTONER):
        return f"expected at least {max(columns) + 1} columns, as the first line names them; found {count}"
    expected = "a name, a tab and its type" if columns == TSV else "a type, a tab and a name"
    return f"expected {expected}; found no tab (a list of names without types is --dictionary-format phrases)"


def _too_many(path: Path, columns: Columns, count: int, line: int) -> DataError:
    other = "autoner" if columns == TSV else "tsv"
    return DataError(
        f"expected the type in column {columns.kind + 1}; found {count:,} different types up to this line; "
        f"say --dictionary-format {other} if the type is in column {columns.surface + 1}, "
        f"name the columns in a first line (surface<TAB>type), "
        f"or say --dictionary-format {'tsv' if columns == TSV else 'autoner'} if these are types",
        path=path,
        line=line,
    )


def read_phrases(blocks: Iterable[Block], path: Path, broken: Broken) -> Iterator[EntryBatch]:
    """One phrase on a line, without a type (AutoNER's full dictionary)."""
    for block in blocks:
        text = block.text()
        if text is not None:
            surfaces = list(map(str.strip, text.split("\n")))
            surfaces.pop()
            if all(surfaces):
                lines = range(block.line, block.line + len(surfaces))
                yield EntryBatch(surfaces, [""] * len(surfaces), lines)
                continue
        phrases = ((number, line.strip(), "") for number, line in block.lines(broken))
        yield from gather(phrase for phrase in phrases if phrase[1])
