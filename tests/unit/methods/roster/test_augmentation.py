"""Augmentations: what is masked, what may replace it, and that labels stay where they were."""

from __future__ import annotations

import shutil
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_encoder, load_masked_lm, load_tokenizer
from roster.backbone.token_features import TokenFeatures, token_features
from roster.corpus.sentence import Sentence
from roster.errors import ModelError
from roster.methods.roster.augmentation import (
    MaskedLM,
    OtherAugmenter,
    OwnAugmenter,
    choose_masked,
    fits,
    make_augmenter,
    sample_top,
)
from roster.methods.roster.head import TwoHeads
from roster.methods.roster.settings import Augmentation
from roster.model.batches import DeviceCorpus
from roster.training.loop import PlainModels

CPU = torch.device("cpu")


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=1, max_size=5), st.integers(0, 9))
def test_masked_are_a_share_of_the_candidates(rows: list[list[bool]], seed: int) -> None:
    candidates = torch.tensor(rows)
    chosen = choose_masked(candidates, 0.4, seeded(seed))
    assert not (chosen & ~candidates).any()
    for row, picked in zip(rows, chosen, strict=True):
        n = sum(row)
        assert picked.sum() == min(n, max(1, round(0.4 * n)))


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (3, 1), (6, 1), (20, 3), (100, 15), (0, 0)])
def test_fifteen_percent_and_at_least_one(n: int, expected: int) -> None:
    candidates = torch.arange(120).expand(50, 120) < n
    chosen = choose_masked(candidates, 0.15, seeded(0))
    assert (chosen.sum(1) == expected).all()
    if n > 1:
        assert len(set(map(tuple, chosen.tolist()))) > 1


def test_every_candidate_is_masked_equally_often() -> None:
    chosen = choose_masked(torch.ones(4000, 10, dtype=torch.bool), 0.3, seeded(1))
    assert (chosen.float().mean(0) - 0.3).abs().max() < 0.03


def test_draws_follow_the_softmax_of_the_top_k() -> None:
    logits = torch.tensor([0.0, 2.0, -1.0, 1.0, 1.5, -3.0])
    drawn = sample_top(logits.expand(40000, 6), 3, seeded(0))
    share = torch.bincount(drawn, minlength=6) / 40000
    expected = torch.zeros(6)
    expected[[1, 3, 4]] = torch.tensor([2.0, 1.0, 1.5]).softmax(0)
    assert (share - expected).abs().max() < 0.01
    assert share[[0, 2, 5]].sum() == 0
    assert (sample_top(logits.expand(10, 6), 1, seeded(0)) == 1).all()
    assert sample_top(logits.expand(500, 6), 99, seeded(0)).unique().numel() >= 5


def test_fits_is_the_same_in_all_three_and_never_special() -> None:
    traits = list(product((False, True), repeat=4))
    columns = [torch.tensor(column) for column in zip(*traits, strict=True)]
    v = TokenFeatures(*columns)
    for (i, new), (j, old) in product(enumerate(traits), repeat=2):
        expected = new[:3] == old[:3] and not new[3]
        assert fits(torch.tensor([i]), torch.tensor([j]), v).item() is expected


SENTENCES = [
    tuple(text.split())
    for text in (
        "The president of France visited Berlin on Monday to meet the chancellor .",
        "Apple and Microsoft reported higher profits in the first quarter of 1996 .",
        "Paris",
        "John Smith scored two goals for Manchester United against Liverpool .",
    )
] * 8


@pytest.fixture(scope="module")
def bundled() -> tuple[WordEncoder, DeviceCorpus]:
    tokenizer = load_tokenizer("roster-small-en-2")
    encoder = WordEncoder(tokenizer, 64)
    return encoder, DeviceCorpus.put(encoder.encode(SENTENCES), tokenizer.pad_token_id, CPU)


def own(encoder: WordEncoder, corpus: DeviceCorpus, backbone: str, **options: Any) -> OwnAugmenter:
    found = make_augmenter(
        Augmentation(**options), load_masked_lm(backbone), corpus, SENTENCES, encoder, 3, "float32"
    )
    assert isinstance(found, OwnAugmenter)
    return found


def check_layout(augmented: DeviceCorpus, corpus: DeviceCorpus, features: TokenFeatures) -> torch.Tensor:
    """What every augmentation must keep; gives the mask of what it changed."""
    assert augmented.ids.shape == corpus.ids.shape
    assert augmented.ids.dtype == corpus.ids.dtype
    assert augmented.encoded is corpus.encoded
    changed = augmented.ids != corpus.ids
    new, old = augmented.ids[changed].long(), corpus.ids[changed].long()
    assert fits(new, old, features).all()
    assert not changed[features.special[corpus.ids.long()]].any()
    inside = torch.arange(corpus.ids.shape[1]) < torch.from_numpy(corpus.encoded.lengths)[:, None]
    assert not changed[~inside].any()
    return changed


def test_own_augmenter_on_the_bundled_backbone(bundled: tuple[WordEncoder, DeviceCorpus]) -> None:
    encoder, corpus = bundled
    augment = own(encoder, corpus, "roster-small-en-2")
    features = token_features(encoder.tokenizer)
    first = augment(None, 0)
    changed = check_layout(first, corpus, features)
    ordinary = ~features.special[corpus.ids.long()]
    # Of the 15 % that are masked, some get the original back or a guess that does not fit.
    assert 0.02 < changed.sum() / ordinary.sum() < 0.15
    assert (changed.sum(1) <= (0.15 * ordinary.sum(1)).round().clamp_min(1)).all()
    assert torch.equal(augment(None, 0).ids, first.ids)
    assert not torch.equal(augment(None, 1).ids, first.ids)


def test_the_frozen_model_ignores_the_trained_one_and_the_trained_one_does_not(
    bundled: tuple[WordEncoder, DeviceCorpus],
) -> None:
    encoder, corpus = bundled
    features = token_features(encoder.tokenizer)
    model = TwoHeads(load_encoder("roster-small-en-2"), 2)
    trained = own(encoder, corpus, "roster-small-en-2", by="trained")
    found = trained(PlainModels(model, "float32"), 0)
    changed = check_layout(found, corpus, features)
    firsts = torch.zeros_like(changed)
    for i in range(corpus.encoded.n_windows):
        a, b = corpus.encoded.word_starts[i : i + 2]
        firsts[i, corpus.encoded.positions[a:b]] = True
    assert not changed[~firsts].any()
    frozen = own(encoder, corpus, "roster-small-en-2")(None, 0)
    assert not torch.equal(found.ids, frozen.ids)
    # An encoder that was trained to nonsense writes nonsense.
    with torch.no_grad():
        for p in model.encoder.parameters():
            p.add_(torch.randn(p.shape, generator=seeded(0)) * 0.5)
    assert not torch.equal(trained(PlainModels(model, "float32"), 0).ids, found.ids)
    assert torch.equal(
        own(encoder, corpus, "roster-small-en-2")(PlainModels(model, "float32"), 0).ids, frozen.ids
    )


@pytest.mark.parametrize("name", ["roberta", "bert", "distilbert", "deberta-v2", "modernbert"])
def test_logits_at_chosen_places_only(name: str, backbones: dict[str, Path], toy: list[Sentence]) -> None:
    """The hook changes what is paid, not what comes out; and every architecture can augment."""
    from transformers import AutoModelForMaskedLM

    tokenizer = load_tokenizer(str(backbones[name]))
    encoder = WordEncoder(tokenizer, 32)
    corpus = DeviceCorpus.put(encoder.encode([s.words for s in toy]), tokenizer.pad_token_id, CPU)
    (batch,) = corpus.batches([np.arange(60)])
    wanted = choose_masked(batch.mask > 0, 0.15, seeded(0))
    model = AutoModelForMaskedLM.from_pretrained(backbones[name]).eval()
    with torch.no_grad():
        whole = model(input_ids=batch.ids, attention_mask=batch.mask).logits
    found = MaskedLM(load_masked_lm(str(backbones[name])), CPU).logits(batch.ids, batch.mask, wanted)
    torch.testing.assert_close(found, whole[wanted], rtol=1e-4, atol=1e-5)
    changed = check_layout(
        own(encoder, corpus, str(backbones[name]), mask=0.5)(None, 0), corpus, token_features(tokenizer)
    )
    assert changed.any()


def test_a_model_with_more_entries_than_its_tokenizer(
    tiny: Path, toy: list[Sentence], tmp_path: Path
) -> None:
    """Vocabularies are padded to a round number; what no token stands for must not be drawn."""
    from transformers import AutoModelForMaskedLM

    tokenizer = load_tokenizer(str(tiny))
    model = AutoModelForMaskedLM.from_pretrained(tiny)
    model.resize_token_embeddings(len(tokenizer) + 300)
    with torch.no_grad():
        model.lm_head.bias[len(tokenizer) :] = 20.0
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    encoder = WordEncoder(tokenizer, 32)
    corpus = DeviceCorpus.put(encoder.encode([s.words for s in toy]), tokenizer.pad_token_id, CPU)
    found = own(encoder, corpus, str(tmp_path), mask=0.5)(None, 0)
    assert found.ids.max() < len(tokenizer)
    assert not torch.equal(found.ids, corpus.ids)


def test_without_a_head_the_error_names_three_ways_out(
    tiny: Path, toy: list[Sentence], tmp_path: Path
) -> None:
    from transformers import AutoModel

    AutoModel.from_pretrained(tiny).save_pretrained(tmp_path)
    tokenizer = load_tokenizer(str(tiny))
    tokenizer.save_pretrained(tmp_path)
    encoder = WordEncoder(tokenizer, 32)
    corpus = DeviceCorpus.put(encoder.encode([s.words for s in toy]), tokenizer.pad_token_id, CPU)
    with pytest.raises(
        ModelError, match=r"augmentation\.enabled=false.*augmentation\.masked_lm=.*augmentation\.by=names"
    ):
        own(encoder, corpus, str(tmp_path))
    assert load_encoder(str(tmp_path)).config.hidden_size == 32


# -- another masked language model ------------------------------------------------------------------

WORDS = ["the", "went", "to", "saw", "house", "and", "Anna", "Berg", "Carl", "Paris", "Rome"]
WORDS += [".", ",", "-", "12"]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT whose vocabulary is made by hand: some whole words, and the letters."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    letters = [chr(c) for c in (*range(97, 123), *range(65, 91))]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    entries = dict.fromkeys([*special, *WORDS, *letters, *(f"##{c}" for c in letters), "##-", "##."])
    t = Tokenizer(models.WordPiece({w: i for i, w in enumerate(entries)}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    )  # fmt: skip
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(entries), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                        intermediate_size=64, initializer_range=0.3, max_position_embeddings=130)  # fmt: skip
    folder = tmp_path_factory.mktemp("other")
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


TEXTS = [
    ("Anna", "Berg", "went", "to", "Paris", "and", "Rome", "."),
    ("Oslo", "saw", "the", "house", "12", "-", "Ωμέγα", "."),
    ("Carl",),
    (),
    ("unhappiness", "Ωμέγα", "in", "Oslo"),
]


def make_other(
    tiny: Path, other: Path, texts: list[tuple[str, ...]], length: int = 60, **options: Any
) -> OtherAugmenter:
    tokenizer = load_tokenizer(str(tiny))
    encoder = WordEncoder(tokenizer, length)
    corpus = DeviceCorpus.put(encoder.encode(texts), tokenizer.pad_token_id, CPU)
    config = Augmentation(masked_lm=str(other), **{"mask": 0.6, "top_k": 40, **options})
    found = make_augmenter(config, load_masked_lm(config.masked_lm), corpus, texts, encoder, 3, "float32")
    assert isinstance(found, OtherAugmenter)
    return found


def words_of(corpus: DeviceCorpus, tokenizer: Any) -> list[str]:
    """The words of a corpus, read back from its sub-words."""
    encoded, found = corpus.encoded, []
    for i in range(encoded.n_windows):
        starts = encoded.positions[encoded.word_starts[i] : encoded.word_starts[i + 1]]
        positions = [*starts, encoded.lengths[i] - 1]
        ids = encoded.ids[encoded.starts[i] : encoded.starts[i + 1]]
        found += [tokenizer.decode(ids[a:b]).strip() for a, b in pairwise(positions)]
    return found


def test_other_augmenter_replaces_whole_words_only(tiny: Path, other: Path) -> None:
    augment = make_other(tiny, other, TEXTS)
    tokenizer = load_tokenizer(str(tiny))
    before = [w for s in TEXTS for w in s]
    assert words_of(augment.corpus, tokenizer) == before
    replaced = set()
    for epoch in range(12):
        found = augment(None, epoch)
        assert found.n_words == len(before)
        assert np.array_equal(found.encoded.word_starts, augment.corpus.encoded.word_starts)
        assert np.array_equal(found.encoded.words, augment.corpus.encoded.words)
        after = words_of(found, tokenizer)
        assert len(after) == len(before)
        for old, new in zip(before, after, strict=True):
            if old != new:
                replaced.add(old)
                assert old in WORDS
                assert new in WORDS or len(new) == 1
                assert new[0].isupper() == old[0].isupper()
                assert new.isalnum() == old.isalnum()
    assert len(replaced) > 5
    assert torch.equal(augment(None, 0).ids, augment(None, 0).ids)
    assert not torch.equal(augment(None, 0).ids, augment(None, 1).ids)


def test_other_augmenter_keeps_alignment_through_windows(tiny: Path, other: Path) -> None:
    """A replacement may have more sub-words; a sentence of several windows then stays as it is."""
    texts = [
        ("the", "house", "saw", "Paris", "and", "Rome") * 6,
        ("Anna", "went", "to", "Paris"),
        ("house",) * 5,
    ]
    augment = make_other(tiny, other, texts, length=14)
    assert augment.corpus.encoded.n_windows > 3
    for epoch in range(6):
        found = augment(None, epoch)
        assert np.array_equal(found.encoded.word_starts, augment.corpus.encoded.word_starts)
        assert found.n_words == augment.corpus.n_words
        plan = augment.corpus.training_plan(2, np.random.default_rng(epoch))
        for ours, theirs in zip(augment.corpus.batches(plan), found.batches(plan), strict=True):
            assert torch.equal(ours.words, theirs.words)


def test_other_augmenter_can_find_nothing_to_mask(tiny: Path, other: Path) -> None:
    augment = make_other(tiny, other, [("Ωμέγα", "unhappiness")])
    assert torch.equal(augment(None, 0).ids, augment.corpus.ids)


def test_other_augmenter_leaves_unknown_words(tiny: Path, other: Path) -> None:
    """The unknown token is one token, but no word of the vocabulary."""
    augment = make_other(tiny, other, [("Ωμέγα", "Ωμέγα", "-", "-")], mask=1.0, top_k=2)
    odd = load_tokenizer(str(other)).convert_tokens_to_ids(["##-", ","])
    with torch.no_grad():
        augment.lm.model.cls.predictions.decoder.bias[odd] = 100.0
    tokenizer = load_tokenizer(str(tiny))
    seen = [words_of(augment(None, epoch), tokenizer) for epoch in range(8)]
    assert all(words[:2] == ["Ωμέγα", "Ωμέγα"] for words in seen)
    assert {word for words in seen for word in words[2:]} == {"-", ","}


def test_other_model_must_have_a_head(tiny: Path, other: Path, tmp_path: Path) -> None:
    from transformers import AutoModel

    shutil.copytree(other, tmp_path / "headless")
    AutoModel.from_pretrained(other).save_pretrained(tmp_path / "headless")
    with pytest.raises(ModelError, match="no trained masked-language-model head"):
        make_other(tiny, tmp_path / "headless", TEXTS)
