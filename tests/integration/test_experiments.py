"""`roster benchmark main` and the other experiments as a user runs them, on a toy corpus."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from roster.corpus.io import read, write

SHORT = {
    "backbone.max_length": 32,
    "optimiser.device": "cpu",
    "optimiser.batch_size": 8,
    "noise_robust.epochs": 6,
    "noise_robust.repair": "false",  # a member that learned too little would be trained for 300 steps more
    "noise_robust.learning_rate": "5e-3",
    "ensemble.models": 2,
    "ensemble.epochs": 3,
    "ensemble.learning_rate": "5e-3",
    "self_training.epochs": 2,
    "self_training.learning_rate": "3e-4",
    "self_training.threshold": 0.2,
    "fine_tune.epochs": 6,
    "fine_tune.learning_rate": "5e-3",
}
NAMES = {"PER": ("Ada", "Boris", "Clara", "Hugo"), "LOC": ("Oslo", "Lima", "Cairo", "Minsk")}
TEMPLATES = (
    "Mr {PER} lives in {LOC} .",
    "the train from {LOC} was late .",
    "yesterday Mr {PER} said nothing .",
)


def lines(number: int, seed: int, forget: float) -> tuple[list[str], list[str], list[str]]:
    """Texts, gold tags, and distant tags that miss some names."""
    draw, found = random.Random(seed), ([], [], [])  # type: ignore[var-annotated]
    for _ in range(number):
        words, gold, distant = [], [], []
        for slot in draw.choice(TEMPLATES).split():
            kind = slot.strip("{}") if slot.startswith("{") else ""
            words.append(draw.choice(NAMES[kind]) if kind else slot)
            gold.append(f"B-{kind}" if kind else "O")
            distant.append("O" if kind and draw.random() < forget else gold[-1])
        for column, part in zip(found, (words, gold, distant), strict=True):
            column.append(" ".join(part))
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, write_lines: Callable[..., Path]) -> Path:
    folder = tmp_path_factory.mktemp("data") / "toy"
    texts, gold, distant = lines(24, 1, 0.3)
    write_lines(folder, texts, distant, types=["PER", "LOC"])
    write_lines(folder, texts, gold, labels="true")
    texts, gold, _ = lines(20, 2, 0)
    return write_lines(folder, texts, gold, split="test", labels="true")


@pytest.fixture(scope="module")
def options(backbone: Path) -> list[str]:
    return ["--backbone", str(backbone), *(x for n, v in SHORT.items() for x in ("--set", f"{n}={v}"))]


@pytest.fixture(scope="module")
def results(roster: Any, data: Path, options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with an experiment of each kind in it; nothing may write to it."""
    path = tmp_path_factory.mktemp("results") / "r.jsonl"
    for name, more in (
        (
            "main",
            ["--methods", "distant-match", "roster", "fine-tune", "fine-tune-gold", "--seeds", "1", "2"],
        ),
        ("ablation", ["--seeds", "1"]),
        ("ensemble", ["--seeds", "1", "2"]),
        ("supervised", ["--seeds", "1", "--sizes", "10", "--least-steps", "18"]),
        ("parameters", ["--seeds", "1", "--values", "0.7"]),
        ("augmentation", ["--seeds", "1", "--points", "3"]),
    ):
        done = roster("benchmark", name, data, *options, *more, "-o", path)
        assert done.code == 0, done.err
        assert done.out.startswith("### ")
    return path


def points(path: Path) -> list[dict[str, Any]]:
    """The finished points of a file that may be written to."""
    text = path.read_text() if path.exists() else ""
    whole = text[: text.rfind("\n") + 1].splitlines()
    return [line for line in map(json.loads, whole) if line["kind"] == "point"]


def begun(path: Path, stage: str) -> bool:
    """Whether a training under way has finished a stage, and not all of them."""
    with suppress(FileNotFoundError):  # removed at this very moment
        files = path.with_name(f"{path.name}.runs").glob("*/results.json")
        stages = [json.loads(p.read_text())["stages"] for p in files]
        return any(stage in found and "model" not in found for found in stages)
    return False


def test_each_training_is_made_once(results: Path, data: Path, options: list[str], roster: Any) -> None:
    """main: 1 + 3 x 2; ablation: 2 more; ensemble: none; parameters: tau as it is given, which data could
    decide; supervised: 2, with fewer steps than main has; augmentation: 3."""
    found = points(results)
    assert len(found) == 7 + 2 + 1 + 2 + 3
    assert len({one["key"] for one in found}) == len(found)
    assert not results.with_name("r.jsonl.runs").exists()
    before = results.read_bytes()
    done = roster("benchmark", "ablation", data, *options, "--seeds", "1", "-o", results)
    assert done.code == 0
    assert "0 points trained, 3 were in" in done.err
    assert "member-0" not in done.err
    assert results.read_bytes() == before


def test_a_point_with_other_derived_values_is_trained_again(
    results: Path, data: Path, options: list[str], roster: Any, tmp_path: Path
) -> None:
    """As if a rule had changed since: the stored point has another value."""
    path = tmp_path / "r.jsonl"
    records = [json.loads(line) for line in results.read_text().splitlines()]
    old = next(r for r in records if r["kind"] == "point" and r["asked"]["method"] == "fine-tune")
    old["effective"]["backbone.max_length"] += 8
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    done = roster(
        "benchmark", "main", data, *options, "--methods", "fine-tune", "--seeds", "1", "2", "-o", path
    )
    assert done.code == 0, done.err
    assert "1 points trained, 1 were in" in done.err


def test_what_is_kept_of_a_point(results: Path) -> None:
    full = next(one for one in points(results) if one["asked"]["method"] == "roster")
    assert list(full["stages"]) == ["member-0", "member-1", "mean-of-members", "ensemble", "self-training"]
    assert full["scores"]["test"]["f1"] == full["stages"]["self-training"]["scores"]["test"]["f1"]
    assert full["settings"]["noise_robust.epochs"] == 6
    assert (full["data"], full["asked"]["seed"], full["sentences"]) == ("toy", 1, 24)
    assert {"cpu", "gpu", "python"} <= set(full["machine"])
    assert full["seconds"] > 0
    gold = [one for one in points(results) if one["asked"]["change"]["labels"] == "gold"]
    assert {one["sentences"] for one in gold} == {10, 24}
    (match,) = (one for one in points(results) if one["asked"]["method"] == "distant-match")
    assert match["scores"]["train"]["precision"] == 1
    assert 0.5 < match["scores"]["train"]["recall"] < 0.9


def test_the_arms_of_augmentation_are_not_one_and_the_same(results: Path) -> None:
    """Soft labels there are, so what an augmentation says counts; and all begin with the same model."""
    arms = [one for one in points(results) if one["asked"]["curves"]]
    assert len(arms) == 3
    stages = [one["stages"]["self-training"] for one in arms]
    assert all(stage["type_targets"] > 0 for stage in stages)
    assert all([point["step"] for point in stage["curve"]] == [0, 2, 4, 6] for stage in stages)
    first = {stage["curve"][0]["scores"]["test"]["f1"] for stage in stages}
    assert first == {one["stages"]["ensemble"]["scores"]["test"]["f1"] for one in arms}
    assert len(first) == 1


def test_drawn_again_from_the_file(results: Path, data: Path, roster: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    alone = shutil.copy(results, tmp_path / "r.jsonl")
    for folder in ("one", "two"):
        done = roster("benchmark", "draw", alone, "-o", tmp_path / folder)
        assert done.code == 0, done.err
        assert len(done.out.splitlines()) == len(list((tmp_path / folder).iterdir()))
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / f).iterdir()} for f in ("one", "two"))
    assert one == two
    kinds = {"main", "ablation", "ensemble", "supervised", "parameters", "augmentation", "README.md"}
    assert {name.partition("-")[0] for name in one} == kinds
    for name in ("supervised", "parameters", "augmentation"):
        for ending in ("svg", "png", "md", "tex"):
            assert len(one[f"{name}-toy-tiny.{ending}"]) > 100
    page = one["README.md"].decode()
    assert "| RoSTER | " in page
    assert "(2) |" in page  # the number of runs
    assert "(supervised-toy-tiny.svg)" in page
    assert "lives" not in page  # no sentence of the data, unless it is asked for
    done = roster(
        "benchmark", "draw", alone, "-o", tmp_path / "three", "--only", "augmentation", "--sentences"
    )
    assert done.code == 0, done.err
    examples = (tmp_path / "three" / "augmentation-toy-tiny-examples.md").read_text()
    assert re.search(
        r"\| names of the same type \| .*\*\*(Ada|Boris|Clara|Hugo|Oslo|Lima|Cairo|Minsk)\*\*", examples
    )


def test_cases(roster: Any, data: Path, options: list[str], tmp_path: Path) -> None:
    methods = ["--methods", "fine-tune", "fine-tune-gold", "--split", "train"]
    typed = ["--sentence", "Mr Clara left . Mr Hugo stayed ."]
    where = ["-o", tmp_path / "r.jsonl", "--draw", tmp_path]
    command = ["benchmark", "cases", data, *options, *methods, *typed, *where]
    done = roster(*command)
    assert done.code == 0, done.err
    first = done.out.split("\n\n")
    assert len(first[1].splitlines()) == 3  # two methods, and no gold labels
    assert "distant labels" in first[3]
    assert "gold labels" in first[3]
    assert "<mark" in (tmp_path / "cases-toy-tiny.html").read_text()
    again = roster(*command)
    assert again.out == done.out
    assert "0 points trained, 2 were in" in again.err
    shutil.rmtree(tmp_path / "r.jsonl.runs")
    said = roster("benchmark", "draw", tmp_path / "r.jsonl", "-o", tmp_path / "f", "--sentences")
    assert said.code == 2
    assert "the models of this experiment are not here" in said.err
    assert "2 points trained" in roster(*command).err


def test_killed_and_gone_on_with(
    roster: Any, data: Path, options: list[str], results: Path, tmp_path: Path
) -> None:
    """In the middle of a training: its finished stages are not repeated, and its scores are the same."""
    path = tmp_path / "r.jsonl"
    command = ["benchmark", "main", data, *options, "--methods", "roster", "--seeds", "1", "2", "-o", path]
    started = roster.start(*command, ROSTER_CHECKPOINT_SECONDS="0")
    while started.running:
        if len(points(path)) == 1 and begun(path, "member-0"):
            break
        time.sleep(0.001)
    assert started.send(signal.SIGKILL).code == -signal.SIGKILL
    assert len(points(path)) == 1
    with path.open("a") as file:
        file.write('{"version": 1, "kind": "poi')
    done = roster(*command)
    assert done.code == 0, done.err
    assert "1 points trained, 1 were in" in done.err
    assert "seed 1" not in done.err
    assert "seed 2: member-0" not in done.err
    whole = {one["key"]: one["scores"] for one in points(results)}
    assert all(whole[one["key"]] == one["scores"] for one in points(path))


def test_workers(roster: Any, data: Path, options: list[str], results: Path, tmp_path: Path) -> None:
    """The scores are those of one after the other; killed, no worker goes on by itself."""
    path = tmp_path / "r.jsonl"
    command = ["benchmark", "main", data, *options, "--methods", "roster", "fine-tune", "--seeds", "1", "2",
               "-o", path, "--workers", "2"]  # fmt: skip
    started = roster.start(*command, ROSTER_CHECKPOINT_SECONDS="0")
    while started.running and not begun(path, "member-0"):
        time.sleep(0.001)
    assert started.send(signal.SIGKILL).code == -signal.SIGKILL
    done = roster(*command)  # a worker of the first command would hold its folder
    assert done.code == 0, done.err
    assert "seed 1: member-0" not in done.err or "seed 2: member-0" not in done.err
    found = points(path)
    assert len(found) == 4
    whole = {one["key"]: one["scores"] for one in points(results)}
    assert all(whole[one["key"]] == one["scores"] for one in found)


def test_killed_before_a_result_is_written(
    roster: Any, data: Path, options: list[str], tmp_path: Path
) -> None:
    """A finished training is kept until its result is on the disk: the next command does not train it again,
    and removes what is left of a folder whose result is there."""
    path = tmp_path / "r.jsonl"
    command = ["benchmark", "main", data, *options, "--methods", "fine-tune", "--seeds", "1", "-o", path]
    assert roster(*command).code == 0
    (before,) = points(path)
    runs = path.with_name(f"{path.name}.runs")
    assert not (runs / before["key"]).exists()
    left = runs / before["key"] / "model"
    left.mkdir(parents=True)
    (left.parent / "results.json").write_text("{}")  # killed while the folder was being removed
    assert "0 points trained, 1 were in" in roster(*command).err
    assert not left.parent.exists()
    started = roster.start(*command[:-1], tmp_path / "other.jsonl", ROSTER_CHECKPOINT_SECONDS="0")
    folder = tmp_path / "other.jsonl.runs" / before["key"]
    while started.running and not (folder / "model" / "config.toml").exists():
        time.sleep(0.0005)
    started.send(signal.SIGKILL)
    done = roster(*command[:-1], tmp_path / "other.jsonl")
    assert done.code == 0, done.err
    assert [one["scores"] for one in points(tmp_path / "other.jsonl")] == [before["scores"]]
    assert "seed 1: fine-tune" not in done.err


def test_the_time_is_spent(roster: Any, data: Path, options: list[str], tmp_path: Path) -> None:
    command = ["benchmark", "main", data, *options, "--methods", "fine-tune", "--seeds", "1", "2",
               "-o", tmp_path / "r.jsonl", "--minutes"]  # fmt: skip
    codes = []
    for minutes in ("0.0001", "0.0001", "0.0001", "5"):
        done = roster(*command, minutes)
        codes.append(done.code)
        if done.code == 0:
            break
        assert done.code == 3
        assert "missing: toy, fine-tune, seed 2" in done.err
        assert done.err.splitlines()[-1] == "the time limit was reached; run the same command to continue"
    assert codes[-1] == 0
    assert len(codes) > 1
    assert len(points(tmp_path / "r.jsonl")) == 2


def test_a_few_gold_sentences(roster: Any, data: Path, options: list[str], tmp_path: Path) -> None:
    sizes = ["--seeds", "1", "--sizes", "0", "10", "--least-steps", "10"]
    done = roster("benchmark", "gold", data, *options, *sizes, "-o", tmp_path / "r.jsonl")
    assert done.code == 0, done.err
    rows = [line.split(" | ") for line in done.out.splitlines() if line.startswith("| ")]
    assert [row[0] for row in rows[2:]] == ["| 0", "| 10"]
    assert rows[2][2] == "-"  # nothing to fine-tune on
    assert len(points(tmp_path / "r.jsonl")) == 5
    assert not (tmp_path / "r.jsonl.runs").exists()


def test_robustness(
    roster: Any, data: Path, options: list[str], write_lines: Callable[..., Path], tmp_path: Path
) -> None:
    """A corpus whole, thinned and shortened, and a variant with names enough to hold some out."""
    texts = [f"Mr {chr(97 + i)}{chr(97 + i)} lives in Oslo ." for i in range(24)]
    many = write_lines(tmp_path / "many", texts, ["O B-PER O O B-LOC O"] * 24, types=["PER", "LOC"])
    write_lines(many, *lines(20, 2, 0)[:2], split="test", labels="true")
    chosen = ["--seeds", "1", "--names-kept", "0.5", "--first", "12", "24", "--corpus", "many=toy"]
    path = tmp_path / "r.jsonl"
    command = ["benchmark", "robustness", data, many, *options, *chosen, "-o", path]
    done = roster(*command)
    assert done.code == 0, done.err
    rows = [line.strip("| ").split(" | ") for line in done.out.splitlines() if line.startswith("| ")]
    assert [row[:3] for row in rows[2:6]] == [
        ["toy", "toy", "24"],
        ["toy (50% of the names)", "toy", "24"],
        ["toy, first 12", "toy", "12"],  # 24 are all there are
        ["many", "toy", "24"],
    ]
    assert [bool(re.fullmatch(r"1\.000/\.\d+", row[3])) for row in rows[2:6]] == [True] * 3 + [False]
    assert "| mean over 4 variants | " in done.out
    assert "| mean over 1 corpus | " in done.out
    assert re.search(r"\| many \| 10 \| \S+ \(1\) \| ", done.out)  # two members, each without a fifth
    assert len(points(path)) == 4 * 2 + 3 + 1  # methods, distant labels with gold beside them, and gold
    assert "0 points trained, 12 were in" in roster(*command).err
    drawn = roster("benchmark", "draw", path, "-o", tmp_path / "f")
    assert drawn.code == 0, drawn.err
    names = [f"robustness-tiny{kind}" for kind in ("", "-summary", "-signal")]
    found = {p.name: p.read_text() for p in (tmp_path / "f").iterdir()}
    assert set(found) == {"README.md", *(f"{name}.{end}" for name in names for end in ("md", "tex"))}
    assert done.out == "\n".join(found[f"{name}.md"] for name in names)


def test_the_bundled_sample(roster: Any, options: list[str], tmp_path: Path) -> None:
    """Distant labels from the dictionary, in another format than the toy's, and no gold labels for them."""
    with resources.as_file(resources.files("roster") / "sample") as sample:
        text = (sample / "news.txt").read_text(encoding="utf-8").splitlines()[:40]
        (tmp_path / "news.txt").write_text("\n".join(text), encoding="utf-8")
        folder = tmp_path / "sample"
        dictionary = sample / "dictionary.tsv"
        made = roster(
            "label", tmp_path / "news.txt", "--dictionary", dictionary, "-o", folder / "train.jsonl"
        )
        assert made.code == 0, made.err
        write(folder / "test.jsonl", list(read(sample / "gold.jsonl"))[:20])
    short = ["--set", "fine_tune.epochs=1", "--methods", "fine-tune", "--seeds", "1"]
    done = roster("benchmark", "main", folder, *options, *short, "-o", tmp_path / "r.jsonl")
    assert done.code == 0, done.err
    assert re.search(r"\| Fine-tuning on distant labels \| \S+ \(1\) \|", done.out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["main", "no-such-data"], "no-such-data: no such file or folder"),
        (["main", "{data}", "--methods", "magic"], "there is no method 'magic'"),
        (["main", "{data}", "--set", "no.such=1"], "there is no option 'no'"),
        (["main", "{data}", "--preset-for", "toy=none"], "--preset-for toy=none: expected DATA=PRESET"),
        (["main", "{data}", "--minutes", "0"], "--minutes must be more than 0, not 0"),
        (["main", "{data}", "--names", "2"], "--names must be more than 0 and at most 1, not 2"),
        (["ablation", "{data}", "--backbone", "./no-such"], "there is no backbone folder no-such"),
        (["robustness", "{data}", "--corpus", "none=toy"], "--corpus none: the data sets are toy"),
        (["robustness", "{data}", "--corpus", "toy"], "--corpus toy: expected DATA=CORPUS"),
        (["robustness", "{data}", "--vary", "none"], "--vary none: the data sets are toy"),
        (["supervised", "{other}"], "the training sentences have no gold labels"),
    ],
)
def test_mistakes(
    arguments: list[str], message: str, roster: Any, data: Path, corpus: Path, tmp_path: Path
) -> None:
    filled = [a.format(data=data, other=corpus) for a in arguments]
    done = roster("benchmark", *filled, "-o", tmp_path / "r.jsonl")
    assert done.code == 2
    assert done.err.startswith("roster: ")
    assert message in done.err
    assert not done.out
    assert not (tmp_path / "r.jsonl").exists()


def test_a_point_that_fails_stops_no_other(
    roster: Any, data: Path, options: list[str], backbones: dict[str, Path], tmp_path: Path
) -> None:
    """Without a head for masked words an encoder cannot augment; fine-tuning needs none."""
    encoder = shutil.copytree(options[1], tmp_path / "encoder")
    from transformers import BertModel

    BertModel.from_pretrained(options[1]).save_pretrained(encoder)
    chosen = ["--backbone", encoder, "--methods", "roster", "fine-tune", "--seeds", "1"]
    done = roster("benchmark", "main", data, *options, *chosen, "-o", tmp_path / "r.jsonl")
    assert done.code == 2
    assert "roster: failed: toy, roster, seed 1: " in done.err
    assert "1 points trained, 0 were in" in done.err
    assert "| Fine-tuning on distant labels | " in done.out


def test_results_of_another_version(roster: Any, data: Path, options: list[str], tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"version": 99, "kind": "plan"}\n')
    for arguments in (["main", data, *options, "-o", path], ["draw", path, "-o", tmp_path / "figures"]):
        done = roster("benchmark", *arguments)
        assert done.code == 2
        assert "line 1: made by another version of roster (results of version 99" in done.err
    assert path.read_text() == '{"version": 99, "kind": "plan"}\n'
