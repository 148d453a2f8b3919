"""`roster repair` on toy text whose dictionary lists names in one case: the audit adds the others."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import roster as package
from roster.corpus.dataset import load_dataset
from roster.errors import ConfigError, DataError, RunError
from tests.integration.conftest import OWN, PEOPLE, PLACES, SHARED, Roster, make_sentences

WEIGHTS = "roster.safetensors"
EVERY_EPOCH = {"ROSTER_CHECKPOINT_SECONDS": "0"}
SHOUTED = ("Oslo", "Ada", "Hugo", "Lima")


@pytest.fixture(scope="module")
def project(backbone: Path, roster: Roster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text, dictionary, gold labels, a config, and a finished run: all in one folder."""
    folder = tmp_path_factory.mktemp("repair") / "project"
    folder.mkdir()
    uncased(backbone, folder / "backbone")
    draw = random.Random(1)
    texts, tags = make_sentences(100, 1)
    texts = [
        " ".join(w.upper() if w in SHOUTED and draw.random() < 0.3 else w for w in text.split())
        for text in texts
    ]
    (folder / "news.txt").write_text("\n".join(texts) + "\n")
    gold = [
        json.dumps({"tokens": text.split(), "tags": tag.split()})
        for text, tag in zip(texts, tags, strict=True)
    ]
    (folder / "gold.jsonl").write_text("\n".join(gold) + "\n")
    names = [*((name, "PER") for name in PEOPLE), *((name, "LOC") for name in PLACES)]
    (folder / "names.tsv").write_text("".join(f"{name}\t{kind}\n" for name, kind in names))
    (folder / "own.tsv").write_text("deny\tthe road\n")
    (folder / "config.toml").write_text(
        SHARED.format(method="roster", backbone="backbone")
        + OWN["roster"].replace("epochs = 8\n", "epochs = 8\nextend = false\n")
    )
    done = roster(
        "label", "news.txt", "--dictionary", "names.tsv", "--case", "exact", "--patch", "own.tsv",
        "--gold", "gold.jsonl", "--no-cache", "-o", "data", cwd=folder,
    )  # fmt: skip
    assert done.code == 0, done.err
    (folder / "data/test.jsonl").write_text("\n".join(gold[:30]) + "\n")
    done = roster("train", "data", "-o", "run", "--config", "config.toml", cwd=folder)
    assert done.code == 0, done.err
    return folder


def uncased(backbone: Path, folder: Path) -> None:
    """The tiny encoder without case, so that the members find ADA as they find Ada."""
    shutil.copytree(backbone, folder)
    file = folder / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    tokenizer["normalizer"]["lowercase"] = True
    names = {*PEOPLE, *PLACES}
    vocab = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {(k.lower() if k in names else k): v for k, v in vocab.items()}
    file.write_text(json.dumps(tokenizer))


@pytest.fixture(scope="module")
def repaired(project: Path, roster: Roster) -> tuple[Path, str, str]:
    """Two rounds, of which the second has nothing left to change; with what the command printed."""
    done = roster("repair", "run", "-o", "repaired", "--rounds", "2", cwd=project)
    assert done.code == 0, done.err
    return project / "repaired", done.out, done.err


def test_a_round(repaired: tuple[Path, str, str], project: Path, roster: Roster) -> None:
    folder, out, err = repaired
    changes = (folder / "round-1/repair.tsv").read_text().splitlines()
    assert "deny\tthe road" in changes
    assert "add\tOSLO\tLOC" in changes
    made = [line for line in (folder / "round-1/audit/patch.tsv").read_text().splitlines() if line[0] != "#"]
    assert {line.rpartition("\t")[0] for line in made} == set(changes[2:]) - {"deny\tthe road"}

    before, after = (load_dataset(one) for one in (project / "data", folder / "round-1/data"))
    assert [s.words for s in before.train] == [s.words for s in after.train]
    assert (before.types, before.test) == (after.types, after.test)
    labels = [sum(len(s.spans or ()) for s in one.train) for one in (before, after)]
    assert labels[0] < labels[1]

    assert (folder / "model" / WEIGHTS).read_bytes() == (folder / "round-1/run/model" / WEIGHTS).read_bytes()
    configs = [(one / "config.toml").read_text() for one in (project / "run", folder / "round-1/run")]
    assert configs[0].replace('"backbone"', f'"{project / "backbone"}"') == configs[1]
    assert (folder / "audit/audit.html").exists()

    found = json.loads((folder / "rounds.json").read_text())
    assert [step["name"] for step in found["steps"]] == ["before", "round 1"]
    assert found["steps"][0]["gold"]["recall"] < found["steps"][1]["gold"]["recall"] <= 1
    assert all(set(step["scores"]) == {"test"} for step in found["steps"])
    assert [sum(t["labels"] for t in step["types"].values()) for step in found["steps"]] == labels
    table = out.splitlines()
    assert table[1].split()[:3] == ["changes", "labels", "labels"]
    assert table[3].startswith("round 1  add ")
    assert "round 1 of 2: changes of the audit: add" in err
    assert "warning: stopped after round 1: the audit proposes no change" in err
    assert "Next: roster predict repaired FILE" in err
    done = roster("predict", folder, stdin="Mr ADA lives in OSLO .\n")
    assert {"ADA", "OSLO"} <= {span["text"] for span in json.loads(done.out)["spans"]}


def everything(folder: Path) -> dict[Path, bytes]:
    return {
        p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != ".lock"
    }


def test_a_finished_repair_stays_as_it_is(
    repaired: tuple[Path, str, str], project: Path, roster: Roster
) -> None:
    before = everything(repaired[0])
    done = roster("repair", "run", "-o", "repaired", "--json", cwd=project)
    assert done.code == 0, done.err
    assert json.loads(done.out)["rounds"] == 1
    assert "member-0" not in done.err
    after = everything(repaired[0])
    changed = {str(name) for name in before if before[name] != after.get(name)}
    assert changed <= {"rounds.json", "audit/audit.html"}


def until(moment: Callable[[], bool], running: Callable[[], bool]) -> bool:
    while running():
        if moment():
            return True
        time.sleep(0.0005)
    return False


def test_killed_in_two_places(
    repaired: tuple[Path, str, str], project: Path, roster: Roster, tmp_path: Path
) -> None:
    """While it labels, and in the training; the end is that of the unbroken repair."""
    out, arguments = tmp_path / "out", ("repair", "run", "-o", str(tmp_path / "out"))
    this = out / "round-1"
    moments: dict[str, Callable[[], bool]] = {
        "labels": lambda: (this / "repair.tsv").exists(),
        "training": lambda: any(this.glob("run/points/checkpoint-*")),
    }
    for moment in moments.values():
        started = roster.start(*arguments, cwd=project, **EVERY_EPOCH)
        assert until(moment, lambda: started.running), started.wait().err  # noqa: B023
        assert started.send(signal.SIGKILL).code == -signal.SIGKILL
        if not (this / "run").exists():
            # What a killed process may leave: a part of the labels and of a folder, not noted as finished.
            (this / "data").mkdir(exist_ok=True)
            (this / "data/train.jsonl").write_text('{"tokens": ["Ada"], "tags": ["B-PER"]}\n')
            (this / "done.json").unlink(missing_ok=True)
            (this / ".audit.x.part").mkdir()
    audited = (this / "audit/audit.html").stat().st_mtime_ns
    done = roster(*arguments, cwd=project, **EVERY_EPOCH)
    assert done.code == 0, done.err
    assert (this / "audit/audit.html").stat().st_mtime_ns == audited
    assert "labelling again" in done.err  # told, and not done
    for name in ("model", "round-1/run/model"):
        assert (out / name / WEIGHTS).read_bytes() == (repaired[0] / name / WEIGHTS).read_bytes()
    for name in ("round-1/data/train.jsonl", "round-1/repair.tsv", "audit/audit.jsonl"):
        assert (out / name).read_bytes() == (repaired[0] / name).read_bytes()
    assert not [p for p in out.rglob("*") if p.name.endswith((".part", ".old"))]


def refused(message: str, run: Path, out: Path, error: type[Exception] = DataError, **options: Any) -> None:
    with pytest.raises(error, match=message) as found:
        package.repair(run, out, **options)
    assert "\n" not in str(found.value)
    assert not out.exists()


def test_a_project_that_was_moved(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths of the record are relative to it; a changed dictionary, backbone or label is refused."""
    moved = tmp_path / "moved"
    shutil.copytree(project, moved, ignore=shutil.ignore_patterns("repaired"))
    monkeypatch.chdir(tmp_path)
    options = {"data": moved / "data"}
    names = moved / "names.tsv"
    names.write_text(names.read_text() + "Ulm\tLOC\n")
    refused(
        r"names\.tsv: was changed since .*label and train again", moved / "run", tmp_path / "out", **options
    )
    shutil.copy(project / "names.tsv", names)

    (moved / "data/labels.toml").rename(moved / "labels.toml")
    refused("no record of how it was labelled", moved / "run", tmp_path / "out", **options)
    (moved / "labels.toml").rename(moved / "data/labels.toml")

    results = json.loads((moved / "run/results.json").read_text())
    results["asked"]["given"]["backbone.name"] = "roster-small-en-2"
    (moved / "run/results.json").write_text(json.dumps(results))
    refused(r"\(backbone\) was changed since", moved / "run", tmp_path / "out", RunError, **options)
    shutil.copy(project / "run/results.json", moved / "run")

    from roster.api.repair.parts import Trained

    first = Trained.first(moved / "run", moved / "data", whole=True)
    assert [source.path.resolve() for source in first.record.settings.sources] == [names]


def test_names_in_memory(project: Path, tmp_path: Path) -> None:
    names = {**dict.fromkeys(PEOPLE, "PER"), **dict.fromkeys(PLACES, "LOC")}
    package.label_file(
        project / "news.txt", tmp_path / "data", names, policy={"case": "exact"},
        patch=project / "own.tsv", cache=False,
    )  # fmt: skip
    shutil.copy(project / "data/test.jsonl", tmp_path / "data")
    refused(
        "names of this data set came from memory", project / "run", tmp_path / "out", data=tmp_path / "data"
    )


def test_runs_that_cannot_be_repaired(
    project: Path, runs: dict[str, Path], roster: Roster, tmp_path: Path
) -> None:
    refused("no members", runs["fine-tune"], tmp_path / "out", RunError)
    refused("no record of how it was labelled", runs["roster"], tmp_path / "out")
    run = tmp_path / "run"
    shutil.copytree(project / "run", run)
    results = json.loads((run / "results.json").read_text())
    results["data"]["path"] = None
    (run / "results.json").write_text(json.dumps(results))
    refused("was trained on labels in memory.*label from files", run, tmp_path / "out", RunError)
    del results["stages"]["model"]
    (run / "results.json").write_text(json.dumps(results))
    done = roster("repair", run, "-o", tmp_path / "out")
    assert done.code == 2
    assert "not finished; continue it" in done.err
    assert done.err.count("\n") == 1


def test_other_folders(repaired: tuple[Path, str, str], project: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds other files"):
        package.repair(project / "run", project / "data")
    marker = repaired[0] / "repair.json"
    other = tmp_path / "other"
    other.mkdir()
    (other / "repair.json").write_text(json.dumps({**json.loads(marker.read_text()), "run": "another"}))
    with pytest.raises(RunError, match="holds a repair made from another run"):
        package.repair(project / "run", other)
    with pytest.raises(RunError, match="is a file"):
        package.repair(project / "run", marker)
    with pytest.raises(ConfigError, match="rounds must be at least 1"):
        package.repair(project / "run", tmp_path / "out", 0)
