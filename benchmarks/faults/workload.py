"""What is trained: synthetic sentences and an encoder of random weights, for a second or two."""

from __future__ import annotations

import string
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.synthetic import synthetic_words

SENTENCES = 60
COMMON, NAMES = 80, 30
SHARED: dict[str, Any] = {"seed": 5, "backbone.max_length": 32, "optimiser.batch_size": 8}
ROSTER: dict[str, Any] = {
    "noise_robust.epochs": 8, "noise_robust.learning_rate": 5e-3, "noise_robust.update_every": 20,
    "noise_robust.repair": "false",  # or self-training may be left out
    "ensemble.models": 2, "ensemble.epochs": 6, "ensemble.learning_rate": 5e-3,
    "self_training.epochs": 3, "self_training.learning_rate": 1e-4, "self_training.update_every": 5,
}  # fmt: skip
CASES: dict[str, dict[str, Any]] = {
    "roster": {**SHARED, **ROSTER},
    "roster-fast": {**SHARED, **ROSTER, "optimiser.engine": "fast"},
    "fine-tune": {**SHARED, "fine_tune.epochs": 12, "fine_tune.learning_rate": 5e-3},
    "bond": {
        **SHARED, "bond.epochs": 12, "bond.learning_rate": 5e-3, "bond.begin_step": 40, "bond.period": 20,
    },
    "autoner": {**SHARED, "autoner.epochs": 12, "autoner.learning_rate": 5e-3},
    "bilstm-crf": {
        "seed": 5, "bilstm.word_size": 16, "bilstm.filters": 8, "bilstm.hidden": 16,
        "bilstm_crf.epochs": 12, "bilstm_crf.learning_rate": 0.08,
    },
}  # fmt: skip
"""Settings of each method; `roster-fast` trains the members in step, as on a GPU."""


def arguments(case: str, place: Path) -> list[str]:
    """The arguments of `roster train` without the run folder; data and encoder are made in `place` once."""
    data, backbone = place / "data", place / "backbone"
    if not data.exists():
        vocabulary = write_data(data)
        write_backbone(backbone, vocabulary)
    values = dict(CASES[case])
    method = case.removesuffix("-fast")
    if method != "bilstm-crf":
        values["backbone.name"] = str(backbone)
    options = [part for name, value in values.items() for part in ("--set", f"{name}={value}")]
    return ["train", str(data), "--method", method, *options]


def write_data(folder: Path) -> list[str]:
    """Write sentences with a tenth of the names unlabelled; return all their words."""
    draw = Random(1)
    words = synthetic_words(draw, COMMON + 2 * NAMES)
    common, names = words[:COMMON], [word.capitalize() for word in words[COMMON:]]
    people, places = names[:NAMES], names[NAMES:]
    lines, tags = [], []
    for _ in range(SENTENCES):
        sentence = draw.choices(common, k=draw.randint(3, 9))
        labels = ["O"] * len(sentence)
        for kind, listed in (("PER", people), ("LOC", places)):
            at = draw.randrange(len(sentence) + 1)
            before = common[0] if kind == "PER" else common[1]  # what tells the two types apart
            sentence[at:at] = [before, draw.choice(listed)]
            labels[at:at] = ["O", f"B-{kind}" if draw.random() > 0.1 else "O"]
        lines.append(" ".join(sentence))
        tags.append(" ".join(labels))
    folder.mkdir(parents=True)
    for name, content in {"train_text": lines, "train_label_dist": tags, "types": ["PER", "LOC"]}.items():
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    return [*common, *names]


def write_backbone(folder: Path, vocabulary: list[str]) -> None:
    """Write a BERT of two layers with random weights, a head, and the words of the data as its vocabulary."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *sorted(vocabulary), *(f"##{letter}" for letter in string.ascii_letters)]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(pieces), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=96, max_position_embeddings=64, initializer_range=0.1)  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]",
    ).save_pretrained(folder)  # fmt: skip
