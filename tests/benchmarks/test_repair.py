"""The chain of `python -m benchmarks repair`, and the answers that the simulated person gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.repair.arms import Arm, every_arm
from benchmarks.repair.measure import patch_of
from benchmarks.repair.patches import judged
from benchmarks.repair.person import answered, at_random, in_review, within
from benchmarks.repair.report import RepairReport
from benchmarks.repair.run import Asked, Chain, Schedule, chains, rank, run
from benchmarks.repair.source import known, read_source
from roster.api.review import start_review
from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence, Span
from roster.distant.entries.patch import Change, write_patch
from roster.distant.entries.patches import overruled
from roster.errors import ConfigError, DataError
from roster.experiments.store import Results, runs_of

SHORT = {"backbone.max_length": 32, "optimiser.precision": "float32", "optimiser.batch_size": 16,
         "optimiser.engine": "plain", "noise_robust.epochs": 3, "noise_robust.learning_rate": 5e-3,
         "noise_robust.repair": False, "ensemble.models": 2, "ensemble.epochs": 1,
         "self_training.epochs": 1}  # fmt: skip
ARMS = tuple(map(Arm.of, ("base", "audit", "audit2", "random-20", "review-20", "both-20")))


@pytest.fixture
def data(toy: list[Sentence], tmp_path: Path) -> Path:
    """The toy text, with a dictionary that lacks a place and takes a person for one."""
    folder = tmp_path / "data"
    for name in ("text", "gold", "dev", "test"):
        write(folder / f"{name}.jsonl", toy if name in ("text", "gold") else toy[:12])
    (folder / "names.tsv").write_text(
        "surface\ttype\nAnna\tPER\nCarl\tPER\nDora\tLOC\nParis\tLOC\nRome\tLOC\nBonn\tLOC\nBerg\tPER\n"
    )
    (folder / "toy.toml").write_text(
        'text = "text.jsonl"\ngold = "gold.jsonl"\nvalid = "dev.jsonl"\ntest = "test.jsonl"\n'
        'dictionaries = ["names.tsv"]\n'
    )
    return folder / "toy.toml"


@pytest.fixture
def asked(data: Path, tiny: Path) -> Asked:
    return Asked((read_source(data),), (1,), ARMS, str(tiny), SHORT, "cpu")


def measured(asked: Asked, file: Path) -> tuple[Any, list[str], dict[str, Any]]:
    lines: list[str] = []
    results = Results.open(file)
    try:
        outcome = run(asked, results, lines.append)
    finally:
        results.close()
    return outcome, lines, {record["arm"]: record for record in results.points.values()}


def test_the_chain(asked: Asked, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All arms, what is kept of the base run, a resumed file, one more arm, and the report."""
    file, kept = tmp_path / "out.jsonl", tmp_path / "kept"
    outcome, lines, found = measured(replace(asked, keep=kept), file)
    assert (outcome.measured, outcome.failed, outcome.left) == (len(ARMS), [], [])
    assert set(found) == set(map(str, ARMS))
    assert not any("P/R/F1" in line or "test" in line for line in lines)
    for record in found.values():
        assert {"valid", "test"} == set(record["scores"])
        assert 0 <= record["mean_of_members"]["f1"] <= 1
        assert record["labels"]["sentences"] == 60
        assert record["seed"] == 1
        assert record["versions"]["roster"]
        assert "gpu" in record["machine"]
    assert found["base"]["patch"] is None
    assert found["base"]["labels"] == found["random-20"]["labels"]
    assert found["base"]["answers"] == 0
    for name in ("random-20", "review-20", "both-20"):
        assert 10 <= found[name]["answers"] <= 20
    assert found["both-20"]["answers"] == found["review-20"]["answers"]
    assert found["review-20"]["patch"]["changes"] >= found["review-20"]["patch"]["known"] > 0
    assert found["review-20"]["labels"]["f1"] > found["base"]["labels"]["f1"]

    names = {path.name for path in (kept / "toy-1").iterdir()}
    assert {"predictions.safetensors", "results.json", "run.json", "audit.tsv"} <= names
    assert not runs_of(file).exists()

    before = file.read_bytes()
    outcome, _, _ = measured(asked, file)
    assert (outcome.measured, outcome.known) == (0, len(ARMS))
    assert file.read_bytes() == before

    assert main(["repair", "--report", "-o", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "F1 of the final model, dev" in shown
    assert "test" not in shown
    assert main(["repair", "--report", "--split", "test", "--json", "-o", str(file)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tables"][0]["head"] == ["", *map(str, ARMS)]


def test_what_is_made_is_made_again_where_it_is_gone(asked: Asked, data: Path, tmp_path: Path) -> None:
    """A result is never measured twice, but an arm that comes later needs the patch of the base run."""
    results = Results.open(tmp_path / "out.jsonl")
    (chain,) = chains(asked)
    made = tmp_path / "made"
    schedule = of(asked, chain, results, made)
    assert [str(point.arm) for point in schedule.first()] == ["base"]
    results.add_point({"key": chain.base.key})
    assert [str(point.arm) for point in of(asked, chain, results, made).first()] == ["base"]
    touched(made, "audit.tsv", "random-20.gold.jsonl", "review-20.gold.jsonl", "review-20.tsv")
    left = ["audit", "random-20", "review-20", "both-20"]
    assert [str(point.arm) for point in schedule.then(chain.base)] == left
    assert schedule.then(chain.base) == []
    audit = chain.points[Arm("audit")]
    touched(made, "audit2.tsv")
    assert [str(point.arm) for point in schedule.then(audit)] == ["audit2"]
    assert sorted(chain.points.values(), key=rank)[:2] == [chain.base, audit]
    for point in chain.points.values():
        results.add_point({"key": point.key})
    schedule.tidy(chain)
    assert not made.exists()
    results.close()


def of(asked: Asked, chain: Chain, results: Results, made: Path) -> Schedule:
    class Folder:
        def made(self, point: object) -> Path:
            return made

    return Schedule(asked, [chain], results, Folder())  # type: ignore[arg-type]


def touched(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()


def test_keys(asked: Asked, data: Path) -> None:
    """By content: of the text, the dictionary, the settings; not by where the files lie or the device."""

    def keys(one: Asked) -> set[str]:
        return {point.key for chain in chains(one) for point in chain.points.values()}

    before = keys(asked)
    assert len(before) == len(ARMS)
    assert keys(replace(asked, device=None, workers=3)) == before
    assert not keys(replace(asked, overrides={**SHORT, "noise_robust.epochs": 2})) & before
    assert not keys(replace(asked, seeds=(2,))) & before
    (source,) = asked.sources
    assert not keys(replace(asked, sources=(replace(source, name="other"),))) & before
    (data.parent / "names.tsv").write_text("surface\ttype\nAnna\tPER\n")
    assert not keys(replace(asked, sources=(read_source(data),))) & before


def test_out_of_time(asked: Asked, tmp_path: Path) -> None:
    outcome, _, found = measured(replace(asked, minutes=1e-9), tmp_path / "out.jsonl")
    assert (outcome.measured, outcome.failed, len(outcome.left)) == (0, [], len(ARMS))
    assert found == {}


def test_both_ways_pay_the_same(trained: Path, toy: list[Sentence], tmp_path: Path) -> None:
    """The same sentences cost the same answers, drawn at random or asked in a review, and every budget is
    kept."""
    from roster.infer.recogniser import load

    true = [tuple(sorted(s.spans or ())) for s in toy]
    budgets = (10, 40, 10_000)
    with start_review(load(trained, "cpu"), toy, tmp_path / "review", sentences=len(toy), seed=3) as review:
        predicted, types = review.session.sentences, review.types
        cost = {n: len(answered(n, predicted[n], true[n], types)) for n in range(len(toy))}
        drawn = at_random(predicted, true, types, budgets, seed=3)
        asked = list(in_review(review, true, budgets))
        assert review.session.answered == asked[-1].answers
    for one, other in zip(drawn, asked, strict=True):
        for spent in (one, other):
            assert spent.answers == sum(cost[n] for n in spent.sentences) <= spent.budget
    assert set(drawn[0].sentences) < set(drawn[1].sentences)
    assert drawn[-1].answers == asked[-1].answers == sum(cost.values())
    gold = list(read(tmp_path / "review" / "gold.jsonl"))
    assert [set(s.spans or ()) for s in gold] == [set(spans) for spans in true]


def test_a_budget_for_no_sentence(toy: list[Sentence]) -> None:
    assert within([3, 1], 2) == 0
    with pytest.raises(DataError, match="1 answers do not finish one sentence"):
        at_random(toy, [s.spans or () for s in toy], ["PER", "LOC"], [1], 0)


def test_the_person_wins(tmp_path: Path) -> None:
    audit = [
        Change("add", "May", "PER"),
        Change("remove", "Oslo", "LOC"),
        Change("retype", "Bo", "LOC", "PER"),
    ]
    person = [Change("deny", "May"), Change("add", "Oslo", "LOC"), Change("retype", "Bo", "LOC", "ORG")]
    assert overruled(audit, person) == person
    write_patch(tmp_path / "audit.tsv", ((change, ()) for change in audit))
    write_patch(tmp_path / "review-9.tsv", ((change, ()) for change in person))
    found = patch_of(Arm("both", 9), tmp_path)
    assert found is not None
    assert set(map(str, found)) == set(map(str, person))
    assert patch_of(Arm("random", 9), tmp_path) is None


def test_changes_by_gold() -> None:
    text = [
        Sentence.from_words(["New", "York", "Times", "of", "Bonn"], [Span(0, 3, "ORG"), Span(4, 5, "LOC")]),
        Sentence.from_words(["New", "York"], [Span(0, 2, "LOC")]),
    ]
    found = judged(
        [
            Change("add", "New York", "LOC"),  # half of its occurrences
            Change("remove", "Bonn", "LOC"),
            Change("retype", "Bonn", "PER", "LOC"),
            Change("deny", "of"),
            Change("add", "Ulm", "LOC"),
            Change("remove", "bonn", "LOC"),  # never so in the text
            Change("remove", "OF", "LOC"),
        ],
        text,
    )
    assert (found["changes"], found["known"], found["right"]) == (7, 6, 4)
    assert found["actions"]["remove"] == {"changes": 3, "known": 3, "right": 1}


def test_gold_of_some_sentences(toy: list[Sentence]) -> None:
    assert len(known(toy, toy)) == len(toy)
    some = known(toy, toy[3:5])
    assert some[3] == tuple(toy[3].spans or ())
    assert {toy[n].words for n in some} == {s.words for s in toy[3:5]}


def test_a_patch_that_leaves_no_label(asked: Asked, tmp_path: Path) -> None:
    """The types are still those of the base run, and the training says what is wrong."""
    (chain,) = chains(asked)
    made = runs_of(tmp_path / "out.jsonl") / f"{chain.base.key}-made"
    touched(made, "random-20.gold.jsonl", "review-20.gold.jsonl", "review-20.tsv", "audit2.tsv")
    (made / "types.txt").write_text("LOC\nPER\n")
    names = ("Anna", "Carl", "Dora", "Paris", "Rome", "Bonn", "Berg")
    write_patch(made / "audit.tsv", ((Change("deny", name), ()) for name in names))
    outcome, _, _ = measured(replace(asked, arms=(Arm("audit"),)), tmp_path / "out.jsonl")
    assert outcome.left == ["toy, audit, seed 1"]
    assert "no word of the training data has a label" in outcome.failed[0][1]


def test_arms() -> None:
    names = [*map(str, every_arm([30, 10]))]
    assert names[:4] == ["base", "audit", "audit2", "random-10"]
    assert [Arm.of(name) for name in names] == [*every_arm([10, 30])]
    for wrong in ("audit3", "review", "review-0", "base-100"):
        with pytest.raises(ConfigError, match="there is no arm"):
            Arm.of(wrong)


def test_the_report() -> None:
    """Differences are of the same seed, lines of one data set and encoder."""

    def record(arm: str, seed: int, f1: float, data: str = "a") -> dict[str, Any]:
        scores = {"precision": f1, "recall": f1, "f1": f1}
        return {"data": data, "arm": arm, "seed": seed, "encoder": "e", "asked": {"overrides": {}},
                "scores": {"valid": scores, "test": {**scores, "f1": 0.999}}, "mean_of_members": None,
                "labels": scores, "answers": 0, "answered_sentences": 0, "patch": None}  # fmt: skip

    records = [
        record("audit", 1, 0.5),
        record("base", 1, 0.4),
        record("base", 2, 0.6),
        record("audit", 2, 0.6),
    ]
    text = RepairReport([*records, record("base", 1, 0.3, "b")]).text()
    assert "| a, e | .500 ± .141 (2) | .550 ± .071 (2) |" in text
    assert "| a, e | - | +.050 ± .071 (2) |" in text
    assert "| b, e | .300 (1) | - |" in text
    assert ".999" not in text
    assert ".999" in RepairReport(records, "test").text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("valid =", "dev ="), "unknown dev"),
        (lambda text: text.replace('gold = "gold.jsonl"\n', ""), "gold is missing"),
        (lambda text: text.replace("text.jsonl", "none.jsonl"), "no such file"),
        (lambda text: text.replace('["names.tsv"]', '"names.tsv"'), "dictionaries must be a list"),
    ],
)
def test_mistakes_in_a_source(change: Callable[[str], str], message: str, data: Path) -> None:
    data.write_text(change(data.read_text()))
    with pytest.raises((ConfigError, DataError), match=message):
        read_source(data)


def test_mistakes(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in [
        ([str(data)], "give the file of results with -o"),
        (["-o", str(tmp_path / "out.jsonl")], "give the TOML file of a data set"),
        ([str(data), str(data), "-o", str(tmp_path / "out.jsonl")], "two data sets are called toy"),
        ([str(data), "--answers", "0", "-o", str(tmp_path / "out.jsonl")], "--answers must be more than 0"),
    ]:
        assert main(["repair", *arguments]) == 2
        assert message in capsys.readouterr().err
