"""`roster label` without flags on texts of different kinds: decisions, report, warnings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from roster.corpus.io import read
from roster.distant.policy.policies import STOP_WORDS

Label = Callable[..., "Result"]

ILL = [
    *("asthma", "lung cancer", "gout", "Marfan syndrome", "kidney failure", "AIDS", "skin rash", "ear pain"),
    *("hay fever", "heart block", "sleep loss", "dry cough", "bone pain"),
]
CLINIC = [
    "Asthma is common, and asthma was the first thing she asked about.",
    "The nurse saw a skin rash, gout and ear pain on the same day.",
    "Two patients had lung cancer, one had kidney failure and a skin rash.",
    "Nobody with Marfan syndrome came, but the drug aids those with gout.",
    "He had AIDS and later kidney failure; hay fever was rare.",
    "After heart block and sleep loss came a dry cough, then bone pain.",
    "LUNG CANCER AND GOUT",
]
TERMS = [
    *("Asthma", "asthma", "skin rash", "gout", "ear pain", "lung cancer", "kidney failure", "skin rash"),
    *("Marfan syndrome", "gout", "AIDS", "kidney failure", "hay fever", "heart block", "sleep loss"),
    *("dry cough", "bone pain", "LUNG CANCER", "GOUT"),
]
PLACES = ["Reading", "Sandwich", "Lisbon", "Port Orme", "New Lund", "Mill Green", "North Sund", "Old Vik"]
NEWS = [
    "The train from Reading was late and she was reading a book with a sandwich.",
    "They left Port Orme for New Lund, then Mill Green.",
    "North Sund and Old Vik are far from Lisbon, said a man who came from Sandwich.",
    "He took a sandwich and went on reading.",
]


class Result:
    def __init__(self, folder: Path, out: str, err: str):
        self.folder, self.out, self.err = folder, out, err

    @property
    def found(self) -> list[str]:
        return [s.span_text(x) for s in read(self.folder / "train.jsonl") for x in s.spans or ()]

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "labels.json").read_text("utf-8"))
        return found

    def case(self, kind: str) -> str:
        return str(self.report["decisions"][kind]["case"])


@pytest.fixture
def label(roster: Any, tmp_path: Path) -> Label:
    def run(names: Mapping[str, Sequence[str]], texts: Sequence[str], *options: str | Path) -> Result:
        rows = [f"{name}\t{kind}\n" for kind, found in names.items() for name in found]
        (tmp_path / "names.tsv").write_text("".join(rows), "utf-8")
        (tmp_path / "corpus.txt").write_text("".join(f"{text}\n\n" for text in texts), "utf-8")
        done = roster(
            "label", tmp_path / "corpus.txt", "--dictionary", tmp_path / "names.tsv", "-o", tmp_path / "data",
            "--workers", "1", "--no-cache", *options,
        )  # fmt: skip
        assert done.code == 0, done.err
        return Result(tmp_path / "data", done.out, done.err)

    return run


@pytest.mark.parametrize("listed", [str, str.title, str.upper, str.capitalize], ids=lambda f: f.__name__)
def test_terms_match_in_any_case_however_they_are_listed(listed: Any, label: Label) -> None:
    """`aids` is no AIDS. A dictionary in title case or in capitals is seen through by phrases of the text."""
    done = label({"ILL": [name if name == "AIDS" else listed(name) for name in ILL]}, CLINIC)
    assert done.case("ILL") == ("listed" if listed is str else "terms")
    acronyms = [name for name in TERMS if listed is str.upper and name.lower() == "gout"]
    assert done.found == [name for name in TERMS if name not in acronyms or name == "GOUT"]


@pytest.mark.parametrize("listed", [str, str.lower, str.upper], ids=lambda f: f.__name__)
def test_names_need_a_capital_however_they_are_listed(listed: Any, label: Label) -> None:
    done = label({"LOC": [listed(name) for name in PLACES]}, NEWS)
    assert done.case("LOC") == "smart"
    found = ["Reading", "Port Orme", "New Lund", "Mill Green", "North Sund", "Old Vik", "Lisbon", "Sandwich"]
    assert done.found == found
    refused = [row for row in done.report["refused"] if row["reason"] == "lower_case"]
    assert [(row["type"], row["matches"]) for row in refused] == [("LOC", 4)]
    assert {name.lower() for name in refused[0]["examples"]} == {"reading", "sandwich"}


def test_each_type_has_its_own_policy(label: Label) -> None:
    done = label({"ILL": ILL, "LOC": PLACES}, [*CLINIC, *NEWS])
    assert (done.case("ILL"), done.case("LOC")) == ("listed", "smart")
    assert {"gout", "Reading"} <= set(done.found)
    assert "reading" not in done.found
    for part in (
        "ILL\n    listed: in any case if listed in lower case",
        "LOC\n    smart: where a capital shows a name",
        "because: ",
    ):
        assert part in done.out
    assert "in lower case in the text: Reading, Sandwich, AIDS\n" in done.out


def test_a_text_without_capitals(label: Label) -> None:
    """Names that are listed with capitals match; those of two letters only as listed."""
    queries = ["films with ada holm in new lund", "who plays it in it", "nasa films"]
    done = label({"PER": ["Ada Holm", "It"], "LOC": ["New Lund"], "ORG": ["NASA", "Up"]}, queries)
    assert done.found == ["ada holm", "new lund", "nasa"]
    assert "the text has no capitals" in done.out


def test_a_noisy_gazetteer_on_a_text_without_capitals(label: Label) -> None:
    """A list that has every word as the title of some film gives no single words."""
    films = [word.title() for word in sorted(STOP_WORDS["english"])[:40]] + ["Best", "Night Train", "Home"]
    done = label({"FILM": films, "PER": ["Ada"]}, ["the best way home for ada is the night train"])
    assert done.found == ["ada", "night train"]
    assert done.report["decisions"]["FILM"]["min_words"] == 2
    refused = {row["reason"]: row for row in done.report["refused"]}
    assert refused["single_word"]["examples"] == ["Best", "Home"]


def test_days_of_the_week(label: Label) -> None:
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    done = label({"DAY": days, "FILM": ["Friday", "Old Mill"]}, ["We met on Friday and saw Old Mill there."])
    assert done.found == ["Friday", "Old Mill"]
    assert done.report["types"].keys() == {"DAY", "FILM"}


ANY_CASE = ["Reading", "reading", "sandwich", "Sandwich", "sandwich", "reading"]


@pytest.mark.parametrize(
    ("options", "config", "found"),
    [
        (("--case", "exact"), "", ["Reading", "Sandwich"]),
        (("--case", "insensitive"), "", ANY_CASE),
        ((), '[types.LOC]\ncase = "insensitive"\n', ANY_CASE),
        ((), "[types.LOC]\nmin_length = 8\n", ["Sandwich"]),
        ((), '[types.LOC]\nstop_words = ["sandwich"]\n', ["Reading"]),
    ],
)
def test_what_is_set_counts(
    options: tuple[str, ...], config: str, found: list[str], label: Label, tmp_path: Path
) -> None:
    (tmp_path / "label.toml").write_text(config)
    done = label({"LOC": ["Reading", "Sandwich"]}, NEWS, "--config", tmp_path / "label.toml", *options)
    assert done.found == found
    if options:
        assert "set by the user" in done.out


def test_what_other_policies_would_give(label: Label) -> None:
    """The counts are those of the command with the flag."""
    done = label({"ILL": ILL, "LOC": PLACES}, [*CLINIC, *NEWS])
    others = done.report["other_policies"]
    assert others["words"] == done.report["words"]
    assert others["labels"].keys() == {"as decided", "smart", "insensitive", "exact"}
    assert others["labels"]["as decided"] == {k: v["labels"] for k, v in done.report["types"].items()}
    assert "Labels if all types had one case policy:" in done.out
    for case in ("smart", "insensitive", "exact"):
        again = label({"ILL": ILL, "LOC": PLACES}, [*CLINIC, *NEWS], "--case", case)
        assert others["labels"][case] == {k: v["labels"] for k, v in again.report["types"].items()}


def test_a_type_without_a_label_is_a_warning_at_the_end(label: Label) -> None:
    names = {
        "LOC": ["Oslo", "Lima"],
        "ORG": ["Best", "Lima"],
        "SHIP": ["Vasa"],
        "RANK": ["Captain"],
        "WORD": ["the", "of"],
    }
    texts = ["They asked Captain Holm in Oslo for the best way.", "It was the best."]
    done = label(names, texts, "--patterns", "MONEY")
    warnings = [line for line in done.err.splitlines() if line.startswith("warning: ")]
    assert [line.removeprefix("warning: ") for line in warnings] == done.report["warnings"]
    said = {line.split(":")[1].rsplit(" ", 1)[1]: line for line in warnings}
    assert said.keys() == {"ORG", "SHIP", "RANK", "WORD", "MONEY"}
    assert "2 in lower case in the text (Best)" in said["ORG"]
    assert 'case = "insensitive" under [types."ORG"]' in said["ORG"]
    assert "1 part of a longer run of capitals (Captain)" in said["RANK"]
    assert "whole = false" in said["RANK"]
    assert "none of its 1 entries is in the text" in said["SHIP"]
    assert "none of its 2 entries can match" in said["WORD"]
    assert "patterns match nothing" in said["MONEY"]
    assert done.err.splitlines()[-1] == f"Next: roster train {done.folder} -o run"


def test_matches_that_lose_against_another_type_are_a_warning(label: Label) -> None:
    done = label({"LOC": ["Lima"], "ORG": ["Lima"]}, ["They went to Lima."])
    assert len(done.report["warnings"]) == 2
    assert "lost against other names (ambiguous)" in done.report["warnings"][0]
    assert "--ambiguous" in done.report["warnings"][0]
    assert "Next:" not in done.err


def test_no_warning_where_every_type_has_a_label(label: Label) -> None:
    done = label({"LOC": ["Lima"], "ORG": ["Lima"]}, ["They went to Lima."], "--ambiguous", "all")
    assert done.report["warnings"] == []
    assert "warning:" not in done.err


def test_the_report_as_data_has_facts_and_reasons(label: Label) -> None:
    done = label({"ILL": ILL}, CLINIC, "--json")
    data = json.loads(done.out)
    assert data == done.report
    about = data["decisions"]["ILL"]
    assert about["dictionary"]["entries"] == len(ILL)
    assert about["dictionary"]["lower"] == 11
    assert about["text"]["lower_phrases"] == {"lower": 9, "capital": 0}
    assert (about["label"], about["whole"], about["min_length"]) == ("ILL", True, 2)
    assert "85% of the entries are listed in lower case, and so in the text (9 of 9" in about["reason"]
