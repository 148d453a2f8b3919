"""Batches against a slow loop over windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.backbone.alignment import WordEncoder
from roster.model.batches import Batch, DeviceCorpus

CPU = torch.device("cpu")
VOCABULARY = ["Anna", "went", "unforgettably", "to", "Oslo", ".", "\u200b"]
SENTENCES = st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=25), min_size=1, max_size=12)


def put(tokenizer: Any, sentences: list[list[str]], length: int = 16) -> DeviceCorpus:
    return DeviceCorpus.put(WordEncoder(tokenizer, length).encode(sentences), tokenizer.pad_token_id, CPU)


def check(batch: Batch, rows: np.ndarray, corpus: DeviceCorpus) -> None:
    """What a batch must hold, one window and one word at a time."""
    e = corpus.encoded
    width = max(int(e.lengths[row]) for row in rows)
    assert batch.ids.shape == batch.mask.shape == (len(rows), width)
    at, words = [], []
    for i, row in enumerate(rows):
        ids = e.ids[e.starts[row] : e.starts[row + 1]].tolist()
        assert batch.ids[i].tolist() == ids + [corpus.pad] * (width - len(ids))
        assert batch.mask[i].tolist() == [1] * len(ids) + [0] * (width - len(ids))
        for j in range(e.word_starts[row], e.word_starts[row + 1]):
            at.append(i * width + int(e.positions[j]))
            words.append(int(e.words[j]))
            assert batch.ids.flatten()[at[-1]] == ids[e.positions[j]]
    assert batch.at.tolist() == at
    assert batch.words.tolist() == words


@given(sentences=SENTENCES, seed=st.integers(0, 99), size=st.integers(1, 5))
@settings(max_examples=60)
def test_training_batches(
    sentences: list[list[str]], seed: int, size: int, tokenizers: dict[str, Any]
) -> None:
    corpus = put(tokenizers["bpe"], sentences)
    plan = corpus.training_plan(size, np.random.default_rng(seed))
    batches = list(corpus.batches(plan))
    assert len(batches) == len(plan) == -(-corpus.encoded.n_windows // size)
    for batch, rows in zip(batches, plan, strict=True):
        assert 1 <= len(rows) <= size
        check(batch, rows, corpus)
    seen = [w for batch in batches for w in batch.words.tolist()]
    assert sorted(seen) == list(range(sum(map(len, sentences))))
    assert sorted(np.concatenate(plan).tolist() if plan else []) == list(range(corpus.encoded.n_windows))


@given(sentences=SENTENCES, tokens=st.integers(1, 200))
@settings(max_examples=40)
def test_reading_batches(sentences: list[list[str]], tokens: int, tokenizers: dict[str, Any]) -> None:
    corpus = put(tokenizers["wordpiece"], sentences)
    plan = corpus.reading_plan(tokens)
    for batch, rows in zip(corpus.batches(plan), plan, strict=True):
        check(batch, rows, corpus)
        assert batch.ids.numel() <= tokens or len(rows) == 1
    assert sorted(np.concatenate(plan).tolist() if plan else []) == list(range(corpus.encoded.n_windows))


@pytest.fixture(scope="module")
def long(tokenizers: dict[str, Any]) -> DeviceCorpus:
    generator = np.random.default_rng(0)
    sizes = generator.geometric(0.1, size=800).clip(1, 60)
    return put(tokenizers["bpe"], [["Anna"] * int(n) for n in sizes], 64)


def test_plans_follow_the_generator(long: DeviceCorpus) -> None:
    def plan(seed: int) -> list[list[int]]:
        return [rows.tolist() for rows in long.training_plan(8, np.random.default_rng(seed))]

    assert plan(1) == plan(1)
    assert plan(1) != plan(2)
    # Which sentences meet is random too, not only the order of fixed batches.
    assert len({tuple(sorted(b)) for b in plan(1)} & {tuple(sorted(b)) for b in plan(2)}) < 10
    # And batches do not come sorted by length, though all were sorted together.
    lengths = [long.encoded.lengths[rows].max() for rows in long.training_plan(64, np.random.default_rng(1))]
    assert lengths != sorted(lengths)


def test_like_lengths_meet(long: DeviceCorpus) -> None:
    def padding(plan: list[np.ndarray]) -> float:
        cells = sum(batch.mask.numel() for batch in long.batches(plan))
        return 1 - sum(int(batch.mask.sum()) for batch in long.batches(plan)) / cells

    order = np.random.default_rng(0).permutation(long.encoded.n_windows)
    careless = [order[i : i + 8] for i in range(0, len(order), 8)]
    assert padding(long.training_plan(8, np.random.default_rng(0))) < 0.25 * padding(careless)


def test_stacked(tokenizers: dict[str, Any]) -> None:
    corpus = put(tokenizers["bpe"], [["Anna", "went"], ["to", "unforgettably", "Oslo"], ["Oslo"]], 60)
    (a,) = corpus.batches([np.array([0, 1])])
    (b,) = corpus.batches([np.array([1, 0])])
    both = a.stacked(b)
    assert both.ids.shape == (4, a.ids.shape[1])
    expected = torch.cat([a.ids.flatten()[a.at], b.ids.flatten()[b.at]])
    assert torch.equal(both.ids.flatten()[both.at], expected)
    assert both.words.tolist() == [0, 1, 2, 3, 4, 2, 3, 4, 0, 1]


def test_nothing(tokenizers: dict[str, Any]) -> None:
    corpus = put(tokenizers["bpe"], [[]])
    assert list(corpus.batches(corpus.training_plan(8, np.random.default_rng(0)))) == []
    assert corpus.reading_plan(100) == []


def test_with_ids_keeps_the_layout(tokenizers: dict[str, Any]) -> None:
    corpus = put(tokenizers["bpe"], [["Anna", "went"]])
    other = corpus.with_ids(corpus.ids + 1)
    assert other.encoded is corpus.encoded
    (a,), (b,) = corpus.batches([np.array([0])]), other.batches([np.array([0])])
    assert torch.equal(a.ids + 1, b.ids)
