"""Experiments without training: keys, data, the file of results, the order of points, tables, figures."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.cli.benchmarks.experiments import SUMMARIES
from roster.config import to_toml
from roster.corpus.sentence import Sentence, Span
from roster.errors import ConfigError, DataError, RosterError
from roster.experiments import augmentation, cases, main, published, runner
from roster.experiments.data import changed, dataset_of, material
from roster.experiments.drawing import Measured, measured
from roster.experiments.figures import Figure, Line, drawn, save
from roster.experiments.gallery import EXPERIMENTS, experiment, save_all
from roster.experiments.plan import Asked, Planned, Row, planned, stored
from roster.experiments.point import Change, Point, key_of, same_settings, settings
from roster.experiments.store import VERSION, Results
from roster.experiments.supervised import worth
from roster.experiments.tables import ESCAPES, Spread, Table, cell, escape, number
from roster.experiments.thinning import thin
from roster.methods.defaults import settle
from roster.methods.facts import facts_of
from roster.methods.registry import all_methods, get, names
from roster.methods.request import load_config
from roster.methods.roster.settings import NoiseRobust

POINT = Point("toy", "roster", 30, "tiny", overrides=(("noise_robust.q", 0.5),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four training sentences with distant and gold labels, and one of each other split."""
    data = tmp_path / "toy"
    data.mkdir()
    texts = {"train": ["Ada left Oslo", "Bo saw Ada", "Lima is far", "no name here"]}
    labels = {
        ("train", "dist"): ["B-PER O O", "O O B-PER", "B-LOC O O", "O O O"],
        ("train", "true"): ["B-PER O B-LOC", "B-PER O B-PER", "B-LOC O O", "O O O"],
        ("test", "true"): ["B-PER O"],
    }
    texts["test"] = ["Cy ran"]
    for split, lines in texts.items():
        (data / f"{split}_text.txt").write_text("\n".join(lines) + "\n")
    for (split, kind), lines in labels.items():
        (data / f"{split}_label_{kind}.txt").write_text("\n".join(lines) + "\n")
    (data / "types.txt").write_text("PER\nLOC\n")
    return data


# -- keys -----------------------------------------------------------------------------------------


def test_what_a_method_derives_has_a_version_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change to RoSTER's derived settings leaves the stored results of fine-tuning valid."""
    other = replace(POINT, method="fine-tune", overrides=())
    before = {point.method: key_of(point, "d", "b") for point in (POINT, other)}
    monkeypatch.setattr(type(get("roster")), "derivation", 10**6)
    after = {point.method: key_of(point, "d", "b") for point in (POINT, other)}
    assert {method for method in before if before[method] != after[method]} == {"roster"}


def test_a_result_with_other_derived_values_is_not_used(folder: Path, tiny: Path, tmp_path: Path) -> None:
    """It was trained with what the data decided by the rules of its time."""
    point = Point(str(folder), "fine-tune", 30, str(tiny))
    rows, encoders = [Row("fine-tune", point)], {str(tiny): "b"}
    (new,) = planned(rows, encoders)
    assert new.derived == {}  # there is nothing to compare it with
    (plan,) = planned(rows, encoders, known=[new.key])
    by_hand = facts_of(point.config(), dataset_of(str(folder)).train)
    assert plan.derived["fine_tune.epochs"] == settle(point.request(), by_hand)[0].own["fine_tune"].epochs
    results = Results.open(tmp_path / "results.jsonl")
    record = {"key": plan.key, "settings": settings(point.config())}
    results.add_point({**record, "effective": {**plan.derived, "optimiser.clip": 1.0}})
    assert stored(results, plan)
    results.add_point(record)  # an older record, without them
    assert stored(results, plan)
    results.add_point({**record, "effective": {**plan.derived, "fine_tune.epochs": 99}})
    assert not stored(results, plan)
    paper = [Row("x", replace(point, preset="paper-wikigold"))]
    (plan,) = planned(paper, encoders, known=[planned(paper, encoders)[0].key])
    assert plan.derived == {}


def test_a_key_is_of_all_that_decides_the_result() -> None:
    same = key_of(POINT, "d", "b")
    assert key_of(replace(POINT, data="elsewhere/toy", backbone="copy/of/tiny"), "d", "b") == same
    others = [
        key_of(POINT, "other", "b"),
        key_of(POINT, "d", "other"),
        key_of(replace(POINT, seed=31), "d", "b"),
        key_of(replace(POINT, method="fine-tune", overrides=()), "d", "b"),
        key_of(replace(POINT, overrides=(("noise_robust.q", 0.6),)), "d", "b"),
        key_of(replace(POINT, preset="paper-wikigold"), "d", "b"),
        key_of(replace(POINT, curves=(("self-training", 5),)), "d", "b"),
    ]
    assert len({same, *others}) == len(others) + 1


def test_a_given_value_counts_where_another_could_be_derived() -> None:
    """The paper's value of an option is what a preset has anyway; without one, the data decides."""
    usual = (*POINT.overrides, ("noise_robust.tau", 0.7), ("noise_robust.folds", False))
    assert load_config().section(NoiseRobust).tau == 0.7
    assert not load_config().section(NoiseRobust).folds
    paper = replace(POINT, preset="paper-wikigold")
    assert key_of(replace(paper, overrides=usual), "d", "b") == key_of(paper, "d", "b")
    keys = {key_of(replace(POINT, overrides=usual[:n]), "d", "b") for n in (1, 2, 3)}
    assert len(keys) == 3
    # The default of an option that is never derived.
    other = replace(POINT, overrides=(*POINT.overrides, ("self_training.threshold", 0.8)))
    assert key_of(other, "d", "b") == key_of(POINT, "d", "b")


@pytest.mark.parametrize("method", names())
def test_a_key_is_of_all_options_of_the_method(method: str) -> None:
    """And options of other methods are refused, so that they cannot be part of it."""
    point = replace(POINT, method=method, overrides=())
    keys = {key_of(point, "d", "b")}
    changes = {f"{section}.epochs": 9 for section in get(method).sections if section != "augmentation"}
    changes |= {"optimiser.clip": 0.5, "backbone.max_length": 99, "gold.weight": 2.0}
    for name, value in changes.items():
        keys.add(key_of(replace(point, overrides=((name, value),)), "d", "b"))
    assert len(keys) == len(changes) + 1
    others = [one for other in all_methods() if other.name != method for one in other.sections]
    with pytest.raises(ConfigError, match="belongs to the method"):
        key_of(replace(point, overrides=((f"{others[0]}.epochs", 9),)), "d", "b")


def test_a_result_outlives_new_options_but_not_another_default() -> None:
    now = settings(POINT.config())
    older = {name: value for name, value in now.items() if name != "augmentation.dictionary"}
    assert same_settings(POINT, older)
    assert same_settings(POINT, {**older, "an.option.of.old": 1})
    assert not same_settings(POINT, {**now, "noise_robust.tau": 0.6})


def test_a_point_comes_back_from_json() -> None:
    point = replace(POINT, change=Change(labels="gold", first=3), curves=(("self-training", 5),))
    assert Point.from_dict(json.loads(json.dumps(point.as_dict()))) == point


# -- data -----------------------------------------------------------------------------------------


def names(sentences: Sequence[Sentence]) -> list[list[str]]:
    return [[f"{s.span_text(x)}/{x.label}" for x in s.spans or ()] for s in sentences]


def test_changed_data(folder: Path) -> None:
    dataset = dataset_of(str(folder))
    assert changed(dataset, Change()) is dataset
    assert changed(dataset, Change(gold=2)) is dataset
    gold = changed(dataset, Change(labels="gold"))
    assert names(gold.train) == [["Ada/PER", "Oslo/LOC"], ["Bo/PER", "Ada/PER"], ["Lima/LOC"], []]
    assert (gold.types, gold.test) == (("PER", "LOC"), dataset.test)
    assert names(changed(dataset, Change(first=2)).train) == [["Ada/PER"], ["Ada/PER"]]
    prints = {
        material(replace(POINT, data=str(folder), change=change)).fingerprint()
        for change in (Change(), Change(labels="gold"), Change(first=2), Change(names=0.5), Change(gold=1),
                       Change(gold=2))
    }  # fmt: skip
    assert len(prints) == 6


def test_a_method_with_an_encoder_keeps_it() -> None:
    """A CRF trained as the BiLSTM's is would learn nothing on a transformer; its row stays in the table."""
    theirs, usual = (replace(POINT, method=m, overrides=()) for m in ("bilstm-crf", "fine-tune"))
    assert theirs.config().backbone.name == theirs.encoder == "bilstm-cnn"
    assert usual.config().backbone.name == usual.encoder == POINT.backbone
    tables = {Planned(Row("x", point), "").as_dict()["backbone"] for point in (theirs, usual)}
    assert len(tables) == 1


def test_thinned_data(folder: Path) -> None:
    """As `thin` has it; the labels of the other splits are nobody's dictionary."""
    dataset = dataset_of(str(folder))
    found = changed(dataset, Change(names=0.5, names_seed=3))
    assert found.train == thin(dataset.train, 0.5, 3)
    assert found.train != dataset.train
    assert found.test == dataset.test


def test_data_that_will_not_do(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        dataset_of(str(tmp_path / "none"))
    (folder / "train_label_dist.txt").rename(tmp_path / "kept")
    with pytest.raises(DataError, match="no distant labels: expected train_label_dist"):
        material(replace(POINT, data=str(folder)))
    material(replace(POINT, data=str(folder), change=Change(labels="gold")))
    dataset_of.cache_clear()
    (tmp_path / "kept").rename(folder / "train_label_dist.txt")
    (folder / "train_label_true.txt").unlink()
    for change in (Change(labels="gold"), Change(gold=1)):
        with pytest.raises(DataError, match="the training sentences have no gold labels"):
            material(replace(POINT, data=str(folder), change=change))
    arms = [row.arm for row in main.rows(Asked([str(folder)], "tiny", [1]))]
    assert {"fine-tune", "roster"} <= set(arms)  # by default what there are labels for
    assert not [arm for arm in arms if arm == "distant-match" or arm.endswith("-gold")]
    dataset_of.cache_clear()
    (folder / "test_label_true.txt").unlink()
    with pytest.raises(DataError, match="no split with gold labels to score on"):
        dataset_of(str(folder))


# -- the file -------------------------------------------------------------------------------------


def test_the_file_of_results(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    results = Results.open(path)
    with pytest.raises(RosterError, match="another process is writing results"):
        Results.open(path)
    results.add_plan({"experiment": "main", "rows": [1]})
    results.add_plan({"experiment": "main", "rows": [1]})
    results.add_point({"key": "a", "n": 1})
    results.add_point({"key": "a", "n": 2})
    results.close()
    assert not (tmp_path / "r.jsonl.runs").exists()
    again = Results.read(path)
    assert again.points["a"]["n"] == 2
    assert len(again.plans) == 1
    lines = path.read_text().splitlines(keepends=True)
    assert [json.loads(line)["version"] for line in lines] == [VERSION] * 3


@pytest.mark.parametrize("cut", [1, 10, -2, -1])
def test_a_line_that_was_cut_off_is_dropped(cut: int, tmp_path: Path) -> None:
    """By a process that was killed: only the last line can be, and what comes next has a line of its own."""
    path = tmp_path / "r.jsonl"
    results = Results.open(path)
    for key in "ab":
        results.add_point({"key": key})
    results.close()
    first, second = path.read_text().splitlines(keepends=True)
    path.write_text(first + second[:cut])
    whole = cut == -1  # nothing but the end of the line is missing
    assert list(Results.read(path).points) == (["a", "b"] if whole else ["a"])
    results = Results.open(path)
    results.add_point({"key": "c"})
    results.close()
    assert list(Results.read(path).points) == (["a", "b", "c"] if whole else ["a", "c"])
    path.write_text(first + second[:-2] + "\n" + first)
    with pytest.raises(DataError, match=r"r\.jsonl, line 2: damaged"):
        Results.read(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"version": 0, "kind": "point", "key": "a"}', "another version of roster .results of version 0"),
        ('{"benchmark": "training"}', "not a line of results"),
        ("[1]", "not a line of results"),
    ],
)  # fmt: skip
def test_files_of_others(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(f"{line}\n")
    for take in (Results.read, Results.open):
        with pytest.raises(DataError, match=message):
            take(path)
    assert path.read_text() == f"{line}\n"
    with pytest.raises(DataError, match="no such file of results"):
        Results.read(tmp_path / "none")


# -- the order of points, and the time ------------------------------------------------------------


def asked(folder: Path) -> Asked:
    return Asked([str(folder)], "tiny", [3, 1, 2])


def test_every_first_seed_comes_first(folder: Path) -> None:
    methods = ["distant-match", "fine-tune", "roster", "fine-tune-gold"]
    plans = planned(main.rows(asked(folder), methods), {"tiny": "b"})
    assert [plan.row.point.seed for plan in plans] == [3] * 4 + [1] * 3 + [2] * 3
    assert [plan.row.arm for plan in plans][:5] == ["distant-match", "fine-tune", "roster", "fine-tune-gold",
                                                    "fine-tune"]  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> tuple[Clock, list[str]]:
    """Trainings that take a minute each, of two stages, and do nothing."""
    clock, trained = Clock(), list[str]()

    def train(dataset: Any, run: Path, asked: Any, *, curves: Any, log: Callable[[str], None]) -> Any:
        run.mkdir(parents=True, exist_ok=True)
        config = asked.config()
        (run / "config.toml").write_text(to_toml(config))
        results = run / "results.json"
        scores = {"test": {"precision": 0.5, "recall": 0.5, "f1": config.seed / 100}}
        stages = json.loads(results.read_text())["stages"] if results.exists() else {}
        for stage in ("one", "two"):
            if stage in stages:
                continue
            if config.method == "fine-tune" and config.seed == 1:
                raise ConfigError("this cannot be")
            clock.now += 30
            trained.append(f"{config.method} {config.seed} {stage}")
            stages[stage] = {"seconds": 30.0, "scores": scores}
            results.write_text(json.dumps({"stages": stages}))
            log(f"{stage}: done")
        return {"stages": {**stages, "model": {}}}

    monkeypatch.setattr("roster.methods.train.train", train)
    return clock, trained


def test_time_that_is_spent(folder: Path, tmp_path: Path, fake: tuple[Clock, list[str]]) -> None:
    clock, trained = fake
    plans = planned(main.rows(asked(folder), ["roster", "fine-tune"]), {"tiny": "b"})
    results = Results.open(tmp_path / "r.jsonl")

    def go(minutes: float | None) -> runner.Outcome:
        return runner.run(plans, results, minutes=minutes, log=lambda line: None, clock=clock)

    first = go(1.4)  # the second training is stopped between its stages
    assert trained == ["roster 3 one", "roster 3 two", "fine-tune 3 one"]
    assert (first.trained, first.known, len(first.missing)) == (1, 0, 5)
    assert first.missing[0] == "toy, fine-tune, seed 3"
    second = go(0.001)  # less than a stage: still one is finished
    assert trained[3:] == ["fine-tune 3 two"]
    assert (second.known, len(second.missing)) == (1, 5)
    third = go(None)
    assert trained[4:] == [f"roster {seed} {stage}" for seed in (1,) for stage in ("one", "two")] + [
        f"{method} 2 {stage}" for method in ("roster", "fine-tune") for stage in ("one", "two")
    ]
    assert third.failed == [("toy, fine-tune, seed 1", "this cannot be")]
    assert (third.trained, third.known, third.missing) == (4, 1, [])
    count = len(trained)
    fourth = go(None)
    assert (fourth.trained, fourth.known, len(fourth.failed)) == (0, 5, 1)
    assert len(trained) == count
    results.close()
    (effective,) = {
        point["effective"]["method"] for point in results.points.values() if point["asked"]["seed"] == 1
    }
    assert effective == "roster"
    assert all(stored(Results.read(results.path), plan) for plan in plans if plan.row.point.seed != 1)


def test_plans_that_overlap(tmp_path: Path) -> None:
    """A later plan takes the place of an earlier one number by number; what is not there is not shown."""
    results = Results.open(tmp_path / "r.jsonl")
    point = {"scores": {"test": {"precision": 1, "recall": 1, "f1": 0.5}}, "stages": {}}
    for key in "abc":
        results.add_point({"key": key, **point})

    def row(seed: int, key: str) -> dict[str, Any]:
        place = {"arm": "roster", "data": "toy", "backbone": "tiny", "x": None, "stage": None}
        return {**place, "seed": seed, "key": key}

    results.add_plan({"experiment": "main", "rows": [row(1, "a"), row(2, "b")]})
    results.add_plan({"experiment": "main", "rows": [row(2, "c"), row(3, "unfinished")]})
    found = {m.seed: m.record["key"] for m in measured(results, "main")}
    assert found == {1: "a", 2: "c"}
    results.close()


# -- tables and figures ---------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_spread_is_numpys(values: list[float]) -> None:
    spread = Spread.of(values)
    assert spread is not None
    assert spread.runs == len(values)
    assert math.isclose(spread.mean, np.mean(values), abs_tol=1e-12)
    expected = np.std(values, ddof=1) if len(values) > 1 else 0
    assert math.isclose(spread.deviation, expected, abs_tol=1e-9)
    shown = cell(spread)
    assert shown.startswith(number(spread.mean))
    assert shown.endswith(f"({len(values)})")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_latex_has_no_character_that_means_something(text: str) -> None:
    plain = text.replace("*", "")
    escaped = escape(plain)
    for character, sequence in sorted(ESCAPES.items(), key=lambda pair: -len(pair[1])):
        escaped = escaped.replace(sequence, "") if character in plain else escaped
    assert not set(escaped) & set("&%$#_{}~^\\")


def test_a_table() -> None:
    table = Table("t", "50 % of a_b", ["", "F1"], [["x|y", "**.5** ± .1 (3)"]], ["A note."])
    assert table.markdown() == (
        "### 50 % of a_b\n\n|  | F1 |\n| --- | --- |\n| x\\|y | **.5** ± .1 (3) |\n\nA note.\n"
    )
    assert r"x\textbar{}y & \textbf{.5} $\pm$ .1 (3) \\" in table.latex()
    assert r"\caption{50 \% of a\_b. A note.}" in table.latex()


def test_worth_is_linear_in_the_logarithm() -> None:
    sizes, f1 = [100, 300, 1000, 3000], [0.5, 0.65, 0.6, 0.9]
    for target in (0.55, 0.62, 0.65, 0.7, 0.89):
        n, words = worth(sizes, f1, target)
        assert words == "about"
        assert np.interp(np.log(n), np.log(sizes), f1) == pytest.approx(target)
    assert worth(sizes, f1, 0.62)[0] < 300  # the first time


def item(
    arm: str, f1: float, seed: int = 1, x: float | None = None, data: str = "conll03", **record: Any
) -> Measured:
    scores = {"test": {"precision": f1, "recall": f1, "f1": f1}}
    stages = {"self-training": {"scores": scores, **record}}
    return Measured(arm, data, "tiny", x, None, seed, {"scores": scores, "stages": stages})


def test_main_stands_beside_the_paper() -> None:
    (table,) = main.draw([item("roster", 0.8), item("roster", 0.9, 2), item("distant-match", 0.7)]).tables
    assert table.head == ["", "conll03", "published"]
    assert table.rows == [
        ["Distant match", ".700/.700/.700 (1)", ".811/.638/.714"],
        ["RoSTER", ".850/.850/.850 ± .071 (2)", ".859/.849/.854"],
    ]
    assert "CuPUL" in table.markdown()
    assert "bilstm-cnn" not in table.markdown()


def test_main_says_which_rows_have_an_encoder_of_their_own() -> None:
    """The title and the first note name one encoder, which a BiLSTM-CNN-CRF does not have."""
    (table,) = main.draw([item("roster", 0.8), item("bilstm-crf", 0.6), item("bilstm-crf-gold", 0.7)]).tables
    own = [note for note in table.notes if "bilstm-cnn" in note]
    names = ["BiLSTM-CNN-CRF on gold labels", "BiLSTM-CNN-CRF on distant labels"]
    assert [note.partition(" has its own encoder")[0] for note in own] == names


def test_main_says_which_encoders_the_published_figures_have() -> None:
    """Of the rows that it has, and of no figure that is not known to have one: where nothing is learned,
    or nothing was published, or (bc5cdr) before there was a RoBERTa."""
    arms = ["distant-match", "fine-tune", "autoner", "bond", "roster", "bilstm-crf", "bilstm-crf-gold"]

    def said(*items: Measured) -> list[str]:
        (table,) = main.draw(items).tables
        return [note for note in table.notes if note.startswith("Published figures")]

    assert said(*(item(arm, 0.8) for arm in arms)) == [
        "Published figures with RoBERTa-base: Fine-tuning on distant labels, BOND, RoSTER; with a BiLSTM: "
        "AutoNER, BiLSTM-CNN-CRF on gold labels."
    ]
    assert said(item("autoner", 0.8)) == ["Published figures with a BiLSTM: AutoNER."]
    both = [item("fine-tune-gold", 0.8, data=data) for data in ("conll03", "bc5cdr")]
    assert said(*both, item("autoner", 0.8, data="bc5cdr"), item("autoner", 0.8)) == [
        "Published figures with a BiLSTM: AutoNER; with RoBERTa-base: Fine-tuning on gold labels (conll03)."
    ]
    assert said(item("distant-match", 0.7), item("bilstm-crf", 0.8)) == []
    assert said(item("roster", 0.8, data="other")) == []


def test_published_figures_are_whole() -> None:
    for scores in published.MAIN.values():
        for p, r, f1 in scores.values():
            if p is not None and r is not None:  # three digits each, of which F1 was made
                assert f1 == pytest.approx(2 * p * r / (p + r), abs=0.002)


def test_runs_without_soft_labels_are_told() -> None:
    arms = list(augmentation.ARMS)
    sure = [item(arm, 0.5, type_targets=0.1) for arm in arms]
    assert augmentation.idle(sure) == []
    (note,) = augmentation.idle([*sure[1:], item(arms[0], 0.5, type_targets=0.0)])
    assert note.startswith("In 1 of 3 runs no word reached self_training.threshold")


def test_a_figure_is_the_same_again(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    spreads = [Spread(0.5, 0.1, 3), Spread(0.7, 0.05, 3)]
    figure = Figure("f", "F", "n", "F1", [Line("a", [100, 1000], spreads),
                    Line("across", [0], spreads[:1], across=True)], log=True)  # fmt: skip
    first = [path.read_bytes() for path in save(figure, tmp_path)]
    assert [path.read_bytes() for path in save(figure, tmp_path)] == first
    svg, png = first
    assert svg.startswith(b"<?xml")
    assert all(label in svg.decode() for label in ("across (n = 3)", ">F1<", ">1,000<"))
    assert png.startswith(b"\x89PNG")
    from matplotlib.image import imread

    pixels = imread(tmp_path / "f.png")
    assert pixels.shape[0] > 400
    dark = (pixels[..., :3].min(-1) < 0.5).mean()
    assert 0.005 < dark < 0.3  # something is drawn, and it is no black square


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r'pip install "roster-ner\[figures\]"'):
        save(Figure("f", "F", "n", "F1", []), tmp_path)


def test_long_titles_and_legends_stay_on_the_page_and_off_the_lines() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    spreads = [Spread(0.5, 0.1, 3), Spread(0.7, 0.1, 3)]
    names = ["RoSTER", "fine-tuning on gold alone", "fine-tuning on gold and distant labels"]
    lines = [Line(name, [30, 300], spreads) for name in names]
    canvas = drawn(Figure("f", "A few gold sentences on wikigold with roster-small-en-2", "n", "F1", lines))
    try:
        canvas.canvas.draw()
        (axes,), (legend,) = canvas.axes, canvas.legends
        width, height = canvas.canvas.get_width_height()
        for text in (axes.title, axes.xaxis.label, *legend.get_texts()):
            box = text.get_window_extent()
            assert 0 <= box.x0 < box.x1 <= width, text.get_text()
            assert 0 <= box.y0 < box.y1 <= height, text.get_text()
        assert not legend.get_window_extent().overlaps(axes.get_window_extent())
    finally:
        pyplot.close(canvas)


def test_every_experiment_has_its_command() -> None:
    assert tuple(SUMMARIES) == EXPERIMENTS
    for name in EXPERIMENTS:
        assert callable(experiment(name).rows)
        assert callable(experiment(name).draw)


def test_nothing_to_draw(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text("")
    results = Results.read(tmp_path / "r.jsonl")
    assert save_all(results, tmp_path / "f", names=EXPERIMENTS, texts=True, log=print) == []
    assert not (tmp_path / "f").exists()


# -- cases ----------------------------------------------------------------------------------------


def labelled(*labels: str, length: int = 4) -> Sentence:
    words = [f"w{i}" for i in range(length)]
    return Sentence.from_words(words, [Span(i, i + 1, label) for i, label in enumerate(labels) if label])


def test_the_sentences_that_differ_most() -> None:
    one = [labelled("A"), labelled("A", "B"), labelled(), labelled("A", length=50), labelled("A", length=3)]
    two = [labelled("B"), labelled("C"), labelled(), labelled("B", length=50), labelled("B", length=3)]
    three = [labelled("B"), labelled(), labelled(), labelled(length=50), labelled("B", length=3)]
    # sums over pairs: 1: 3 + 2 + 1; 0 and 4: 2 + 2 + 0, of which 4 is shorter; 2 agrees; 3 is too long
    assert cases.most_different([one, two, three]) == [1, 4, 0]


def test_cases_are_shown_as_they_are() -> None:
    sentence = Sentence.from_words(["<b>", "Oslo", "&"], [Span(1, 2, "LOC")])
    shown = [cases.Case({"gold labels": sentence, "a & b": sentence.with_spans([])})]
    assert "  gold labels  <b> [Oslo LOC] &\n  a & b        <b> Oslo &\n" in cases.terminal(
        "T", shown, colour=False
    )
    assert "\x1b[31m[Oslo LOC]\x1b[0m" in cases.terminal("T", shown, colour=True)
    page = cases.page("T", shown)
    assert "&lt;b&gt; <mark" in page
    assert "<td>a &amp; b</td><td>&lt;b&gt; Oslo &amp;</td>" in page


def test_examples_of_augmentations(tiny: Path, toy: list[Sentence]) -> None:
    """As many words as before, and those that are marked are those that differ."""
    chosen = augmentation.choose(toy)
    assert len(chosen) == augmentation.EXAMPLES
    for arm, overrides in list(augmentation.ARMS.items())[1:]:
        config = load_config(
            overrides={"backbone.name": str(tiny), "backbone.max_length": 32, "augmentation.mask": 0.6,
                       "augmentation.top_k": 50, "optimiser.device": "cpu", **overrides}
        )  # fmt: skip
        found = augmentation.augmented(config, ("PER", "LOC"), toy, chosen, 3)
        assert [len(words) for words in found] == [len(s) for s in chosen]
        pairs = [
            (a, b)
            for s, words in zip(chosen, found, strict=True)
            for a, b in zip(s.words, words, strict=True)
        ]
        assert 0 < sum(a != b for a, b in pairs) < len(pairs), arm


def test_rows_that_cannot_be(folder: Path) -> None:
    with pytest.raises(ConfigError, match="there is no method 'magic'; the methods are distant-match"):
        main.rows(asked(folder), ["magic"])
    with pytest.raises(ConfigError, match="two data sets are called toy"):
        Asked(["a/toy", "b/toy"], "tiny", [1]).check()
    with pytest.raises(ConfigError, match="the data sets are toy"):
        Asked(["a/toy"], "tiny", [1], {"conll03": "paper-conll03"}).check()
    off = replace(asked(folder), overrides=(("ensemble.enabled", False),))
    with pytest.raises(ConfigError, match="needs the ensemble"):
        experiment("ensemble").rows(off)
    (before,) = {row.stage for row in experiment("ablation").rows(off) if row.stage}
    assert before == "member-0"
    off = replace(asked(folder), overrides=(("self_training.enabled", False),))
    with pytest.raises(ConfigError, match="needs self-training"):
        experiment("augmentation").rows(off)


def test_presets_by_name(folder: Path) -> None:
    """Only where the user gives one: a folder that is called like a preset has none by its name."""
    named = Asked(["x/paper-conll03", "x/news"], "tiny", [1], {"news": "paper-wikigold"})
    assert (named.preset("x/paper-conll03"), named.preset("x/news")) == (None, "paper-wikigold")
    assert asked(folder).preset(str(folder)) is None
    assert Planned(Row("roster", POINT), "k").as_dict()["backbone"] == "tiny"


def test_few_gold_sentences_are_gone_through_often_enough(folder: Path) -> None:
    given = replace(asked(folder), seeds=[1], overrides=(("optimiser.batch_size", 1),))
    rows = experiment("supervised").rows(given, [2], 10)
    gold = [row for row in rows if row.x]
    assert [(row.x, row.point.change.first, row.point.config().own["fine_tune"].epochs) for row in gold] == [
        (2, 2, 5), (4, 4, 3),
    ]  # fmt: skip
