"""The folder of a pre-training: who may go on with it, and what a crash leaves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from roster.errors import ModelError, RunError
from roster.pretraining.folder import PretrainingFolder

MADE = {"settings": {"seed": 1}, "corpus": "abc"}


def claim(path: Path, **changed: Any) -> PretrainingFolder:
    return PretrainingFolder.claim(path, {**MADE, **changed})


def test_the_same_training_goes_on(tmp_path: Path) -> None:
    claim(tmp_path / "a" / "b").close()
    folder = claim(tmp_path / "a" / "b")
    assert not folder.finished
    assert folder.load_checkpoint() is None
    assert json.loads((folder.path / "settings.json").read_text())["settings"] == {"seed": 1}
    folder.close()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"settings": {"seed": 2}}, "with other settings"),
        ({"corpus": "abd"}, "from another corpus"),
        ({"settings": {}, "corpus": ""}, "with other settings and from another corpus"),
        ({"layout": 0}, "by another version of roster"),
    ],
)
def test_another_training(changed: dict[str, Any], named: str, tmp_path: Path) -> None:
    claim(tmp_path).close()
    with pytest.raises(RunError) as error:
        claim(tmp_path, **changed)
    assert named in str(error.value)
    claim(tmp_path).close()  # and the lock was not kept


def test_a_refused_folder_is_unchanged(tmp_path: Path) -> None:
    folder = claim(tmp_path)
    folder.remove_work()
    folder.close()
    with pytest.raises(RunError):
        claim(tmp_path, corpus="abd")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", "settings.json"]


def test_strangers(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("private")
    with pytest.raises(RunError, match=r"holds other files \(diary.txt, ...\); give a new folder"):
        claim(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["diary.txt"]
    with pytest.raises(RunError, match="is a file"):
        claim(tmp_path / "diary.txt")
    with pytest.raises(RunError, match="cannot make the folder"):
        claim(tmp_path / "diary.txt" / "inside")


def test_killed_while_the_settings_were_written(tmp_path: Path) -> None:
    (tmp_path / ".settings.json.x1y2.part").write_text('{"lay')
    (tmp_path / "work").mkdir()
    claim(tmp_path).close()
    assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", "settings.json", "work"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_another_process(tmp_path: Path) -> None:
    folder = claim(tmp_path)
    pid = os.fork()
    if pid == 0:
        try:
            claim(tmp_path)
        except RunError as error:
            os._exit(7 if "another process is pre-training in" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    folder.close()
    claim(tmp_path).close()


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "\xff"])
def test_damaged_settings(text: str, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(text, encoding="latin-1")
    with pytest.raises(RunError, match=r"settings.json is damaged; remove the folder"):
        claim(tmp_path)


def test_checkpoints(tmp_path: Path) -> None:
    folder = claim(tmp_path)
    tensors = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor(4.0)}
    folder.save_checkpoint(tensors, {"step": 3})
    folder.save_checkpoint({**tensors, "b": torch.tensor(5.0)}, {"step": 4, "curve": [{"x": 0.1}]})
    saved = folder.load_checkpoint()
    assert saved is not None
    assert torch.equal(saved[0]["a"], tensors["a"])
    assert saved[0]["b"] == 5
    assert saved[1] == {"step": 4, "curve": [{"x": 0.1}]}
    folder.close()


def test_the_curve(tmp_path: Path) -> None:
    folder = claim(tmp_path)
    with pytest.raises(RunError, match=r"training.jsonl is missing or damaged"):
        folder.curve()
    folder.write_curve([{"step": 1, "loss": 0.1}, {"step": 2, "loss": 1 / 3}])
    assert folder.curve() == [{"step": 1, "loss": 0.1}, {"step": 2, "loss": 1 / 3}]
    folder.close()


def test_the_end(tmp_path: Path, backbones: dict[str, Path], tokenizers: dict[str, Any]) -> None:
    folder = claim(tmp_path / "made")
    folder.save_checkpoint({"a": torch.ones(2)}, {})
    model = AutoModelForMaskedLM.from_pretrained(backbones["roberta"], dtype=torch.float32)
    folder.finish(model, tokenizers["bpe"], torch.float16, {"README.md": "# made\n"})
    folder.close()
    assert folder.finished
    assert not folder.work.exists()
    assert (folder.path / "README.md").read_text() == "# made\n"
    assert all(p.stat().st_mode & 0o777 == 0o644 for p in folder.path.iterdir() if p.name != ".lock")
    again = AutoModelForMaskedLM.from_pretrained(folder.path)
    assert next(again.parameters()).dtype == torch.float16
    before = AutoModelForMaskedLM.from_pretrained(backbones["roberta"], dtype=torch.float32).state_dict()
    assert all(torch.equal(v, before[k].half()) for k, v in again.state_dict().items())
    assert AutoTokenizer.from_pretrained(folder.path).get_vocab() == tokenizers["bpe"].get_vocab()


@pytest.mark.parametrize("survivors", range(1, 6))
def test_a_crash_at_the_end(
    survivors: int,
    tmp_path: Path,
    backbones: dict[str, Path],
    tokenizers: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many files were put in place, the folder is not finished, and can be finished again."""
    model = AutoModelForMaskedLM.from_pretrained(backbones["roberta"], dtype=torch.float32)
    replace, moved = Path.replace, []

    def crash(self: Path, target: Path) -> Path:
        if len(moved) == survivors:
            raise KeyboardInterrupt
        moved.append(target)
        return replace(self, target)

    folder = claim(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            folder.finish(model, tokenizers["bpe"], torch.float32, {"README.md": "", "curve.svg": ""})
    folder.close()
    assert not (tmp_path / "config.json").exists()
    folder = claim(tmp_path)
    assert not folder.finished
    folder.finish(model, tokenizers["bpe"], torch.float32, {"README.md": "", "curve.svg": ""})
    assert folder.finished
    folder.close()


def test_weights_too_large_for_float16(
    tmp_path: Path, backbones: dict[str, Path], tokenizers: dict[str, Any]
) -> None:
    model = AutoModelForMaskedLM.from_pretrained(backbones["roberta"], dtype=torch.float32)
    with torch.no_grad():
        model.lm_head.bias[3] = 1e6
    folder = claim(tmp_path)
    with pytest.raises(ModelError, match="try weights=float32"):
        folder.finish(model, tokenizers["bpe"], torch.float16, {})
    assert not folder.finished
    folder.close()
