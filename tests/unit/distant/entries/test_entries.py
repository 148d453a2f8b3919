"""Dictionaries in every format: what is read, what is refused and where, and how the format is guessed."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roster.distant.entries import DICTIONARY_FORMATS, EntryBatch, detect_dictionary, read_entries
from roster.distant.entries import batch as batch_module
from roster.distant.entries import blocks as blocks_module
from roster.distant.entries import records as records_module
from roster.errors import ConfigError, DataError

Entry = tuple[int, str, str]

FORMATS = tuple(DICTIONARY_FORMATS)


def entries(path: Path, format: str | None = None, **options: object) -> list[Entry]:
    found: list[Entry] = []
    for batch in read_entries(path, format, **options):  # type: ignore[arg-type]
        assert len(batch) == len(batch.surfaces) == len(batch.kinds) == len(batch.lines) > 0
        found.extend(zip(batch.lines, batch.surfaces, batch.kinds, strict=True))
    return found


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    def write(content: str | bytes, name: str = "names.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@contextmanager
def small_blocks(size: int) -> Iterator[None]:
    with mock.patch.object(blocks_module, "BLOCK_BYTES", size):
        yield


# What each format reads

SMALL = {
    "tsv": "Oslo\tLOC\nAcme Ltd\tORG.company\n",
    "autoner": "LOC\tOslo\nORG.company\tAcme Ltd\n",
    "phrases": "Oslo\nAcme Ltd\n",
    "csv": "name,type\nOslo,LOC\nAcme Ltd,ORG.company\n",
    "jsonl": '{"name": "Oslo", "type": "LOC"}\n{"name": "Acme Ltd", "type": "ORG.company"}\n',
}


@pytest.mark.parametrize("format", FORMATS)
def test_formats_plain_packed_and_with_the_line_ends_and_marks_of_other_systems(
    format: str, put: Callable[..., Path]
) -> None:
    plain = SMALL[format]
    top = 2 if format == "csv" else 1
    kinds = ("", "") if format == "phrases" else ("LOC", "ORG.company")
    expected = [(top, "Oslo", kinds[0]), (top + 1, "Acme Ltd", kinds[1])]
    marked = "\ufeff" + plain
    variants = [x.encode() for x in (plain, plain.rstrip("\n"), plain.replace("\n", "\r\n"), marked)]
    for raw in (*variants, marked.encode("utf-16-le"), marked.encode("utf-16-be")):
        cut = len(raw) // 2
        members = gzip.compress(raw[:cut]) + gzip.compress(raw[cut:])
        for packed in (raw, gzip.compress(raw), members):
            assert entries(put(packed), format) == expected
    commented = "\n# Names of things.\n#\n\n" + plain + "\n \t \n"
    assert entries(put(commented), format) == [(n + 4, surface, kind) for n, surface, kind in expected]


def test_more_columns_and_a_line_with_several_types(put: Callable[..., Path]) -> None:
    assert entries(put("Oslo\tLOC\tQ585\nRome\tLOC\nLima\tLOC\t\t\n"), "tsv") == [
        (1, "Oslo", "LOC"),
        (2, "Rome", "LOC"),
        (3, "Lima", "LOC"),
    ]
    assert entries(put("A,B\tx\nA\ty\nB , C\tz, w\n"), "autoner") == [
        *((1, "x", "A"), (1, "x", "B"), (2, "y", "A")),
        *((3, "z, w", "B"), (3, "z, w", "C")),
    ]
    content = '{"type": ["A", " B "], "name": " x ", "note": null}\n\n{"Term": "y", "LABEL": "C"}\n'
    assert entries(put(content), "jsonl") == [(1, "x", "A"), (1, "x", "B"), (3, "y", "C")]


@pytest.mark.parametrize(
    "header",
    [
        "surface\tid\ttype",
        "Type\tid\tName",
        "#term\tid\tcategory",
        "id\tlabel\tType",
        "LABEL\tx\ttext",
        "id\tText\tEntity Type",
    ],
)
@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
def test_columns_are_found_by_name(header: str, delimiter: str, put: Callable[..., Path]) -> None:
    names = header.split("\t")
    types = {"type", "Type", "category", "LABEL", "Entity Type"}
    other = {"id", "x"}

    def row(surface: str, kind: str) -> str:
        cells = [kind if name in types else "7" if name in other else surface for name in names]
        return delimiter.join(cells)

    lines = [delimiter.join(names), row("Oslo", "LOC"), row("Acme Ltd", "ORG")]
    path = put("\n".join(lines))
    assert detect_dictionary(path) == ("tsv" if delimiter == "\t" else "csv")
    assert entries(path) == [(2, "Oslo", "LOC"), (3, "Acme Ltd", "ORG")]


def test_a_header_is_one_only_on_the_first_line(put: Callable[..., Path]) -> None:
    assert entries(put("x\tA\nsurface\tTYPE\n")) == [(1, "x", "A"), (2, "surface", "TYPE")]
    assert entries(put("type\tname\nLOC\tOslo\nA,B\tRome\n"), "autoner") == [
        (2, "Oslo", "LOC"),
        (3, "Rome", "A"),
        (3, "Rome", "B"),
    ]


def test_csv_cells_in_quotes(put: Callable[..., Path]) -> None:
    content = (
        'id,"Name",type\r\n1,"Smith, ""Jo""",PER\r\n\r\n2,"Two\r\nlines\n\nand more",MISC\r\n'
        '3,5" disk,MISC,,\r\n,,\r\n4,"Oslo ",LOC'
    )
    assert entries(put(content)) == [
        (2, 'Smith, "Jo"', "PER"),
        (4, "Two\r\nlines\n\nand more", "MISC"),
        (8, '5" disk', "MISC"),
        (10, "Oslo", "LOC"),
    ]


def test_only_a_line_feed_ends_a_line(put: Callable[..., Path]) -> None:
    surface = "a\u2028b\u2029c\x0bd\x0ce\x1cf\x85g\rh"
    assert entries(put(f"{surface}\tA\nx\tB\n"), "tsv") == [(1, surface, "A"), (2, "x", "B")]
    assert entries(put(f"{surface}\nx\n"), "phrases") == [(1, surface, ""), (2, "x", "")]
    assert entries(put(json.dumps({"name": surface, "type": "A"}, ensure_ascii=False)), "jsonl") == [
        (1, surface, "A")
    ]


def test_comments_are_above_all_entries_and_have_no_tab(put: Callable[..., Path]) -> None:
    assert entries(put("# by us\n# 1 Record\tORG\n# 2 Record\tORG\n"), "tsv") == [
        (2, "# 1 Record", "ORG"),
        (3, "# 2 Record", "ORG"),
    ]
    assert entries(put("# by us\n#1 Crush\n# 2 Crush\n"), "phrases") == [
        (2, "#1 Crush", ""),
        (3, "# 2 Crush", ""),
    ]


def test_batches_are_no_larger_than_asked_and_types_are_shared(put: Callable[..., Path]) -> None:
    path = put("".join(f"name {i}\t T{i % 3} \n" for i in range(1000)))
    batches = list(read_entries(path, batch_size=300))
    assert [len(batch) for batch in batches] == [300, 300, 300, 100]
    assert [batch.lines for batch in batches] == [
        *(range(1, 301), range(301, 601), range(601, 901), range(901, 1001))
    ]
    assert len({id(kind) for batch in batches for kind in batch.kinds}) == 3
    path = put('{"name": "x", "type": ["A", "B"]}\n' * 2)
    assert [list(batch.lines) for batch in read_entries(path, batch_size=3)] == [[1, 1, 2], [2]]


@pytest.mark.parametrize("format", ["tsv", "autoner", "phrases"])
def test_even_tables_are_never_read_line_by_line(format: str, put: Callable[..., Path]) -> None:
    rows = {"tsv": "name {i}\tT{t}\tmore\r\n", "autoner": "T{t}\tname {i}\n", "phrases": "name {i}\n"}
    path = put("".join(rows[format].format(i=i, t=i % 5) for i in range(500)))
    with small_blocks(256), mock.patch.object(blocks_module.Block, "lines", side_effect=AssertionError):
        found = entries(path, format)
    kinds = ["" if format == "phrases" else f"T{i % 5}" for i in range(500)]
    assert found == [(i + 1, f"name {i}", kinds[i]) for i in range(500)]


def test_many_different_types_do_not_pile_up(put: Callable[..., Path]) -> None:
    with mock.patch.object(batch_module, "MOST_KEPT", 10):
        kinds = batch_module.Kinds()
        assert [kinds[f" {i}"] for i in range(100)] == [str(i) for i in range(100)]
        assert len(kinds) <= 11
        path = put("".join(f"x\t T{i}\n" for i in range(100)))
        assert [kind for _, _, kind in entries(path, "tsv")] == [f"T{i}" for i in range(100)]


def test_memory_does_not_grow_with_the_file(put: Callable[..., Path]) -> None:
    def peak(lines: int, format: str) -> int:
        row = '{{"name": "name {i}", "type": "A"}}\n' if format == "jsonl" else "name {i}\tA\n"
        path = put(gzip.compress("".join(row.format(i=i) for i in range(lines)).encode(), 1))
        tracemalloc.start()
        for batch in read_entries(path, format):
            del batch
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    with small_blocks(1 << 14), mock.patch.object(batch_module, "GATHERED", 500):
        for format in ("tsv", "phrases", "jsonl"):
            assert peak(12_000, format) < 1.5 * peak(3_000, format)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a thing of Unix")
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_once(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(pack(SMALL["csv"].encode()),))
    writer.start()
    assert entries(path) == [(2, "Oslo", "LOC"), (3, "Acme Ltd", "ORG.company")]
    writer.join()


# Against a reader that takes one line after the other

SPACE = st.sampled_from(["", "", "", " ", "  ", "\u00a0"])
CELL = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\t\0"), min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda text: text and not text.startswith(("#", "\ufeff")))
)
KIND = st.one_of(st.sampled_from(["LOC", "ORG.company", "Körper"]), CELL).filter(lambda kind: "," not in kind)
ENTRIES = st.lists(st.tuples(CELL, KIND, SPACE, st.integers(0, 5)), min_size=1, max_size=30)


def naive(raw: bytes, format: str) -> list[Entry]:
    """The entries of a good file, read in the plainest way."""
    text = raw.decode()
    if format == "csv":
        found, reader = [], csv.reader(line + "\n" for line in text.split("\n"))
        names = next(reader)
        end = reader.line_num
        for row in reader:
            if row:
                record = dict(zip(names, row, strict=True))
                found.append((end + 1, record["name"].strip(), record["type"].strip()))
            end = reader.line_num
        return found
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if format == "jsonl":
            record = json.loads(line)
            found.append((number, record["name"].strip(), record["type"].strip()))
        elif format == "phrases":
            found.append((number, line.strip(), ""))
        else:
            one, two = line.split("\t")[:2]
            surface, kind = (one, two) if format == "tsv" else (two, one)
            found.append((number, surface.strip(), kind.strip()))
    return found


def written(rows: list[tuple[str, str, str, int]], format: str, end: str, *, even: bool) -> str:
    """The rows as a file of `format`; unless `even`, with blank lines, white space and odd columns."""
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC)
    if format == "csv":
        table.writerow(["type", "id", "name"])
    for surface, kind, space, odd in rows:
        name = surface if even else f"{space}{surface}{space}"
        extra = "" if even or odd > 1 else "\tmore"
        if not even and odd == 5:
            out.write(end)
        if format == "csv":
            table.writerow([kind, odd, name])
        elif format == "jsonl":
            out.write(json.dumps({"id": odd, "type": kind, "name": name}, ensure_ascii=odd < 3) + end)
        elif format == "phrases":
            out.write(name + end)
        else:
            out.write((f"{name}\t{kind}" if format == "tsv" else f"{kind}\t{name}") + extra + end)
    return out.getvalue()


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ENTRIES,
    end=st.sampled_from(["\n", "\r\n"]),
    even=st.booleans(),
    whole=st.booleans(),
    block=st.sampled_from([1, 3, 16, 100, 1 << 20]),
    size=st.integers(1, 40),
    pack=st.sampled_from([bytes, gzip.compress]),
)
def test_what_is_written_is_read(
    format: str,
    rows: list[tuple[str, str, str, int]],
    end: str,
    even: bool,
    whole: bool,
    block: int,
    size: int,
    pack: Callable[[bytes], bytes],
    tmp_path: Path,
) -> None:
    text = written(rows, format, end, even=even)
    raw = (text if whole else text.removesuffix(end)).encode()
    path = tmp_path / "d"
    path.write_bytes(pack(raw))
    with small_blocks(block):
        found = entries(path, format, batch_size=size)
    assert found == naive(raw, format)
    assert [surface for _, surface, _ in found] == [surface for surface, *_ in rows]
    assert [kind for *_, kind in found] == ["" if format == "phrases" else kind for _, kind, *_ in rows]


# Broken files

BROKEN = [
    ("tsv", b"Oslo LOC", r"expected a name, a tab and its type; found no tab .*phrases"),
    ("tsv", b" \tLOC", "the name is empty"),
    ("tsv", b"Oslo\t ", "the type of 'Oslo' is empty"),
    ("tsv", b"Oslo\t\tLOC", "the type of 'Oslo' is empty"),
    ("tsv", b"Z\xfcrich\tLOC", "not UTF-8: byte 0xfc at byte position {at}"),
    ("tsv", b"O\0slo\tLOC", "a zero byte"),
    ("autoner", b"LOC Oslo", r"expected a type, a tab and a name; found no tab"),
    ("autoner", b"\tOslo", "the type of 'Oslo' is empty"),
    ("autoner", b"A,,B\tOslo", "the type of 'Oslo' is empty"),
    ("autoner", b"LOC\t", "the name is empty"),
    ("phrases", b"Z\xfcrich", "not UTF-8: byte 0xfc at byte position {at}"),
    ("phrases", b"O\0slo", "a zero byte"),
    ("csv", b"Oslo", "expected 2 cells, as the first line names them; found 1"),
    ("csv", b"Smith, Jo,PER", "found 3; put a cell with a ',' inside in double quotes"),
    ("csv", b",LOC", "the name is empty"),
    ("csv", b"Oslo,", "the type of 'Oslo' is empty"),
    ("csv", b'"Oslo,LOC', "a quote that opens on this line is not closed"),
    ("csv", b'"Os"lo,LOC', "text after a closing quote; write a double quote inside a quoted cell twice"),
    ("csv", b"Os\rlo,LOC", "a carriage return inside the line"),
    ("csv", b"x" * 200_000 + b",LOC", "not CSV: field larger than field limit"),
    ("csv", b"Z\xfcrich,LOC", "not UTF-8"),
    ("jsonl", b'{"name": "Oslo", "type": "LOC"', "not JSON: Expecting ',' delimiter at column 31"),
    ("jsonl", b'["Oslo", "LOC"]', "expected a JSON object on each line"),
    ("jsonl", b'{"name": "Oslo"}', r"expected two keys: .*\(surface, .*\(type, .*; found 'name'"),
    ("jsonl", b'{"label": "Oslo"}', "expected two keys: .*; found 'label'"),
    ("jsonl", b"{}", "expected two keys: .*; found none"),
    ("jsonl", b'{"name": 7, "type": "LOC"}', "expected a string for the name"),
    ("jsonl", b'{"name": "Oslo", "type": ["LOC", 7]}', "expected a string or a list of strings for the type"),
    ("jsonl", b'{"name": "Oslo", "type": null}', "expected a string or a list of strings for the type"),
    ("jsonl", b'{"name": " ", "type": "LOC"}', "the name is empty"),
    ("jsonl", b'{"name": "Oslo", "type": []}', "the type of 'Oslo' is empty"),
    ("jsonl", b'{"name": "Oslo", "type": ["LOC", ""]}', "the type of 'Oslo' is empty"),
    ("jsonl", b'{"name": "\\ud83d", "type": "LOC"}', "half of a surrogate pair"),
    ("jsonl", b'{"name": "\\u0000", "type": "LOC"}', "a zero character"),
    ("jsonl", b"[" * 100_000, "not JSON"),
    ("jsonl", b'{"name": "Z\xfcrich", "type": "LOC"}', "not UTF-8"),
]
GOOD = {
    "tsv": "name {i}\tLOC",
    "autoner": "LOC\tname {i}",
    "phrases": "name {i}",
    "csv": "name {i},LOC",
    "jsonl": '{{"name": "name {i}", "type": "LOC"}}',
}


@pytest.mark.parametrize(("before", "block"), [(2, 1 << 20), (700, 512), (700, 1 << 20)])
@pytest.mark.parametrize(("format", "line", "message"), BROKEN)
def test_broken_lines_are_named_or_passed_over(
    format: str, line: bytes, message: str, before: int, block: int, put: Callable[..., Path]
) -> None:
    top = ["name,type"] if format == "csv" else []
    above = "".join(f"{row}\n" for row in [*top, *(GOOD[format].format(i=i) for i in range(before))]).encode()
    below = "".join(f"\n{GOOD[format].format(i=i)}" for i in range(before, before + 50)).encode()
    path = put(above + line + below)
    number = above.count(b"\n") + 1
    with small_blocks(block):
        message = message.replace("{at}", str(len(above) + 1))
        with pytest.raises(DataError, match=rf"names\.txt, line {number}: .*{message}") as caught:
            entries(path, format)
        assert (caught.value.path, caught.value.line) == (str(path), number)
        assert "\n" not in str(caught.value)

        errors: list[DataError] = []
        found = entries(path, format, skip_broken=True, on_broken=errors.append)
        assert [error.line for error in errors] == [number]
        assert [surface for _, surface, _ in found] == [f"name {i}" for i in range(before + 50)]
        numbers = [n for n in range(len(top) + 1, number + 51) if n != number]
        assert [n for n, *_ in found] == numbers
        assert entries(path, format, skip_broken=True) == found


def test_a_broken_line_past_the_first_block_of_a_large_file(put: Callable[..., Path]) -> None:
    rows = [f"name of the thing {i}\tLOC.place" for i in range(60_000)]
    rows[50_000] = "thing"
    path = put(gzip.compress("\n".join(rows).encode(), 1))
    batches = read_entries(path)
    assert next(batches).lines[0] == 1
    with pytest.raises(DataError, match=r"names\.txt, line 50001: expected a name, a tab"):
        next(batches)
    assert sum(map(len, read_entries(path, skip_broken=True))) == 59_999


def test_a_tab_too_few_is_not_made_up_by_one_too_many(put: Callable[..., Path]) -> None:
    path = put("Oslo\tLOC\nRome\nLima\tLOC\tmore\n")
    with pytest.raises(DataError, match="line 2: expected a name, a tab and its type"):
        entries(path, "tsv")
    assert entries(path, "tsv", skip_broken=True) == [(1, "Oslo", "LOC"), (3, "Lima", "LOC")]


def test_short_rows_under_a_header(put: Callable[..., Path]) -> None:
    path = put("id\ttype\tname\n1\tLOC\tOslo\n2\tLOC\n")
    with pytest.raises(DataError, match=r"line 3: expected at least 3 columns, as the first .*; found 2"):
        entries(path)
    path = put("id,type,name\n1,LOC,Oslo\n2,LOC\n")
    with pytest.raises(DataError, match=r"line 3: expected 3 cells, as the first line .*; found 2"):
        entries(path)


@pytest.mark.parametrize(
    "content", ["Oslo,LOC\n", "name;id\nOslo;1\n", "type\nLOC\n", '"name,type\nOslo,LOC\n']
)
def test_csv_needs_names_of_columns(content: str, put: Callable[..., Path]) -> None:
    path = put(f"\n{content}")
    for skip in (False, True):
        with pytest.raises(DataError, match=r"line 2: expected a first line that names the columns: one for"):
            entries(path, "csv", skip_broken=skip)


@pytest.mark.parametrize("limit", [131_072, sys.maxsize])
def test_an_open_quote_takes_bounded_memory(limit: int, put: Callable[..., Path]) -> None:
    rows = [f"name {i},LOC" for i in range(30_000)]
    rows[10] = '"name 10,LOC'
    path = put("name,type\n" + "\n".join(rows))
    before = csv.field_size_limit(limit)
    try:
        with mock.patch.object(records_module, "LONGEST_LINE", 200_000), small_blocks(1 << 14):
            with (
                mock.patch.object(blocks_module, "_read", wraps=blocks_module._read) as read,
                pytest.raises(DataError, match="line 12: a quote that opens on this line is not closed"),
            ):
                entries(path)
            assert read.call_count < 16 < path.stat().st_size >> 14
            errors: list[DataError] = []
            found = entries(path, skip_broken=True, on_broken=errors.append)
    finally:
        csv.field_size_limit(before)
    assert [error.line for error in errors] == [12]
    assert [n for n, *_ in found] == [n for n in range(2, 30_002) if n != 12]


@pytest.mark.parametrize("format", FORMATS)
def test_a_line_without_end_is_not_kept(format: str, put: Callable[..., Path]) -> None:
    top = b"name,type\n" if format == "csv" else b""
    good = GOOD[format].format(i=1).encode()
    path = put(top + good + b"\n" + b"x" * (5 << 20) + b"\n" + good)
    number = 3 if top else 2
    tracemalloc.start()
    with pytest.raises(DataError, match=rf"line {number}: longer than 1,048,576 bytes; expected a text file"):
        entries(path, format)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
    errors: list[DataError] = []
    found = entries(path, format, skip_broken=True, on_broken=errors.append)
    assert [error.line for error in errors] == [number]
    assert [(n, surface) for n, surface, _ in found] == [(number - 1, "name 1"), (number + 1, "name 1")]


@pytest.mark.parametrize("block", [1, 7, 64])
def test_the_longest_line_that_is_read(block: int, put: Callable[..., Path]) -> None:
    with mock.patch.object(blocks_module, "LONGEST_LINE", 64), small_blocks(block):
        for end in ("", "\n", "\ny"):
            rest = [(2, "y", "")] if end == "\ny" else []
            assert entries(put("x" * 64 + end), "phrases") == [(1, "x" * 64, ""), *rest]
            path = put("x" * 65 + end)
            with pytest.raises(DataError, match="line 1: longer than 64 bytes"):
                entries(path, "phrases")
            if rest:
                assert entries(path, "phrases", skip_broken=True) == rest
    path = put(b"z\n" + b"x" * 65 + b"\nZ\xfcrich\n")
    with mock.patch.object(blocks_module, "LONGEST_LINE", 64), small_blocks(block):
        errors: list[DataError] = []
        assert entries(path, "phrases", skip_broken=True, on_broken=errors.append) == [(1, "z", "")]
    assert [error.line for error in errors] == [2, 3]
    assert "byte position 69 " in str(errors[1])


def test_damaged_gzip_data(put: Callable[..., Path]) -> None:
    packed = gzip.compress("".join(f"name {i}\tLOC\n" for i in range(5000)).encode())
    for cut in (2, 12, len(packed) // 2, len(packed) - 1):
        for skip in (False, True):
            with pytest.raises(DataError, match=r"names\.txt, line \d+: the gzip data end too early"):
                entries(put(packed[:cut]), skip_broken=skip)
    with small_blocks(1000), pytest.raises(DataError) as caught:
        entries(put(packed[: len(packed) // 2]))
    assert 1000 < (caught.value.line or 0) < 4000
    broken = bytearray(packed)
    broken[len(packed) // 2] ^= 0xFF
    with pytest.raises(DataError, match="damaged gzip data"):
        entries(put(bytes(broken)))
    with pytest.raises(DataError, match="damaged gzip data"):
        entries(put(packed + b"more"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_in_small_blocks(
    encoding: str, pack: Callable[[bytes], bytes], put: Callable[..., Path]
) -> None:
    text = "\ufeff" + "".join(f"Łódź 🦜 {i}\tLOC\r\n" for i in range(50))
    for block in (3, 7, 1 << 20):
        with small_blocks(block):
            assert entries(put(pack(text.encode(encoding)))) == [
                (i + 1, f"Łódź 🦜 {i}", "LOC") for i in range(50)
            ]
    path = put(pack(text.encode(encoding) + b"\0"))
    for skip in (False, True):
        with pytest.raises(DataError, match=r"names\.txt, line 51: not UTF-16, .*: truncated data"):
            entries(path, skip_broken=skip)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(("encoding", "known"), [("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")])
def test_utf16_without_a_byte_order_mark(
    encoding: str, known: str, pack: Callable[[bytes], bytes], put: Callable[..., Path]
) -> None:
    path = put(pack("".join(f"Łódź {i}\tLOC\r\n" for i in range(50)).encode(encoding)))
    for read in (entries, detect_dictionary):
        with pytest.raises(DataError, match=rf"names\.txt: it seems to be {known} .*: iconv -f {known}"):
            read(path)


def test_files_without_entries(put: Callable[..., Path], tmp_path: Path) -> None:
    for content in (
        "",
        "\n\n",
        "\ufeff",
        "\u00a0\n",
        "# nothing\n",
        "surface\ttype\n",
        "name,type\n",
        gzip.compress(b""),
    ):
        with pytest.raises(DataError, match=r"names\.txt: no entries"):
            entries(put(content))
    with pytest.raises(DataError, match=r"names\.txt: no entries"):
        entries(put("Oslo\n\tLOC\n"), "tsv", skip_broken=True)
    for read in (entries, detect_dictionary):
        with pytest.raises(DataError, match="gone: no such file"):
            read(tmp_path / "gone")
        with pytest.raises(DataError, match="cannot be read"):
            read(tmp_path)
    with pytest.raises(DataError, match="no entries; the format of the dictionary cannot be guessed"):
        detect_dictionary(put("# nothing\n"))


def test_settings_that_cannot_be(put: Callable[..., Path]) -> None:
    path = put("Oslo\n")
    with pytest.raises(
        ConfigError, match="unknown dictionary format 'xml'; one of tsv, autoner, phrases, csv"
    ):
        read_entries(path, "xml")
    with pytest.raises(ConfigError, match="batch_size must be at least 1, not 0"):
        read_entries(path, batch_size=0)


# Guessing

MANY_TSV = "".join(f"name {i}\t{('LOC', 'PER', 'ORG.company')[i % 3]}\n" for i in range(60))
MANY_AUTONER = "".join(f"{('LOC', 'PER', 'A,B')[i % 3]}\tname {i}\n" for i in range(60))


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        *((f"d.{format}", SMALL[format], format) for format in ("tsv", "csv", "jsonl")),
        *(("d.txt", SMALL[format], format) for format in ("tsv", "phrases", "csv", "jsonl")),
        ("d.txt", MANY_TSV, "tsv"),
        ("d.txt", MANY_AUTONER, "autoner"),
        ("d.tsv", MANY_AUTONER, "autoner"),
        ("d.csv", MANY_TSV, "tsv"),
        ("d.txt", "Type\tName\n" + MANY_AUTONER, "tsv"),
        ("d.txt", "# ours\n\n" + MANY_AUTONER, "autoner"),
        ("d.txt", "".join(f"LOC\tname {i}\n" for i in range(8)), "autoner"),
        ("d.txt", "".join(f"LOC\tname {i}\n" for i in range(7)), "autoner"),
        # One name with many types is no type.
        ("d.txt", "Paris\tLOC\nParis\tPER\nParis\tORG\nParis\tMISC\n", "tsv"),
        ("d.txt", "".join(f"name {i % 20}\tT{i}\n" for i in range(15)), "tsv"),
        ("d.txt", "".join(f"name {i}\tT{i % 20}\n" for i in range(40)), "tsv"),
        ("d.txt", "Oslo\nRome\tLOC\n", "tsv"),
        ("d.txt", "Oslo\tLOC\nRome\t\n", "tsv"),
        ("d.txt", "\tLOC\n", "tsv"),
        # Two signs against one, and names of several words.
        ("d.txt", "Rose\tPER\nRose\tFLOWER\n", "tsv"),
        ("d.txt", "Acme Ltd\tCat\nZorro\tDog\n", "tsv"),
        ("d.txt", "".join(f"NATO{i}\tAgency\n" for i in range(4)), "tsv"),
        ("d.txt", "Smith, Jo\nBerg, Al\n", "phrases"),
        ("d.txt", "{Oslo}\n", "phrases"),
        ("d.txt", "Os\rlo\n", "phrases"),
        ("d", '{ "name": 1\n', "jsonl"),
        ("d.NDJSON", "[\n", "jsonl"),
        ("d.tsv", "Oslo LOC\n", "tsv"),
        ("d.csv", "Oslo,LOC\n", "csv"),
        ("d.csv", "nom;genre\nOs\tlo;LOC\n", "csv"),
    ],
)
def test_guessed_formats(name: str, content: str, format: str, put: Callable[..., Path]) -> None:
    assert detect_dictionary(put(content, name)) == format
    assert detect_dictionary(put(gzip.compress(content.encode()), f"{name}.gz")) == format
    assert detect_dictionary(put(b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode(), name)) == format


@pytest.mark.parametrize(
    ("content", "counts"),
    [
        ("".join(f"a body part\tname {i}\n" for i in range(30)), (30, 1, 30)),
        ("".join(f"Q{i}\tname {i}\tLOC\n" for i in range(300)), (200, 200, 200)),
    ],
)
def test_unclear_columns_are_an_error_unless_the_format_is_given(
    content: str, counts: tuple[int, int, int], put: Callable[..., Path]
) -> None:
    path = put(content)
    lines, one, two = counts
    message = f"the first {lines} lines column 1 has {one} different values, column 2 has {two}; say --dict"
    for read in (detect_dictionary, entries):
        with pytest.raises(DataError, match=rf"names\.txt: cannot tell which .*{message}"):
            read(path)
    first, second = content.split("\n")[0].split("\t")[:2]
    assert entries(path, "tsv")[0] == (1, first, second)
    assert entries(path, "autoner")[0] == (1, second, first)


@pytest.mark.parametrize(
    "rows",
    [
        [("Oslo", "LOC"), ("Ada", "PER")],  # common types
        [("Oslo", "Location"), ("Ada", "person")],
        [("OSLO", "LOC"), ("NATO", "ORG.alliance")],
        [("Oslo", "LOC")],
        [("Ada", "Cat"), ("Bo", "Cat")],  # one column repeats
        [("Ada", "Dog"), ("Bo", "Dog"), ("Ada", "Cat"), ("Cy", "Dog")],
        [("fever", "SIGN"), ("aspirin", "PILL"), ("cough", "SIGN")],  # and is all capitals
        [(f"Name {i}", f"T{i // 2}") for i in range(12)],
    ],
)
def test_short_tables_that_can_be_told_both_ways_round(
    rows: list[tuple[str, str]], put: Callable[..., Path]
) -> None:
    expected = [(n, name, kind) for n, (name, kind) in enumerate(rows, 1)]
    assert entries(put("".join(f"{name}\t{kind}\n" for name, kind in rows))) == expected
    assert entries(put("".join(f"{kind}\t{name}\n" for name, kind in rows))) == expected


@pytest.mark.parametrize(
    ("content", "sample"),
    [
        ("Cat\tAda\nDog\tOslo\n", "the first 2 lines column 1 has 2 different values, column 2 has 2"),
        ("IBM\tvendor\nHP\tcustomer\n", "the first 2 lines"),  # acronyms, or types in capitals?
        ("Agency\tUN\nAgency\tNATO\n", "the first 2 lines"),
        ("UN\tAgency\nNATO\tAgency\n", "the first 2 lines"),
        ("a body part\tarm\na body part\tleg\n", "the first 2 lines column 1 has 1 different values,"),
        ("Cat\tAda\n", "line 1 column 1 has 1 different values,"),
    ],
)
def test_short_tables_that_cannot_be_told(content: str, sample: str, put: Callable[..., Path]) -> None:
    path = put(content)
    for read in (detect_dictionary, entries):
        with pytest.raises(DataError, match=rf"names\.txt: cannot tell which column .* in {sample}") as e:
            read(path)
        assert "--dictionary-format tsv" in str(e.value)
        assert "(surface<TAB>type)" in str(e.value)
    first, second = content.split("\n")[0].split("\t")
    assert entries(path, "tsv")[0] == (1, first, second)
    assert entries(put(f"type\tname\n{content}"))[0] == (2, second, first)


def test_a_column_of_too_many_types_is_an_error_unless_the_format_is_given(put: Callable[..., Path]) -> None:
    clear = [f"name {i}\tLOC" for i in range(300)]
    path = put("\n".join([*clear, *(f"LOC\tname {i}" for i in range(2000))]))
    with pytest.raises(
        DataError, match=r"line 2300: expected the type in column 2; found 2,001 different types"
    ) as e:
        entries(path)
    assert "say --dictionary-format autoner if the type is in column 1" in str(e.value)
    assert len(entries(path, "tsv")) == 2300
    path = put("\n".join([*clear, *(f"LOC\tname {i}" for i in range(1999))]))
    assert len(entries(path)) == 2299
    path = put("\n".join(["name\ttype", *clear, *(f"LOC\tname {i}" for i in range(2000))]))
    assert len(entries(path)) == 2300

    path = put("\n".join([*(f"LOC\tname {i}" for i in range(300)), *(f"T{i}\tLOC" for i in range(2500)), ""]))
    with pytest.raises(
        DataError, match=r"line 2800: expected the type in column 1; .*say --dictionary-format tsv if"
    ):
        entries(path)
    assert len(entries(path, "autoner")) == 2800


def test_wide_lines_do_not_multiply(put: Callable[..., Path]) -> None:
    path = put("x\tA" + "\t" * 20_000 + "\n" + "y\tB\n" * 20_000)
    tracemalloc.start()
    assert len(entries(path, "tsv")) == 20_001
    assert tracemalloc.get_traced_memory()[1] < 50 << 20
    tracemalloc.stop()


def test_types_of_what_is_given_back(put: Callable[..., Path]) -> None:
    (batch,) = read_entries(str(put("Oslo\nRome\n")))
    assert batch == EntryBatch(["Oslo", "Rome"], ["", ""], range(1, 3))
