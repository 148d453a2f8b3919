"""The look at a text before it is labelled: how it writes names, and what follows for each type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from roster.corpus.sentence import Sentence
from roster.distant.compiling.compiler import compile_lexicon
from roster.distant.compiling.lexicon import Lexicon, Source
from roster.distant.labelling import first_pass
from roster.distant.labelling.first_pass import FirstPass
from roster.distant.matching.corpus_stats import CorpusStatsCounter
from roster.distant.matching.matcher import Matcher
from roster.distant.policy.decision import CaseCounts, CorpusStats, TextCase
from roster.distant.policy.policies import Policies

ILL = ["asthma", "Lung Cancer", "gout", "hepatitis B", "AIDS"]


def compiled(folder: Path, names: Mapping[str, Sequence[str]], policies: Policies) -> Lexicon:
    path = folder / "names.tsv"
    rows = [f"{name}\t{kind}\n" for kind, found in names.items() for name in found]
    path.write_text("surface\ttype\n" + "".join(rows), "utf-8")
    return compile_lexicon([Source(path)], policies)


def sentences(*texts: str) -> list[Sentence]:
    return [Sentence.from_words(text.split()) for text in texts]


def test_how_the_text_writes_names(tmp_path: Path) -> None:
    lexicon = compiled(tmp_path, {"ILL": ILL, "LOC": ["Oslo", "Rome"]}, Policies())
    counter = CorpusStatsCounter(Matcher(lexicon, Policies()))
    counter.add(
        [
            text.split()
            for text in (
                "Asthma is common and asthma is old",  # the first one tells nothing
                "He had lung cancer and Gout then",
                "It aids those with hepatitis B in Oslo",  # neither an acronym nor a single letter tells
                "OSLO IS COLD",  # a headline
                "from Rome to rome we go",  # as often so as so
            )
        ]
    )
    ill, loc = counter.result()
    assert ill == CorpusStats(CaseCounts(1, 1), CaseCounts(0, 0), CaseCounts(0, 0), CaseCounts(1, 0), 1, 1)
    assert loc == CorpusStats(capital_words=CaseCounts(0, 1), capital_matches=2)
    assert counter.text_case() == TextCase(30, 9)


def prepared(
    folder: Path, names: Mapping[str, Sequence[str]], *texts: str, **policy: Any
) -> first_pass.FirstPassResult:
    policies = Policies.from_tables(policy)
    counts = FirstPass([compiled(folder, names, policies)], policies)
    counts.add([sentences(*texts)])
    return counts.result()


TITLES = [f"they asked {title} {name} about it" for title in ("Captain", "Doctor") for name in (
    "Maria Lund", "Olof Berg", "Ines Falk", "Tom Orme", "Ada Holm", "Per Strand",
    "Eva Lind", "Jan Kvist", "Ulla Sand", "Nils Hav", "Siv Moe", "Arne Dal",
)]  # fmt: skip


def test_names_that_only_stand_in_longer_names(tmp_path: Path) -> None:
    names = {"RANK": ["Captain", "Doctor"], "LOC": ["Lund", "Oslo"]}
    found = prepared(tmp_path, names, *TITLES, "The train went to Oslo").decisions
    assert (found["RANK"].policy.whole, found["LOC"].policy.whole) == ("false", "true")
    found = prepared(tmp_path, names, *TITLES, whole=True).decisions
    assert found["RANK"].policy.whole == "true"


def test_only_the_beginning_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_pass, "BEGINNING_WORDS", 5)
    monkeypatch.setattr(first_pass, "CORPUS_STATS_SAMPLE", 6)
    monkeypatch.setattr(first_pass, "COMMON_WORDS_SAMPLE", 8)
    counts = FirstPass([compiled(tmp_path, {"LOC": ["Oslo"]}, Policies())], Policies())
    added = 0
    while not counts.done:
        counts.add([sentences("they saw Oslo", "then Oslo left")])
        added += 1
    assert added == 2
    found = counts.result()
    assert [len(s) for document in found.beginning for s in document] == [3, 3]
    assert found.decisions["LOC"].corpus_stats.capital_matches == 2


def test_a_type_that_is_not_wanted_is_not_decided(tmp_path: Path) -> None:
    policies = Policies.from_tables(labels={"FILM": ""})
    lexicon = compiled(tmp_path, {"FILM": ["Fargo"], "LOC": ["Oslo"]}, policies)
    assert FirstPass([lexicon], policies).result().decisions.keys() == {"LOC"}
