"""Tiny backbones of every convention, built once a session, and an easy task to train them on.

Everything is made here: no test reaches for the network.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from roster.corpus.sentence import Sentence, Span

if "PYTEST_XDIST_WORKER" in os.environ:  # a core for each worker; read when torch is first imported
    os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command has it: no spinning beside others

settings.register_profile("roster", deadline=None)
settings.load_profile("roster")

TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "Anna Berg went to Paris and Bonn with Carl .",
    "Carl met Dora in Rome , then they saw Anna Berg 's house in Oslo .",
    "PACK MY BOX WITH FIVE DOZEN LIQUOR JUGS 0123456789",
    "été Élan état Étoile été Élan état Étoile naïve café",
    "we talk about walking and talking , walked and talked",
    "q z x j v w k a b c d e f g h i l m n o p r s t u y aq bz cx dj ev fw gk",
] * 4

PEOPLE = ("Anna", "Berg", "Carl", "Dora")
PLACES = ("Paris", "Bonn", "Rome", "Oslo")
OTHERS = ("the", "went", "to", "and", "in", "saw", "house", "then", "with", ".")


def _wordpiece() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    # As special tokens the characters have fixed ids; otherwise ids, and merges of equal frequency, would
    # follow the order of a hash table, which differs from one process to the next.
    characters = sorted({c for text in TEXTS for c in text if c != " "})
    fixed = [*special, *characters, *(f"##{c}" for c in characters)]
    t.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=260, special_tokens=fixed))
    t.model = models.WordPiece(t.get_vocab(with_added_tokens=False), unk_token="[UNK]")
    t = Tokenizer.from_str(_without_added(t.to_str(), special))
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return _fast(t, *special)


def _without_added(tokenizer: str, special: Sequence[str]) -> str:
    """A tokenizer.json whose vocabulary has these special tokens only."""
    content = json.loads(tokenizer)
    content["added_tokens"] = [one for one in content["added_tokens"] if one["content"] in special]
    return json.dumps(content)


def _fast(tokenizer: Any, pad: str, unk: str | None, cls: str, sep: str, mask: str, **options: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=pad, unk_token=unk, cls_token=cls,
                                   sep_token=sep, mask_token=mask, **options)  # fmt: skip


def _byte_level(add_prefix_space: bool) -> Any:
    """As RoBERTa: offsets are trimmed."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    t.decoder = decoders.ByteLevel()
    special = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=420, special_tokens=special, initial_alphabet=alphabet)
    )
    t.post_processor = processors.RobertaProcessing(
        ("</s>", 3), ("<s>", 2), trim_offsets=True, add_prefix_space=add_prefix_space
    )
    return _fast(t, *special, bos_token="<s>", eos_token="</s>")


def _modern() -> Any:
    """As ModernBERT: byte-level pieces, BERT's special tokens, offsets that include the space."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=420, special_tokens=special, initial_alphabet=alphabet)
    )
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return _fast(t, *special)


def _unigram() -> Any:
    """As DeBERTa-v3 and XLM-R: SentencePiece's ▁.

    The pieces are those of byte-pair encoding, with their frequencies: `UnigramTrainer` adds in the order of
    a hash table, and its pieces differ from one process to the next.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pairs = Tokenizer(models.BPE())
    pairs.normalizer, pairs.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    pairs.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=200, special_tokens=special))
    counts = Counter(piece for text in TEXTS for piece in pairs.encode(text).tokens)
    pieces = sorted(set(pairs.get_vocab()) - set(special))
    total = counts.total() + len(pieces)
    scores = [(name, 0.0) for name in special] + [(p, math.log((counts[p] + 1) / total)) for p in pieces]
    t = Tokenizer(models.Unigram(scores, unk_id=1))
    t.add_special_tokens(special)
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return _fast(t, *special)


CONVENTIONS: dict[str, Callable[[], Any]] = {
    "wordpiece": _wordpiece,
    "bpe": lambda: _byte_level(False),
    "bpe-prefix": lambda: _byte_level(True),
    "unigram": _unigram,
    "modern": _modern,
}
ARCHITECTURES = {
    "roberta": ("bpe", {"max_position_embeddings": 66}),
    "bert": ("wordpiece", {"max_position_embeddings": 64}),
    "distilbert": ("wordpiece", {"max_position_embeddings": 64}),
    "deberta-v2": ("unigram", {"relative_attention": True, "position_buckets": 16,
                               "max_position_embeddings": 64, "pos_att_type": ["p2c", "c2p"],
                               "share_att_key": True, "norm_rel_ebd": "layer_norm"}),
    "modernbert": ("modern", {"max_position_embeddings": 64, "global_attn_every_n_layers": 2}),
}  # fmt: skip


@pytest.fixture(scope="session")
def tokenizers() -> dict[str, Any]:
    """One tokenizer of each convention of marking word starts."""
    return {name: make() for name, make in CONVENTIONS.items()}


@pytest.fixture(scope="session")
def backbones(tokenizers: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of tiny masked language models with random weights, one of each architecture."""
    import torch
    from transformers import AutoConfig, AutoModelForMaskedLM

    found = {}
    for name, (convention, options) in ARCHITECTURES.items():
        tokenizer = tokenizers[convention]
        sizes: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
                                 "intermediate_size": 64, "initializer_range": 0.1}  # fmt: skip
        if name == "distilbert":
            sizes = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64, "initializer_range": 0.1}
        config = AutoConfig.for_model(
            name, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.cls_token_id, eos_token_id=tokenizer.sep_token_id,
            cls_token_id=tokenizer.cls_token_id, sep_token_id=tokenizer.sep_token_id, **sizes, **options,
        )  # fmt: skip
        torch.manual_seed(0)
        model = AutoModelForMaskedLM.from_config(config)
        folder = tmp_path_factory.mktemp("backbones") / name
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        found[name] = folder
    return found


@pytest.fixture(scope="session")
def tiny(backbones: dict[str, Path]) -> Path:
    """The tiny backbone for tests that do not care which."""
    return backbones["roberta"]


@pytest.fixture(scope="session")
def toy() -> list[Sentence]:
    """Sentences of a task that anything can learn: a name is its type."""
    generator = np.random.default_rng(0)
    sentences = []
    for _ in range(60):
        words, spans = [], []
        for _ in range(int(generator.integers(3, 9))):
            kind = generator.choice(3, p=[0.6, 0.2, 0.2])
            words.append(str(generator.choice((OTHERS, PEOPLE, PLACES)[kind])))
            if kind:
                label = ("", "PER", "LOC")[kind]
                if spans and spans[-1].end == len(words) - 1 and spans[-1].label == label:
                    spans[-1] = Span(spans[-1].start, len(words), label)
                else:
                    spans.append(Span(len(words) - 1, len(words), label))
        sentences.append(Sentence.from_words(words, spans))
    return sentences


@pytest.fixture(scope="session")
def trained(tiny: Path, toy: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder that knows the toy task; windows of 24 sub-words."""
    import torch

    from roster.config import Optimiser
    from roster.methods.request import load_config
    from roster.methods.roster.head import TwoHeads
    from roster.methods.roster.masking import input_mask
    from roster.methods.roster.noise_robust import NoiseRobustObjective
    from roster.methods.roster.settings import NoiseRobust
    from roster.model.decoding import io_classes
    from roster.model.folder import save_model
    from roster.training.loop import PlainModels, fit
    from roster.training.objective import Schedule
    from roster.training.task import Task

    overrides = {"backbone.name": str(tiny), "backbone.max_length": 24, "optimiser.device": "cpu"}
    config = load_config(
        overrides={**overrides, "noise_robust.remove_labels": False, "noise_robust.drop_o": 0}
    )
    task = Task.build(config, ("PER", "LOC"), toy, {})
    model = task.new_model(TwoHeads, 1)
    mask = input_mask(0.0, task.encoder, torch.device("cpu"))
    labels = io_classes(toy, task.types)
    objective = NoiseRobustObjective(task.corpus, labels, config.section(NoiseRobust), [0], mask)
    fit(
        PlainModels(model, "float32"),
        objective,
        Schedule(25, 5e-3),
        Optimiser(batch_size=8),
        0,
        description="toy",
    )
    folder = tmp_path_factory.mktemp("trained") / "model"
    save_model(folder, model, task.encoder.tokenizer, task.types, task.encoder.limit, "")
    return folder
