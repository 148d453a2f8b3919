"""`roster pretrain` as a command: it learns, it goes on, and its backbones work everywhere else."""

from __future__ import annotations

import json
import math
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from roster.cli.main import main

TOPICS = (
    "Boris sails his old boat past Oslo harbour while gulls cry",
    "Clara plants red roses near Lima church before rain falls",
    "Dmitri mends broken clocks under Turin bridge when nobody looks",
    "Elena paints tall horses behind Dakar stable until dusk comes",
)
"""The words of a document are those of one topic, in any order: what a masked LM learns first."""
TOY = ("--layers", "1", "--width", "64", "--heads", "4", "--vocab", "380", "--length", "24", "--batch", "16",
       "--set", "positions=32", "--set", "valid=0.1", "--device", "cpu")  # fmt: skip


def sentence(draw: random.Random, topic: str) -> str:
    return " ".join(draw.choice(topic.split()) for _ in range(8)) + "."


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 documents of eight sentences, each on one topic."""
    draw = random.Random(1)
    topics = [draw.choice(TOPICS) for _ in range(200)]
    documents = ["\n".join(sentence(draw, topic) for _ in range(8)) for topic in topics]
    file = tmp_path_factory.mktemp("text") / "synthetic.txt"
    file.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def made(roster: Any, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backbone from nothing."""
    folder = tmp_path_factory.mktemp("made") / "from-nothing"
    done = roster("pretrain", text, "-o", folder, *TOY, "--steps", "250", "--rate", "5e-3")
    assert done.code == 0, done.err
    assert done.out == ""
    (folder.parent / "said").write_text(done.err)
    return folder


def curve(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "training.jsonl").read_text().splitlines()]


def test_it_learns(made: Path, text: Path) -> None:
    """More than how often each sub-word comes."""
    tokenizer = AutoTokenizer.from_pretrained(made)
    counts: Counter[int] = Counter()
    for line in text.read_text().splitlines():
        counts.update(tokenizer(" " + line, add_special_tokens=False).input_ids)
    total = sum(counts.values())
    unigram = -sum(n / total * math.log(n / total) for n in counts.values())
    points = curve(made)
    assert points[0]["valid_loss"] > unigram - 0.3
    assert points[-1]["valid_loss"] < unigram - 0.6
    assert points[-1]["tokens"] == 250 * 16 * 24


def test_what_it_leaves_and_says(made: Path, roster: Any, text: Path) -> None:
    names = {p.name for p in made.iterdir()}
    expected = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "README.md",
                "curve.svg", "training.jsonl", "settings.json"}  # fmt: skip
    assert expected <= names
    assert not [name for name in names if name == "work" or name.endswith(".part")]
    said = (made.parent / "said").read_text()
    for part in ("vocabulary: 380 entries", "tokenised 200 documents", "random weights; 1 layers x 64",
                 "step 250 (100 %)", "validation loss", "% of the peak", f"--backbone {made}"):  # fmt: skip
        assert part in said
    card = (made / "README.md").read_text()
    assert f"loss {curve(made)[-1]['valid_loss']:.3f}" in card
    assert "96,000 in 250 steps" in card
    before = (made / "model.safetensors").stat()
    again = roster("pretrain", text, "-o", made, *TOY, "--steps", "250", "--rate", "5e-3")
    assert again.code == 0
    assert "is finished; nothing to do" in again.err
    assert (made / "model.safetensors").stat() == before


def test_transformers_can_use_it(made: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(made)
    model = AutoModelForMaskedLM.from_pretrained(made, dtype=torch.float32).eval()
    assert all(tensor.dtype == torch.float16 for tensor in load_file(made / "model.safetensors").values())
    mine, others = ({i for word in " ".join(topics).split()
                     for i in tokenizer(f" {word}", add_special_tokens=False).input_ids}
                    for topics in (TOPICS[:1], TOPICS[1:]))  # fmt: skip
    ids = tokenizer(f"gulls cry past {tokenizer.mask_token} harbour while Boris sails", return_tensors="pt")
    place = ids.input_ids[0].tolist().index(tokenizer.mask_token_id)
    with torch.no_grad():
        p = model(**ids).logits[0, place].softmax(-1)
    assert float(p[sorted(mine - others)].sum()) > 3 * float(p[sorted(others - mine)].sum())


def test_it_is_a_backbone(made: Path, roster: Any, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = roster("train", corpus, "-o", run, "--backbone", made, "--method", "fine-tune", "--set",
                  "fine_tune.epochs=8", "--set", "fine_tune.learning_rate=5e-3", "--set",
                  "backbone.max_length=32", "--set", "optimiser.batch_size=8")  # fmt: skip
    assert done.code == 0, done.err
    predicted = roster("predict", run / "model", "-", stdin="Mr Clara lives in Quito .\n")
    assert predicted.code == 0, predicted.err
    assert "Quito" in predicted.out


# -- killed, and out of time ---------------------------------------------------------------------------

SHORT = (*TOY, "--steps", "40", "--set", "precision=float32", "--set", "checkpoint=0", "--set", "dropout=0.1")


def stopped(started: Any, moment: Callable[[], bool]) -> None:
    while started.running and not moment():
        time.sleep(0.001)
    assert started.send(signal.SIGKILL).code == -signal.SIGKILL, "the process was faster"


def test_killed_twice(roster: Any, text: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    done = roster("pretrain", text, "-o", whole, *SHORT)
    assert done.code == 0, done.err
    checkpoint = broken / "work" / "checkpoint-000000.safetensors"
    stopped(roster.start("pretrain", text, "-o", broken, *SHORT), (broken / "work" / "tokenizer").exists)
    assert not checkpoint.exists()
    stopped(roster.start("pretrain", text, "-o", broken, *SHORT), checkpoint.exists)
    assert not (broken / "config.json").exists()
    done = roster("pretrain", text, "-o", broken, *SHORT)
    assert done.code == 0, done.err
    assert 0 < int(re.findall(r"resuming after step (\d+)", done.err)[0]) < 40
    assert "tokenised" not in done.err
    for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
        assert (broken / name).read_bytes() == (whole / name).read_bytes(), name
    assert {p.name for p in broken.iterdir()} == {p.name for p in whole.iterdir()}
    keep = ("step", "tokens", "valid_loss", "valid_accuracy")
    one, other = ([{name: point[name] for name in keep} for point in curve(f)] for f in (whole, broken))
    assert one == other


def test_a_training_of_seconds(roster: Any, text: Path, tmp_path: Path) -> None:
    done = roster("pretrain", text, "-o", tmp_path / "b", *TOY, "--minutes", "0.02")
    assert done.code == 0, done.err
    points = curve(tmp_path / "b")
    assert 1.2 <= points[-1]["seconds"] < 60
    assert points[-1]["step"] > 5
    assert points[-1]["share"] == 1


# -- from other models, in this process, without measuring the machine each time --------------------------


@pytest.fixture
def pretrain(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[Path, str]]:
    monkeypatch.setattr("roster.pretraining.pretrain.matrix_product_rate", lambda *_: 1e11)

    def run(*arguments: str | Path) -> tuple[Path, str]:
        folder = tmp_path / "made"
        given = ["--length", "24", "--batch", "16", "--rate", "3e-3", "--device", "cpu", "--set", "valid=0.1"]
        code = main(["pretrain", str(text), "-o", str(folder), *given, *map(str, arguments)])
        said = capsys.readouterr().err
        assert code == 0, said
        return folder, said

    return run


def loss(said: str, who: str = "step") -> list[float]:
    return [float(x) for x in re.findall(rf"^{who}.*validation loss ([\d.]+)", said, re.MULTILINE)]


def test_from_an_encoder_without_a_head(pretrain: Any, made: Path, tmp_path: Path) -> None:
    encoder = AutoModel.from_pretrained(made, add_pooling_layer=False, dtype=torch.float32)
    encoder.save_pretrained(tmp_path / "encoder")
    AutoTokenizer.from_pretrained(made).save_pretrained(tmp_path / "encoder")
    folder, said = pretrain("--from", tmp_path / "encoder", "--steps", "60")
    assert "with a new masked-LM head" in said
    assert loss(said)[-1] < loss(said)[0] - 0.3
    assert (
        AutoTokenizer.from_pretrained(folder).get_vocab() == AutoTokenizer.from_pretrained(made).get_vocab()
    )


def test_from_another_with_fewer_entries(pretrain: Any, made: Path) -> None:
    folder, said = pretrain("--from", made, "--vocab", "370", "--steps", "20")
    assert "vocabulary: reduced from 380 to 370 entries" in said
    assert len(AutoTokenizer.from_pretrained(folder)) == 370
    model = AutoModelForMaskedLM.from_pretrained(folder)
    assert model.get_input_embeddings().weight.shape[0] == model.config.vocab_size == 370
    assert loss(said)[0] < math.log(370) - 1  # it knows what the other knew


def test_a_narrower_student(pretrain: Any, made: Path) -> None:
    more = ("relations=1", "hidden_layers=all", "weights=float32")
    given = [part for value in more for part in ("--set", value)]
    folder, said = pretrain("--teacher", made, "--width", "16", "--inner", "48", "--steps", "60", *given)
    config = AutoModelForMaskedLM.from_pretrained(folder).config
    assert (config.hidden_size, config.intermediate_size, config.num_hidden_layers) == (16, 48, 1)
    assert loss(said, "teacher")[0] == pytest.approx(curve(made)[-1]["valid_loss"], abs=0.3)
    points = curve(folder)
    for part in ("guess", "imitate", "hidden", "relations"):
        assert 0 < points[-1][part] < points[1][part], part
    assert f"| teacher | {made} |" in (folder / "README.md").read_text()


def test_a_student_of_another_vocabulary(pretrain: Any, made: Path, backbone: Path) -> None:
    folder, said = pretrain("--teacher", made, "--from", backbone, "--layers", "1", "--steps", "40")
    assert "transferred to the vocabulary of the teacher, pruned to 1 layers x 48" in said
    config = AutoModelForMaskedLM.from_pretrained(folder).config
    assert (config.model_type, config.vocab_size, config.num_hidden_layers) == ("bert", 380, 1)
    points = curve(folder)
    assert points[-1]["imitate"] < points[1]["imitate"]
    assert (
        AutoTokenizer.from_pretrained(folder).get_vocab() == AutoTokenizer.from_pretrained(made).get_vocab()
    )


# -- mistakes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["-o", "{new}"], "CORPUS and --output are required"),
        (["{text}"], "CORPUS and --output are required"),
        (["{new}/none.txt", "-o", "{new}"], "none.txt"),
        (["{empty}", "-o", "{new}", "--vocab", "300"], "every line is empty"),
        (["{text}", "-o", "{new}", "--teacher", "{encoder}", "--length", "32"],
         "no trained masked-language-model head"),
        (["{text}", "-o", "{new}", "--teacher", "{empty}/none"], "there is no backbone folder"),
        (["{text}", "-o", "{new}", "--from", "{made}", "--length", "33"], "more than the 32 positions"),
        (["{text}", "-o", "{new}", "--length", "90000", "--vocab", "300", "--set", "positions=90000",
          "--width", "32", "--layers", "1"], "fewer than one sequence of 90000"),
        (["{text}", "-o", "{new}", "--steps", "5", "--minutes", "1"], "not both"),
        (["{text}", "-o", "{new}", "--set", "stepps=5"], "did you mean 'steps'"),
        (["{text}", "-o", "{new}", "--steps", "many"], "--steps"),
        (["{text}", "-o", "{strange}"], "holds other files (notes.txt"),
        (["{text}", "-o", "{made}", "--steps", "7"], "with other settings"),
        (["{empty}", "-o", "{made}", *TOY, "--steps", "250", "--rate", "5e-3"], "from another corpus"),
        (["{text}", "-o", "{new}", "--from", "{made}", "--length", "32", "--layers", "2"],
         "the model has 1 layers, not 2"),
        (["{text}", "-o", "{new}", "--vocab", "100"], "100"),
        (["{text}", "-o", "{new}", "--device", "toaster"], "'toaster' cannot be used here"),
    ],
)  # fmt: skip
def test_mistakes(
    arguments: list[str],
    named: str,
    text: Path,
    made: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {name: tmp_path / name for name in ("new", "empty", "strange", "encoder")}
    places["strange"].mkdir()
    (places["strange"] / "notes.txt").write_text("mine")
    places["empty"].write_text("\n\n\n")
    if "{encoder}" in arguments:
        AutoModel.from_pretrained(made, add_pooling_layer=False).save_pretrained(places["encoder"])
        AutoTokenizer.from_pretrained(made).save_pretrained(places["encoder"])
        capsys.readouterr()
    given = [part.format(text=text, made=made, **places) for part in arguments]
    try:
        code = main(["pretrain", *given])
    except SystemExit as end:  # argparse's own
        code = int(end.code or 0)
    *told, last = capsys.readouterr().err.splitlines()
    assert code == 2, last
    assert last.startswith("roster: ")
    assert named in last
    assert not [line for line in told if line.startswith("roster: ") or "Traceback" in line]
    assert not places["new"].exists()  # so that the corrected command can have it


def test_print_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pretrain", "--print-settings", "--vocab", "500", "--set", "mask=0.3"]) == 0
    told = capsys.readouterr().out
    assert "vocabulary = 500" in told
    assert "mask = 0.3" in told
    assert 'start = ""' in told
