"""Gold sentences: how they are read and added, and what their words count and learn in every stage."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import roster
from roster.config import Config, GoldSentences
from roster.corpus.io import write
from roster.corpus.sentence import Sentence, Span
from roster.errors import ConfigError, DataError, RosterError
from roster.methods.autoner.labels import TIE, UNKNOWN, gap_labels, tie_labels
from roster.methods.autoner.objective import TieOrBreakObjective
from roster.methods.bilstm_crf.head import CrfHead
from roster.methods.bilstm_crf.objective import ChainObjective
from roster.methods.bond import Bond, BondObjective
from roster.methods.fine_tune import CrossEntropyObjective
from roster.methods.registry import names
from roster.methods.request import load_config
from roster.methods.roster.ensemble import DistillationObjective
from roster.methods.roster.head import TwoHeads, split_joint
from roster.methods.roster.masking import input_mask
from roster.methods.roster.noise_robust import NoiseRobustObjective
from roster.methods.roster.self_training import SelfTrainingObjective
from roster.methods.roster.settings import NoiseRobust, SelfTraining
from roster.methods.train import train
from roster.model.decoding import bio_classes, io_classes
from roster.training.gold import Gold, add_gold, gold_fingerprint, read_gold
from roster.training.loop import PlainModels
from roster.training.losses import kl
from roster.training.objective import Objective, losses_of
from roster.training.task import Task

CPU = torch.device("cpu")
TYPES = ("PER", "LOC")
WEIGHT = 3.0
GOLD = 15
"""How many of the last sentences are gold in `task`."""


def overrides(backbone: Path, **more: Any) -> dict[str, Any]:
    return {"backbone.name": str(backbone), "backbone.max_length": 32, "optimiser.device": "cpu", **more}


@pytest.fixture(scope="module")
def task(tiny: Path, toy: list[Sentence]) -> Task:
    config = load_config(overrides=overrides(tiny, **{"gold.weight": WEIGHT}))
    return Task.build(config, TYPES, toy, {}, gold=[i >= len(toy) - GOLD for i in range(len(toy))])


# -- reading and adding ---------------------------------------------------------------------------


def sentence(text: str, *spans: Span) -> Sentence:
    return Sentence.from_words(text.split(), spans)


def test_gold_replaces_the_sentences_with_its_words() -> None:
    train = [sentence("a b"), sentence("c d", Span(0, 1, "PER")), sentence("e"), sentence("c d")]
    gold = [sentence("c d", Span(1, 2, "LOC")), sentence("new", Span(0, 1, "PER"))]
    sentences, is_gold = add_gold(train, gold)
    assert sentences == [train[0], train[2], *gold]
    assert is_gold == [False, False, True, True]
    assert add_gold(train, []) == (train, [False] * 4)


def settings(file: Path | str, **options: Any) -> GoldSentences:
    return GoldSentences(str(file), **options)


def test_reading(tmp_path: Path) -> None:
    assert read_gold(GoldSentences(), TYPES) == []
    labelled = [sentence("Anna went", Span(0, 1, "PER")), sentence("in the house")]
    unlabelled = Sentence.from_words(["who", "knows"])
    write(tmp_path / "gold.jsonl", [*labelled, unlabelled])
    assert [(s.words, s.spans) for s in read_gold(settings(tmp_path / "gold.jsonl"), TYPES)] == [
        (s.words, s.spans) for s in labelled
    ]


def test_lines_are_read_with_their_true_labels(tmp_path: Path) -> None:
    """Also where distant labels lie beside them, which training would take."""
    (tmp_path / "train_text.txt").write_text("Anna went\n")
    (tmp_path / "train_label_dist.txt").write_text("B-LOC O\n")
    for given in (tmp_path / "train_text.txt", tmp_path):
        with pytest.raises(DataError, match="train_label_true"):
            read_gold(settings(given), TYPES)
    (tmp_path / "train_label_true.txt").write_text("B-PER O\n")
    for given in (tmp_path / "train_text.txt", tmp_path, tmp_path / "train_label_true.txt"):
        (found,) = read_gold(settings(given), TYPES)
        assert found.spans == (Span(0, 1, "PER"),)


def test_what_is_wrong_with_a_gold_file(tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    with pytest.raises(DataError, match=r"gold\.jsonl: no such gold file"):
        read_gold(settings(file), TYPES)
    write(file, [sentence("a"), sentence("Anna went", Span(0, 1, "HERO"))])
    with pytest.raises(DataError, match=r"gold\.jsonl: gold sentence 2 .*'HERO'.* has PER, LOC .*types"):
        read_gold(settings(file), TYPES)
    write(file, [Sentence.from_words(["who", "knows"])])
    with pytest.raises(DataError, match=r"gold\.jsonl: none of the gold sentences has labels"):
        read_gold(settings(file), TYPES)
    odd = tmp_path / "gold.xyz"
    odd.write_text("Anna;PER")
    with pytest.raises(DataError, match=r"--set gold\.format=NAME"):
        read_gold(settings(odd), TYPES)
    odd.write_text("Anna B-PER\nwent O\n")
    (found,) = read_gold(settings(odd, format="conll"), TYPES)
    assert found.spans == (Span(0, 1, "PER"),)
    with pytest.raises(ConfigError, match="unknown format 'magic'"):
        read_gold(settings(odd, format="magic"), TYPES)


def test_the_fingerprint_is_of_words_and_labels() -> None:
    one, other = sentence("Anna went", Span(0, 1, "PER")), sentence("Anna went", Span(0, 1, "LOC"))
    assert gold_fingerprint([one]) == gold_fingerprint([sentence("Anna went", Span(0, 1, "PER"))])
    assert len({gold_fingerprint(x) for x in ([one], [other], [one, other], [sentence("Anna went")])}) == 4


# -- what words count, and what they learn --------------------------------------------------------


def test_words_of_the_task(task: Task, toy: list[Sentence]) -> None:
    n = sum(map(len, toy[-GOLD:]))
    assert task.gold.fixed.tolist() == [False] * (task.corpus.n_words - n) + [True] * n
    assert task.gold.weight.tolist() == [1.0] * (task.corpus.n_words - n) + [WEIGHT] * n
    assert 0 < (task.gold.labels[-n:] > 0).sum() < n


def everything(batches: int) -> None:
    """All windows are coming."""


def test_noise_robust_never_drops_nor_removes_gold(task: Task) -> None:
    labels = io_classes(task.sentences, task.types)
    config = NoiseRobust(update_every=5, drop_o=0.5, remove_entities=True, keep_minority=1.0)
    objective = NoiseRobustObjective(
        task.corpus, labels, config, [1, 2], input_mask(0.0, task.encoder, CPU), task.gold
    )
    fixed, entity = task.gold.fixed, torch.from_numpy(labels > 0)
    assert (objective.seen[:, fixed] == 1).all()
    noisy_o = ~fixed & ~entity
    assert (objective.seen[:, noisy_o] == 0).sum(1).tolist() == [round(0.5 * int(noisy_o.sum()))] * 2
    assert not torch.equal(objective.seen[0], objective.seen[1])

    class Sure:  # of LOC, whatever the word
        k = 2

        def read(self, corpus: Any) -> Tensor:
            return torch.tensor([0.0, 0.01, 0.99]).expand(2, corpus.n_words, 3)

    objective.prepare(Sure(), 5, everything)  # type: ignore[arg-type]
    for k in range(2):
        assert (objective.w_e[k][fixed] == 1).all()
        assert torch.equal(objective.w_t[k][fixed], entity[fixed].float())
        assert (objective.w_e[k][noisy_o] == 0).all()
        assert torch.equal(
            objective.w_t[k][~fixed & entity], (objective.labels == 2)[~fixed & entity].float()
        )


def test_words_of_phrases_are_in_no_loss(task: Task) -> None:
    """Before and after a removal; gold words and labelled ones are untouched."""
    labels = io_classes(task.sentences, task.types)
    config = NoiseRobust(update_every=5, drop_o=0.0)
    unlabelled = (labels == 0) & ~task.gold.fixed.numpy() & (np.arange(len(labels)) % 3 == 0)
    assert unlabelled.any()
    mask = input_mask(0.0, task.encoder, CPU)
    objective = NoiseRobustObjective(task.corpus, labels, config, [1], mask, task.gold, unlabelled)

    class Sure:  # that nothing is an entity
        k = 1

        def read(self, corpus: Any) -> Tensor:
            return torch.tensor([1.0, 0.0, 0.0]).expand(1, corpus.n_words, 3)

    for step in (0, 5):
        objective.prepare(Sure(), step, everything)  # type: ignore[arg-type]
        assert torch.equal(objective.w_e[0] == 0, torch.from_numpy(unlabelled))


def places(task: Task, k: int = 1) -> tuple[Tensor, Tensor]:
    """A batch with words of both kinds, some of them absent."""
    generator = torch.Generator().manual_seed(4)
    words = torch.stack([torch.randperm(task.corpus.n_words, generator=generator)[:60] for _ in range(k)])
    assert 5 < task.gold.fixed[words].sum() < 55 * k
    return words, (torch.rand(k, 60, generator=generator) < 0.8).float()


def mean(pairs: list[tuple[float, float]]) -> float:
    total = sum(w for w, _ in pairs)
    return sum(w * x for w, x in pairs) / total if total else 0.0


def test_noise_robust_loss_word_by_word(task: Task) -> None:
    labels = io_classes(task.sentences, task.types)
    config = NoiseRobust(q=0.6, drop_o=0.5)
    mask = input_mask(0.0, task.encoder, CPU)
    objective = NoiseRobustObjective(task.corpus, labels, config, [1], mask, task.gold)
    objective.prepare(PlainModels(task.new_model(TwoHeads, 0), "float32"), 0, everything)
    words, present = places(task)
    b, z = torch.randn(1, 60), torch.randn(1, 60, 2)
    entities, types = [], []
    for i, word in enumerate(words[0].tolist()):
        fixed, label = bool(task.gold.fixed[word]), int(labels[word])
        w = float(present[0, i]) * (WEIGHT if fixed else float(objective.seen[0, word]))
        e = 1 / (1 + math.exp(-b[0, i]))
        entities.append((w, (1 - (e if label else 1 - e) ** 0.6) / 0.6))
        if label:
            r = z[0, i].softmax(-1)[label - 1].item()
            types.append((float(present[0, i]) * (WEIGHT if fixed else 1.0), (1 - r**0.6) / 0.6))
    found = losses_of(objective, [(b, z)], words, present)
    assert found.item() == pytest.approx(mean(entities) + mean(types), rel=1e-4)


def test_distillation_word_by_word(task: Task) -> None:
    """Gold labels in place of the mean; of a gold O word only the entity head has another target."""
    labels = io_classes(task.sentences, task.types)
    y = np.random.default_rng(0).dirichlet([1.0] * 3, size=task.corpus.n_words).astype(np.float32)
    objective = DistillationObjective(task.corpus, y, task.gold)
    words, present = places(task)
    b, z = torch.randn(1, 60), torch.randn(1, 60, 2)
    kls, bces = [], []
    for i, word in enumerate(words[0].tolist()):
        fixed, label = bool(task.gold.fixed[word]), int(labels[word])
        w = float(present[0, i]) * (WEIGHT if fixed else 1.0)
        target = y[word, 1:].astype(float) / y[word, 1:].sum()
        e = 1 - float(y[word, 0])
        if fixed:
            e = float(label > 0)
        if fixed and label:
            target = np.eye(2)[label - 1]
        log_r = z[0, i].double().log_softmax(-1).numpy()
        kls.append((w, sum(t * (math.log(t) - x) for t, x in zip(target, log_r, strict=True) if t)))
        p = 1 / (1 + math.exp(-b[0, i]))
        bces.append((w, -e * math.log(p) - (1 - e) * math.log(1 - p)))
    found = losses_of(objective, [(b, z)], words, present)
    assert found.item() == pytest.approx(mean(kls) + mean(bces), rel=1e-4)


@pytest.mark.parametrize("ensemble", [True, False])
def test_self_training_targets(task: Task, ensemble: bool) -> None:
    labels = torch.from_numpy(io_classes(task.sentences, task.types)).long()
    y = np.random.default_rng(0).dirichlet([1.0] * 3, size=task.corpus.n_words).astype(np.float32)
    objective = SelfTrainingObjective(
        task.corpus, y if ensemble else None, SelfTraining(threshold=0.5), None, task.gold
    )
    model = task.new_model(TwoHeads, 0)
    with torch.no_grad():
        model.entity_head.weight.mul_(30)
    models = PlainModels(model, "float32")
    objective.prepare(models, 0, everything)
    assert objective.s is not None
    assert objective.e is not None
    fixed, entity = task.gold.fixed, labels > 0
    e, _ = split_joint(models.read(task.corpus)[0])
    assert (e[fixed & entity] < 0.5).any()  # some that the model alone would not have taken
    assert (e[fixed & ~entity] > 0.5).any()  # and some that it would
    torch.testing.assert_close(objective.s[fixed & entity], F.one_hot(labels[fixed & entity] - 1, 2).float())
    assert objective.s[fixed & ~entity].abs().sum() == 0
    assert torch.equal(objective.s[~fixed].sum(-1) > 0, e[~fixed] >= 0.5)
    assert torch.equal(objective.e[fixed], entity[fixed].float())
    held = torch.from_numpy(1 - y[:, 0]) if ensemble else e
    torch.testing.assert_close(objective.e[~fixed], held[~fixed])

    words, present = places(task)
    b, z, other = torch.randn(1, 60), torch.randn(1, 60, 2), torch.randn(1, 60, 2)
    w = present * torch.where(fixed[words], WEIGHT, 1.0)
    s, target = objective.s[words], objective.e[words]
    has = w * (s.sum(-1) > 0)
    agrees = has * (z.argmax(-1) == other.argmax(-1))
    entity_loss = -(target * F.logsigmoid(b) + (1 - target) * F.logsigmoid(-b))
    wanted = (has * kl(s, z)).sum() / has.sum() + (w * entity_loss).sum() / w.sum()
    wanted = wanted + (agrees * kl(s, other)).sum() / agrees.sum()
    found = losses_of(objective, [(b, z), (b, other)], words, present)
    torch.testing.assert_close(found.squeeze(0), wanted)


def test_fine_tuning_word_by_word(task: Task) -> None:
    labels = bio_classes(task.sentences, task.types)
    objective = CrossEntropyObjective(task.corpus, labels, task.gold)
    words, present = places(task)
    tags = torch.randn(1, 60, 5)
    log_p = tags.log_softmax(-1)[0]
    pairs = [
        (float(present[0, i] * task.gold.weight[word]), -float(log_p[i, labels[word]]))
        for i, word in enumerate(words[0].tolist())
    ]
    assert losses_of(objective, [tags], words, present).item() == pytest.approx(mean(pairs), rel=1e-5)


@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_bond_keeps_the_labels_of_gold_words(kind: str, task: Task) -> None:
    labels = bio_classes(task.sentences, task.types)
    objective = BondObjective(
        task.corpus, labels, 5, Bond(begin_step=1, period=9, labels=kind, threshold=0.6), task.gold
    )
    p = torch.from_numpy(np.random.default_rng(1).dirichlet([0.3] * 5, size=(1, task.corpus.n_words)))
    said = p if kind == "soft" else p.argmax(-1)
    words, present = places(task)
    tags = torch.randn(1, 60, 5, dtype=torch.float64)
    log_p = tags.log_softmax(-1)[0]
    for taught in (False, True):
        objective.load_state({"teacher": said, "taught": torch.tensor(taught)})
        seen = p.half().double()[0, words[0]] if kind == "soft" else p[0, words[0]]
        f = (seen * present[0].unsqueeze(1)).sum(0)
        pairs = []
        for i, word in enumerate(words[0].tolist()):
            fixed = bool(task.gold.fixed[word])
            if fixed or not taught:
                pairs.append(
                    (float(present[0, i]) * (WEIGHT if fixed else 1), -float(log_p[i, labels[word]]))
                )
            elif kind == "hard":
                pairs.append((float(present[0, i]), -float(log_p[i, seen[i].argmax()])))
            else:
                s = seen[i] ** 2 / f
                s = s / s.sum()
                sure = float(s.max() > 0.6) * float(present[0, i])
                pairs.append((sure, float((s * (s.clamp_min(1e-300).log() - log_p[i])).sum())))
        assert losses_of(objective, [tags], words, present).item() == pytest.approx(mean(pairs), rel=1e-4)


def test_gaps_and_spans_by_weight(task: Task) -> None:
    """AutoNER: a gap counts as the word behind it, a span as its last one. All windows are in the batch."""
    labels = tie_labels(task.sentences, task.types, task.corpus.encoded)
    objective = TieOrBreakObjective(task.corpus, labels, task.gold)
    n = task.corpus.n_words
    after, before, first, last = (torch.randn(*shape).double() for shape in ((n,), (n,), (n, 3), (n, 3)))
    gaps, spans = [], []
    for i in range(n):
        w = WEIGHT if task.gold.fixed[i] else 1.0
        if labels.gaps[i] != UNKNOWN:
            p = torch.sigmoid(after[i - 1] + before[i]).item()
            gaps.append((w, -math.log(p if labels.gaps[i] == TIE else 1 - p)))
        if labels.lengths[i]:
            p_types = (first[i - labels.lengths[i] + 1] + last[i]).softmax(-1)
            (only,) = np.flatnonzero(labels.allowed[i])
            spans.append((w, -math.log(p_types[only])))
    outputs = tuple(x.unsqueeze(0) for x in (after, before, first, last))
    found = losses_of(objective, [outputs], torch.arange(n).unsqueeze(0), torch.ones(1, n).double())
    assert found.item() == pytest.approx(mean(gaps) + mean(spans), rel=1e-6)
    plain = TieOrBreakObjective(task.corpus, labels)
    assert losses_of(plain, [outputs], torch.arange(n).unsqueeze(0), torch.ones(1, n).double()) != found


def test_gold_leaves_nothing_open(tmp_path: Path) -> None:
    """A phrase of unknown type in a gold file is none: what has no label there is no name."""
    open_phrase = sentence("Anna saw Red Hook", Span(0, 1, "PER")).with_spans(
        [Span(0, 1, "PER")], [Span(2, 4, "")]
    )
    assert UNKNOWN in gap_labels([open_phrase])
    write(tmp_path / "gold.jsonl", [open_phrase])
    (found,) = read_gold(settings(tmp_path / "gold.jsonl"), TYPES)
    assert found.unknown == ()
    assert UNKNOWN not in gap_labels([found])


def test_labels_of_several_types_beside_gold(tiny: Path, toy: list[Sentence], tmp_path: Path) -> None:
    """AutoNER's distant labels may be sets of types; gold ones are not, and are known by their parts."""
    both = [s.with_spans([Span(x.start, x.end, "LOC,PER") for x in s.spans or ()]) for s in toy[:30]]
    write(tmp_path / "train.jsonl", both)
    write(tmp_path / "gold.jsonl", toy[30:50])
    values = short("autoner", tiny, method="autoner")
    found = roster.train(
        tmp_path / "train.jsonl", tmp_path / "run", gold=tmp_path / "gold.jsonl", overrides=values
    )
    assert found.types == ("LOC", "PER")
    write(tmp_path / "gold.jsonl", [both[0]])
    with pytest.raises(DataError, match="'LOC,PER', which the data set does not have; it has LOC, PER"):
        roster.train(
            tmp_path / "train.jsonl", tmp_path / "other", gold=tmp_path / "gold.jsonl", overrides=values
        )


def test_chains_by_weight(task: Task) -> None:
    """BiLSTM-CNN-CRF: the mean over the sentences of a batch is by their weights."""
    model = task.new_model(CrfHead, 0).eval()
    objective = ChainObjective(task.corpus, bio_classes(task.sentences, task.types), model, task.gold)
    rows = [0, 1, len(task.sentences) - 2, len(task.sentences) - 1]
    losses = []
    for chosen in ([row] for row in rows):
        (batch,) = task.corpus.batches([np.array(chosen)])
        words = batch.words.unsqueeze(0)
        loss = losses_of(objective, [model(batch).unsqueeze(0)], words, torch.ones(words.shape))
        losses.append((float(task.gold.weight[words[0, 0]]), loss.item()))
    assert [w for w, _ in losses] == [1.0, 1.0, WEIGHT, WEIGHT]
    (batch,) = task.corpus.batches([np.array(rows)])
    words = batch.words.unsqueeze(0)
    found = losses_of(objective, [model(batch).unsqueeze(0)], words, torch.ones(words.shape))
    assert found.item() == pytest.approx(mean(losses), rel=1e-5)


def test_weights_scale_the_gradient(task: Task) -> None:
    """By finite differences: a gold word pulls WEIGHT times as hard as another with its logits."""
    labels = bio_classes(task.sentences, task.types)
    objective = CrossEntropyObjective(task.corpus, labels, task.gold)
    (gold,), (noisy,) = (
        np.flatnonzero((task.gold.fixed.numpy() == fixed) & (labels == 0))[:1] for fixed in (1, 0)
    )
    words, present = torch.tensor([[gold, noisy]]), torch.ones(1, 2)

    def loss(move: int) -> float:
        tags = torch.zeros(1, 2, 5, dtype=torch.float64)
        if move >= 0:
            tags[0, move, 0] += 1e-4
        return losses_of(objective, [tags], words, present).item()

    slopes = [(loss(i) - loss(-1)) / 1e-4 for i in range(2)]
    assert slopes[0] == pytest.approx(WEIGHT * slopes[1], rel=1e-4)


# -- runs -----------------------------------------------------------------------------------------

SHORT: dict[str, dict[str, Any]] = {
    "roster": {
        "noise_robust.epochs": 2, "noise_robust.repair": False, "noise_robust.update_every": 5,
        "noise_robust.learning_rate": 3e-3,
        "ensemble.models": 2, "ensemble.epochs": 1, "self_training.epochs": 1,
        "self_training.update_every": 5,
    },
    "fine-tune": {"fine_tune.epochs": 2, "fine_tune.learning_rate": 3e-3},
    "bond": {"bond.epochs": 2, "bond.begin_step": 4, "bond.period": 3, "bond.learning_rate": 3e-3},
    "autoner": {"autoner.epochs": 2, "autoner.learning_rate": 3e-3, "autoner.phrases": False},
    "bilstm-crf": {"bilstm_crf.epochs": 2},
}  # fmt: skip


def short(name: str, backbone: Path, **more: Any) -> dict[str, Any]:
    """A short training with a method; the BiLSTM has no pre-trained encoder."""
    own = {"backbone.name": "bilstm-cnn"} if name == "bilstm-crf" else {}
    shared = {"optimiser.batch_size": 8, "optimiser.precision": "float32"}
    return {**overrides(backbone, **shared, **SHORT[name]), **own, **more}


def make_objectives(task: Task, gold: Gold | None) -> list[Objective]:
    io, bio = io_classes(task.sentences, task.types), bio_classes(task.sentences, task.types)
    y = np.random.default_rng(0).dirichlet([1.0] * 3, size=task.corpus.n_words).astype(np.float32)
    mask = input_mask(0.0, task.encoder, CPU)
    return [
        NoiseRobustObjective(task.corpus, io, NoiseRobust(balance=True), [3], mask, gold),
        DistillationObjective(task.corpus, y, gold),
        SelfTrainingObjective(task.corpus, y, SelfTraining(), None, gold),
        CrossEntropyObjective(task.corpus, bio, gold),
        BondObjective(task.corpus, bio, 5, Bond(), gold),
    ]


def test_without_gold_nothing_changes(tiny: Path, toy: list[Sentence]) -> None:
    """Losses bit for bit those of the formulas without weights, and no other draw of the dropped words."""
    from roster.methods.roster.ensemble import distillation_loss
    from roster.methods.roster.label_removal import dropped_o
    from roster.methods.roster.self_training import self_training_loss
    from roster.training.losses import noise_robust_loss, wmean

    plain = Task.build(load_config(overrides=overrides(tiny, **{"gold.weight": 7.0})), TYPES, toy, {})
    labels = io_classes(toy, TYPES)
    b, z, tags = torch.randn(1, 60), torch.randn(1, 60, 2), torch.randn(1, 60, 5)
    words, present = torch.arange(60).unsqueeze(0) + 20, (torch.rand(1, 60) < 0.8).float()
    for gold in (None, plain.gold):
        robust, distil, itself, cross, bond = make_objectives(plain, gold)
        dropped = dropped_o(labels, 0.5, np.random.default_rng(3))
        assert np.array_equal(robust.seen[0].numpy() == 0, dropped)  # type: ignore[attr-defined]
        seen = torch.from_numpy(~dropped).float()[words]
        io = torch.from_numpy(labels).long()[words]
        robust.prepare(PlainModels(plain.new_model(TwoHeads, 0), "float32"), 0, everything)
        found = losses_of(robust, [(b, z)], words, present)
        assert torch.equal(
            found, noise_robust_loss(b, z, io, seen * present, (io > 0).float() * present, 0.7, 0.7)
        )
        y = torch.from_numpy(
            np.random.default_rng(0).dirichlet([1.0] * 3, size=plain.corpus.n_words).astype(np.float32)
        )
        e, r = (x[words] for x in split_joint(y))
        assert torch.equal(
            losses_of(distil, [(b, z)], words, present), distillation_loss(b, z, e, r, present)
        )
        itself.prepare(PlainModels(plain.new_model(TwoHeads, 0), "float32"), 0, everything)
        s = itself.s[words]  # type: ignore[attr-defined]
        wanted = self_training_loss(b, z, s, e, None, True, present)
        assert torch.equal(losses_of(itself, [(b, z)], words, present), wanted)
        bio = torch.from_numpy(bio_classes(toy, TYPES)).long()[words]
        entropy = wmean(F.cross_entropy(tags.mT, bio, reduction="none"), present)
        assert torch.equal(losses_of(cross, [tags], words, present), entropy)
        assert torch.equal(losses_of(bond, [tags], words, present), entropy)


def weights_of(run: Path) -> bytes:
    return (run / "model" / "roster.safetensors").read_bytes()


@pytest.mark.parametrize("method", names())
def test_a_run_with_gold(
    method: str, tiny: Path, toy: list[Sentence], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "train.jsonl", toy[:40])
    write(tmp_path / "gold.jsonl", toy[30:50])
    options = {"method": method, "overrides": short(method, tiny)}
    with caplog.at_level("INFO", logger="roster"):
        roster.train(tmp_path / "train.jsonl", tmp_path / "run", gold=tmp_path / "gold.jsonl", **options)
    assert any(line.startswith("data: 50 sentences (20 of them gold)") for line in caplog.messages)
    marks = json.loads((tmp_path / "run" / "run.json").read_text())
    assert marks["gold"] == gold_fingerprint(toy[30:50])
    roster.train(tmp_path / "train.jsonl", tmp_path / "none", **options)
    assert "gold" not in json.loads((tmp_path / "none" / "run.json").read_text())
    assert weights_of(tmp_path / "run") != weights_of(tmp_path / "none")

    write(tmp_path / "gold.jsonl", toy[30:49])
    with pytest.raises(RosterError, match="with other gold sentences"):
        roster.train(tmp_path / "train.jsonl", tmp_path / "run", gold=tmp_path / "gold.jsonl", **options)


def test_gold_labels_win_over_distant_ones(tiny: Path, toy: list[Sentence], tmp_path: Path) -> None:
    """The dictionary has both types the wrong way round; heavy gold sentences set it right."""
    wrong = {"PER": "LOC", "LOC": "PER"}
    swapped = [s.with_spans(Span(x.start, x.end, wrong[x.label]) for x in s.spans or ()) for s in toy]
    write(tmp_path / "train.jsonl", swapped[:45])
    write(tmp_path / "gold.jsonl", toy[30:45])
    heavy = {"gold.weight": 100.0, "fine_tune.epochs": 12, "fine_tune.learning_rate": 5e-3}
    scores = {}
    for name, gold in (("with", tmp_path / "gold.jsonl"), ("without", None)):
        found = roster.train(
            tmp_path / "train.jsonl", tmp_path / name, method="fine-tune", gold=gold,
            overrides=short("fine-tune", tiny, **heavy),
        )  # fmt: skip
        scores[name] = roster.evaluate(found, toy[45:]).f1
    assert scores["with"] > 0.6
    assert scores["without"] < 0.1


def test_what_cannot_be_read_leaves_no_run(tiny: Path, toy: list[Sentence], tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", toy)
    config = load_config(overrides=overrides(tiny, **{"gold.file": str(tmp_path / "none.jsonl")}))
    with pytest.raises(DataError, match="no such gold file"):
        train(tmp_path / "train.jsonl", tmp_path / "run", config)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ConfigError, match="a Config is complete"):
        roster.train(tmp_path / "train.jsonl", tmp_path / "run", config=Config(), gold="gold.jsonl")


def test_sampling_weights_change_what_gold_sentences_count_among_each_other(
    tiny: Path, toy: list[Sentence]
) -> None:
    """Their mean stays the weight of gold words."""
    config = load_config(overrides=overrides(tiny, **{"gold.weight": WEIGHT}))
    drawn = [replace(s, weight=1.0 + i % 3) if i >= 50 else s for i, s in enumerate(toy)]
    weight = Task.build(config, TYPES, drawn, {}, gold=[i >= 50 for i in range(len(toy))]).gold.weight.numpy()
    first = sum(len(s) for s in toy[:50])
    assert (weight[:first] == 1).all()
    assert weight[first:].mean() == pytest.approx(WEIGHT, rel=1e-6)
    sampling = np.concatenate([np.full(len(s), s.weight) for s in drawn[50:]])
    np.testing.assert_allclose(weight[first:] / weight[first], sampling / sampling[0], rtol=1e-6)
    assert gold_fingerprint(drawn[50:]) != gold_fingerprint(toy[50:])
