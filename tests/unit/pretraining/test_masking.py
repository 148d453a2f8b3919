"""Which places are masked: counts, words and names against independent counts and a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from roster.errors import ModelError
from roster.pretraining.masking import IGNORED, Masked, Masker, masker

CPU = torch.device("cpu")
WORDS = ("the", "quick", "Anna", "walking", "talked", "Berg", "jugs", "Oslo", "zebra", "Xylophone", "and")
KINDS = ("wordpiece", "bpe", "bpe-prefix", "unigram", "modern")


def make_rows(tokenizer: Any, seed: int, rows: int = 8, length: int = 40) -> tuple[Tensor, np.ndarray]:
    """Rows of whole words between special tokens, and the number of each place's word (special: -1)."""
    draw, pieces = np.random.default_rng(seed), {}
    for word in WORDS:
        pieces[word] = tokenizer(f" {word}", add_special_tokens=False).input_ids
    ids = np.full((rows, length), tokenizer.pad_token_id)
    words = np.full((rows, length), -1)
    for row in range(rows):
        ids[row, 0], place, number = tokenizer.cls_token_id, 1, 0
        while place < length - 1:
            chosen = pieces[str(draw.choice(WORDS))][: length - 1 - place]
            ids[row, place : place + len(chosen)] = chosen
            words[row, place : place + len(chosen)] = number
            place, number = place + len(chosen), number + 1
            if draw.random() < 0.1 and place < length - 1:
                ids[row, place] = tokenizer.sep_token_id
                place += 1
        ids[row, -1] = tokenizer.sep_token_id
    return torch.from_numpy(ids), words


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def check(ids: Tensor, found: Masked, draw: Masker, special: set[int]) -> None:
    """What holds for every kind of masking."""
    count = max(1, round(draw.share * ids.shape[1]))
    assert found.places.shape == found.targets.shape == (len(ids), count)
    for row, (before, after) in enumerate(zip(ids.tolist(), found.ids.tolist(), strict=True)):
        places, targets = found.places[row].tolist(), found.targets[row].tolist()
        assert len(set(places)) == count
        ordinary = [i for i in before if i not in special]
        asked = {p: t for p, t in zip(places, targets, strict=True) if t != IGNORED}
        assert len(asked) == min(count, len(ordinary))
        assert all(before[p] == t and t not in special for p, t in asked.items())
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            if place not in asked:
                assert one == other
            else:
                assert other == draw.mask_id or other not in special


@pytest.mark.parametrize("kind", ["random", "words", "names"])
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), share=st.floats(0.01, 0.9), convention=st.sampled_from(KINDS))
def test_every_mask(kind: str, seed: int, share: float, convention: str, tokenizers: dict[str, Any]) -> None:
    tokenizer = tokenizers[convention]
    draw = masker(tokenizer, share, 2.0, CPU)
    ids, words = make_rows(tokenizer, seed)
    before = ids.clone()
    found = draw(ids, kind, seeded(seed))
    assert torch.equal(ids, before)
    check(ids, found, draw, set(tokenizer.all_special_ids))
    if kind == "random":
        return
    for row in range(len(ids)):
        asked = found.targets[row] != IGNORED
        masked = set(found.places[row][asked].tolist())
        cut = 0
        for number in range(words[row].max() + 1):
            inside = set(np.flatnonzero(words[row] == number).tolist())
            cut += bool(inside & masked) and not inside <= masked
        assert cut <= 1


def test_rows_with_too_little_to_guess(tokenizers: dict[str, Any]) -> None:
    tokenizer = tokenizers["wordpiece"]
    draw = masker(tokenizer, 0.5, 2.0, CPU)
    ids = torch.full((3, 20), tokenizer.unk_token_id)
    ids[1, 4:7] = tokenizer.convert_tokens_to_ids("the")
    ids[2, :] = tokenizer.convert_tokens_to_ids("the")
    for kind in ("random", "words", "names"):
        found = draw(ids, kind, seeded(1))
        check(ids, found, draw, set(tokenizer.all_special_ids))
        assert (found.targets != IGNORED).sum(1).tolist() == [0, 3, 10]


def test_the_generator_alone_decides(tokenizers: dict[str, Any]) -> None:
    draw = masker(tokenizers["bpe"], 0.3, 2.0, CPU)
    ids, _ = make_rows(tokenizers["bpe"], 3)
    for kind in ("random", "words", "names"):
        torch.manual_seed(1)
        one = draw(ids, kind, seeded(7))
        torch.manual_seed(2)
        again, other = draw(ids, kind, seeded(7)), draw(ids, kind, seeded(8))
        for name in ("ids", "places", "targets"):
            assert torch.equal(getattr(one, name), getattr(again, name))
        assert not torch.equal(one.ids, other.ids)


def test_shares_of_what_is_shown(tokenizers: dict[str, Any]) -> None:
    tokenizer = tokenizers["bpe"]
    draw = masker(tokenizer, 0.4, 2.0, CPU)
    ids, _ = make_rows(tokenizer, 5, rows=2000)
    found = draw(ids, "random", seeded(5))
    shown, asked = found.ids.gather(1, found.places), found.targets != IGNORED
    n = int(asked.sum())
    assert n > 25_000
    hidden = int(((shown == tokenizer.mask_token_id) & asked).sum()) / n
    kept = int(((shown == found.targets) & asked).sum()) / n
    ordinary = len(tokenizer) - len(set(tokenizer.all_special_ids))
    assert hidden == pytest.approx(0.8, abs=0.01)
    assert kept == pytest.approx(0.1 + 0.1 / ordinary, abs=0.008)
    replaced = shown[asked & (shown != tokenizer.mask_token_id) & (shown != found.targets)]
    assert len(replaced.unique()) > 0.99 * ordinary  # any entry, not only those of the text
    assert replaced.bincount(minlength=len(tokenizer)).max() < 5 * len(replaced) / ordinary


def simulate(weights: list[float], sizes: list[int], count: int, rng: np.random.Generator) -> np.ndarray:
    """How often each word is masked: words drawn one after another, by weight, until `count` places are."""
    rounds, found = 4000, np.zeros(len(weights))
    for _ in range(rounds):
        p = np.array(weights)
        left = count
        while left > 0:
            word = rng.choice(len(p), p=p / p.sum())
            found[word] += min(sizes[word], left) / sizes[word]
            left -= sizes[word]
            p[word] = 0
    return found / rounds


@pytest.mark.parametrize(("kind", "names"), [("words", 3.0), ("names", 1.0), ("names", 3.0)])
def test_names_come_more_often(kind: str, names: float, tokenizers: dict[str, Any]) -> None:
    tokenizer = tokenizers["wordpiece"]
    words = ["the", "Anna", "walking", "Zzyx", "and", "fox", "Berg", "talking", "dog", "over", "xyzzy", "the"]
    pieces = [tokenizer(word, add_special_tokens=False).input_ids for word in words]
    sizes = [len(piece) for piece in pieces]
    assert max(sizes) > 2
    row = [i for piece in pieces for i in piece]
    of = np.repeat(np.arange(len(words)), sizes)
    draw = masker(tokenizer, 0.25, names, CPU)
    ids = torch.tensor(row).expand(12_000, -1)
    found = draw(ids, kind, seeded(11))
    share = np.bincount(of[found.places.numpy().flatten()], minlength=len(words)) / len(ids) / sizes
    weights = [names if kind == "names" and word[0].isupper() else 1.0 for word in words]
    expected = simulate(weights, sizes, draw.count(len(row)), np.random.default_rng(0))
    assert share == pytest.approx(expected, abs=0.03)
    often = share[1] / share[0]  # two words of one piece each: a name and none
    if kind == "names" and names > 1:
        assert 1.8 < often < 3
    else:
        assert 0.9 < often < 1.1


def test_a_row_may_begin_inside_a_word(tokenizers: dict[str, Any]) -> None:
    """The rest of a cut word is a word, and a special token parts two of them."""
    tokenizer = tokenizers["wordpiece"]
    inner = tokenizer.convert_tokens_to_ids([t for t in tokenizer.get_vocab() if t.startswith("##")][:3])
    word = tokenizer.convert_tokens_to_ids("the")
    ids = torch.tensor([[inner[0], inner[1], word, inner[2], tokenizer.sep_token_id, inner[1], inner[2]]])
    draw = masker(tokenizer, 2 / 7, 2.0, CPU)
    seen = {tuple(sorted(draw(ids, "words", seeded(i)).places[0].tolist())) for i in range(60)}
    assert seen == {(0, 1), (2, 3), (5, 6)}


def test_a_tokenizer_without_a_mask(tokenizers: dict[str, Any]) -> None:
    from transformers import PreTrainedTokenizerFast

    bare = PreTrainedTokenizerFast(tokenizer_object=tokenizers["bpe"].backend_tokenizer, pad_token="<pad>")
    with pytest.raises(ModelError, match="no mask token"):
        masker(bare, 0.2, 2.0, CPU)
