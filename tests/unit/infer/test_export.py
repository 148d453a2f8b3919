"""Exported models: the same logits from every architecture, and nothing left behind where they are not."""

from __future__ import annotations

import copy
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

from roster.corpus.sentence import Sentence
from roster.errors import ConfigError, ModelError, RosterError
from roster.infer.export import _tensors, export, to_onnx
from roster.infer.int8 import quantize
from roster.infer.parity import Parity, ParityError
from roster.infer.recogniser import load
from roster.methods.registry import head_of
from roster.model.folder import load_model, read_facts
from roster.scores import evaluate_spans

Models = Callable[[str, str], Path]
FILES = ["checksums.json", "config.toml", "model.onnx", "parity.json", "roster.json", "tokenizer.json",
         "tokenizer_config.json"]  # fmt: skip


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass is enough where nobody looks at the speed."""
    monkeypatch.setattr("roster.infer.parity.SECONDS", 0.0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("roberta", "two-heads"),
        ("bert", "one-head"),
        ("distilbert", "two-heads"),
        ("deberta-v2", "one-head"),
        ("modernbert", "two-heads"),
    ],
)
def test_every_architecture(
    name: str, kind: str, models: Models, texts: list[Sentence], tmp_path: Path
) -> None:
    source, out = models(name, kind), tmp_path / "out"
    gold = [s.with_spans(()) for s in texts]
    parity = export(source, out, gold=gold)
    assert sorted(p.name for p in out.iterdir()) == FILES
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert (parity.words, parity.agreement) == (74, 1.0)
    assert parity.logit_difference < 1e-4
    assert parity.scores
    assert parity.scores[0] == parity.scores[1]
    ours, theirs = load(out), load(source, "cpu")
    np.testing.assert_allclose(ours.logits(texts), theirs.logits(texts), atol=1e-4)
    assert [f.sentence for f in ours.find(texts)] == [f.sentence for f in theirs.find(texts)]
    assert read_facts(out).types == read_facts(source).types
    small = onnx.load(out / "model.onnx")
    quantize(small)
    onnx.save(small, out / "model.onnx")
    (out / "checksums.json").unlink()
    rounded = load(out).logits(texts)
    assert 1e-3 < abs(rounded - theirs.logits(texts)).max() < 0.2 * abs(rounded).max()
    assert json.loads((out / "parity.json").read_text())["weights"] == "float32"


def test_a_trained_model_in_eight_bits(
    trained: Path, exported: Path, toy: list[Sentence], tmp_path: Path
) -> None:
    """Almost the same scores; no product of weights is left in float32, and the file is far smaller."""
    parity = export(trained, tmp_path / "small", int8=True, gold=toy)
    assert parity.scores
    before, after = (s.f1 for s in parity.scores)
    assert before > 0.95
    assert after > before - 0.02
    assert parity.agreement > 0.99
    assert TINY < parity.logit_difference < 2
    # Scores are those of what the folder finds.
    found = load(tmp_path / "small").find(toy)
    pairs = ((f.sentence.spans or (), s.spans or ()) for f, s in zip(found, toy, strict=True))
    assert evaluate_spans(pairs).f1 == after
    assert (tmp_path / "small" / "model.onnx").stat().st_size < (exported / "model.onnx").stat().st_size
    graph = onnx.load(tmp_path / "small" / "model.onnx").graph
    weights = {
        i.name for i in graph.initializer if i.data_type == onnx.TensorProto.FLOAT and len(i.dims) == 2
    }
    products = [n for n in graph.node if n.op_type in ("MatMul", "Gemm") and weights & set(n.input)]
    assert not products
    assert sum(n.op_type == "MatMulIntegerToFloat" for n in graph.node) == 4 * 2 + 1


TINY = 1e-4


def test_an_export_replaces_an_export(exported: Path, models: Models, tmp_path: Path) -> None:
    shutil.copytree(exported, tmp_path / "out")
    export(models("bert", "one-head"), tmp_path / "out", gold=[Sentence.from_words(["Anna"], ())])
    assert load(tmp_path / "out").engine.facts.kind == "one-head"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_run_folder_from_before(trained: Path, tmp_path: Path, toy: list[Sentence]) -> None:
    """Its roster.json does not name the special tokens; the export's does."""
    old = shutil.copytree(trained, tmp_path / "run" / "model")
    facts = json.loads((old / "roster.json").read_text())
    del facts["specials"]
    (old / "roster.json").write_text(json.dumps(facts))
    (old / "checksums.json").unlink()
    export(tmp_path / "run", tmp_path / "out", gold=toy[:3])
    assert read_facts(tmp_path / "out").specials == read_facts(trained).specials


def test_another_model_is_an_error(
    trained: Path, toy: list[Sentence], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that changed on the way by a fiftieth: more than rounding explains."""

    def changed(reader: Any, source: Path) -> Any:
        other = copy.deepcopy(reader)
        with torch.no_grad():
            for weight in _tensors(other):
                if weight.is_floating_point():
                    weight.mul_(1.02)
        return to_onnx(other, source)

    monkeypatch.setattr("roster.infer.export.to_onnx", changed)
    with pytest.raises(ParityError, match=r"a logit differs by .*nothing was written"):
        export(trained, tmp_path / "out", gold=toy)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(trained: Path, exported: Path, toy: list[Sentence], tmp_path: Path) -> None:
    model = shutil.copytree(trained, tmp_path / "m")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    other = shutil.copytree(trained, tmp_path / "n")
    for target, message in (
        (model, "is the model itself"),
        (tmp_path / "file", "is a file"),
        (tmp_path / "notes", "is not an export"),
        (other, "is not an export"),
    ):
        with pytest.raises(ConfigError, match=message):
            export(model, target, gold=toy)
    assert load(model, "cpu").types
    assert (tmp_path / "notes" / "mine.txt").read_text() == "mine"
    with pytest.raises(ModelError, match="is an export already"):
        export(exported, tmp_path / "again")
    with pytest.raises(ModelError, match="is an export, which has no weights"):
        load_model(exported, head_of)
    with pytest.raises(ModelError, match="there is no model folder"):
        export(tmp_path / "nowhere", tmp_path / "again")


@pytest.mark.parametrize("package", ["onnx", "onnxruntime", "onnxscript"])
def test_without_the_extra(
    package: str, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(RosterError, match=rf'exporting needs {package}: pip install "roster-ner\[onnx\]"'):
        export(trained, tmp_path / "out")


def test_what_cannot_be_expressed(tmp_path: Path) -> None:
    class Undecided(nn.Module):
        def forward(self, ids: Tensor, mask: Tensor, at: Tensor) -> Tensor:
            return ids[at].float() if ids.sum() > mask.sum() else ids.float()

    with pytest.raises(ModelError, match="torch cannot express this architecture in ONNX") as caught:
        to_onnx(Undecided(), tmp_path)
    assert len(str(caught.value)) < 600


def test_the_bundled_sample_serves_where_no_text_is_given(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    parity = export(trained, tmp_path / "empty")
    assert parity.scores is None
    assert parity.words > 10000


def test_too_large(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roster.infer.export.LARGEST", 1000)
    with pytest.raises(ModelError, match="more than the two gigabytes"):
        export(trained, tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", [None, b"", b"nonsense" * 50, "half"])
def test_a_damaged_graph(damage: bytes | str | None, exported: Path, tmp_path: Path) -> None:
    path = shutil.copytree(exported, tmp_path / "out") / "model.onnx"
    if damage is None:
        path.unlink()
    else:
        whole = path.read_bytes()
        path.write_bytes(damage if isinstance(damage, bytes) else whole[: len(whole) // 2])
    with pytest.raises(ModelError, match=r"model\.onnx is (missing|damaged)"):
        load(tmp_path / "out")


def test_an_export_runs_on_the_cpu(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(exported, "cpu")("Anna went to Paris .")
    with pytest.raises(ConfigError, match="runs on the CPU, not on 'cuda'"):
        load(exported, "cuda")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(RosterError, match=r'needs ONNX Runtime: pip install "roster-ner\[onnx\]"'):
        load(exported)


def test_the_table() -> None:
    table = Parity(1200, 3.2e-6, 0.99951, (4000.4, 12345.6)).table().splitlines()
    assert table[0] == "largest difference of a logit: 3.2e-06 over 1,200 words"
    assert table[1] == "words of the same class: 99.95 %"
    assert table[-2].split() == ["original", "4,000"]
    assert table[-1].split() == ["export", "12,346"]
    assert Parity(1, 0.0, 1.0, (1.0, 2.0)).as_dict() == {
        "words": 1, "logit_difference": 0.0, "agreement": 1.0,
        "words_per_second": {"original": 1.0, "export": 2.0},
    }  # fmt: skip
