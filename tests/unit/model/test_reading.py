"""One pass over a corpus: word order, no dropout, the model left as it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_encoder, load_tokenizer
from roster.errors import ConfigError
from roster.methods.registry import heads
from roster.methods.roster.head import TwoHeads
from roster.model import reading
from roster.model.batches import DeviceCorpus
from roster.model.reading import arithmetic, choose_device, number_type, read_probabilities

CPU = torch.device("cpu")


def corpus_of(tokenizer: Any, sentences: list[list[str]], length: int = 20) -> DeviceCorpus:
    return DeviceCorpus.put(WordEncoder(tokenizer, length).encode(sentences), tokenizer.pad_token_id, CPU)


@pytest.mark.parametrize("kind", list(heads()))
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
    model = heads()[kind](load_encoder(str(tiny)), 2).train()
    corpus = corpus_of(tokenizer, sentences)
    found = read_probabilities(model, corpus, "float32")
    assert model.training
    assert found.dtype == torch.float32
    assert not found.requires_grad
    assert len(found) == 60
    expected = torch.full_like(found, torch.nan)
    e = corpus.encoded
    model.eval()
    for i in range(e.n_windows):
        if heads()[kind].whole:
            (alone,) = corpus.batches([np.array([i])])
            with torch.no_grad():
                expected[alone.words] = model.probabilities(alone)
            continue
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


def test_devices() -> None:
    assert choose_device("cpu") == CPU
    assert choose_device("auto").type in ("cpu", "cuda")
    for name in ("gpu", "cuda:77", "", "nonsense:x"):
        with pytest.raises(ConfigError, match=f"the device '{name}' cannot be used here"):
            choose_device(name)


@pytest.mark.parametrize("native", [True, False])
def test_precision(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "multiplies_bf16", lambda: native)
    gpu, other, low, full = torch.device("cuda"), torch.device("mps"), torch.bfloat16, torch.float32
    expected = {
        "bfloat16": (low, low, low),
        "float32": (full, full, full),
        "auto": (low if native else full, low, full),
        None: (full, low, full),
    }
    for precision, dtypes in expected.items():
        assert tuple(number_type(device, precision) for device in (CPU, gpu, other)) == dtypes
        with arithmetic(CPU, precision):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtypes[0]


def test_bf16_is_near(tiny: Path) -> None:
    torch.manual_seed(0)
    model = TwoHeads(load_encoder(str(tiny)), 2)
    corpus = corpus_of(load_tokenizer(str(tiny)), [["Anna", "went", "to", "Oslo"], ["Carl"]])
    exact, low = (read_probabilities(model, corpus, precision) for precision in ("float32", "bfloat16"))
    assert low.dtype == torch.float32
    torch.testing.assert_close(low, exact, atol=0.02, rtol=0)
    assert not torch.equal(low, exact)


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(reading.TOKENS, "cpu", 12)  # so that there are many batches
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_cores_read_at_the_same_time(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch on one core, two of them at once; torch's setting and the gradients' stay as they were."""
    torch.manual_seed(0)
    model = TwoHeads(load_encoder(str(tiny)), 2)
    sentences = [["Anna", "went", "to", "Oslo"][:n] for n in (1, 2, 3, 4) for _ in range(6)]
    corpus = corpus_of(load_tokenizer(str(tiny)), sentences)
    read, both, threads = TwoHeads.probabilities, threading.Barrier(2, timeout=60), []

    def watched(self: TwoHeads, batch: Any) -> torch.Tensor:
        if threading.get_ident() not in threads:
            threads.append(threading.get_ident())
            both.wait()
        assert torch.get_num_threads() == 1
        assert torch.is_inference_mode_enabled()
        return read(self, batch)

    monkeypatch.setattr(TwoHeads, "probabilities", watched)
    found = read_probabilities(model, corpus, "float32")
    assert len(threads) == 2
    assert threading.get_ident() not in threads
    assert torch.get_num_threads() == 2
    assert torch.is_grad_enabled()
    monkeypatch.setattr(TwoHeads, "probabilities", read)
    torch.set_num_threads(1)
    torch.testing.assert_close(found, read_probabilities(model, corpus, "float32"), atol=0, rtol=0)


@pytest.mark.usefixtures("two_threads")
def test_an_error_while_reading(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told as it is, and what was not yet begun is left."""
    model = TwoHeads(load_encoder(str(tiny)), 2)
    corpus = corpus_of(load_tokenizer(str(tiny)), [["Anna", "went", "to", "Oslo"]] * 20)
    read, calls = TwoHeads.probabilities, []

    def failing(self: TwoHeads, batch: Any) -> torch.Tensor:
        calls.append(batch)
        if len(calls) == 3:
            raise MemoryError("no room")
        return read(self, batch)

    monkeypatch.setattr(TwoHeads, "probabilities", failing)
    with pytest.raises(MemoryError, match="no room"):
        read_probabilities(model.train(), corpus)
    assert torch.get_num_threads() == 2
    assert model.training


@pytest.mark.usefixtures("two_threads")
def test_weights_that_changed_are_read_anew(tiny: Path) -> None:
    """torch keeps bf16 copies of the weights while autocast lasts; none may outlive the reading."""
    torch.manual_seed(0)
    model = TwoHeads(load_encoder(str(tiny)), 2)
    corpus = corpus_of(load_tokenizer(str(tiny)), [["Anna", "went"], ["to", "Oslo"], ["Carl"]])
    before = read_probabilities(model, corpus, "bfloat16")
    with torch.no_grad():
        model.entity_head.weight.mul_(50)
    after = read_probabilities(model, corpus, "bfloat16")
    assert (after - before).abs().max() > 0.1
    torch.testing.assert_close(after, read_probabilities(model, corpus, "float32"), atol=0.05, rtol=0)
