"""How a dictionary writes its entries, and entries that wait for the counts of their type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.distant.compiling.compiler import compile_lexicon
from roster.distant.compiling.lexicon import Lexicon, Source
from roster.distant.matching.matcher import Matcher
from roster.distant.policy.entry_stats import (
    ACRONYM,
    LOWER,
    PHRASE,
    TINY,
    EntryStats,
    EntryStatsCounter,
    entry_flags,
)
from roster.distant.policy.policies import Policies
from roster.distant.subtokens import to_subtokens

NAMES = {
    "asthma": LOWER,
    "Asthma": 0,
    "lung cancer": LOWER | PHRASE,
    "Lung Cancer": PHRASE,
    "AIDS": ACRONYM,
    "mRNA": ACRONYM,
    "MS": ACRONYM | TINY,
    "Li": TINY,
    "li": TINY | LOWER,
    "NATO-led": PHRASE,
    "HEPARIN": 0,
    "北京": PHRASE,  # each character may be a word
    "42": 0,
    "...": 0,
}


def test_flags() -> None:
    found = entry_flags(to_subtokens(list(NAMES)))
    assert dict(zip(NAMES, found.tolist(), strict=True)) == NAMES


def compiled(folder: Path, names: dict[str, list[str]], **policy: object) -> tuple[Lexicon, Policies]:
    path = folder / "names.tsv"
    rows = [f"{name}\t{kind}\n" for kind, found in names.items() for name in found]
    path.write_text("surface\ttype\n" + "".join(rows), "utf-8")
    policies = Policies.from_tables(policy)
    return compile_lexicon([Source(path)], policies), policies


def test_counts_by_type(tmp_path: Path) -> None:
    ill, films = ["asthma", "Lung Cancer", "AIDS", "the", "x"], ["It", "Of", "ALL", "It"]
    names = {"ILL": ill, "FILM": films, "CJK": ["北京"]}
    lexicon, _ = compiled(tmp_path, names)
    found = dict(zip(lexicon.kinds, lexicon.entry_stats, strict=True))
    assert found == {
        "ILL": EntryStats(5, cased=3, lower=1, phrases=1, acronyms=1, short=1, stop_entries=1, stop_words=1),
        "FILM": EntryStats(4, stop_entries=4, stop_words=2),  # ALL is an acronym, not the word
        "CJK": EntryStats(1, phrases=1),
    }


DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def surfaces(lexicon: Lexicon, policies: Policies, *words: str) -> list[str]:
    matches = Matcher(lexicon, policies).find([words])
    return [lexicon.entry(int(entry)).surface for entry in matches.entry]


def test_a_type_of_stop_words_keeps_them(tmp_path: Path) -> None:
    films = ["Friday", "Rear Garden", "Old Mill", "North Gate"]
    names = {"DAY": DAYS, "FILM": films, "GRADE": list("BCDEFG")}
    lexicon, policies = compiled(tmp_path, names, case="exact")
    assert surfaces(lexicon, policies, "on", "Friday", "a", "B") == ["Friday", "B"]
    assert [entry.surface for entry, _ in lexicon.dead()] == ["Friday"]  # of the films
    again, policies = compiled(
        tmp_path, names, case="exact", stop_words=["english", "calendar"], min_length=2
    )
    assert surfaces(again, policies, "on", "Friday", "a", "B") == []
    assert len(list(again.dead())) == 1 + 7 + 6


def test_plurals_of_names_that_are_kept(tmp_path: Path) -> None:
    lexicon, policies = compiled(tmp_path, {"DAY": DAYS}, case="exact", plural=True)
    assert surfaces(lexicon, policies, "on", "Mondays") == ["Monday"]


@given(st.lists(st.tuples(st.sampled_from(sorted(NAMES)), st.integers(0, 2)), max_size=20), st.integers(1, 6))
@settings(deadline=None)
def test_batches_do_not_matter(rows: list[tuple[str, int]], size: int) -> None:
    def counted(batches: list[list[tuple[str, int]]]) -> list[EntryStats]:
        counter = EntryStatsCounter("NFKC")
        for batch in filter(None, batches):
            subtokens = to_subtokens([name for name, _ in batch])
            kind = np.array([number for _, number in batch], np.uint16)
            counter.add(subtokens, kind, entry_flags(subtokens), np.zeros(len(batch), np.uint8))
        return counter.result(3)

    parts = [rows[at : at + size] for at in range(0, len(rows), size)]
    assert counted(parts) == counted([rows])
    for number, entry_stats in enumerate(counted([rows])):
        assert entry_stats.entries == sum(kind == number for _, kind in rows)
        assert entry_stats.lower <= entry_stats.cased <= entry_stats.entries
