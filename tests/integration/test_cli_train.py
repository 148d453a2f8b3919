"""From a labelled folder to a model that finds entities, by commands and from Python."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import roster as package
from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence, Span
from roster.errors import ConfigError
from roster.methods.request import read_config
from roster.model.weights import load_tensors

STAGES = {
    "roster": ["member-0", "member-1", "mean-of-members", "ensemble", "self-training", "model"],
    "fine-tune": ["fine-tune", "model"],
    "bond": ["bond", "model"],
}
WEIGHTS = Path("model") / "roster.safetensors"


def results(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "results.json").read_text())
    return found


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("method", STAGES)
def test_the_run_folder(method: str, runs: dict[str, Path]) -> None:
    run = runs[method]
    assert {p.name for p in run.iterdir()} == {
        ".lock", "config.toml", "run.json", "log.txt", "results.json", "predictions.safetensors",
        "report.html", "model",
    }  # fmt: skip
    assert {
        "roster.json",
        "config.json",
        "tokenizer.json",
        "roster.safetensors",
        "config.toml",
        "README.md",
    } <= {p.name for p in (run / "model").iterdir()}
    assert read_config(run / "config.toml").method == method
    assert (run / "model" / "config.toml").read_bytes() == (run / "config.toml").read_bytes()
    assert {"config", "data", "backbone", "layout"} <= set(json.loads((run / "run.json").read_text()))


@pytest.mark.parametrize("method", STAGES)
def test_the_predictions_on_the_training_text_stay(method: str, runs: dict[str, Path]) -> None:
    kept, _ = load_tensors(runs[method] / "predictions.safetensors")
    words = {tensor.shape[-1 if name == "removed" else 0] for name, tensor in kept.items()}
    assert len(words) == 1
    members = sum(stage.startswith("member-") for stage in STAGES[method])
    assert sorted(kept) == sorted(
        ["final", *([f"member-{i}" for i in range(members)] + ["removed", "held_out"]) * (members > 0)]
    )
    if members:
        assert len(kept["removed"]) == members
        assert torch.allclose(kept["member-0"].float().sum(-1), torch.ones(1), atol=1e-2)
    told = results(runs[method])["data"]
    assert Path(told["path"]).exists()


@pytest.mark.parametrize("method", STAGES)
def test_every_stage_is_logged(method: str, runs: dict[str, Path]) -> None:
    stages = results(runs[method])["stages"]
    assert list(stages) == STAGES[method]
    log = (runs[method] / "log.txt").read_text().splitlines()
    for stage, facts in stages.items():
        (line,) = [line for line in log if line.split(" ", 2)[2].startswith(f"{stage}: ")]
        if stage != "mean-of-members":
            assert facts["seconds"] > 0
            assert facts["peak_memory"] > 50 * 2**20
            assert " s, memory " in line
        if stage != "model":
            assert set(facts["scores"]) == {"test"}
            assert "test P/R/F1" in line
    assert any("data: 60 sentences" in line for line in log)


@pytest.mark.parametrize("method", STAGES)
def test_it_learned(method: str, runs: dict[str, Path], corpus: Path, roster: Any) -> None:
    done = roster("evaluate", runs[method], corpus / "test_text.txt", "--json")
    assert done.code == 0, done.err
    scores = json.loads(done.out)
    assert set(scores) == {"precision", "recall", "f1", "support", "types"}
    assert set(scores["types"]) == {"PER", "LOC"}
    assert scores["support"] == (corpus / "test_label_true.txt").read_text().count("B-")
    # Nothing found scores 0; one type everywhere, with all borders right, about 0.5.
    assert scores["f1"] > 0.8
    last = results(runs[method])["stages"][STAGES[method][-2]]["scores"]["test"]
    assert scores == last


def test_evaluate_prints_a_table(model: Path, corpus: Path, roster: Any) -> None:
    done = roster.cold("evaluate", model, corpus / "test_text.txt")
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines()] == ["type", "LOC", "PER", "all"]


TEXTS = [
    "Mr Ada lives in Oslo .",
    "  it rained\tin   Lima all day .  Mr Hugo said nothing . ",
    "",
    "yesterday Mr Boris\u00a0said \U0001f600 nothing in Turin .",
]


def check_offsets(found: list[dict[str, Any]], texts: list[str]) -> None:
    assert [record["text"] for record in found] == texts
    assert sum(len(record["spans"]) for record in found) >= 4
    for record in found:
        for span in record["spans"]:
            assert record["text"][span["start"] : span["end"]] == span["text"]
            assert 0 < span["score"] <= 1
            assert span["label"] in ("PER", "LOC")


def test_predict_from_standard_input(model: Path, roster: Any) -> None:
    done = roster.cold("predict", model, input="\n".join(TEXTS))
    assert (done.code, done.err) == (0, "")
    check_offsets(records(done.out), TEXTS)
    first = records(done.out)[0]["spans"]
    assert [(s["text"], s["label"], s["start"]) for s in first] == [("Ada", "PER", 3), ("Oslo", "LOC", 16)]


def test_predict_from_a_file(model: Path, roster: Any, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    done = roster("predict", model, tmp_path / "texts.txt", "-o", tmp_path / "out.jsonl")
    assert (done.code, done.out, done.err) == (0, "", "")
    check_offsets(records((tmp_path / "out.jsonl").read_text(encoding="utf-8")), TEXTS)
    same = roster("predict", model, stdin="\n".join(TEXTS))
    assert same.out == (tmp_path / "out.jsonl").read_text(encoding="utf-8")


def test_predict_from_a_folder(model: Path, roster: Any, tmp_path: Path) -> None:
    texts = {
        "a.txt": "Mr Ada lives in Oslo .\n\nIt rained\nin Lima all day .\n",
        "b.txt": "Mr Hugo met Mr Greta .",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = roster("predict", model, tmp_path)
    assert done.code == 0, done.err
    check_offsets(records(done.out), list(texts.values()))
    assert [record["id"] for record in records(done.out)] == list(texts)


def test_predict_to_another_format(model: Path, corpus: Path, roster: Any, tmp_path: Path) -> None:
    """Predictions in a file score what the model scores."""
    done = roster("predict", model, corpus / "test_text.txt", "-o", tmp_path / "found.conll")
    assert done.code == 0, done.err
    from_file = roster("evaluate", tmp_path / "found.conll", corpus / "test_text.txt", "--json")
    assert from_file.out == roster("evaluate", model, corpus / "test_text.txt", "--json").out
    refused = roster("predict", model, corpus / "test_text.txt", "--to", "conll")
    assert refused.code == 2
    assert "give -o OUT" in refused.err


@pytest.mark.parametrize("method", STAGES)
def test_the_written_config_gives_the_same_run(
    method: str, runs: dict[str, Path], corpus: Path, roster: Any, tmp_path: Path
) -> None:
    """Bit for bit, in another folder and another process."""
    other = tmp_path / "other"
    done = roster("train", corpus, "-o", other, "--config", runs[method] / "config.toml")
    assert done.code == 0, done.err
    assert (other / WEIGHTS).read_bytes() == (runs[method] / WEIGHTS).read_bytes()
    assert (other / "config.toml").read_bytes() == (runs[method] / "config.toml").read_bytes()


def test_another_seed_gives_another_model(
    runs: dict[str, Path], corpus: Path, settings: dict[str, Path], roster: Any, tmp_path: Path
) -> None:
    options = ("--config", settings["fine-tune"], "--set", "seed=6")
    assert roster("train", corpus, "-o", tmp_path / "other", *options).code == 0
    assert (tmp_path / "other" / WEIGHTS).read_bytes() != (runs["fine-tune"] / WEIGHTS).read_bytes()


def test_python_does_what_the_commands_do(
    runs: dict[str, Path], corpus: Path, roster: Any, tmp_path: Path
) -> None:
    run = runs["fine-tune"]
    ner = package.train(corpus, tmp_path / "run", config=run / "config.toml")
    # Another process may sum in another order (threads), and training may be in bf16, so scores are compared
    # closely, labels exactly.
    printed = json.loads(roster("evaluate", run, corpus / "test_text.txt", "--json").out)
    for predicted in (ner, run, tmp_path / "run" / "model"):
        assert package.evaluate(predicted, corpus / "test_text.txt").as_dict() == printed
    lines = records(roster("predict", run, stdin="\n".join(TEXTS)).out)
    assert [entity.text for entity in package.load(run)(TEXTS[0])] == [s["text"] for s in lines[0]["spans"]]
    for found, line in zip(ner.pipe(TEXTS), lines, strict=True):
        for entity, span in zip(found, line["spans"], strict=True):
            assert entity.as_dict() == {**span, "score": pytest.approx(span["score"], abs=0.02)}


def test_a_config_is_complete(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    config = read_config(runs["roster"] / "config.toml")
    with pytest.raises(ConfigError, match="a Config is complete"):
        package.train(corpus, tmp_path / "run", config=config, method="fine-tune")
    assert not (tmp_path / "run").exists()


def test_python_labels(tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text("surface\ttype\nNew Lima\tLOC\nLima\tLOC\nAda\tPER\n")
    (tmp_path / "corpus.txt").write_text("Ada left New Lima for Lima.\nNothing here.\n")
    found = list(package.label(tmp_path / "corpus.txt", tmp_path / "names.tsv"))
    assert found[0].spans == (Span(0, 1, "PER"), Span(2, 4, "LOC"), Span(5, 6, "LOC"))
    assert found[1].spans == ()
    given = package.label([Sentence.from_words(["Ada"], ())], tmp_path / "names.tsv")
    assert [s.spans for s in given] == [(Span(0, 1, "PER"),)]


SHORT = ("noise_robust.epochs=1", "noise_robust.repair=false", "ensemble.epochs=1", "self_training.epochs=1")


@pytest.fixture
def short(roster: Any, corpus: Path, settings: dict[str, Path], tmp_path: Path) -> Callable[..., Path]:
    """A run of one epoch a stage, with some options set."""

    def train(*options: str, backbone: str | Path | None = None) -> Path:
        overrides = [part for option in (*SHORT, *options) for part in ("--set", option)]
        chosen = ["--backbone", backbone] if backbone else []
        done = roster(
            "train", corpus, "-o", tmp_path / "run", "--config", settings["roster"], *overrides, *chosen
        )
        assert done.code == 0, done.err
        assert (tmp_path / "run" / WEIGHTS).is_file()
        return tmp_path / "run"

    return train


@pytest.mark.parametrize(
    ("option", "left_out"),
    [
        ("ensemble.enabled=false", {"member-1", "mean-of-members", "ensemble"}),
        ("self_training.enabled=false", {"self-training"}),
        ("augmentation.enabled=false", set()),
        ("noise_robust.remove_labels=false", set()),
        ("noise_robust.q=0", set()),
        ("noise_robust.drop_o=0", set()),
        ("augmentation.by=trained", set()),
        ("noise_robust.mask_inputs=0.2", set()),
        ("noise_robust.remove_entities=true", set()),
        ("noise_robust.folds=false", set()),
        ("noise_robust.balance=false", set()),
        ("noise_robust.plain=0.5", set()),
    ],
)
def test_a_stage_switched_off(option: str, left_out: set[str], short: Callable[..., Path]) -> None:
    run = short(option, "noise_robust.update_every=3")
    stages = results(run)["stages"]
    assert list(stages) == [stage for stage in STAGES["roster"] if stage not in left_out]
    member = stages["member-0"]
    if option == "noise_robust.remove_labels=false":
        assert member["kept_type_labels"] == 1.0
        assert member["kept_o_labels"] == pytest.approx(0.5, abs=0.01)
    if option == "noise_robust.drop_o=0":
        assert member["kept_o_labels"] != pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("phrases", [True, False])
def test_phrases_of_unknown_type(
    phrases: bool, roster: Any, settings: dict[str, Path], tmp_path: Path
) -> None:
    """One `O` word in four lies in such a phrase: left out of the loss, or `O` as any other."""
    text = {"text": "Mr Ada saw red cells", "spans": [{"start": 3, "end": 6, "label": "PER"}],
            "unknown": [{"start": 15, "end": 20}]}  # fmt: skip
    (tmp_path / "train.jsonl").write_text("\n".join([json.dumps(text)] * 24))
    overrides = (*SHORT, "noise_robust.drop_o=0", "noise_robust.remove_labels=false",
                 f"noise_robust.phrases={str(phrases).lower()}")  # fmt: skip
    options = [part for option in overrides for part in ("--set", option)]
    done = roster("train", tmp_path / "train.jsonl", "-o", tmp_path / "run", "--config", settings["roster"],
                  *options)  # fmt: skip
    assert done.code == 0, done.err
    stages = results(tmp_path / "run")["stages"]
    for stage in ("member-0", "member-1"):
        assert stages[stage]["kept_o_labels"] == (0.75 if phrases else 1.0)


@pytest.mark.parametrize("start", ["member", "pretrained"])
def test_what_the_ensemble_model_begins_with(start: str, short: Callable[..., Path]) -> None:
    """At a rate of 0 it stays what it was: one of the members, or an encoder with fresh heads."""
    run = short(f"ensemble.start={start}", "ensemble.learning_rate=0", "self_training.enabled=false",
                "noise_robust.epochs=6")  # fmt: skip
    stages = results(run)["stages"]
    members = [stage["scores"] for name, stage in stages.items() if name.startswith("member-")]
    assert all(scores["test"]["f1"] > 0 for scores in members)
    assert (stages["ensemble"]["scores"] in members) == (start == "member")


def test_everything_switched_off(short: Callable[..., Path]) -> None:
    run = short("ensemble.enabled=false", "self_training.enabled=false", "noise_robust.remove_labels=false",
                "noise_robust.q=0", "noise_robust.drop_o=0")  # fmt: skip
    stages = results(run)["stages"]
    assert list(stages) == ["member-0", "model"]
    assert (stages["member-0"]["kept_type_labels"], stages["member-0"]["kept_o_labels"]) == (1.0, 1.0)


def test_a_hub_name(short: Callable[..., Path], backbone: Path, environment: dict[str, str]) -> None:
    """`owner/name`, from the Hugging Face cache (there is no network in a test)."""
    place = Path(environment["HF_HOME"]) / "hub" / "models--toys--tiny-encoder"
    commit = "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(backbone, place / "snapshots" / commit)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(commit)
    run = short("ensemble.enabled=false", backbone="toys/tiny-encoder")
    assert read_config(run / "config.toml").backbone.name == "toys/tiny-encoder"


def test_a_folder_name(short: Callable[..., Path], backbone: Path, tmp_path: Path) -> None:
    """Any folder, whatever its name holds."""
    odd = tmp_path / 'it\'s a "tiny" \\ encodér'
    shutil.copytree(backbone, odd)
    run = short("ensemble.enabled=false", "self_training.enabled=false", backbone=odd)
    assert read_config(run / "config.toml").backbone.name == str(odd)


def test_one_labelled_file(corpus: Path, settings: dict[str, Path], roster: Any, tmp_path: Path) -> None:
    """Any format, and types from the labels; nothing to score on, so nothing is scored."""
    assert roster("convert", corpus / "train_text.txt", tmp_path / "toy.jsonl").code == 0
    assert list(read(tmp_path / "toy.jsonl")) == list(read(corpus / "train_text.txt"))
    done = roster("train", tmp_path / "toy.jsonl", "-o", tmp_path / "run", "--config",
                  settings["fine-tune"], "--set", "fine_tune.epochs=1")  # fmt: skip
    assert done.code == 0, done.err
    assert results(tmp_path / "run")["stages"]["fine-tune"]["scores"] == {}
    assert json.loads((tmp_path / "run" / "model" / "roster.json").read_text())["types"] == ["LOC", "PER"]


def test_gold_sentences(corpus: Path, settings: dict[str, Path], roster: Any, tmp_path: Path) -> None:
    """Some of the training sentences with their types the wrong way round: gold decides, and is part of the
    run's identity."""
    wrong = {"PER": "LOC", "LOC": "PER"}
    sentences = list(read(corpus / "train_text.txt"))
    gold = [s.with_spans(Span(x.start, x.end, wrong[x.label]) for x in s.spans or ()) for s in sentences]
    write(tmp_path / "gold.jsonl", gold[:50])
    command = ["train", corpus, "-o", tmp_path / "run", "--config", settings["fine-tune"],
               "--gold", tmp_path / "gold.jsonl"]  # fmt: skip
    done = roster(*command)
    assert done.code == 0, done.err
    assert "50 of them gold" in done.err
    assert read_config(tmp_path / "run" / "config.toml").gold.file == str(tmp_path / "gold.jsonl")
    assert results(tmp_path / "run")["stages"]["fine-tune"]["scores"]["test"]["f1"] < 0.2
    assert roster(*command).code == 0
    write(tmp_path / "gold.jsonl", gold[:40])
    refused = roster(*command)
    assert refused.code == 2
    assert "with other gold sentences" in refused.err
