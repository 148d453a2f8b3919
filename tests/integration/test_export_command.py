"""`roster export`, and the commands that take what it makes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roster.cli.main import main

TEXTS = "Mr Ada lives in Oslo .\n\n  \n...\nnobody was there 👩‍💻 , not even Mr Hugo .\n"


@pytest.fixture(scope="session")
def exported(
    model: Path, corpus: Path, roster: Any, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """The toy model in eight bits, and what the command printed."""
    out = tmp_path_factory.mktemp("export") / "int8"
    done = roster("export", model, "--int8", "-o", out, "--gold", corpus / "test_text.txt")
    assert done.code == 0, done.err
    return out, done.out


def test_what_it_prints(exported: tuple[Path, str], model: Path, corpus: Path, roster: Any) -> None:
    """The scores are those that `roster evaluate` finds."""
    out, printed = exported
    lines = printed.splitlines()
    assert lines[0].startswith("largest difference of a logit: ")
    assert lines[1].startswith("words of the same class: ")
    assert lines[3].split() == ["precision", "recall", "F1", "words/s"]
    kept = json.loads((out / "parity.json").read_text())
    for row, folder, side in ((lines[4], model, "original"), (lines[5], out, "export")):
        name, precision, recall, f1, speed = row.split()
        assert name == side
        found = json.loads(roster("evaluate", folder, corpus / "test_text.txt", "--json").out)
        assert [precision, recall, f1] == [f"{found[k]:.4f}" for k in ("precision", "recall", "f1")]
        assert found == kept["scores"][side]
        assert int(speed.replace(",", "")) > 100
    assert kept["scores"]["export"]["f1"] > kept["scores"]["original"]["f1"] - 0.02 > 0.8


def test_predict_takes_it(exported: tuple[Path, str], model: Path, roster: Any) -> None:
    ours, theirs = (roster("predict", folder, stdin=TEXTS) for folder in (exported[0], model))
    assert ours.code == theirs.code == 0, ours.err
    found = [[json.loads(line) for line in done.out.splitlines()] for done in (ours, theirs)]
    assert len(found[0]) == 5
    assert any(record["spans"] for record in found[0])
    for a, b in zip(*found, strict=True):
        assert a["text"] == b["text"]
        assert [(s["start"], s["end"], s["label"]) for s in a["spans"]] == [
            (s["start"], s["end"], s["label"]) for s in b["spans"]
        ]
    assert roster("predict", exported[0], stdin="").out == ""


HEAVY = """
import sys
from roster.cli.main import main
code = main(sys.argv[1:])
print(code, sorted({"torch", "transformers", "scipy", "onnx"} & set(sys.modules)), file=sys.stderr)
"""


def imported(environment: dict[str, str], *arguments: str | Path) -> str:
    done = subprocess.run([sys.executable, "-c", HEAVY, *map(str, arguments)], env=environment,
                          input=TEXTS, capture_output=True, text=True)  # fmt: skip
    return done.stderr.splitlines()[-1]


def test_an_export_is_read_without_torch(
    exported: tuple[Path, str], corpus: Path, environment: dict[str, str]
) -> None:
    assert imported(environment, "predict", exported[0]) == "0 []"
    assert imported(environment, "evaluate", exported[0], corpus / "test_text.txt") == "0 []"


def test_a_trained_model_is_read_without_transformers(model: Path, environment: dict[str, str]) -> None:
    assert imported(environment, "predict", model) == "0 ['torch']"


def test_one_sentence_is_quick(
    exported: tuple[Path, str], model: Path, roster: Any, cpu_of_torch: float
) -> None:
    """An export takes less than importing torch alone; a trained model takes little more."""

    def seconds(folder: Path) -> float:
        found: float = roster.cpu_seconds("predict", folder, input=b"Mr Ada left Oslo .")
        return found

    assert seconds(exported[0]) < cpu_of_torch
    assert seconds(model) < 2 * cpu_of_torch


def test_mistakes(exported: tuple[Path, str], model: Path, roster: Any, tmp_path: Path) -> None:
    for arguments, message in (
        ((model,), "-o/--output"),
        ((exported[0], "-o", tmp_path / "x"), "is an export already"),
        ((model, "-o", model), "is the model itself"),
        ((tmp_path / "nothing", "-o", tmp_path / "x"), "there is no model folder"),
        ((model, "-o", tmp_path / "x", "--gold", tmp_path / "nothing"), "no such file"),
    ):
        done = roster("export", *arguments)
        assert done.code == 2
        assert message in done.err
        assert done.err.startswith("roster: ")
        assert "Traceback" not in done.err
    done = roster("predict", exported[0], "--device", "cuda", stdin="x")
    assert done.code == 2
    assert "runs on the CPU" in done.err
    assert not list(tmp_path.iterdir())


def test_another_model_is_our_mistake(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("roster.infer.export.TOLERANCE", 0.0)
    monkeypatch.setattr("roster.infer.parity.SECONDS", 0.0)
    assert main(["export", str(model), "-o", str(tmp_path / "x")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "roster: the exported model is not the same: a logit differs by" in printed.err.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_from_python(model: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import roster as package

    monkeypatch.setattr("roster.infer.parity.SECONDS", 0.0)
    parity = package.export(model, tmp_path / "x", gold=corpus / "test_text.txt")
    assert parity.scores
    assert package.evaluate(tmp_path / "x", corpus / "test_text.txt") == parity.scores[1] == parity.scores[0]
    assert package.load(tmp_path / "x")("Mr Ada lives in Oslo .") == package.load(model, "cpu")(
        "Mr Ada lives in Oslo ."
    )
