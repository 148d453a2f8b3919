"""Tensors on disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from roster.errors import ModelError, RosterError
from roster.model.weights import load_tensors, save_tensors


def test_round_trip(tmp_path: Path) -> None:
    tensors = {
        "odd": torch.tensor([True, False, True]),
        "a": torch.randn(3, 4),
        "low": torch.randn(5).bfloat16(),
        "half": torch.randn(2).half(),
        "int": torch.arange(5),
        "scalar": torch.tensor(3.0),
        "empty": torch.zeros(0, 3),
        "view": torch.randn(4, 4).T,
    }
    facts = {"epoch": 3, "names": ["é", None], "x": {"y": 0.5}}
    save_tensors(tmp_path / "x.safetensors", tensors, facts)
    found, read = load_tensors(tmp_path / "x.safetensors")
    assert read == facts
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)
    assert [p.name for p in tmp_path.iterdir()] == ["x.safetensors"]


def test_no_facts(tmp_path: Path) -> None:
    save_tensors(tmp_path / "x", {"a": torch.zeros(1)})
    assert load_tensors(tmp_path / "x")[1] == {}


@pytest.mark.parametrize("cut", [0, 4, 30, -1, -100])
def test_damaged(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_tensors(path, {"a": torch.randn(100)})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ModelError, match=r"x\.safetensors is damaged or incomplete"):
        load_tensors(path)


def test_missing_and_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"x\.safetensors is missing"):
        load_tensors(tmp_path / "x.safetensors")
    with pytest.raises(ModelError, match="damaged"):
        load_tensors(tmp_path)


def test_nowhere_to_write(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RosterError, match="cannot write"):
        save_tensors(tmp_path / "file" / "x", {"a": torch.zeros(1)})


def test_the_file_is_what_safetensors_writes(tmp_path: Path) -> None:
    """Read by the library itself, and no larger than its own file with a checksum."""
    from safetensors.torch import load_file, save_file

    tensors = {"b": torch.arange(3, dtype=torch.uint8), "a": torch.randn(5, 2), "c": torch.randn(3).half()}
    save_tensors(tmp_path / "ours", tensors)
    save_file(tensors, tmp_path / "theirs", metadata={"facts": "{}"})
    found = load_file(tmp_path / "ours")
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert (tmp_path / "ours").stat().st_size <= (tmp_path / "theirs").stat().st_size + 24


def test_saving_needs_no_copy_of_everything(tmp_path: Path) -> None:
    """As many bytes as one tensor, not as all of them."""
    code = """
import sys, torch
from roster.model.weights import save_tensors
from roster.progress import process_memory
one = torch.zeros(2**22)
tensors = {str(i): one for i in range(40)}
save_tensors(sys.argv[1], {"a": one})
before = process_memory("VmHWM")
save_tensors(sys.argv[1], tensors)
print(process_memory("VmHWM") - before)
"""
    made = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x")], capture_output=True, text=True, check=True
    )
    assert int(made.stdout) < 100 * 2**20  # of 640 MiB
