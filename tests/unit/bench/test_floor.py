"""Counts of operations against torch's own counter on real encoders and a real run; bytes by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForMaskedLM

from roster.backbone.loading import load_encoder
from roster.bench.floor import (
    Corpus,
    Counter,
    Encoder,
    Phase,
    floor,
    forward,
    language_model,
    phases,
)
from roster.config import load_config
from roster.corpus.sentence import Sentence, Span
from roster.learn.train import train
from roster.model import ceilings as limits
from roster.model.ceilings import Ceilings

COUNTED = ("roberta", "bert", "distilbert")
SMALL = Encoder(layers=2, width=8, intermediate=16, vocabulary=50, positions=20, segments=1)


def corpus_of(lengths: Sequence[int], words: int = 0) -> Corpus:
    return Corpus(np.array(lengths), words, 2)


def operations(work: Callable[[], Any]) -> int:
    """What torch counts: matrix products alone; attention is made of them by this way of computing it."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


@pytest.mark.parametrize("name", COUNTED)
def test_parameters(name: str, backbones: dict[str, Path]) -> None:
    encoder = Encoder.of(AutoConfig.from_pretrained(backbones[name]))
    assert encoder is not None
    assert encoder.parameters == sum(p.numel() for p in load_encoder(str(backbones[name])).parameters())


@pytest.mark.parametrize("name", COUNTED)
def test_forward_and_backward(name: str, backbones: dict[str, Path]) -> None:
    """Sentences one by one, as long as they are: the backward pass takes twice the operations."""
    model = load_encoder(str(backbones[name]))
    encoder = Encoder.of(model.config)
    assert encoder is not None
    lengths = (3, 7, 20)

    def run(backward: bool) -> None:
        for length in lengths:
            states = model(input_ids=torch.full((1, length), 7)).last_hidden_state
            if backward:
                states.sum().backward()

    expected = forward(encoder, corpus_of(lengths))
    assert operations(lambda: run(False)) == expected
    assert operations(lambda: run(True)) == 3 * expected


@pytest.mark.parametrize("name", COUNTED)
def test_language_model(name: str, backbones: dict[str, Path]) -> None:
    model = AutoModelForMaskedLM.from_pretrained(backbones[name])
    encoder = Encoder.of(model.config)
    assert encoder is not None
    expected = forward(encoder, corpus_of([9])) + language_model(encoder, 9)
    assert operations(lambda: model(input_ids=torch.full((1, 9), 7))) == expected


def test_others_are_not_counted(backbones: dict[str, Path]) -> None:
    """Their layers have other parts."""
    for name in ("modernbert", "deberta-v2"):
        assert Encoder.of(AutoConfig.from_pretrained(backbones[name])) is None


SHORT = {
    "optimiser.batch_size": 4,
    "optimiser.device": "cpu",
    "optimiser.engine": "plain",
    "noise_robust.epochs": 2,
    "noise_robust.update_every": 3,
    "ensemble.models": 2,
    "ensemble.epochs": 1,
    "self_training.epochs": 2,
    "self_training.update_every": 2,
}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"augmentation.by": "trained", "noise_robust.remove_labels": False},
        {"augmentation.by": "names"},
        {"augmentation.enabled": False, "ensemble.enabled": False},
        {"self_training.enabled": False, "noise_robust.update_every": 8},
        {"ensemble.start": "member"},
        {"method": "fine-tune", "fine_tune.epochs": 2},
        {"method": "bond", "bond.epochs": 4, "bond.batch_size": 4, "bond.begin_step": 3, "bond.period": 3},
    ],
)
def test_a_whole_run(change: dict[str, Any], tiny: Path, tmp_path: Path) -> None:
    """Exactly the operations of a real run, where all sentences are of one length and nothing is padded."""
    sentences = [Sentence.from_words(["the", "fox", "and", "Anna"], [Span(3, 4, "PER")])] * 8
    config = load_config(overrides={"backbone.name": str(tiny), **SHORT, **change})
    data = tmp_path / "data"
    data.mkdir()
    (data / "train_text.txt").write_text("".join(f"{s.text}\n" for s in sentences))
    (data / "train_label_dist.txt").write_text("O O O B-PER\n" * len(sentences))
    (data / "types.txt").write_text("PER\nLOC\n")
    encoded = _lengths(tiny, sentences)
    encoder = Encoder.of(AutoConfig.from_pretrained(tiny))
    assert encoder is not None
    counted = phases(config, encoder, encoded, types=2, weight=4)
    assert operations(lambda: train(data, tmp_path / "run", config, report={})) == sum(
        phase.operations for phase in counted
    )


def _lengths(backbone: Path, sentences: Sequence[Sentence]) -> Corpus:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(backbone)
    lengths = [len(tokenizer(" " + s.text)["input_ids"]) for s in sentences]
    return Corpus(np.array(lengths), sum(map(len, sentences)), tokenizer.num_special_tokens_to_add())


def test_bytes_by_hand() -> None:
    """5 windows in batches of 2 are 3 steps; every count is written out."""
    assert SMALL.matrices == 2 * (4 * 64 + 2 * 128) == 1024
    assert SMALL.parameters == 71 * 8 + 16 + 1024 + 2 * (4 * 8 + 16 + 8 + 32) == 1784
    counter = Counter(SMALL, corpus_of([4, 4, 5, 6, 3], words=10), classes=3, batch_size=2, weight=2)
    all_weights = 1784 + 3 * 9
    training, update = counter.training("x", epochs=2)
    assert training.bytes == 6 * (2 * 2 * 1024 + 4 * all_weights)
    assert (update.operations, update.bytes) == (0, 6 * 32 * all_weights)
    once = 2 * 1024 * 22 + 4 * 2 * 8 * (16 + 16 + 25 + 36 + 9) + 2 * 8 * 3 * 10
    assert training.operations == 2 * 3 * once
    assert counter.reading("x", "y", 3) == Phase("x", "y", 3 * once, 3 * 2 * 1024)
    assert counter.training("x", 2, copies=2)[0].operations == 2 * training.operations


@pytest.mark.parametrize("every", [1, 2, 3, 7, 8, 100])
def test_renewals_are_those_of_the_loop(every: int) -> None:
    """Labels are removed before every U-th batch but the first, soft labels made before every U'-th, of what
    comes until the next time: an epoch, which is two batches here, at the most."""
    config = load_config(
        overrides={"noise_robust.update_every": every, "self_training.update_every": every,
                   "noise_robust.epochs": 4, "self_training.epochs": 4, "optimiser.batch_size": 4}
    )  # fmt: skip
    corpus = corpus_of([5] * 8, words=24)
    steps = range(4 * 2)
    once = Counter(SMALL, corpus, 3, 4, 4).once
    counted = {phase.name: phase.operations for phase in phases(config, SMALL, corpus, 2, 4)}
    read = {step: len(steps[step : step + min(2, every)]) for step in steps if step % every == 0}
    removed = sum(batches for step, batches in read.items() if step > 0)
    assert counted["label removal"] == config.ensemble.models * removed * once / 2
    assert counted["soft labels"] == sum(read.values()) * once / 2


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 10**15), st.integers(0, 10**15)), max_size=9))
def test_the_floor_lies_between_one_bound_and_both(given_phases: list[tuple[str, int, int]]) -> None:
    counted = [Phase(stage, "x", count, size) for stage, count, size in given_phases]
    ceilings = Ceilings("cpu", "float32", 3e11, 2e10)
    found = floor(counted, ceilings)
    arithmetic, traffic = sum(p.operations for p in counted) / 3e11, sum(p.bytes for p in counted) / 2e10
    assert max(arithmetic, traffic) <= found.seconds * (1 + 1e-9)
    assert found.seconds <= (arithmetic + traffic) * (1 + 1e-9)
    assert sum(found.stages.values()) == pytest.approx(found.seconds)
    assert len(found.phases) == len(counted)


@pytest.mark.parametrize(("precision", "expected"), [("float32", "float32"), ("bfloat16", "bfloat16")])
def test_ceilings(precision: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a machine of the last century, less than any processor of this one."""
    monkeypatch.setitem(limits.PRODUCT, "cpu", 256)
    monkeypatch.setitem(limits.COPY, "cpu", 2**22)
    monkeypatch.setattr(limits, "AT_LEAST", 0.0)
    found = limits.measure_ceilings("cpu", precision)
    assert (found.device, found.precision) == ("cpu", expected)
    assert 1e7 < found.operations < 1e15
    assert 1e7 < found.bytes < 1e13


def test_masked_positions() -> None:
    """A share of the window's own sub-words, rounded; at least one; none where there is none of its own."""
    corpus = corpus_of([2, 3, 12, 22])
    assert corpus.masked(0.15) == 0 + 1 + 2 + 3
    assert corpus.masked(1.0) == 0 + 1 + 10 + 20
