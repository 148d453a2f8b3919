"""The robustness experiment without training: its points, and its tables against numbers made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.cli.benchmarks.experiments import _corpora
from roster.errors import ConfigError
from roster.experiments import robustness
from roster.experiments.data import material
from roster.experiments.drawing import Measured, measured
from roster.experiments.holdout_signal import rank_correlation
from roster.experiments.plan import Asked, Row, planned
from roster.experiments.point import Change
from roster.experiments.robustness import draw, rows
from roster.experiments.runner import describe
from roster.experiments.store import Results
from roster.experiments.tables import Table
from roster.scores import evaluate_sentences

TEXTS = ["Ada left Oslo", "Bo saw Ada", "Lima is far", "no name here"]
DISTANT = ["B-PER O O", "O O B-PER", "B-LOC O O", "O O O"]
GOLD = ["B-PER O B-LOC", "B-PER O B-PER", "B-LOC O O", "O O O"]


def folder(path: Path, *, gold: bool) -> str:
    path.mkdir()
    files = {"train_text": TEXTS, "train_label_dist": DISTANT, "test_text": ["Cy ran"]}
    files |= {"test_label_true": ["B-PER O"], "types": ["PER", "LOC"]}
    if gold:
        files["train_label_true"] = GOLD
    for name, lines in files.items():
        (path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def news(tmp_path: Path) -> str:
    return folder(tmp_path / "news", gold=True)


@pytest.fixture
def gaz(tmp_path: Path) -> str:
    """The same texts, whose labels come without gold ones."""
    return folder(tmp_path / "gaz", gold=False)


# -- rows -----------------------------------------------------------------------------------------


def places(found: Sequence[Row], arm: str) -> list[tuple[str, float, int, float | None]]:
    return [
        (Path(row.point.data).name, row.point.change.names, row.point.change.first, row.x)
        for row in found
        if row.arm == arm
    ]


def test_every_data_set_and_variants_of_the_first(news: str, gaz: str) -> None:
    found = rows(Asked([news, gaz], "tiny", [7]), names_kept=(0.5, 0.2), first=(3, 2, 4, 100))
    variants = [
        ("news", 1.0, 0, None),
        ("news", 0.5, 0, None),
        ("news", 0.2, 0, None),
        ("news", 1.0, 2, 2),  # 4 is not smaller than the data set
        ("news", 1.0, 3, 3),
        ("gaz", 1.0, 0, None),
    ]
    assert places(found, "fine-tune") == places(found, "roster") == variants
    assert places(found, "distant-match") == variants[:5]  # where there is gold to score the labels
    assert places(found, "fine-tune-gold") == [("news", 1.0, 0, None)]
    assert {row.point.change.labels for row in found if row.arm == "fine-tune-gold"} == {"gold"}
    assert len(found) == 2 * 6 + 5 + 1


def test_seeds_methods_and_what_is_varied(news: str, gaz: str) -> None:
    asked = Asked([news, gaz], "tiny", [7, 8])
    found = rows(asked, ["bond"], names_kept=[], first=[2], vary=["gaz"])
    assert (
        places(found, "bond")
        == [("news", 1.0, 0, None)] * 2 + [("gaz", 1.0, 0, None)] * 2 + [("gaz", 1.0, 2, 2)] * 2
    )
    assert [row.point.seed for row in found if row.arm == "bond"] == [7, 8] * 3
    assert not places(found, "roster")
    assert len(places(found, "distant-match")) == 1  # no seed changes it
    by_path = rows(asked, ["bond"], [], [2], vary=[gaz, "news"])
    assert {row.point.data for row in by_path if row.x} == {news, gaz}
    assert not [row for row in rows(asked, vary=[]) if row.x or row.point.change.names < 1]


def test_a_share_for_all_is_not_thinned_to_more(news: str) -> None:
    found = rows(Asked([news], "tiny", [7], names=0.4), first=[2])
    assert places(found, "roster") == [("news", 0.4, 0, None), ("news", 0.2, 0, None), ("news", 0.4, 2, 2)]


def test_corpora(news: str, gaz: str, tmp_path: Path) -> None:
    """A plan keeps them, and what is drawn has them from there; a later plan may put them otherwise."""
    asked = Asked([news, gaz], "tiny", [7])
    own = {(Path(row.point.data).name, row.corpus) for row in rows(asked)}
    assert own == {("news", "news"), ("gaz", "gaz")}
    found = rows(asked, first=[2], corpora={"gaz": "news"})
    assert {row.corpus for row in found} == {"news"}
    plans = planned(found, {"tiny": "b"})
    assert len({plan.key for plan in plans}) == len(plans) - 2  # the toy sets are equal: trained once
    assert planned(found, {"tiny": "b"}, workers=2) == plans  # read by two processes
    assert "news, roster 2, seed 7" in map(describe, plans)
    results = Results.open(tmp_path / "r.jsonl")
    for plan in plans:
        results.add_point({"key": plan.key})
    for corpora, expected in (({"gaz": "news"}, {"news"}), ({}, {"news", "gaz"})):
        again = planned(rows(asked, first=[2], corpora=corpora), {"tiny": "b"})
        results.add_plan({"experiment": "robustness", "rows": [plan.as_dict() for plan in again]})
        assert {m.corpus for m in measured(Results.read(results.path), "robustness")} == expected
    results.close()


def test_labels_of_the_first_sentences_are_scored_on_these(news: str) -> None:
    (row,) = [r for r in rows(Asked([news], "tiny", [7]), first=[2]) if r.arm == "distant-match" and r.x]
    given_ = material(row.point)
    score = evaluate_sentences(given_.dataset.train, given_.gold, same_words=True)
    assert (score.precision, score.recall) == (1.0, 0.5)  # two of the four gold names
    assert row.point.change == Change(first=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vary": ["news", "other"]}, "--vary other: the data sets are news"),
        ({"corpora": {"other": "news"}}, "--corpus other: the data sets are news"),
        ({"methods": ["magic"]}, "there is no method 'magic'; the methods are roster, autoner"),
        ({"methods": ["fine-tune-gold"]}, "there is no method 'fine-tune-gold'"),
        ({"names_kept": [0.5, 1.0]}, "--names-kept must be more than 0 and less than 1, not 1"),
        ({"names_kept": [0.0]}, "--names-kept must be more than 0 and less than 1, not 0"),
        ({"first": [100, 0]}, "--first must be at least 1, not 0"),
    ],
)
def test_rows_that_cannot_be(options: dict[str, Any], message: str, news: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rows(Asked([news], "tiny", [7]), **options)


def test_corpora_as_they_are_typed() -> None:
    assert _corpora(["a=b", "c=b", "a=d"]) == {"a": "d", "c": "b"}
    for text in ("a", "a=", "=b"):
        with pytest.raises(ConfigError, match=f"--corpus {text}: expected DATA=CORPUS"):
            _corpora([text])


# -- tables ---------------------------------------------------------------------------------------


def item(
    arm: str,
    data: str,
    f1: float,
    seed: int = 1,
    corpus: str = "",
    first: int = 0,
    *,
    recall: float | None = None,
    held_out: tuple[float, float, int] | None = None,
) -> Measured:
    """`recall` and `held_out` (value, error, names) are those of the members' mean."""
    split = "train" if arm == "distant-match" else "test"
    scores = {split: {"precision": 0.9, "recall": 0.4, "f1": f1}}
    members: dict[str, Any] = {"scores": {"test": {"precision": 0.5, "recall": recall, "f1": f1}}}
    if held_out:
        value, error, names = held_out
        members["hold_out_recall"] = {"all": {"value": value, "error": error, "names": names}}
    stages = {"mean-of-members": members} if arm == "roster" else {}
    record = {"scores": scores, "stages": stages, "sentences": first or 4000}
    return Measured(arm, data, "tiny", float(first) or None, None, seed, record, corpus or data)


ITEMS = [
    item("distant-match", "news", 0.6),
    item("fine-tune", "news", 0.50, 1),
    item("fine-tune", "news", 0.60, 2),
    item("roster", "news", 0.70, 1),
    item("roster", "news", 0.74, 2),
    item("fine-tune-gold", "news", 0.9),
    item("fine-tune", "news", 0.40, 1, "news", 1000),
    item("fine-tune", "news", 0.42, 2, "news", 1000),
    item("roster", "news", 0.04, 1, "news", 1000),
    item("roster", "news", 0.52, 2, "news", 1000),
    item("fine-tune", "gaz", 0.50, 1, "news"),
    item("fine-tune", "gaz", 0.52, 2, "news"),
    item("roster", "gaz", 0.40, 1, "news"),
    item("roster", "gaz", 0.44, 2, "news"),
    item("fine-tune", "films", 0.31),
    item("roster", "films", 0.50),
]


def test_the_table_of_variants() -> None:
    table, _ = draw(ITEMS).tables
    assert table.name == "robustness-tiny"
    assert table.head == [
        "variant", "corpus", "sentences", "labels: precision/recall", "Fine-tuning", "RoSTER",
        "fine-tuning on gold", "RoSTER - fine-tuning", "Fine-tuning - gold", "RoSTER - gold", "collapsed",
    ]  # fmt: skip
    assert table.rows == [
        ["news", "news", "4,000", ".900/.400", ".550 ± .071 (2)", ".720 ± .028 (2)", ".900 (1)", "+.170",
         "-.350", "-.180", ""],
        ["news, first 1,000", "news", "1,000", "-", ".410 ± .014 (2)", ".280 ± .339 (2)", ".900 (1)", "-.130",
         "-.490", "-.620", "RoSTER 1 of 2"],
        ["gaz", "news", "4,000", "-", ".510 ± .014 (2)", ".420 ± .028 (2)", ".900 (1)", "-.090",
         "-.390", "-.480", ""],
        ["films", "films", "4,000", "-", ".310 (1)", ".500 (1)", "-", "+.190", "-", "-", ""],
    ]  # fmt: skip


def summary(items: Sequence[Measured]) -> dict[str, list[str]]:
    table: Table = draw(items).tables[1]
    assert table.name == "robustness-tiny-summary"
    return {name: list(cells) for name, *cells in table.rows}


def test_means_and_counts() -> None:
    """Fine-tuning has .55, .41, .51 on news, .31 on films; RoSTER .72, .28, .42 and .50."""
    assert summary(ITEMS) == {
        "mean over 4 variants": [".445", ".480"],
        "mean over 2 corpora": [".400", ".487"],  # news: .49 and .4733
        "worst variant": [".310 (films)", ".280 (news, first 1,000)"],
        "collapsed runs": ["0 of 7", "1 of 7"],
        "against fine-tuning, over variants": ["", "+.035"],  # +.17, -.13, -.09, +.19
        "against fine-tuning, over corpora": ["", "+.087"],  # -.0167, +.19
        "variants below fine-tuning by more than the spread": ["", "1 of 4 (gaz)"],  # .13 is less than .339
        "against gold, over corpora with gold labels (1)": ["-.410", "-.427"],
    }


def test_a_variant_that_lacks_a_method_is_in_no_mean() -> None:
    more = [*ITEMS, item("roster", "queries", 0.01)]
    found = summary(more)
    assert found["mean over 4 variants"] == [".445", ".480"]
    assert found["collapsed runs"] == ["0 of 7", "2 of 8"]
    assert "1 of 5 variants lack a method's results" in draw(more).tables[1].markdown()
    assert "lack a method" not in draw(ITEMS).tables[1].markdown()
    (line,) = [row for row in draw(more).tables[0].rows if row[0] == "queries"]
    assert line[4:6] == ["-", ".010 (1)"]


def test_one_run_has_no_spread() -> None:
    found = summary([item("fine-tune", "a", 0.501), item("roster", "a", 0.5)])
    assert found["variants below fine-tuning by more than the spread"] == ["", "1 of 1 (a)"]


def test_a_collapse_is_below_the_border() -> None:
    found = summary([item("roster", "a", robustness.COLLAPSED), item("roster", "b", 0.0499)])
    assert found["collapsed runs"] == ["1 of 2"]
    assert not [name for name in found if "fine-tuning" in name]  # nothing to compare with


def test_gold_alone_is_no_variant() -> None:
    assert not draw([item("fine-tune-gold", "a", 0.9), item("distant-match", "a", 0.9)]).tables


def test_an_encoder_has_its_own_tables() -> None:
    other = [Measured(m.arm, m.data, "large", m.x, m.stage, m.seed, m.record, m.corpus) for m in ITEMS]
    names = [table.name for table in draw([*ITEMS, *other]).tables]
    assert names == [
        "robustness-tiny",
        "robustness-tiny-summary",
        "robustness-large",
        "robustness-large-summary",
    ]


# -- the signal -----------------------------------------------------------------------------------


def test_the_signal_beside_what_it_predicts() -> None:
    items = [
        item("roster", "a", 0.5, 1, recall=0.60, held_out=(0.70, 0.02, 300)),
        item("roster", "a", 0.7, 2, recall=0.64, held_out=(0.72, 0.04, 300)),
        item("roster", "b", 0.4, recall=0.30, held_out=(0.20, 0.05, 1200)),
        item("roster", "c", 0.3, recall=0.50, held_out=(0.60, 0.01, 20)),
        item("roster", "d", 0.9, recall=0.90),  # no names were held out
    ]
    table = draw(items).tables[2]
    assert table.name == "robustness-tiny-signal"
    assert table.rows == [
        ["a", "300", ".710 ± .014 (2)", ".030", ".620 ± .028 (2)", "+.090", ".600 ± .141 (2)"],
        ["b", "1,200", ".200 (1)", ".050", ".300 (1)", "-.100", ".400 (1)"],
        ["c", "20", ".600 (1)", ".010", ".500 (1)", "+.100", ".300 (1)"],
    ]
    assert table.notes[1] == (
        "Rank correlation of hold-out recall over 3 variants: 1.000 with test recall, .500 with test F1. "
        "Mean absolute difference from test recall: .097."
    )


def test_no_signal_no_table() -> None:
    assert len(draw(ITEMS).tables) == 2


@given(st.permutations(range(6)))
def test_without_ties_it_is_spearmans_formula(order: list[int]) -> None:
    d = np.arange(6) - np.array(order)
    found = rank_correlation([x / 7 for x in range(6)], [x**3 for x in order])
    assert found == pytest.approx(1 - 6 * (d**2).sum() / (6 * 35))


def test_rank_correlation_with_ties_and_without_enough() -> None:
    assert rank_correlation([1, 2, 2, 3], [1, 2, 2, 3]) == pytest.approx(1)
    # ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5)
    assert rank_correlation([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / np.sqrt(4.5 * 5))
    assert rank_correlation([1, 2], [1, 2]) is None
    assert rank_correlation([1, 2, 3], [5, 5, 5]) is None
