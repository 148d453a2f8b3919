"""The BiLSTM-CNN encoder against plain computations, word by word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from roster.backbone.words import CHARACTERS, UNKNOWN, Vectors, WholeWords, learn_words
from roster.config import Bilstm
from roster.errors import ModelError
from roster.infer.batches import padded, words_of
from roster.methods.roster.head import TwoHeads
from roster.model.batches import DeviceCorpus
from roster.model.bilstm import BilstmCnn, BilstmConfig
from roster.model.encoders import fresh_copy
from roster.model.reading import read_probabilities

SENTENCES = [
    ("Anna", "saw", "the", "bird"),
    ("the",),
    ("a", "birdwatcher", "saw", "Anna", "and", "the", "dog", "and", "the", "cat"),
    ("the", "cat", "saw"),
]
SIZES = Bilstm(word_size=6, char_size=4, filters=5, hidden=7)
VECTORS = Vectors(("the", "anna", "heron"), np.arange(18, dtype=np.float32).reshape(3, 6))


def make(vectors: Vectors | None = None, seed: int = 0) -> tuple[BilstmCnn, WholeWords]:
    learned = learn_words(SENTENCES, 1, SIZES.word_size, vectors)
    torch.manual_seed(seed)
    encoder = fresh_copy(BilstmCnn.of(learned, SIZES))
    with torch.no_grad():
        encoder.characters.weight.mul_(3)  # so that spellings matter
    return encoder.eval(), WholeWords(learned.words, 16)


def inputs(words: WholeWords, sentences: list[tuple[str, ...]]) -> tuple[Tensor, Tensor]:
    encoded = words.encode(sentences)
    found = padded(encoded, np.arange(encoded.n_windows), 0)
    return torch.from_numpy(found.ids), torch.from_numpy(found.mask)


def states(encoder: BilstmCnn, words: WholeWords, sentences: list[tuple[str, ...]]) -> Tensor:
    with torch.inference_mode():
        found: Tensor = encoder(*inputs(words, sentences)).last_hidden_state
    return found


@pytest.mark.parametrize("vectors", [None, VECTORS])
def test_padding_does_not_matter(vectors: Vectors | None) -> None:
    """A sentence says the same alone, beside longer ones, and beside longer words."""
    encoder, words = make(vectors)
    together = states(encoder, words, SENTENCES)
    assert together.shape == (4, 10, 14)
    for row, sentence in zip(together, SENTENCES, strict=True):
        alone = states(encoder, words, [sentence])[0]
        torch.testing.assert_close(row[: len(sentence)], alone, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(together[0, 2], together[3, 0])  # `the` depends on what stands around it


def test_both_lstms_are_one_packed_bidirectional_lstm() -> None:
    encoder, words = make()
    whole = nn.LSTM(11, 7, batch_first=True, bidirectional=True)
    weights = {f"{name}": p for name, p in encoder.forth.named_parameters()}
    weights |= {f"{name}_reverse": p for name, p in encoder.back.named_parameters()}
    whole.load_state_dict(weights)
    ids, mask = inputs(words, SENTENCES)
    x = torch.cat([encoder._vectors(ids[..., 0]), encoder._spellings(ids[..., 1:])], -1)
    lengths = mask.sum(1)
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = nn.utils.rnn.pad_packed_sequence(whole(packed)[0], batch_first=True)
    found = encoder(ids, mask).last_hidden_state
    torch.testing.assert_close(found[mask > 0], expected[mask > 0], rtol=1e-5, atol=1e-6)


def test_spellings_letter_by_letter() -> None:
    encoder, words = make()
    (rows,) = (words.tokenizer.rows(["the", "a", "birdwatcher", "x" * 30]),)
    found = encoder._spellings(torch.from_numpy(rows[None, :, 1:]).long())[0]
    weight, bias = encoder.filters.weight, encoder.filters.bias
    assert bias is not None
    for row, spelling in zip(rows[:, 1:], found, strict=True):
        letters = [torch.zeros(4), *(encoder.characters.weight[c] for c in row if c), torch.zeros(4)]
        scores = [
            sum(weight[:, :, k] @ letters[i + k] for k in range(3)) + bias for i in range(len(letters) - 2)
        ]
        torch.testing.assert_close(spelling, torch.stack(scores).amax(0).tanh(), rtol=1e-5, atol=1e-6)


def test_a_hidden_word_has_no_spelling() -> None:
    encoder, _ = make()
    assert not encoder._spellings(torch.zeros(1, 2, CHARACTERS, dtype=torch.long)).any()


def test_unknown_words_are_told_apart_by_their_characters() -> None:
    encoder, words = make()
    tall, trees, again = states(encoder, words, [("tattle",), ("ww",), ("tattle",)])[:, 0]
    assert torch.equal(tall, again)
    assert not torch.allclose(tall, trees)


def test_words_of_the_file_keep_their_vectors() -> None:
    encoder, words = make(VECTORS)
    number = words.tokenizer.number
    found = encoder._vectors(torch.tensor([number(w) for w in ("the", "Anna", "Heron", "anna")]))
    np.testing.assert_array_equal(found.detach(), VECTORS.values[[0, 1, 2, 1]])
    encoder.train()
    rows = torch.tensor([[number("heron"), number("the"), number("dog")]])
    encoder._vectors(rows).sum().backward()
    assert "fixed" not in dict(encoder.named_parameters())
    assert encoder.words.weight.grad is not None
    moved = set(encoder.words.weight.grad.sum(1).nonzero().flatten().tolist())
    assert moved <= {number("the"), number("dog"), UNKNOWN}
    assert number("the") in moved


def test_words_that_occur_once_are_unknown_now_and_then() -> None:
    encoder, words = make()
    once, often = (words.tokenizer.number(w) for w in ("dog", "the"))
    unknown = encoder.words.weight[UNKNOWN]
    rows = torch.tensor([[once, often]] * 400)

    def share(which: int) -> float:
        same = (encoder._vectors(rows)[:, which] == unknown).all(-1)
        return same.float().mean().item()

    assert (share(0), share(1)) == (0, 0)  # not in evaluation
    encoder.train()
    assert 0.4 < share(0) < 0.6
    assert share(1) == 0


def test_a_fresh_copy_is_drawn_anew() -> None:
    encoder, words = make(VECTORS)
    torch.manual_seed(1)
    one = fresh_copy(encoder)
    torch.manual_seed(1)
    same = fresh_copy(encoder)
    other = fresh_copy(encoder)
    for name, weight in one.state_dict().items():
        assert torch.equal(weight, same.state_dict()[name]), name
    for part in ("words.weight", "characters.weight", "filters.weight", "forth.weight_hh_l0"):
        assert not torch.equal(one.state_dict()[part], other.state_dict()[part])
    the = words.tokenizer.number("the")
    assert torch.equal(one.words.weight[the], other.words.weight[the])
    assert not one.words.weight[0].any()
    assert torch.equal(
        one.forth.bias_ih_l0 + one.forth.bias_hh_l0, torch.tensor([0.0, 1, 0, 0]).repeat_interleave(7)
    )


def test_a_corpus_of_words_is_read_in_its_order() -> None:
    """Through batches of like length, and as one batch for each sentence: the same distributions."""
    encoder, words = make()
    model = TwoHeads(encoder, 2).eval()
    encoded = words.encode(SENTENCES)
    corpus = DeviceCorpus.put(encoded, 0, torch.device("cpu"))
    assert corpus.ids.shape == (4, 10, 1 + CHARACTERS)
    assert corpus.words.shape == (4, 10)
    p = read_probabilities(model, corpus)
    at = 0
    for sentence in SENTENCES:
        alone = DeviceCorpus.put(words.encode([sentence]), 0, torch.device("cpu"))
        torch.testing.assert_close(
            p[at : at + len(sentence)], read_probabilities(model, alone), rtol=1e-5, atol=1e-6
        )
        at += len(sentence)
    both = list(corpus.batches([np.array([0, 3])])) * 2
    stacked = both[0].stacked(both[1])
    with torch.inference_mode():
        once, twice = model.probabilities(both[0]), model.probabilities(stacked)
    torch.testing.assert_close(twice, torch.cat([once, once]), rtol=1e-5, atol=1e-6)
    rows = np.array([3, 0])
    assert words_of(encoded, rows).tolist() == [15, 16, 17, 0, 1, 2, 3]


def test_the_config_on_disk(tmp_path: Path) -> None:
    config = make(VECTORS)[0].config
    assert (config.learned, config.fixed, config.word_size, config.hidden_size) == (9, 2, 6, 14)
    config.save_pretrained(tmp_path)
    assert BilstmConfig.load(tmp_path) == config
    (tmp_path / "config.json").write_text('{"model_type": "roster-bilstm-cnn"}')
    with pytest.raises(ModelError, match=r"config\.json is damaged"):
        BilstmConfig.load(tmp_path)
