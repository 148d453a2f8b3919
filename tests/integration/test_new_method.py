"""A method of another package, one module and an entry point, is trained by the command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence
from roster.scores import evaluate_sentences

DOCUMENT = Path(__file__).parents[2] / "docs" / "methods.md"
BOOTSTRAP = '''
"""Bootstrapping (Reed et al., 2015): targets are partly the labels, and partly what the model predicts."""
from dataclasses import dataclass

import torch
from roster.config import option
from roster.errors import ConfigError
from roster.methods.base import OneStage
from roster.model.decoding import bio_classes
from roster.model.heads import OneHead
from roster.training.losses import kl, wmean
from roster.training.objective import Objective

@dataclass(frozen=True)
class Bootstrap:
    """Soft bootstrapping over BIO tags."""
    epochs: int = option(3, "passes over the data", low=1)
    learning_rate: float = option(5e-5, "peak rate", low=0)
    head_learning_rate: float = option(0.0, "peak rate of the head", low=0)
    trust: float = option(0.8, "share of the label in the target", low=0, high=1)

class BootstrapObjective(Objective):
    def __init__(self, task):
        super().__init__(task.corpus, task.gold)
        self.labels = torch.from_numpy(bio_classes(task.sentences, task.types)).long()
        self.trust = task.config.section(Bootstrap).trust

    def loss(self, outputs, words, present, own):
        (tags,) = outputs
        label = torch.nn.functional.one_hot(self.labels[words], tags.shape[-1])
        target = self.trust * label + (1 - self.trust) * tags.softmax(-1).detach()
        return wmean(kl(target, tags), self.counted(words, present))

class BootstrapMethod(OneStage):
    name, title, summary = "bootstrap", "Bootstrapping", "labels mixed with predictions"
    sections, head = {"bootstrap": Bootstrap}, OneHead

    def check(self, config):
        if config.section(Bootstrap).trust == 0:
            raise ConfigError("bootstrap.trust is 0: no label would count")

    def objective(self, task, model):
        return BootstrapObjective(task)

METHOD = BootstrapMethod()
'''


def documented() -> str:
    """The example of docs/methods.md."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return str(code)


def installed(folder: Path, name: str, code: str) -> dict[str, str]:
    """An environment in which a package with the method is installed, as pip would do it."""
    info = folder / f"{name}_method-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}_method.py").write_text(code, encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-method\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[roster.methods]\n{name} = {name}_method:METHOD\n")
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


@pytest.mark.parametrize(
    ("name", "code", "option"),
    [("symmetric", documented(), "reverse=0.5"), ("bootstrap", BOOTSTRAP, "trust=0.9")],
)
def test_a_method_of_another_package(
    name: str, code: str, option: str, tiny: Path, toy: list[Sentence], tmp_path: Path
) -> None:
    environment = installed(tmp_path / "site", name, code)

    def roster(*args: object, code: int = 0) -> str:
        command = [sys.executable, "-m", "roster.cli.main", *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    write(tmp_path / "data" / "train.jsonl", toy)
    options = {"backbone.name": tiny, "optimiser.device": "cpu", "optimiser.batch_size": 8}
    shared = [part for key, value in options.items() for part in ("--set", f"{key}={value}")]
    own = ["--method", name, "--set", f"{name}.{option}", "--set", f"{name}.learning_rate=5e-3"]
    printed = roster("train", "data", "--print-config", *shared, *own)
    assert f"[{name}]" in printed
    assert "[noise_robust]" not in printed
    log = roster("train", "data", "-o", "run", *shared, *own, "--set", f"{name}.epochs=16")
    assert f"{name}: " in log
    roster("predict", "run", "data/train.jsonl", "-o", "predicted.jsonl")
    assert evaluate_sentences(read(tmp_path / "predicted.jsonl"), toy).f1 > 0.7
    wrong = roster("train", "data", "-o", "other", *shared, *own, "--set", "bond.epochs=2", code=2)
    assert "[bond] belongs to the method bond" in wrong
    assert not (tmp_path / "other").exists()
    if name == "bootstrap":
        assert "no label would count" in roster(
            "train", "data", "-o", "other", *shared, "--method", name, "--set", "bootstrap.trust=0", code=2
        )


def test_the_methods_of_others_are_listed(tmp_path: Path) -> None:
    environment = installed(tmp_path / "site", "bootstrap", BOOTSTRAP)
    code = "from roster.methods.registry import names; print(*names())"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert told.stdout.split() == ["roster", "autoner", "bilstm-crf", "bond", "bootstrap", "fine-tune"]
