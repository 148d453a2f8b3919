"""`roster train --method bilstm-crf`: whole commands, a run that is killed, and what is refused."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

WEIGHTS = Path("model") / "roster.safetensors"
SMALL = [
    "--set", "seed=5", "--set", "bilstm.word_size=16", "--set", "bilstm.filters=8",
    "--set", "bilstm.hidden=16", "--set", "bilstm_crf.epochs=12", "--set", "bilstm_crf.learning_rate=0.08",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(roster: Any, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("runs") / "bilstm-crf"
    done = roster("train", corpus, "-o", folder, "--method", "bilstm-crf", *SMALL)
    assert done.code == 0, done.err
    return folder


def test_it_learned(run: Path, corpus: Path, roster: Any) -> None:
    done = roster("evaluate", run, corpus / "test_text.txt", "--json")
    assert done.code == 0, done.err
    scores = json.loads(done.out)
    # Nothing found scores 0; one type everywhere, with all borders right, about 0.5.
    assert scores["f1"] > 0.8
    stages = json.loads((run / "results.json").read_text())["stages"]
    assert list(stages) == ["bilstm-crf", "model"]
    assert stages["bilstm-crf"]["scores"]["test"] == scores


def test_predict(run: Path, roster: Any) -> None:
    text = "  Mr\tAda lives in   Oslo .\n"
    done = roster("predict", run, stdin=text)
    assert done.code == 0, done.err
    (record,) = [json.loads(line) for line in done.out.splitlines()]
    assert [(s["text"], s["label"]) for s in record["spans"]] == [("Ada", "PER"), ("Oslo", "LOC")]
    for span in record["spans"]:
        assert record["text"][span["start"] : span["end"]] == span["text"]
        assert 0.5 < span["score"] <= 1


def test_killed_and_gone_on(run: Path, corpus: Path, roster: Any, tmp_path: Path) -> None:
    command = ["train", corpus, "-o", tmp_path / "run", "--method", "bilstm-crf", *SMALL]
    for _ in range(5):
        started = roster.start(*command, ROSTER_CHECKPOINT_SECONDS="0")
        while started.running and not any((tmp_path / "run" / "points").glob("checkpoint-*")):
            time.sleep(0.0005)
        if started.send(signal.SIGKILL).code == -signal.SIGKILL:
            break
    else:
        pytest.fail("the process was always faster")
    assert not (tmp_path / "run" / "model").exists()
    done = roster(*command)
    assert done.code == 0, done.err
    assert (tmp_path / "run" / WEIGHTS).read_bytes() == (run / WEIGHTS).read_bytes()


def test_export_is_refused(run: Path, roster: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    done = roster("export", run, "-o", tmp_path / "onnx")
    assert done.code == 2
    assert "cannot be written as ONNX" in done.err
    assert not (tmp_path / "onnx").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "bilstm.word_vectors=nowhere.txt"], "nowhere.txt: cannot be read: No such file"),
        (["--set", "bilstm.word_vectors=bad.txt"], "bad.txt, line 2: expected a word and 2 numbers"),
        (["--method", "roster", "--backbone", "bilstm-cnn"], "bilstm-cnn is no masked language model"),
        (["--set", "optimiser.engine=fast"], "the fast engine cannot train bilstm-cnn"),
    ],
)
def test_bad_use(options: list[str], message: str, roster: Any, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("the 1 2\nof 1\n")
    method = [] if "--method" in options else ["--method", "bilstm-crf"]
    done = roster("train", corpus, "-o", "run", *method, *options, cwd=tmp_path)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_folder_of_that_name_is_not_meant(roster: Any, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "bilstm-cnn").mkdir()
    command = ["train", corpus, "-o", "run", "--method", "bilstm-crf", *SMALL, "--set", "bilstm_crf.epochs=1"]
    done = roster(*command, cwd=tmp_path)
    assert done.code == 0, done.err
