"""Compiled dictionaries: which entries live, what is kept of them, and the cache."""

from __future__ import annotations

import gzip
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.distant.compiling.cache import load_lexicons
from roster.distant.compiling.compiler import ALLOW_LIST, compile_lexicon, plural_of
from roster.distant.compiling.lexicon import Lexicon, Source, encode, load
from roster.distant.matching.matcher import Matcher
from roster.distant.policy.policies import Policies
from roster.errors import DataError


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("surface\ttype\n" + "".join(f"{a}\t{b}\n" for a, b in rows), "utf-8")
    return path


def dead(lexicon: Lexicon) -> dict[str, str]:
    return {entry.surface: reason for entry, reason in lexicon.dead()}


def test_entries_that_can_match_nothing_have_a_reason(tmp_path: Path) -> None:
    names = ["Of", "The Who", "Monday", "X", "...", "Best", "Ada Lund", "R 2"]
    path = write(tmp_path / "n.tsv", [*((name, "ORG") for name in names), ("It", "MISC.film"), ("Up", "LOC")])
    policies = Policies.from_tables(
        {"min_words": 1},
        {"ORG": {"min_length": 2, "deny": ["BEST."]}, "LOC": {"min_words": 2}},
        {"MISC.film": ""},
    )
    lexicon = compile_lexicon([Source(path)], policies)
    assert dead(lexicon) == {
        "Of": "only stop-words",
        "The Who": "only stop-words",
        "Monday": "only stop-words",
        "X": "shorter than min_length",
        "...": "no letter or digit",
        "Best": "on the deny list",
        "It": "type without a label",
        "Up": "fewer words than min_words",
    }
    assert lexicon.dead_counts() == {
        "only stop-words": 3, "shorter than min_length": 1, "no letter or digit": 1, "on the deny list": 1,
        "type without a label": 1, "fewer words than min_words": 1,
    }  # fmt: skip
    assert len(lexicon) == 10


def test_the_allow_list_overrules_and_adds(tmp_path: Path) -> None:
    path = write(tmp_path / "n.tsv", [("Of", "LOC"), ("Of", "ORG"), ("It", "LOC")])
    policies = Policies.from_tables({}, {"LOC": {"allow": ["Of", "Å"], "deny": ["it"]}})
    lexicon = compile_lexicon([Source(path)], policies)
    matches = Matcher(lexicon, policies).find([["Of", "Å", "It", "of", "å"]])
    hits = [(int(s), lexicon.entry(int(e))) for s, e in zip(matches.start, matches.entry, strict=True)]
    assert {(s, e.surface, e.kind, e.source) for s, e in hits} == {
        (0, "Of", "LOC", "n.tsv"), (0, "Of", "LOC", ALLOW_LIST), (1, "Å", "LOC", ALLOW_LIST),
    }  # fmt: skip


def test_entries_keep_where_they_come_from(tmp_path: Path) -> None:
    first = write(tmp_path / "a.tsv", [("Ada  Lund", "PER"), ("Lünd", "LOC")])
    second = tmp_path / "b.txt.gz"
    second.write_bytes(gzip.compress(b"PER,LOC\tMaria\nPER\tLund\nLOC\tRiga\nLOC\tOslo\nPER\tJan\n"))
    lexicon = compile_lexicon([Source(first, priority=3), Source(second, "autoner")], Policies())
    rows = [(e.surface, e.kind, e.source, e.line) for e in map(lexicon.entry, range(len(lexicon)))]
    assert rows[:4] == [
        ("Ada  Lund", "PER", "a.tsv", 2), ("Lünd", "LOC", "a.tsv", 3),
        ("Maria", "PER", "b.txt.gz", 1), ("Maria", "LOC", "b.txt.gz", 1),
    ]  # fmt: skip
    assert dict(zip(lexicon.sources, lexicon.priorities, strict=True)) == {"a.tsv": 3, "b.txt.gz": 0}


def test_one_lexicon_for_each_normal_form(tmp_path: Path) -> None:
    path = write(tmp_path / "n.tsv", [("Malmö", "LOC"), ("Malmö", "ORG")])
    policies = Policies.from_tables({"case": "exact"}, {"ORG": {"unicode": "accents"}})
    lexicons = load_lexicons([Source(path)], policies, None)
    hits = set()
    for lexicon in lexicons:
        matches = Matcher(lexicon, policies).find([["Malmo", "Malmö"]])
        hits |= {(int(s), lexicon.entry(int(e)).kind)
                 for s, e in zip(matches.start, matches.entry, strict=True)}  # fmt: skip
    assert hits == {(0, "ORG"), (1, "ORG"), (1, "LOC")}


@given(st.lists(st.integers(0, 2**21 - 1), max_size=5))
def test_codes_can_be_read_at_one_place_only(numbers: list[int]) -> None:
    codes = encode(np.array(numbers, np.int64), 3)
    assert [int(a) << 14 | (int(b) & 127) << 7 | int(c) & 127 for a, b, c in codes] == numbers
    assert (codes[:, 0] < 128).all()
    assert (codes[:, 1:] >= 128).all()


def test_plural() -> None:
    assert [plural_of(w) for w in ("box", "toy", "Lady", "bus", "y")] == [
        "boxes",
        "toys",
        "Ladies",
        "buses",
        "ys",
    ]


def test_the_cache_is_used_and_notices_what_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "n.tsv", [("Ada", "PER")])
    cache, policies, log = tmp_path / "cache", Policies(), list[str]()

    def surfaces(policies: Policies = policies) -> list[str]:
        lexicon = load_lexicons([Source(path)], policies, cache, log=log.append)[0]
        return [lexicon.entry(i).surface for i in range(len(lexicon))]

    assert surfaces() == surfaces() == ["Ada"]
    assert len(log) == 1
    times = path.stat()
    write(path, [("Bea", "PER")])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert surfaces() == ["Bea"]
    assert len(log) == 2
    surfaces(Policies.from_tables({"min_length": 3}))
    assert len(log) == 3
    surfaces()
    surfaces(Policies.from_tables({"case": "exact", "whole": False}))  # matters only when a text is matched
    assert len(log) == 3
    for folder in (cache / "lexicons").iterdir():
        assert isinstance(load(folder), Lexicon)


@pytest.mark.parametrize("damage", ["cut", "gone", "garbage", "empty"])
def test_a_damaged_cache_is_compiled_anew(tmp_path: Path, damage: str) -> None:
    path = write(tmp_path / "n.tsv", [("Ada Lund", "PER"), ("Bea Lund", "PER")])
    cache, log = tmp_path / "cache", list[str]()
    load_lexicons([Source(path)], Policies(), cache, log=log.append)
    folder = next((cache / "lexicons").iterdir())
    if damage == "cut":
        (folder / "automaton-0.bin").write_bytes((folder / "automaton-0.bin").read_bytes()[:-3])
    elif damage == "gone":
        (folder / "shapes.npy").unlink()
    elif damage == "garbage":
        (folder / "lexicon.json").write_text("{]")
    else:
        (folder / "lexicon.json").write_text("{}")
    lexicon = load_lexicons([Source(path)], Policies(), cache, log=log.append)[0]
    assert len(log) == 2
    assert Matcher(lexicon, Policies()).find([["see", "Bea", "Lund", "now", "then"]]).start.tolist() == [1]


def test_missing_dictionary(tmp_path: Path) -> None:
    for cache in (None, tmp_path / "cache"):
        with pytest.raises(DataError, match=r"none\.tsv: no such file"):
            load_lexicons([Source(tmp_path / "none.tsv")], Policies(), cache)


def test_a_dictionary_without_a_living_entry_matches_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "n.tsv", [("of", "LOC"), ("...", "LOC")])
    lexicon = compile_lexicon([Source(path)], Policies())
    assert Matcher(lexicon, Policies()).find([["of", "..."]]).start.tolist() == []
    assert len(dead(lexicon)) == 2


def test_a_hundred_thousand_entries_compile_and_load_fast(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    parts = ["ka", "lo", "mi", "ren", "tu", "va", "sol", "der", "an", "qui"]
    rows = [" ".join("".join(rng.choice(parts, 3)).title() for _ in range(2)) for _ in range(100_000)]
    path = write(tmp_path / "n.tsv", [(row, "PER") for row in rows])
    start = time.process_time()
    lexicon = load_lexicons([Source(path)], Policies(), tmp_path / "cache")[0]
    built = time.process_time()
    again = load_lexicons([Source(path)], Policies(), tmp_path / "cache")[0]
    loaded = time.process_time()
    assert built - start < 6
    assert loaded - built < 0.5
    assert json.dumps(lexicon.dead_counts()) == json.dumps(again.dead_counts())
