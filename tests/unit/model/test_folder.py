"""A model folder: the same predictions after loading, clear words where a piece is broken."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_encoder, load_tokenizer
from roster.errors import ModelError
from roster.infer.recogniser import load
from roster.methods.registry import head_of, heads
from roster.model.batches import DeviceCorpus
from roster.model.folder import CHECKSUMS, OLD_WEIGHTS, WEIGHTS, is_model, load_model, save_model
from roster.model.reading import read_probabilities

SENTENCES = [["Anna", "went", "to", "Oslo", "."], ["unheard"]]


@pytest.mark.parametrize("kind", heads())
@pytest.mark.parametrize("name", ["roberta", "bert", "distilbert", "deberta-v2", "modernbert"])
def test_round_trip(kind: str, name: str, backbones: dict[str, Path], tmp_path: Path) -> None:
    tokenizer = load_tokenizer(str(backbones[name]))
    torch.manual_seed(3)
    model = heads()[kind](load_encoder(str(backbones[name])), 3, 0.3)
    save_model(tmp_path / "m", model, tokenizer, ("A", "B", "é"), 33, "# config\n")
    assert is_model(tmp_path / "m")
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m" / "config.toml").read_text() == "# config\n"
    loaded, again, facts = load_model(tmp_path / "m", head_of)
    assert not loaded.training
    assert (facts.kind, facts.types, facts.max_length) == (kind, ("A", "B", "é"), 33)

    def read(model, tokenizer) -> torch.Tensor:  # type: ignore[no-untyped-def]
        encoded = WordEncoder(tokenizer, 33).encode(SENTENCES)
        return read_probabilities(
            model, DeviceCorpus.put(encoded, tokenizer.pad_token_id, torch.device("cpu"))
        )

    assert torch.equal(read(loaded, again), read(model, tokenizer))


def test_it_moves(trained: Path, tmp_path: Path) -> None:
    """Nothing in the folder points outside it, and it is no pickle."""
    moved = shutil.copytree(trained, tmp_path / "elsewhere")
    load_model(moved, head_of)
    assert not [p for p in moved.iterdir() if p.suffix in (".bin", ".pt", ".pkl")]


def test_an_older_model_is_replaced(trained: Path, tmp_path: Path) -> None:
    model, tokenizer, _ = load_model(trained, head_of)
    for types in (("A", "B"), ("C", "D")):
        save_model(tmp_path / "m", model, tokenizer, types, 24, "")
        assert load_model(tmp_path / "m", head_of)[2].types == types
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_a_model_of_an_earlier_version_is_read(trained: Path, tmp_path: Path) -> None:
    """Its weights have transformers' file name."""
    old = shutil.copytree(trained, tmp_path / "old")
    (old / WEIGHTS).rename(old / OLD_WEIGHTS)
    sums = json.loads((old / CHECKSUMS).read_text())
    sums[OLD_WEIGHTS] = sums.pop(WEIGHTS)
    (old / CHECKSUMS).write_text(json.dumps(sums))
    expected = load_model(trained, head_of)[0].state_dict()
    assert all(
        torch.equal(tensor, expected[name])
        for name, tensor in load_model(old, head_of)[0].state_dict().items()
    )
    assert load(old, "cpu")("Mr Ada left Oslo .") == load(trained, "cpu")("Mr Ada left Oslo .")


def test_transformers_does_not_take_it_for_a_model_of_its_own(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would load the encoder, make up a head, and predict LABEL_0 and LABEL_1.

    Its pipeline loads the folder after `import roster` (test_pipelines.py); without, it refuses.
    """
    from transformers import AutoModelForTokenClassification, pipeline
    from transformers.pipelines import PIPELINE_REGISTRY

    with pytest.raises(OSError, match=r"model\.safetensors"):
        AutoModelForTokenClassification.from_pretrained(str(trained))
    task = PIPELINE_REGISTRY.supported_tasks["token-classification"]
    monkeypatch.setitem(task, "pt", (AutoModelForTokenClassification,))
    with pytest.raises((OSError, ValueError), match=r"model\.safetensors"):
        pipeline("token-classification", model=str(trained))


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "m")


@pytest.mark.parametrize("name", ["roster.json", "config.json", "tokenizer.json", "roster.safetensors"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "empty", "nonsense"])
def test_a_damaged_piece(name: str, damage: str, copy: Path) -> None:
    path = copy / name
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(
            {"truncated": content[: len(content) // 2], "empty": b"", "nonsense": b"\xff\x00 no"}[damage]
        )
    with pytest.raises(ModelError) as caught:
        load_model(copy, head_of)
    assert str(copy) in str(caught.value)
    assert len(str(caught.value)) < 900


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layout": 99}, "another version of roster"),
        ({"kind": "three-heads"}, "another version of roster"),
        ({"types": None}, "damaged"),
        ({"max_length": "x"}, "damaged"),
        ({"types": ["A"]}, "do not fit"),
        ({"kind": "one-head"}, "do not fit"),
    ],
)
def test_wrong_facts(change: dict[str, object], message: str, copy: Path) -> None:
    facts = json.loads((copy / "roster.json").read_text())
    (copy / "roster.json").write_text(json.dumps({**facts, **change}))
    with pytest.raises(ModelError, match=message):
        load_model(copy, head_of)


def test_not_a_model(tmp_path: Path, trained: Path) -> None:
    with pytest.raises(ModelError, match="there is no model folder"):
        load_model(tmp_path / "nowhere", head_of)
    with pytest.raises(ModelError, match=r"has no roster\.json"):
        load_model(tmp_path, head_of)
    shutil.copytree(trained, tmp_path / "model")
    with pytest.raises(ModelError, match=r"did you mean .*model\?"):
        load_model(tmp_path, head_of)
