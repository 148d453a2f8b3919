"""One pass over a corpus: word order, no dropout, the model left as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_encoder, load_tokenizer
from roster.errors import ConfigError
from roster.model import reading
from roster.model.batches import DeviceCorpus
from roster.model.heads import HEADS, TwoHeads
from roster.model.reading import arithmetic, choose_device, read_probabilities

CPU = torch.device("cpu")


def corpus_of(tokenizer: Any, sentences: list[list[str]], length: int = 20) -> DeviceCorpus:
    return DeviceCorpus.put(WordEncoder(tokenizer, length).encode(sentences), tokenizer.pad_token_id, CPU)


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("tokens", [1, 100, 10**6])
def test_word_order_and_one_by_one(
    kind: str, tokens: int, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(reading.TOKENS, "cpu", tokens)
    tokenizer = load_tokenizer(str(tiny))
    generator = np.random.default_rng(0)
    words = ["Anna", "went", "unforgettably", "to", "Oslo", ".", "Carl"]
    sentences = [[str(w) for w in generator.choice(words, size=n)] for n in (3, 0, 1, 9, 40, 2, 5)]
    torch.manual_seed(0)
    model = HEADS[kind](load_encoder(str(tiny)), 2).train()
    corpus = corpus_of(tokenizer, sentences)
    found = read_probabilities(model, corpus)
    assert model.training
    assert found.dtype == torch.float32
    assert not found.requires_grad
    assert len(found) == 60
    expected = torch.full_like(found, torch.nan)
    e = corpus.encoded
    model.eval()
    for i in range(e.n_windows):
        ids = torch.from_numpy(e.ids[e.starts[i] : e.starts[i + 1]]).long()[None]
        with torch.no_grad():
            h = model.encoder(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
            for j in range(e.word_starts[i], e.word_starts[i + 1]):
                state = h[e.positions[j]]
                if isinstance(model, TwoHeads):
                    b, z = model.entity_head(state).sigmoid(), model.type_head(state).softmax(-1)
                    row = torch.cat([1 - b, b * z])
                else:
                    row = model.tag(state).softmax(-1)
                expected[e.words[j]] = row
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    assert found.std(0).min() > 0


def test_no_words(tiny: Path) -> None:
    model = TwoHeads(load_encoder(str(tiny)), 2)
    assert len(read_probabilities(model, corpus_of(load_tokenizer(str(tiny)), [[], []]))) == 0


def test_what_was_read_can_be_learned_from(tiny: Path) -> None:
    """The result is an ordinary tensor, not one of inference mode that autograd refuses."""
    model = TwoHeads(load_encoder(str(tiny)), 2)
    p = read_probabilities(model, corpus_of(load_tokenizer(str(tiny)), [["Anna", "went"]]))
    w = torch.ones(3, requires_grad=True)
    (p * w).sum().backward()
    assert w.grad is not None


def test_devices_and_precision() -> None:
    assert choose_device("cpu") == CPU
    assert choose_device("auto").type in ("cpu", "cuda")
    for name in ("gpu", "cuda:77", "", "nonsense:x"):
        with pytest.raises(ConfigError, match=f"the device '{name}' cannot be used here"):
            choose_device(name)

    def product(precision: str) -> torch.dtype:
        with arithmetic(CPU, precision):
            return (torch.ones(2, 2) @ torch.ones(2, 2)).dtype

    assert product("bfloat16") == torch.bfloat16
    assert product("auto") == product("float32") == torch.float32
