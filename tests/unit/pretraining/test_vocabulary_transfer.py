"""A model under another vocabulary, entry by entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from roster.pretraining.vocabulary_reduction import reduce_vocabulary
from roster.pretraining.vocabulary_transfer import by_entry, keep_entries, mapping, transfer_vocabulary

KINDS = {"roberta": "bpe", "bert": "wordpiece", "distilbert": "wordpiece", "deberta-v2": "unigram",
         "modernbert": "modern"}  # fmt: skip
TEXT = "Anna Berg went to Paris and Bonn with Carl . naïve café 0123"


def load(kind: str, backbones: dict[str, Path]) -> Any:
    model = AutoModelForMaskedLM.from_pretrained(backbones[kind], dtype=torch.float32).eval()
    with torch.no_grad():  # so that the bias of each entry shows
        for name, p in model.named_parameters():
            if name.endswith("bias") and len(p) == model.config.vocab_size:
                p.normal_(generator=torch.Generator().manual_seed(1))
    return model


def logits(model: Any, ids: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model.eval()(input_ids=torch.tensor([list(ids)])).logits[0]
    return found


def rebuilt(tokenizer: Any, order: list[str]) -> Any:
    """A WordPiece tokenizer with other entries, in this order; special ones last."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[MASK]", "[SEP]", "[CLS]", "[UNK]", "[PAD]"]
    entries = {token: i for i, token in enumerate([*order, *special])}
    t = Tokenizer(models.WordPiece(entries, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", entries["[CLS]"]), ("[SEP]", entries["[SEP]"])]
    )
    return PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]",
                                   cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")  # fmt: skip


def shuffled_bpe(tokenizer: Any) -> Any:
    """The same byte-level tokenizer with all entries under other numbers."""
    import json

    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    special = np.array([4, 2, 1, 3, 0])  # the padding token stays within RoBERTa's table of positions
    kept = [*special, *(5 + np.random.default_rng(0).permutation(len(tokenizer) - 5))]
    new = {int(old): i for i, old in enumerate(kept)}
    tree = json.loads(tokenizer.backend_tokenizer.to_str())
    tree["model"]["vocab"] = {token: new[i] for token, i in tree["model"]["vocab"].items()}
    for added in tree["added_tokens"]:
        added["id"] = new[added["id"]]
    for name in ("sep", "cls"):
        tree["post_processor"][name][1] = new[tree["post_processor"][name][1]]
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(tree)), pad_token="<pad>", unk_token="<unk>",
        cls_token="<s>", sep_token="</s>", mask_token="<mask>", bos_token="<s>", eos_token="</s>",
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_tokenizer(kind: str, backbones: dict[str, Path], tokenizers: dict[str, Any]) -> None:
    model, tokenizer = load(kind, backbones), tokenizers[KINDS[kind]]
    again = transfer_vocabulary(model, tokenizer, tokenizer)
    ids = tokenizer(TEXT).input_ids
    torch.testing.assert_close(logits(again, ids), logits(model, ids))
    for name, value in model.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], value, msg=name)
    assert again.get_input_embeddings().weight is again.get_output_embeddings().weight


def test_other_numbers_for_the_same_entries(backbones: dict[str, Path], tokenizers: dict[str, Any]) -> None:
    """RoBERTa counts positions from the number of its padding token, which moves too."""
    model, old = load("roberta", backbones), tokenizers["bpe"]
    new = shuffled_bpe(old)
    kept = [old.convert_tokens_to_ids(token) for token in new.convert_ids_to_tokens(list(range(len(new))))]
    assert sorted(kept) == list(range(len(old)))
    assert (old.pad_token_id, new.pad_token_id) == (0, 4)
    other = transfer_vocabulary(model, old, new)
    found = logits(other, new(TEXT).input_ids)
    torch.testing.assert_close(found, logits(model, old(TEXT).input_ids)[:, kept])


def test_another_vocabulary(backbones: dict[str, Path], tokenizers: dict[str, Any]) -> None:
    """Every entry is the mean of the old entries that spell it."""
    model, old = load("bert", backbones), tokenizers["wordpiece"]
    order = ["Anna", "the", "##ing", "walkings", "Bonnt", "##ingly", "Zürich", "Paris", "##ab", "木"]
    new = rebuilt(old, order)
    other = transfer_vocabulary(model, old, new)
    table, mapped = (m.get_input_embeddings().weight.detach() for m in (model, other))
    bias, mapped_bias = model.cls.predictions.bias.detach(), other.cls.predictions.bias.detach()
    known = old.get_vocab()
    for i, token in enumerate(order):
        if token.startswith("##"):
            rows = old("x" + token[2:], add_special_tokens=False).input_ids[1:]  # x is an entry of its own
            if token in known:
                rows = [known[token]]
        else:
            rows = old(token, add_special_tokens=False).input_ids
        torch.testing.assert_close(mapped[i], table[rows].mean(0), msg=token)
        torch.testing.assert_close(mapped_bias[i], bias[rows].mean(), msg=token)
    assert old("Anna", add_special_tokens=False).input_ids == [known["Anna"]]
    assert torch.equal(mapped[0], table[known["Anna"]])
    for role in ("mask", "sep", "cls", "unk", "pad"):
        mine, theirs = (getattr(t, f"{role}_token_id") for t in (new, old))
        assert torch.equal(mapped[mine], table[theirs]), role
    assert other.config.vocab_size == len(new)
    assert other.config.pad_token_id == new.pad_token_id
    before = logits(model, old("Anna Paris").input_ids)
    torch.testing.assert_close(logits(other, new("Anna Paris").input_ids), _mapped(before, old, new))


def _mapped(found: torch.Tensor, old: Any, new: Any) -> torch.Tensor:
    """Logits are linear in the rows of the table, so those of a mean are the mean of theirs."""
    share = torch.zeros(len(new), len(old))
    entries, pieces, shares = mapping(old, new)
    for i, j, value in zip(entries.tolist(), pieces.tolist(), shares.tolist(), strict=True):
        share[i, j] += value
    torch.testing.assert_close(share.sum(1), torch.ones(len(new)))
    return found @ share.T


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("wordpiece", "bpe"),
        ("bpe", "wordpiece"),
        ("unigram", "modern"),
        ("bpe", "unigram"),
        ("bpe", "modern"),
        ("wordpiece", "unigram"),
    ],
)
def test_between_conventions(old: str, new: str, tokenizers: dict[str, Any]) -> None:
    """Words that are one entry in both are the same row, marks aside; special tokens go by their role."""
    one, other = tokenizers[old], tokenizers[new]
    entries, pieces, _ = mapping(one, other)
    found: dict[int, list[int]] = {}
    for i, j in zip(entries.tolist(), pieces.tolist(), strict=True):
        found.setdefault(i, []).append(j)
    assert sorted(found) == list(range(len(other)))
    checked = 0
    for i in range(len(other)):
        word = other.decode([i]).strip()
        before, after = (t(f" {word}", add_special_tokens=False).input_ids for t in (one, other))
        if word.isalpha() and after == [i] and one.unk_token_id not in before:
            assert found[i] == before, word
            checked += 1
    assert checked >= 15
    for role in ("mask", "sep", "cls", "unk", "pad"):
        assert found[getattr(other, f"{role}_token_id")] == [getattr(one, f"{role}_token_id")], role


def test_a_vocabulary_of_small_letters(tokenizers: dict[str, Any]) -> None:
    """A name finds the row of its small letters, since this is how the old tokenizer would read it."""
    from tokenizers import Tokenizer, normalizers
    from transformers import PreTrainedTokenizerFast

    t = Tokenizer.from_str(tokenizers["wordpiece"].backend_tokenizer.to_str())
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    small = PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]",
                                    cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")  # fmt: skip
    new = rebuilt(small, ["The", "Étage", "##Fox"])
    entries, pieces, _ = mapping(small, new)
    for i, text in enumerate(["the", "etage"]):
        found = [j for e, j in zip(entries.tolist(), pieces.tolist(), strict=True) if e == i]
        assert found == small(text, add_special_tokens=False).input_ids
    inside = [j for e, j in zip(entries.tolist(), pieces.tolist(), strict=True) if e == 2]
    assert inside == small("xfox", add_special_tokens=False).input_ids[1:]


@pytest.mark.parametrize("kind", ["roberta", "bert", "distilbert", "modernbert", "deberta-v2"])
def test_keep_entries(kind: str, backbones: dict[str, Path], tokenizers: dict[str, Any]) -> None:
    model, tokenizer = load(kind, backbones), tokenizers[KINDS[kind]]
    text = "Anna Berg saw the house"
    used = tokenizer(text).input_ids
    rng = np.random.default_rng(1)
    some = set(used) | set(tokenizer.all_special_ids) | set(rng.choice(len(tokenizer), 60).tolist())
    kept = np.array(sorted(some))
    smaller = keep_entries(model, kept)
    new = {int(old): i for i, old in enumerate(kept)}
    torch.testing.assert_close(logits(smaller, [new[i] for i in used]), logits(model, used)[:, kept])
    assert smaller.config.vocab_size == len(kept)
    assert smaller.config.pad_token_id == new[tokenizer.pad_token_id]
    assert smaller.get_input_embeddings().weight is smaller.get_output_embeddings().weight
    assert logits(model, used).shape[1] == len(tokenizer)  # the old one is as it was


def test_keep_entries_with_their_tokenizer(backbones: dict[str, Path], tokenizers: dict[str, Any]) -> None:
    """What `--vocab` does: the same text through both, where the cut kept its words."""
    model, tokenizer = load("roberta", backbones), tokenizers["bpe"]
    counts = np.bincount(tokenizer(TEXT, add_special_tokens=False).input_ids, minlength=len(tokenizer))
    cut, kept = reduce_vocabulary(tokenizer, counts, 360)
    smaller = keep_entries(model, kept)
    torch.testing.assert_close(
        logits(smaller, cut(TEXT).input_ids), logits(model, tokenizer(TEXT).input_ids)[:, kept]
    )


def test_moved_padding_moves_positions(backbones: dict[str, Path], tokenizers: dict[str, Any]) -> None:
    model, tokenizer = load("roberta", backbones), tokenizers["bpe"]
    assert tokenizer.pad_token_id == 0
    kept = np.array([3, 2, 4, 0, 1, *range(5, 300)])
    new = {int(old): i for i, old in enumerate(kept)}
    used = [i for i in tokenizer(TEXT).input_ids if i in new]
    smaller = keep_entries(model, kept)
    assert smaller.config.pad_token_id == 3
    torch.testing.assert_close(logits(smaller, [new[i] for i in used]), logits(model, used)[:, kept])


@pytest.mark.parametrize("kind", KINDS)
def test_tables_by_entry(kind: str, backbones: dict[str, Path]) -> None:
    """All weights of the vocabulary's size, and no others, whatever the architecture calls them."""
    model = load(kind, backbones)
    size = model.config.vocab_size
    expected = [name for name, tensor in model.state_dict().items() if len(tensor) == size]
    assert by_entry(model) == expected
    assert len(expected) >= 3
