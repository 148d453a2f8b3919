"""The two heads as one distribution, and back."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_encoder, load_tokenizer
from roster.methods.autoner.head import TieHeads
from roster.methods.registry import heads
from roster.methods.roster.head import TwoHeads, joint, split_joint
from roster.model.batches import DeviceCorpus
from roster.model.heads import OneHead

LOGIT = st.floats(-15, 15)


@given(st.lists(st.tuples(LOGIT, st.tuples(LOGIT, LOGIT, LOGIT)), min_size=1, max_size=6))
def test_joint_is_the_formula(words: list[tuple[float, tuple[float, float, float]]]) -> None:
    found = joint(torch.tensor([b for b, _ in words]).double(), torch.tensor([z for _, z in words]).double())
    for row, (b, z) in zip(found.tolist(), words, strict=True):
        e, total = 1 / (1 + math.exp(-b)), sum(map(math.exp, z))
        assert row == pytest.approx([1 - e, *(e * math.exp(x) / total for x in z)], rel=1e-6, abs=1e-12)


@given(st.lists(st.tuples(LOGIT, st.tuples(LOGIT, LOGIT)), min_size=1, max_size=6))
def test_split_is_the_inverse_of_joint(words: list[tuple[float, tuple[float, float]]]) -> None:
    b, z = torch.tensor([b for b, _ in words]).double(), torch.tensor([z for _, z in words]).double()
    e, r = split_joint(joint(b, z))
    torch.testing.assert_close(e, b.sigmoid(), atol=1e-9, rtol=1e-6)
    torch.testing.assert_close(r, z.softmax(-1), atol=1e-9, rtol=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_joint_is_the_inverse_of_split(seed: int, types: int) -> None:
    p = torch.from_numpy(np.random.default_rng(seed).dirichlet(np.full(types + 1, 0.3), size=5))
    e, r = split_joint(p)
    torch.testing.assert_close(torch.cat([1 - e[:, None], e[:, None] * r], 1), p, atol=1e-9, rtol=1e-6)


def test_where_nothing_is_an_entity_the_types_are_uniform() -> None:
    e, r = split_joint(torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]))
    assert e.tolist() == [0, 0.5]
    assert r.tolist() == [[0.5, 0.5], [1, 0]]


def test_large_logits() -> None:
    p = joint(torch.tensor([1e4, -1e4, -90.0]), torch.tensor([[1e4, -1e4]] * 3))
    assert torch.isfinite(p).all()
    assert p[:2].tolist() == [[0, 1, 0], [1, 0, 0]]
    assert all(torch.isfinite(part).all() for part in split_joint(p))


@pytest.mark.parametrize("kind", ["two-heads", "one-head", "autoner"])
def test_models_give_distributions_over_words(kind: str, tiny: Path) -> None:
    tokenizer = load_tokenizer(str(tiny))
    encoder = load_encoder(str(tiny))
    model = heads()[kind](encoder, 3).eval()
    sentences = [["Anna", "went", "unforgettably"], ["Oslo"]]
    corpus = DeviceCorpus.put(
        WordEncoder(tokenizer, 32).encode(sentences), tokenizer.pad_token_id, torch.device("cpu")
    )
    (batch,) = corpus.batches([np.array([0, 1])])
    with torch.no_grad():
        p = model.probabilities(batch)
        hidden = encoder(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
    assert p.shape == (4, 4 if kind == "two-heads" else 7)
    torch.testing.assert_close(p.sum(-1), torch.ones(4))
    assert (p >= 0).all()
    # The state of a word is that of its first sub-word; the heads are linear in it.
    starts = corpus.encoded.positions.tolist()
    h = torch.stack([hidden[0, starts[0]], hidden[0, starts[1]], hidden[0, starts[2]], hidden[1, starts[3]]])
    with torch.no_grad():
        if isinstance(model, TwoHeads):
            b = h @ model.entity_head.weight[0] + model.entity_head.bias
            z = h @ model.type_head.weight.T + model.type_head.bias
            expected = torch.cat([1 - b.sigmoid()[:, None], b.sigmoid()[:, None] * z.softmax(-1)], 1)
        elif isinstance(model, TieHeads):
            tie, first, last = (h @ x.weight.T + x.bias for x in (model.tie, model.first, model.last))
            gaps = [bool(tie[i, 0] + tie[i + 1, 1] >= 0) for i in range(2)]
            breaks = [0, *(i + 1 for i in range(2) if not gaps[i]), 3]
            expected = torch.zeros(4, 7)
            for a, b in [*pairwise(breaks), (3, 4)]:
                types = (first[a] + last[b - 1]).softmax(-1)
                expected[a:b, 0] = types[0]
                expected[a:b, 2::2] = types[1:]
                if a in (1, 2):  # the others begin a row
                    expected[a, 1::2], expected[a, 2::2] = types[1:], 0
        else:
            assert isinstance(model, OneHead)
            expected = (h @ model.tag.weight.T + model.tag.bias).softmax(-1)
    torch.testing.assert_close(p, expected, atol=1e-6, rtol=1e-4)


def test_logits_are_float32_under_bf16(tiny: Path) -> None:
    tokenizer = load_tokenizer(str(tiny))
    model = TwoHeads(load_encoder(str(tiny)), 3)
    corpus = DeviceCorpus.put(
        WordEncoder(tokenizer, 32).encode([["Anna"]]), tokenizer.pad_token_id, torch.device("cpu")
    )
    (batch,) = corpus.batches([np.array([0])])
    with torch.autocast("cpu", torch.bfloat16):
        b, z = model(batch)
    assert b.dtype == z.dtype == torch.float32


def test_dropout_is_as_asked(tiny: Path) -> None:
    assert TwoHeads(load_encoder(str(tiny)), 2, 0.25).dropout.p == 0.25
