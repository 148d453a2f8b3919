"""An synthetic text, and a masked language model that has learned something of it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers import RobertaConfig, RobertaForMaskedLM

from roster.pretraining.loop import Budget, Trainer
from roster.pretraining.masked_lm import SplitMaskedLM, set_dropout
from roster.pretraining.masking import Masked, masker
from roster.pretraining.objective import LossWeights, PretrainingObjective
from roster.pretraining.sequences import PackedSequences
from roster.pretraining.settings import PretrainingSettings

CPU = torch.device("cpu")
TEMPLATES = (
    "{person} went to {place} and saw the house .",
    "then {person} met {person} in {place} .",
    "we talk about walking with {person} and talking with {person} .",
    "the quick brown fox jumps over the lazy dog of {person} .",
)
NAMES = {"person": ("Anna", "Berg", "Carl", "Dora"), "place": ("Paris", "Bonn", "Rome", "Oslo")}


def synthetic(sentences: int, seed: int) -> str:
    draw = random.Random(seed)
    lines = []
    for _ in range(sentences):
        words = draw.choice(TEMPLATES).split()
        lines.append(" ".join(draw.choice(NAMES[w.strip("{}")]) if w.startswith("{") else w for w in words))
    return " ".join(lines)


@pytest.fixture(scope="session")
def token_ids(tokenizers: dict[str, Any]) -> Callable[..., np.ndarray]:
    """The sub-words of an synthetic text: `token_ids("bpe", sentences, seed)`."""

    def make(kind: str, sentences: int, seed: int) -> np.ndarray:
        ids = tokenizers[kind](synthetic(sentences, seed), add_special_tokens=False).input_ids
        return np.array(ids, dtype="<u2")

    return make


@pytest.fixture(scope="session")
def _trained_once(tokenizers: dict[str, Any], token_ids: Callable[..., np.ndarray]) -> Any:
    tokenizer = tokenizers["bpe"]
    torch.manual_seed(1)
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=40, type_vocab_size=1,
        pad_token_id=tokenizer.pad_token_id, initializer_range=0.1,
    )  # fmt: skip
    whole = RobertaForMaskedLM(config)
    model = SplitMaskedLM(whole)
    set_dropout(model, 0.0)
    settings = PretrainingSettings(
        length=24, batch=32, steps=300, rate=5e-3, masking="random", precision="float32"
    )
    rows = PackedSequences(token_ids("bpe", 600, 1), 24, (2,), (3,), 32, 1, CPU)
    objective = PretrainingObjective(model, None, LossWeights(), False)
    trainer = Trainer(objective, masker(tokenizer, 0.2, 2, CPU), rows, settings,
                      Budget(steps=300))  # fmt: skip
    for ids in rows.batches(0):
        trainer.step(ids)
        trainer.progress.step += 1
        if trainer.progress.step == 300:
            break
    return whole.eval()


@pytest.fixture
def learned(_trained_once: Any) -> Any:
    """A RoBERTa of 3 layers x 32 that knows the synthetic text; a copy for each test."""
    return copy.deepcopy(_trained_once)


@pytest.fixture(scope="session")
def unseen(tokenizers: dict[str, Any], token_ids: Callable[..., np.ndarray]) -> list[Masked]:
    """Masked rows of other sentences of the same kind."""
    rows = PackedSequences(token_ids("bpe", 200, 2), 24, (2,), (3,), 64, 1, CPU)
    draw = masker(tokenizers["bpe"], 0.2, 2, CPU)
    return [draw(rows.take(rows.starts(0)), "random", torch.Generator().manual_seed(0))]
