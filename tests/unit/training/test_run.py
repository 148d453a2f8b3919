"""The run folder: what it goes on with, and what it refuses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from roster.config import Config
from roster.errors import RosterError, RunError
from roster.methods.request import Request, load_config, load_request, read_config
from roster.methods.train import backbone_fingerprint, identity
from roster.model.weights import save_tensors
from roster.training.run import Run, describe

ASKED = {"seed": 30}
SOURCES = {"data": "d", "backbone": "b"}


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_results_and_tensors_survive(tmp_path: Path) -> None:
    said: list[str] = []
    run = Run.open(tmp_path / "r", ASKED, SOURCES, said.append)
    assert not run.finished("one")
    run.finish("one", {"seconds": 1.5, "losses": [0.5, 0.25]}, weights={"w": torch.arange(3)})
    run.finish("two", {"x": 1})
    run.close()
    again = Run.open(tmp_path / "r", ASKED, SOURCES)
    assert again.finished("one")
    assert again.finished("two")
    assert not again.finished("three")
    assert again.results["stages"]["one"] == {"seconds": 1.5, "losses": [0.5, 0.25]}
    assert again.weights("one")["w"].tolist() == [0, 1, 2]
    assert said == ["one: 1.5 s, loss 0.2500"]  # of the second there is nothing to tell
    log = (tmp_path / "r" / "log.txt").read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in log] == said
    again.clean()
    assert names(tmp_path / "r") == {".lock", "run.json", "results.json", "log.txt"}
    again.close()


def open_run(folder: Path, asked: Config | Request) -> Run:
    return Run.open(folder, identity(asked), SOURCES)


def never() -> tuple[Config, str]:
    raise AssertionError("settled a second time")


def test_the_config_is_settled_once(tmp_path: Path) -> None:
    """And read back by whoever goes on, even where it would be derived otherwise by then."""
    settled = load_config(overrides=["seed=3", "ensemble.epochs=7"])
    run = Run.open(tmp_path, ASKED, SOURCES)
    assert not (tmp_path / "config.toml").exists()
    assert run.config(lambda: (settled, "derived from this and that"), read_config) == (
        settled,
        "derived from this and that",
    )
    assert read_config(tmp_path / "config.toml") == settled
    assert run.config(never, read_config) == (settled, "")
    run.close()
    again = Run.open(tmp_path, ASKED, SOURCES)
    assert again.config(never, read_config) == (settled, "")
    again.close()


def test_a_run_that_could_not_begin_leaves_no_config(tmp_path: Path) -> None:
    run = Run.open(tmp_path / "r", ASKED, SOURCES)
    run.config(lambda: (load_config(), "text"), read_config)
    run.abandon()
    run.close()
    assert not (tmp_path / "r").exists()


def test_a_config_that_somebody_damaged(tmp_path: Path) -> None:
    run = open_run(tmp_path, load_request())
    (tmp_path / "config.toml").write_text("[bond\n")
    with pytest.raises(RosterError, match=r"config\.toml: not a TOML file"):
        run.config(never, read_config)
    run.close()


@pytest.mark.parametrize(
    "other", [load_request(overrides=["seed=1"]), load_request(preset="paper-conll03"), load_config()]
)
def test_another_request_is_refused(other: Config | Request, tmp_path: Path) -> None:
    """Also a preset of the same values: without one, values are derived."""
    open_run(tmp_path, load_request()).close()
    with pytest.raises(RunError, match="made with another config; give another folder"):
        open_run(tmp_path, other)
    open_run(tmp_path, load_request()).close()


def test_the_same_request_in_other_words(tmp_path: Path) -> None:
    """A default that no data changes may be given or not; one that could be derived may not."""
    open_run(tmp_path, load_request()).close()
    open_run(tmp_path, load_request(overrides=["method=roster", "noise_robust.q=0.7"])).close()
    with pytest.raises(RunError, match="made with another config"):
        open_run(tmp_path, load_request(overrides=["noise_robust.epochs=3"]))
    open_run(tmp_path / "paper", load_request(preset="paper-wikigold")).close()
    open_run(tmp_path / "paper", load_config(preset="paper-wikigold")).close()


def test_a_stage_with_lost_tensors(tmp_path: Path) -> None:
    run = Run.open(tmp_path, ASKED, SOURCES)
    run.finish("one", {}, weights={"w": torch.arange(3)})
    assert run.weights("one")["w"].tolist() == [0, 1, 2]
    run.close()
    (tmp_path / "points" / "one.weights.safetensors").write_bytes(b"x")
    run = Run.open(tmp_path, ASKED, SOURCES)
    with pytest.raises(RunError, match=r"damaged or incomplete.*remove the folder"):
        run.weights("one")
    with pytest.raises(RunError, match="is missing"):
        run.weights("two")
    run.close()


@pytest.mark.parametrize(
    ("asked", "sources", "message"),
    [
        ({"seed": 1}, SOURCES, "made with another config; give another folder"),
        (ASKED, {**SOURCES, "data": "x"}, "made from other data; give"),
        (ASKED, {**SOURCES, "backbone": "x"}, "made with another backbone; give"),
        (
            {"seed": 1},
            {**SOURCES, "data": "x"},
            "with another config and from other data",
        ),
    ],
)
def test_another_run_is_refused(
    asked: dict[str, Any], sources: dict[str, str], message: str, tmp_path: Path
) -> None:
    run = Run.open(tmp_path, ASKED, SOURCES)
    run.finish("one", {"x": 1})
    run.close()
    with pytest.raises(RunError, match=message) as caught:
        Run.open(tmp_path, asked, sources)
    # A refused folder is as it was, and free, even while somebody holds the error (as a notebook does).
    again = Run.open(tmp_path, ASKED, SOURCES)
    assert again.results == {"stages": {"one": {"x": 1}}}
    again.close()
    assert str(tmp_path) in str(caught.value)


def test_another_layout(tmp_path: Path) -> None:
    Run.open(tmp_path, ASKED, SOURCES).close()
    marker = tmp_path / "run.json"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "layout": 99}))
    with pytest.raises(RunError, match="by another version of roster"):
        Run.open(tmp_path, ASKED, SOURCES)


@pytest.mark.parametrize("name", ["run.json", "results.json"])
@pytest.mark.parametrize("content", ["{", "", "[1]", "\xff"])
def test_damaged_files(name: str, content: str, tmp_path: Path) -> None:
    run = Run.open(tmp_path, ASKED, SOURCES)
    run.finish("one", {})
    run.close()
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(RunError, match=f"{name} is damaged; remove the folder"):
        Run.open(tmp_path, ASKED, SOURCES)


def test_foreign_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(RunError, match=r"holds other files \(thesis\.tex"):
        Run.open(tmp_path, ASKED, SOURCES)
    assert names(tmp_path) == {"thesis.tex"}


def test_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="is a file; a run needs a folder"):
        Run.open(tmp_path / "file", ASKED, SOURCES)
    with pytest.raises(RunError, match="cannot make the folder"):
        Run.open(tmp_path / "file" / "x", ASKED, SOURCES)


def test_a_crash_before_the_first_file(tmp_path: Path) -> None:
    """An empty folder of points, a lock, a half-written file: still a new run."""
    (tmp_path / "points").mkdir()
    (tmp_path / ".lock").touch()
    (tmp_path / ".config.toml.abc.part").touch()
    with closing(Run.open(tmp_path, ASKED, SOURCES)) as run:
        assert not run.finished("member-0")
        assert run.config(lambda: (load_config(), "new"), read_config) == (
            load_config(),
            "new",
        )  # nothing was settled before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()  # somebody else's folder is none
    with pytest.raises(RunError, match="holds other files"):
        Run.open(tmp_path / "other", ASKED, SOURCES)


LOCK = """
import sys
from roster.training.run import Run
try:
    Run.open(sys.argv[1], {"seed": 30}, {"data": "d", "backbone": "b"})
except Exception as error:
    print(type(error).__name__, error)
else:
    print("opened")
"""


def test_two_processes(tmp_path: Path) -> None:
    run = Run.open(tmp_path, ASKED, SOURCES)

    def other() -> str:
        command = [sys.executable, "-c", LOCK, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with pytest.raises(RunError, match="another process is training in"):
        Run.open(tmp_path, ASKED, SOURCES)
    assert other().startswith("RunError another process is training in")
    run.close()
    assert other() == "opened\n"


def test_checkpoints_are_not_too_frequent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from roster.training.objective import Checkpoint

    def take() -> Checkpoint:
        taken.append(1)
        return Checkpoint(1, {"model.w": torch.zeros(1)})

    taken: list[int] = []
    run = Run.open(tmp_path, ASKED, SOURCES)
    run.after_epoch("one", 3)(1, take)
    assert not taken  # the last one is too young
    monkeypatch.setenv("ROSTER_CHECKPOINT_SECONDS", "0")
    run.after_epoch("one", 3)(3, take)
    assert not taken  # the stage is over anyway
    run.after_epoch("one", 3)(1, take)
    assert taken
    assert run.checkpoint("one") is not None
    run.finish("one", {})
    assert run.checkpoint("one") is None
    run.close()


def test_describe() -> None:
    facts = {"seconds": 61.25, "peak_memory": 2**30, "peak_gpu_memory": 2**20 * 5, "losses": [1.0, 0.12345],
             "scores": {"test": {"precision": 0.5, "recall": 0.25, "f1": 1 / 3}}}  # fmt: skip
    assert describe(facts) == (
        "61.2 s, memory 1.00 GiB, GPU memory 5 MiB, loss 0.1235, test P/R/F1 0.500/0.250/0.333"
    )
    held_out = {"PER": {"value": 0.2, "error": 0.1, "names": 5}}
    assert describe({"hold_out_recall": held_out}) == ""
    held_out["all"] = {"value": 0.41234, "error": 0.02, "names": 120}
    assert describe({"hold_out_recall": held_out}) == "hold-out recall 0.412 ± 0.020 (120 names)"


def test_a_backbone_is_known_by_its_content(tiny: Path, tmp_path: Path) -> None:
    def fingerprint(folder: Path) -> str:
        return backbone_fingerprint(load_config(overrides={"backbone.name": str(folder)}))

    copy = shutil.copytree(tiny, tmp_path / "copy")
    assert fingerprint(copy) == fingerprint(tiny)
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1  # other weights of the same size
    (copy / "model.safetensors").write_bytes(weights)
    assert fingerprint(copy) != fingerprint(tiny)


def test_what_the_background_could_not_write_is_told(tmp_path: Path) -> None:
    run = Run.open(tmp_path, ASKED, SOURCES)
    (tmp_path / "points").rmdir()
    (tmp_path / "points").write_text("in the way")
    run.finish("one", {}, weights={"w": torch.arange(3)})
    with pytest.raises(RosterError, match="points"):
        run.finish("two", {})
    run.close()


def test_a_stage_is_noted_only_when_its_tensors_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def slow(path: Path, tensors: Any, facts: Any = None) -> None:
        time.sleep(0.2)
        seen.append((tmp_path / "results.json").exists())
        save_tensors(path, tensors, facts)

    monkeypatch.setattr("roster.training.run.save_tensors", slow)
    run = Run.open(tmp_path, ASKED, SOURCES)
    tensors = {"w": torch.arange(3)}
    run.finish("one", {}, weights=tensors)
    tensors["w"] += 5  # the next stage goes on with its own
    assert run.finished("one")
    assert run.weights("one")["w"].tolist() == [0, 1, 2]
    run.finish("two", {})
    assert seen == [False]
    run.close()
    again = Run.open(tmp_path, ASKED, SOURCES)
    assert again.weights("one")["w"].tolist() == [0, 1, 2]
    again.close()
