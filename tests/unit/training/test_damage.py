"""Damaged, missing and foreign files in the folder of an unfinished run: what is whole is used."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roster.errors import ModelError
from roster.model.weights import load_tensors, read_facts, save_tensors, verify_tensors
from roster.training.objective import Checkpoint
from roster.training.run import Run

ASKED, SOURCES = {"seed": 30}, {"data": "d", "backbone": "b"}
TENSORS = {
    "model.w": torch.arange(600.0),
    "adam.0.step": torch.tensor(4.0),
    "objective.x": torch.arange(7) > 3,
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("tensors") / "t.safetensors"
    save_tensors(path, TENSORS, {"stage": "one", "epoch": 3})
    return path.read_bytes()


def test_whole(file: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(file)
    tensors, facts = load_tensors(path, verify=True)
    assert facts == read_facts(path) == {"stage": "one", "epoch": 3}
    assert all(torch.equal(tensors[name], x) for name, x in TENSORS.items())


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_change_is_found(file: bytes, tmp_path: Path, data: st.DataObject) -> None:
    """One bit anywhere, or any number of bytes cut off or added."""
    changed = bytearray(file)
    kind = data.draw(st.sampled_from(["bit", "cut", "added", "zeros"]))
    place = data.draw(st.integers(0, len(file) - 1))
    if kind == "bit":
        changed[place] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "cut":
        del changed[place:]
    elif kind == "added":
        changed += data.draw(st.binary(min_size=1, max_size=9))
    else:  # a page that never reached the disk
        changed[place : place + 512] = bytes(len(changed[place : place + 512]))
    path = tmp_path / "t"
    path.write_bytes(changed)
    if bytes(changed) == file:
        return
    with pytest.raises(ModelError, match="damaged or incomplete"):
        verify_tensors(path)
    with pytest.raises(ModelError):
        load_tensors(path, verify=True)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """A run with a checkpoint after the first and one after the second of ten epochs of a stage."""
    monkeypatch.setenv("ROSTER_CHECKPOINT_SECONDS", "0")
    opened = Run.open(tmp_path / "run", ASKED, SOURCES)
    save = opened.after_epoch("one", 10)
    for epoch in (1, 2):
        save(epoch, lambda: Checkpoint(epoch, {"model.w": torch.full((500,), float(epoch))}))  # noqa: B023
    yield opened
    opened.close()


def damage(path: Path, kind: str) -> None:
    content = path.read_bytes()
    draw = random.Random(len(kind))
    if kind == "missing":
        path.unlink()
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "cut":
        path.write_bytes(content[: draw.randrange(len(content))])
    elif kind == "garbage":
        path.write_bytes(draw.randbytes(len(content)))
    elif kind == "bit":
        changed = bytearray(content)
        changed[draw.randrange(len(changed) // 2, len(changed))] ^= 4
        path.write_bytes(changed)
    else:
        other = Run.open(path.parents[2] / "other", {"seed": 31}, SOURCES)
        other.save_checkpoint({"model.w": torch.zeros(500)}, {"stage": "one", "epoch": 2})
        shutil.copy(other.checkpoints[0], path)
        other.close()


KINDS = ("missing", "empty", "cut", "garbage", "bit", "of another run")


@pytest.mark.parametrize("kind", KINDS)
def test_the_checkpoint_before(run: Run, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    newest, before = run.checkpoints
    damage(newest, kind)
    point = run.checkpoint("one")
    assert point is not None
    assert point.epoch == 1
    assert torch.equal(point.tensors["model.w"], torch.ones(500))
    assert run.checkpoints == [before]
    if kind != "missing":
        (line,) = caplog.messages
        assert str(newest) in line
        assert ("another run" if kind == "of another run" else "damaged or incomplete") in line
        assert line.endswith("it is removed, and the one before is taken")
    run.after_epoch("one", 10)(2, lambda: Checkpoint(2, {"model.w": torch.zeros(1)}))
    assert len(run.checkpoints) == 2
    assert run.checkpoint("one").epoch == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", KINDS)
def test_both_checkpoints(run: Run, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    for path in run.checkpoints:
        damage(path, kind)
    assert run.checkpoint("one") is None
    assert not run.checkpoints
    if kind != "missing":
        assert caplog.messages[-1].endswith("it is removed, and the stage is trained from its start")


def test_no_more_than_two(run: Run) -> None:
    save = run.after_epoch("one", 10)
    for epoch in (3, 4, 5):
        save(epoch, lambda: Checkpoint(epoch, {"model.w": torch.zeros(3)}))  # noqa: B023
        assert len(run.checkpoints) == 2
    assert [read_facts(path)["epoch"] for path in run.checkpoints] == [5, 4]
    run.finish("one", {}, weights={"w": torch.zeros(2)})
    run.log("settled")
    assert not run.checkpoints


def test_a_failing_disk_leaves_both(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second last goes before the new one is written, the last does not."""
    newest, _ = run.checkpoints

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(
        Exception, match=r"checkpoint-000002\.safetensors: No space left on device; free some"
    ):
        run.save_checkpoint({"w": torch.zeros(2)}, {"stage": "one", "epoch": 3})
    assert run.checkpoints == [newest]
    assert run.checkpoint("one").epoch == 2  # type: ignore[union-attr]


# -- finished stages -------------------------------------------------------------------------------


def finished(folder: Path) -> None:
    run = Run.open(folder, ASKED, SOURCES)
    for number in range(3):
        run.finish(f"stage-{number}", {"x": number}, weights={"w": torch.full((99,), float(number))})
    run.finish("no-files", {})
    run.log("settled")
    run.close()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "of another run"])
def test_a_stage_whose_file_is_damaged(kind: str, tmp_path: Path) -> None:
    finished(tmp_path / "run")
    damage(tmp_path / "run" / "points" / "stage-1.weights.safetensors", kind)
    said: list[str] = []
    run = Run.open(tmp_path / "run", ASKED, SOURCES, said.append)
    stages = ("stage-0", "stage-1", "stage-2", "no-files")
    assert [run.finished(stage) for stage in stages] == [True, False, True, True]
    (line,) = said
    assert "stage-1.weights.safetensors" in line
    assert line.endswith("the stage stage-1 is trained again")
    run.finish("stage-1", {"x": 1}, weights={"w": torch.full((99,), 1.0)})
    run.log("")
    run.close()
    again = Run.open(tmp_path / "run", ASKED, SOURCES, said.append)
    assert list(again.results["stages"]) == list(stages)  # in their order
    assert all(again.finished(stage) for stage in stages)
    again.close()


@pytest.mark.parametrize("content", [None, "{", "[]", '{"stage-0": 5}'])
def test_the_list_of_what_was_kept(content: str | None, tmp_path: Path) -> None:
    finished(tmp_path / "run")
    listed = tmp_path / "run" / "points" / "stages.json"
    listed.unlink() if content is None else listed.write_text(content)
    said: list[str] = []
    run = Run.open(tmp_path / "run", ASKED, SOURCES, said.append)
    assert not any(run.finished(stage) for stage in ("stage-0", "stage-1", "stage-2", "no-files"))
    assert said[0].endswith("all stages are trained again")
    run.close()


def test_a_number_that_was_decided(tmp_path: Path) -> None:
    run = Run.open(tmp_path, ASKED, SOURCES)
    assert run.remembered("at_once", 5) == 5
    run.close()
    run = Run.open(tmp_path, ASKED, SOURCES)
    assert run.remembered("at_once", 3) == 5
    assert run.remember("at_once", 2) == 2
    run.close()
    run = Run.open(tmp_path, ASKED, SOURCES)
    assert run.remembered("at_once", 5) == 2
    run.close()
