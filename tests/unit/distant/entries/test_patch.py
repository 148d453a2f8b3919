"""Patches of dictionaries: what a file may hold, what is refused, and what becomes of the entries."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roster.distant.entries import EntryBatch
from roster.distant.entries.patch import (
    Change,
    EntryPatch,
    Patch,
    merged,
    patch_line,
    plain,
    read_patch,
    write_patch,
)
from roster.errors import DataError

FILE = """\
# from an audit

add\tOslo\tLOC\t12 matches\tsurely
remove\tThe\tORG
remove\t New  York \t
remove\tIt
retype\tAcme Corp.\tPER\tORG\r
deny\tSwiss\tMISC
"""


def written(folder: Path, text: str, name: str = "names.patch") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff" + FILE)
    changes = read_patch(path).changes
    assert [(c.action, c.name, c.type, c.new_type, c.line) for c in changes] == [
        ("add", "Oslo", "LOC", "", 3),
        ("remove", "The", "ORG", "", 4),
        ("remove", "New  York", "", "", 5),
        ("remove", "It", "", "", 6),
        ("retype", "Acme Corp.", "PER", "ORG", 7),
        ("deny", "Swiss", "", "", 8),
    ]
    assert {(c.path, c.file) for c in changes} == {(str(path), "names.patch")}
    packed = tmp_path / "names.gz"
    packed.write_bytes(gzip.compress(FILE.encode()))
    assert [c.name for c in read_patch(packed).changes] == [c.name for c in changes]
    assert not read_patch(written(tmp_path, "# nothing\n\n"))
    assert not read_patch()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("drop\tOslo", "unknown action 'drop'; expected add, remove, retype, deny"),
        ("ADD\tOslo\tLOC", "unknown action 'ADD'"),
        ("add Oslo LOC", "the columns are separated by tabs"),
        ("add\tOslo", "the column TYPE is empty or missing; expected add<TAB>NAME<TAB>TYPE"),
        ("add\t\tLOC", "the column NAME is empty or missing"),
        ("remove", "the column NAME is empty or missing"),
        ("deny\t ", "the column NAME is empty or missing"),
        ("retype\tOslo\tPER", "the column NEW TYPE is empty or missing"),
        ("retype\tOslo\t\tLOC", "the column TYPE is empty or missing"),
        ("retype\tOslo\tLOC\tLOC", "retyped from LOC to LOC"),
    ],
)
def test_a_line_that_cannot_be_read(tmp_path: Path, line: str, message: str) -> None:
    path = written(tmp_path, f"# head\n{line}\n")
    with pytest.raises(DataError) as caught:
        read_patch(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}, line 2: ")


def test_files_that_are_no_patch(tmp_path: Path) -> None:
    (tmp_path / "names.patch").write_bytes(b"add\tOslo\tLOC\nadd\tM\xfcnchen\tLOC\n")
    with pytest.raises(DataError, match=r"line 2: .*UTF-8"):
        read_patch(tmp_path / "names.patch")
    with pytest.raises(DataError, match="no such file"):
        read_patch(tmp_path / "none.patch")


CONTRADICTIONS = [
    ("add\tOslo\tLOC", "remove\tOslo\tLOC"),
    ("add\tOslo\tLOC", "deny\tOslo"),
    ("add\tOslo\tLOC", "retype\tOslo\tLOC\tPER"),
    ("remove\tOslo\tLOC", "retype\tOslo\tLOC\tPER"),
    ("remove\tOslo", "retype\tOslo\tLOC\tPER"),
    ("retype\tOslo\tLOC\tPER", "retype\tOslo\tLOC\tORG"),
    ("retype\tOslo\tLOC\tPER", "deny\tOslo"),
    ("add\tNew York\tLOC", "remove\tNew  York\tLOC"),
]
AGREE = [
    ("add\tOslo\tLOC", "add\tOslo\tORG"),
    ("add\tOslo\tLOC", "remove\tOslo\tORG"),
    ("add\tOslo\tLOC", "remove\tOslo"),
    ("add\tOslo\tLOC", "remove\toslo\tLOC"),
    ("remove\tOslo\tLOC", "remove\tOslo"),
    ("remove\tOslo\tLOC", "deny\tOslo"),
    ("remove\tOslo\tORG", "retype\tOslo\tLOC\tPER"),
    ("retype\tOslo\tLOC\tPER", "retype\tOslo\tPER\tLOC"),
]


@pytest.mark.parametrize("lines", CONTRADICTIONS)
def test_lines_that_contradict_each_other(tmp_path: Path, lines: tuple[str, str]) -> None:
    for first, second in (lines, lines[::-1]):
        paths = [written(tmp_path, f"{first}\n", "a.patch"), written(tmp_path, f"\n{second}\n", "b.patch")]
        with pytest.raises(DataError) as caught:
            read_patch(*paths)
        assert str(caught.value).startswith(f"{paths[1]}, line 2: ")
        assert f"{paths[0]}, line 1" in str(caught.value)


@pytest.mark.parametrize("lines", AGREE)
def test_lines_that_agree(tmp_path: Path, lines: tuple[str, str]) -> None:
    text = "\n".join(lines)
    assert len(read_patch(written(tmp_path, text), written(tmp_path, text, "again.patch")).changes) == 2


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="#"), min_size=1, max_size=12).filter(
    lambda name: "".join(c for c in plain(name) if c.isprintable()).strip()
)


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "retype", "deny"]), NAMES), max_size=8))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    """Of names that differ in control characters alone, which a file cannot hold, one is written."""
    unique = {patch_line(Change("deny", name)): (action, name) for action, name in rows}
    wanted = [
        Change(action, name, "" if action == "deny" else "A", "B" if action == "retype" else "")  # type: ignore[arg-type]
        for action, name in {plain(line): row for line, row in unique.items()}.values()
    ]
    path = tmp_path / "names.patch"
    write_patch(path, [(change, ["12", "a\tcomment\n"]) for change in wanted], head="made\nby a test")
    found = read_patch(path).changes
    printable = [
        " ".join("".join(c if ord(c) > 159 or 31 < ord(c) < 127 else " " for c in w.name).split())
        for w in wanted
    ]
    assert [c.name for c in found] == printable
    assert [(c.action, c.type, c.new_type) for c in found] == [(c.action, c.type, c.new_type) for c in wanted]
    assert [c.line for c in found] == list(range(3, len(wanted) + 3))


ENTRIES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["X", "Y", "z", ""])), max_size=12)
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["remove", "retype"]),
        st.sampled_from("abcd"),
        st.sampled_from(["", "X", "Y", "Z"]),
        st.sampled_from(["X", "Y", "Z"]),
    ),
    max_size=6,
)


@given(ENTRIES, CHANGES)
def test_entries(entries: list[tuple[str, str]], drawn: list[tuple[str, str, str, str]]) -> None:
    label = {"X": "X", "Y": "Y", "z": "Z", "": ""}
    changes: list[Change] = []
    for line, (action, name, kind, new) in enumerate(drawn):
        if action == "retype" and kind in ("", new):
            continue
        change = Change(action, name, kind, new if action == "retype" else "", "p", line)  # type: ignore[arg-type]
        try:
            merged([*changes, change])
        except DataError:
            continue
        changes.append(change)
    patch = EntryPatch(merged(changes), label.get, lambda kind: kind.replace("Z", "z"))
    batch = EntryBatch([n for n, _ in entries], [k for _, k in entries], range(5, 5 + len(entries)))
    found = patch.apply(batch)

    expected = []
    counts: Counter[Change] = Counter()
    for line, (name, kind) in enumerate(entries, 5):
        mine = [
            c for c in merged(changes).changes if c.name == name and (not c.type or c.type == label[kind])
        ]
        counts.update(mine)
        if not any(c.action == "remove" for c in mine):
            retyped = [c.new_type.replace("Z", "z") for c in mine]
            expected.append((name, retyped[0] if retyped else kind, line))
    assert list(zip(found.surfaces, found.kinds, found.lines, strict=True)) == expected
    assert patch.entries == [counts[c] for c in patch.changes]


def test_entries_are_compared_as_written() -> None:
    changes = [
        Change("remove", "New York"),
        Change("remove", "Zu\u0308rich", "LOC"),
        Change("remove", "oslo"),
    ]
    patch = EntryPatch(Patch(tuple(changes)), str, str)
    batch = EntryBatch(["New \u00a0York", "New york", "Z\u00fcrich", "Oslo"], ["LOC"] * 4, range(4))
    assert patch.apply(batch).surfaces == ["New york", "Oslo"]
    assert patch.entries == [1, 1, 0]


def test_a_batch_without_changes_stays_as_it_is() -> None:
    batch = EntryBatch(["Oslo"], ["LOC"], range(1, 2))
    assert EntryPatch(Patch(), str, str).apply(batch) is batch
    assert EntryPatch(Patch((Change("remove", "Rome"),)), str, str).apply(batch) is batch
