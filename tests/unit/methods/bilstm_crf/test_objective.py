"""BiLSTM-CNN-CRF, its optimiser, and all of RoSTER on the BiLSTM-CNN encoder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from roster.accelerate.engine import choose_engine
from roster.backbone.loading import load_masked_lm
from roster.backbone.words import UNKNOWN
from roster.config import Config, Optimiser
from roster.corpus.dataset import Dataset, load_dataset
from roster.corpus.io import write
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError, DataError, ModelError, RosterError
from roster.infer.export import export
from roster.infer.recogniser import load
from roster.methods.bilstm_crf.head import CrfHead
from roster.methods.bilstm_crf.objective import ChainObjective
from roster.methods.registry import get, head_of
from roster.methods.request import load_config
from roster.methods.roster.algorithm import augmenter
from roster.methods.roster.augmentation import make_augmenter
from roster.methods.roster.head import TwoHeads
from roster.methods.roster.masking import input_mask
from roster.methods.roster.settings import Augmentation
from roster.methods.train import backbone_fingerprint, train
from roster.model.decoding import bio_classes
from roster.model.folder import load_model
from roster.scores import evaluate_sentences
from roster.training.loop import PlainModels, fit
from roster.training.objective import Checkpoint, Schedule, Sgd, losses_of
from roster.training.task import Task

CPU = torch.device("cpu")
SMALL = {
    "bilstm.word_size": 12, "bilstm.char_size": 8, "bilstm.filters": 8, "bilstm.hidden": 12,
    "bilstm.dropout": 0.2, "optimiser.device": "cpu", "seed": 3,
}  # fmt: skip
CRF = {**SMALL, "method": "bilstm-crf", "bilstm_crf.epochs": 12, "bilstm_crf.learning_rate": 0.1}
OPTIMISER = Optimiser(batch_size=10, weight_decay=0.0, clip=5.0)
SGD = Sgd(momentum=0.9, rate_decay=0.05)


@pytest.fixture(scope="module")
def task(toy: list[Sentence]) -> Task:
    return Task.build(load_config(overrides=CRF), ("PER", "LOC"), toy, {})


@pytest.fixture(scope="module")
def data(toy: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    path = tmp_path_factory.mktemp("toy") / "train.jsonl"
    write(path, toy)
    return load_dataset(path)


@pytest.fixture(scope="module")
def model(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run; nothing may write to it."""
    run = tmp_path_factory.mktemp("runs") / "bilstm-crf"
    train(data, run, load_config(overrides=CRF))
    return run / "model"


def chain_objective(task: Task, model: Any) -> ChainObjective:
    return ChainObjective(task.corpus, bio_classes(task.sentences, task.types), model)


def test_the_backbone_of_the_method() -> None:
    assert load_config(overrides=["method=bilstm-crf"]).backbone.name == "bilstm-cnn"
    assert load_config(preset="paper-wikigold", overrides=["method=bilstm-crf"]).backbone.name == "bilstm-cnn"
    named = load_config(overrides=["method=bilstm-crf", "backbone.name=roster-small-en-2"])
    assert named.backbone.name == "roster-small-en-2"
    assert load_config().backbone.name == Config().backbone.name == "roster-small-en-2"


def test_the_loss_is_the_mean_over_sentences(task: Task) -> None:
    """Of -log p of each, every sentence by itself."""
    model = task.new_model(CrfHead, 0).eval()
    with torch.no_grad():
        model.transitions.normal_()
    objective = chain_objective(task, model)
    (batch,) = task.corpus.batches([np.array([5, 0, 17])])
    words = batch.words.unsqueeze(0)
    loss = losses_of(objective, [model(batch).unsqueeze(0)], words, torch.ones(words.shape))
    expected = []
    for row in (5, 0, 17):
        (one,) = task.corpus.batches([np.array([row])])
        tags = torch.from_numpy(bio_classes([task.sentences[row]], task.types).astype(np.int64))
        nothing = torch.zeros(len(tags), dtype=torch.long)
        expected.append(model.negative_log_likelihood(model(one), nothing, tags).item())
    assert loss.tolist() == pytest.approx([np.mean(expected)], rel=1e-5)


def test_a_name_that_a_window_cuts_begins_anew(tiny: Path, toy: list[Sentence]) -> None:
    """On a transformer long sentences have several windows, and so several chains."""
    config = load_config(
        overrides={"method": "bilstm-crf", "backbone.name": str(tiny), "backbone.max_length": 8}
    )
    task = Task.build(config, ("PER", "LOC"), toy, {})
    encoded, labels = task.corpus.encoded, bio_classes(toy, task.types)
    assert encoded.n_windows > len(toy)
    objective = chain_objective(task, task.new_model(CrfHead, 0))
    first = np.zeros(len(labels), bool)
    first[encoded.words[encoded.word_starts[:-1]]] = True
    inside = (labels > 0) & (labels % 2 == 0)
    assert (first & inside).any()
    np.testing.assert_array_equal(objective.tags, labels - (first & inside))
    schedule = Schedule(1, 1e-3, sgd=SGD)
    facts = fit(PlainModels(objective.model, "float32"), objective, schedule, OPTIMISER, 0, description="")
    assert np.isfinite(facts["losses"]).all()


@pytest.mark.parametrize("momentum", [0.9, 0.0])
def test_two_runs_and_a_resumed_one_are_bit_identical(
    momentum: float, task: Task, stopped: Callable[[Callable[..., Any]], Checkpoint]
) -> None:
    def run(**options: Any) -> dict[str, Tensor]:
        model = task.new_model(CrfHead, 7)
        schedule = Schedule(3, 0.05, sgd=Sgd(momentum, rate_decay=0.05))
        fit(PlainModels(model, "float32"), chain_objective(task, model), schedule, OPTIMISER, 11,
            description="", **options)  # fmt: skip
        return dict(model.state_dict())

    whole = run()
    for other in (run(), run(resume=stopped(run))):
        assert all(torch.equal(whole[name], other[name]) for name in whole)
    assert not torch.equal(whole["transitions"], task.new_model(CrfHead, 7).transitions)


def test_sgd_step_by_step(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates fall from epoch to epoch; the first step is -rate x gradient, clipped to its norm."""
    seen: list[tuple[list[float], float, float]] = []
    step = torch.optim.SGD.step

    def spy(self: Any, *args: Any) -> Any:
        all_of = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        before = [p.detach().clone() for p in all_of]
        norm = torch.stack([p.grad.norm() for p in all_of]).norm().item()
        found = step(self, *args)
        moved = torch.stack([(p.detach() - b).norm() for p, b in zip(all_of, before, strict=True)]).norm()
        seen.append(([group["lr"] for group in self.param_groups], norm, moved.item()))
        return found

    monkeypatch.setattr(torch.optim.SGD, "step", spy)
    model = task.new_model(CrfHead, 0)
    optimiser = Optimiser(batch_size=30, weight_decay=0.0, clip=0.25)
    models, schedule = PlainModels(model, "float32"), Schedule(3, 0.1, 0.2, Sgd(0.9, rate_decay=0.5))
    fit(models, chain_objective(task, model), schedule, optimiser, 0, description="")
    assert len(seen) == 6
    for i, (rates, norm, _) in enumerate(seen):
        share = 1 / (1 + 0.5 * (i // 2))
        assert rates == pytest.approx([0.1 * share] * (len(rates) - 2) + [0.2 * share] * 2)
        assert norm <= 0.2501
    assert 0.1 * seen[0][1] <= seen[0][2] <= 0.2 * seen[0][1] + 1e-6


def test_it_learns(model: Path, toy: list[Sentence]) -> None:
    found = [f.sentence for f in load(model, "cpu").find(toy)]
    assert evaluate_sentences(found, toy).as_dict()["f1"] > 0.9


def test_scores_of_the_run_are_those_of_the_saved_model(
    data: Dataset, toy: list[Sentence], tmp_path: Path
) -> None:
    results = train(
        data, tmp_path, load_config(overrides={**CRF, "bilstm_crf.epochs": 3}), report={"test": toy}
    )
    told = results["stages"]["bilstm-crf"]["scores"]["test"]
    found = [f.sentence for f in load(tmp_path, "cpu").find(toy)]
    assert told == evaluate_sentences(found, toy).as_dict()
    assert 0 < told["f1"] < 1


def test_the_folder(model: Path) -> None:
    assert {p.name for p in model.iterdir()} == {
        "README.md", "checksums.json", "config.json", "config.toml", "roster.safetensors", "roster.json",
        "words.json",
    }  # fmt: skip
    again, words, facts = load_model(model, head_of)
    assert facts.kind == "crf"
    assert "Anna" in words.learned
    assert not again.training


TEXT = "  Anna\tBerg  saw Zzyzx\u00a0in Oslo .\n\nCarl \U0001f600 went to Bonn ."


def test_offsets(model: Path) -> None:
    entities = load(model, "cpu")(TEXT)
    assert ("Anna\tBerg", "PER") in [(e.text, e.label) for e in entities]
    for e in entities:
        assert TEXT[e.start : e.end] == e.text
        assert 0 < e.score <= 1


def test_a_long_text_is_one_window(model: Path) -> None:
    ner = load(model, "cpu")
    words = "Anna saw Carl in Oslo " * 200
    (alone,) = [e for e in ner("Dora went to Bonn .") if e.label == "LOC"]
    assert alone.text == "Bonn"
    assert len(ner(words)) == 600


@pytest.mark.parametrize("broken", ["words.json", "config.json", "fewer words", "a size"])
def test_a_damaged_folder(broken: str, model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model, tmp_path / "copy")
    if broken == "fewer words":
        told = json.loads((copy / "words.json").read_text())
        (copy / "words.json").write_text(json.dumps({**told, "learned": told["learned"][1:]}))
    elif broken == "a size":
        told = json.loads((copy / "config.json").read_text())
        (copy / "config.json").write_text(json.dumps({**told, "hidden": 13}))
    else:
        (copy / broken).write_text("{")
    with pytest.raises(ModelError, match="copy"):
        load(copy, "cpu")


def test_it_is_not_exported(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    with pytest.raises(ModelError, match="its LSTM goes along a sentence"):
        export(model, tmp_path / "onnx")
    assert not (tmp_path / "onnx").exists()


def test_a_crf_on_a_transformer(data: Dataset, tiny: Path, toy: list[Sentence], tmp_path: Path) -> None:
    overrides = {
        "method": "bilstm-crf", "backbone.name": str(tiny), "backbone.max_length": 24, "seed": 3,
        "optimiser.device": "cpu", "bilstm_crf.epochs": 12, "bilstm_crf.learning_rate": 0.05,
    }  # fmt: skip
    results = train(data, tmp_path, load_config(overrides=overrides), report={"test": toy})
    told = results["stages"]["bilstm-crf"]["scores"]["test"]
    assert told["f1"] > 0.6
    found = [f.sentence for f in load(tmp_path, "cpu").find(toy)]
    assert told == evaluate_sentences(found, toy).as_dict()


def glove(path: Path, words: dict[str, list[float]]) -> Path:
    path.write_text("".join(f"{word} {' '.join(map(str, v))}\n" for word, v in words.items()))
    return path


NEW = {"PER": "Xi", "LOC": "nu"}


def test_word_vectors_know_words_that_training_never_saw(
    data: Dataset, toy: list[Sentence], tmp_path: Path
) -> None:
    """`xi` and `nu` are in the file alone, where they look like persons and places."""
    kinds = {"PER": ("Anna", "Berg", "Carl", "Dora"), "LOC": ("Paris", "Bonn", "Rome", "Oslo")}
    kinds_of = {word: kind for kind, words in kinds.items() for word in words}
    known = {**kinds_of, **{word.lower(): kind for kind, word in NEW.items()}}
    vectors = {w: [3.0 * (k == "PER"), 3.0 * (k == "LOC"), 0.0] for w, k in known.items()}
    path = glove(tmp_path / "vectors.txt", {**vectors, "went": [0.0, 0.0, 3.0], "to": [0.0, 0.0, 3.0]})
    overrides = {**CRF, "bilstm.word_vectors": str(path), "bilstm.filters": 1, "bilstm_crf.epochs": 15,
                 "bilstm_crf.learning_rate": 0.03}  # fmt: skip
    run = tmp_path / "run"
    train(data, run, load_config(overrides=overrides))
    shutil.move(path, tmp_path / "elsewhere")  # the model has all it needs
    new = {name: name if name not in kinds_of else NEW[kinds_of[name]] for s in toy for name in s.words}
    unseen = [Sentence.from_words([new[word] for word in s.words], s.spans or ()) for s in toy]
    found = [f.sentence for f in load(run, "cpu").find(unseen)]
    assert evaluate_sentences(found, unseen).as_dict()["f1"] > 0.8


def test_other_vectors_are_another_backbone(tmp_path: Path) -> None:
    path = glove(tmp_path / "v.txt", {"a": [1.0]})
    config = load_config(overrides={**CRF, "bilstm.word_vectors": str(path)})
    before = backbone_fingerprint(config)
    assert before == backbone_fingerprint(config)
    assert before != backbone_fingerprint(load_config(overrides=CRF))
    glove(path, {"a": [2.0]})
    assert backbone_fingerprint(config) != before
    path.unlink()
    with pytest.raises(DataError, match=r"v\.txt: cannot be read: No such file"):
        backbone_fingerprint(config)


ROSTER = {
    **SMALL, "backbone.name": "bilstm-cnn", "optimiser.batch_size": 8, "augmentation.enabled": False,
    "ensemble.models": 2, "noise_robust.epochs": 8, "noise_robust.learning_rate": 0.02,
    "noise_robust.update_every": 40, "noise_robust.mask_inputs": 0.1, "ensemble.epochs": 8,
    "ensemble.learning_rate": 0.02, "self_training.epochs": 1, "self_training.learning_rate": 1e-3,
    "self_training.update_every": 5,
}  # fmt: skip


def test_roster_on_the_bilstm(data: Dataset, toy: list[Sentence], tmp_path: Path) -> None:
    results = train(data, tmp_path, load_config(overrides=ROSTER), report={"test": toy})
    assert list(results["stages"]) == [
        "member-0", "member-1", "mean-of-members", "ensemble", "self-training", "model"
    ]  # fmt: skip
    assert results["stages"]["member-0"]["losses"] != results["stages"]["member-1"]["losses"]
    assert results["stages"]["self-training"]["scores"]["test"]["f1"] > 0.9
    assert load(tmp_path, "cpu")("Anna went to Paris .")


def test_autoner_on_the_bilstm(data: Dataset, toy: list[Sentence], tmp_path: Path) -> None:
    """The encoder that AutoNER was published with."""
    values = {**SMALL, "method": "autoner", "backbone.name": "bilstm-cnn", "optimiser.batch_size": 8,
              "autoner.phrases": False, "autoner.epochs": 12, "autoner.learning_rate": 0.02}  # fmt: skip
    results = train(data, tmp_path, load_config(overrides=values), report={"test": toy})
    told = results["stages"]["autoner"]["scores"]["test"]
    assert told["f1"] > 0.9
    found = [f.sentence for f in load(tmp_path, "cpu").find(toy)]
    assert told == evaluate_sentences(found, toy).as_dict()


def test_names_are_replaced_for_the_bilstm(task: Task) -> None:
    """Whole words have no sub-words that could be more or fewer: only the replaced words are others."""
    config = load_config(overrides={**ROSTER, "augmentation.enabled": True, "augmentation.by": "names"})
    found = augmenter(replace(task, config=config), 1)(None, 0)  # type: ignore[arg-type]  # asks no model
    other = (found.ids != task.corpus.ids).any(-1)
    labelled = torch.from_numpy(bio_classes(task.sentences, task.types) > 0)
    assert not labelled[task.corpus.words[other].long()].logical_not().any()
    assert other.sum() > 0.5 * labelled.sum()


def test_members_begin_with_weights_of_their_own(task: Task) -> None:
    one, two = (task.new_model(TwoHeads, seed).encoder for seed in (1, 2))
    assert not torch.equal(one.forth.weight_hh_l0, two.forth.weight_hh_l0)
    again = task.new_model(TwoHeads, 1).encoder
    assert torch.equal(one.forth.weight_hh_l0, again.forth.weight_hh_l0)


def test_augmentation_needs_a_masked_lm(data: Dataset, tmp_path: Path) -> None:
    config = load_config(overrides={**ROSTER, "augmentation.enabled": True})
    with pytest.raises(
        ModelError, match=r"bilstm-cnn is no masked language model.*enabled=false.*masked_lm=.*by=names"
    ):
        train(data, tmp_path / "run", config)
    assert not (tmp_path / "run").exists()


def test_augmentation_by_another_model(task: Task, tiny: Path) -> None:
    """Words are replaced by words; what the BiLSTM reads has as many as before."""
    config = load_config(
        overrides={**ROSTER, "augmentation.enabled": True, "augmentation.masked_lm": str(tiny),
                   "augmentation.mask": 0.9, "augmentation.top_k": 200}
    )  # fmt: skip
    sentences = [s.words for s in task.sentences]
    augment = make_augmenter(config.section(Augmentation), load_masked_lm(str(tiny)), task.corpus, sentences,
                             task.encoder, 5, "float32")  # fmt: skip
    augmented = augment(PlainModels(task.new_model(TwoHeads, 0), "float32"), 0)
    assert augmented.ids.shape == task.corpus.ids.shape
    changed = (augmented.ids != task.corpus.ids).any(-1)
    assert 0 < changed.sum() < task.corpus.n_words
    assert not changed[task.corpus.words < 0].any()


def test_masked_words_are_unknown_and_have_no_characters(task: Task) -> None:
    torch.manual_seed(0)
    ids = task.corpus.ids.long()
    hidden = input_mask(0.3, task.encoder, CPU)(ids)
    changed = (hidden != ids).any(-1)
    real = ids[..., 0] > 0
    assert 0.2 < changed[real].float().mean() < 0.4
    assert not changed[~real].any()
    assert (hidden[changed][:, 0] == UNKNOWN).all()
    assert not hidden[changed][:, 1:].any()
    assert input_mask(0.0, task.encoder, CPU)(ids) is ids


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        (ROSTER, "it is of the kind roster-bilstm-cnn"),
        ({"method": "bilstm-crf", "backbone.name": "TINY"}, "of the kind crf have more than linear heads"),
    ],
)
def test_the_fast_engine_cannot(overrides: dict[str, Any], reason: str, task: Task, tiny: Path) -> None:
    from roster.backbone.loading import load_encoder

    values = {**overrides, "optimiser.engine": "fast"}
    encoder = task.pretrained
    if values["backbone.name"] == "TINY":
        values["backbone.name"], encoder = str(tiny), load_encoder(str(tiny))
    head = get(values.get("method", "roster")).head
    with pytest.raises(ConfigError, match=reason):
        choose_engine(load_config(overrides=values), CPU, encoder, head, (1, 0), print)
    said: list[str] = []
    auto = load_config(overrides={**values, "optimiser.engine": "auto"})
    assert choose_engine(auto, torch.device("cuda"), encoder, head, (1, 0), said.append).name == "plain"
    assert reason in said[0]


def test_a_rate_that_is_too_high_is_said(task: Task) -> None:
    model = task.new_model(CrfHead, 0)
    schedule = Schedule(3, 1e30, sgd=SGD)
    with pytest.raises(RosterError, match="no longer a number"):
        fit(
            PlainModels(model, "float32"),
            chain_objective(task, model),
            schedule,
            replace(OPTIMISER, clip=1e30),
            0,
            description="",
        )
