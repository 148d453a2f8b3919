"""The initial weights: random, those of a backbone, or those of a pruned one."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from roster.backbone.loading import load_any_masked_lm, load_tokenizer
from roster.errors import ConfigError, ModelError
from roster.pretraining.pruning import evenly, inner_size, prune
from roster.pretraining.settings import PretrainingSettings
from roster.pretraining.vocabulary_transfer import keep_entries, transfer_vocabulary

LAYERS, WIDTH, HEADS = 6, 384, 12
VOCABULARY = 24_000


@dataclass(frozen=True)
class InitialModels:
    """The model to train, its teacher, and a description of how the model was initialised."""

    model: Any
    teacher: Any | None
    description: str


def new_model(settings: PretrainingSettings, tokenizer: Any) -> Any:
    """Return a model with random weights: RoBERTa for byte-level BPE, BERT for WordPiece.

    Raises:
        ConfigError: the shape is not possible.
    """
    from transformers import BertConfig, BertForMaskedLM, RobertaConfig, RobertaForMaskedLM

    if settings.layer_numbers:
        raise ConfigError("'layers' must be a number for a model with random weights")
    width = settings.width or WIDTH
    shape = {
        "vocab_size": len(tokenizer),
        "num_hidden_layers": settings.layer_count or LAYERS,
        "hidden_size": width,
        "num_attention_heads": settings.heads or _heads(width),
        "intermediate_size": settings.inner or 4 * width,
        "pad_token_id": tokenizer.pad_token_id,
        # BERT's 0.02 is for wide layers. In narrow ones the sums would be so small beside the residual
        # connection that attention hardly starts to learn.
        "initializer_range": 0.02 * max(1.0, (WIDTH / width) ** 0.5),
    }
    if shape["hidden_size"] % shape["num_attention_heads"]:
        raise ConfigError(f"'width' ({width}) must be a multiple of 'heads' ({shape['num_attention_heads']})")
    if settings.tokens == "wordpiece":
        return BertForMaskedLM(BertConfig(**shape, max_position_embeddings=settings.positions))
    positions = settings.positions + tokenizer.pad_token_id + 1
    return RobertaForMaskedLM(
        RobertaConfig(**shape, max_position_embeddings=positions, type_vocab_size=1,
                      bos_token_id=tokenizer.bos_token_id or tokenizer.cls_token_id,
                      eos_token_id=tokenizer.eos_token_id or tokenizer.sep_token_id)
    )  # fmt: skip


def _heads(width: int) -> int:
    """Heads of size 32, as in the default, if the width allows it."""
    return next(n for n in (width // 32, HEADS, 8, 4, 2, 1) if n and width % n == 0)


def build(settings: PretrainingSettings, tokenizer: Any, kept: np.ndarray | None) -> InitialModels:
    """Return the initial student and the teacher.

    Parameters:
        settings: the settings of the pre-training.
        tokenizer: the tokenizer of the result.
        kept: the entries that `reduce_vocabulary` kept, by their old ids; None if it was not called.

    Raises:
        ConfigError: the settings do not fit the models.
        ModelError: a model cannot be used.
    """
    torch.manual_seed(settings.seed)
    teacher = None
    if settings.teacher:
        teacher, fresh = load_any_masked_lm(settings.teacher)
        if fresh:
            raise ModelError(
                f"the teacher {settings.teacher} has no trained masked-language-model head; "
                "it must be a masked language model"
            )
        teacher = fit(teacher, tokenizer, kept)
    if settings.start:
        model, fresh = load_any_masked_lm(settings.start)
        description = f"from {settings.start}" + (", with a new masked-LM head" if fresh else "")
        if settings.teacher and not same_vocabulary(
            load_tokenizer(settings.start), load_tokenizer(settings.teacher)
        ):
            model = transfer_vocabulary(model, load_tokenizer(settings.start), tokenizer)
            description += ", embeddings transferred to the vocabulary of the teacher"
        elif settings.teacher or kept is not None:
            model = fit(model, tokenizer, kept)
    elif teacher is not None:
        model, description = copy.deepcopy(teacher), f"from the weights of {settings.teacher}"
    else:
        return InitialModels(new_model(settings, tokenizer), None, "random weights")
    changed = reshape(model, settings)
    if changed is not model:
        description += f", pruned to {shape_words(changed.config)}"
    return InitialModels(changed, teacher, description)


def fit(model: Any, tokenizer: Any, kept: np.ndarray | None) -> Any:
    """Return the model with the entries of the tokenizer only.

    The logits of student and teacher are compared entry by entry, and many models have padding entries.
    """
    if kept is None and model.config.vocab_size <= len(tokenizer):
        return model
    return keep_entries(model, np.arange(len(tokenizer)) if kept is None else kept)


def same_vocabulary(one: Any, other: Any) -> bool:
    """Whether two tokenizers have the same entries with the same ids."""
    return bool(one.get_vocab() == other.get_vocab())


def reshape(model: Any, settings: PretrainingSettings) -> Any:
    """Return the model pruned to the layers and the shape in the settings, or the model itself."""
    config = model.config
    numbers = settings.layer_numbers or evenly(
        config.num_hidden_layers, settings.layer_count or config.num_hidden_layers
    )
    if max(numbers, default=0) >= config.num_hidden_layers:
        raise ConfigError(
            f"'layers': the model has {config.num_hidden_layers} layers, 0 to {config.num_hidden_layers - 1}"
        )
    width = settings.width or config.hidden_size
    heads = settings.heads or fewer_heads(config, width)
    inner = settings.inner or (
        inner_size(config) if width == config.hidden_size else min(4 * width, inner_size(config))
    )
    same = (width, heads, inner) == (config.hidden_size, config.num_attention_heads, inner_size(config))
    if same and tuple(numbers) == tuple(range(config.num_hidden_layers)):
        return model
    return prune(model, numbers, width, heads, inner)


def fewer_heads(config: Any, width: int) -> int:
    """Return the smallest number of heads for a smaller width, with heads no larger than before.

    >>> from transformers import BertConfig
    >>> [fewer_heads(BertConfig(), width) for width in (768, 384, 312)]  # 12 heads of 64
    [12, 6, 6]
    """
    most = config.num_attention_heads
    least = -(-width * most // config.hidden_size)
    return next((n for n in range(least, most + 1) if width % n == 0), most)


def shape_words(config: Any) -> str:
    """Describe the shape of an encoder.

    >>> from transformers import BertConfig
    >>> shape_words(BertConfig())
    '12 layers x 768, 12 heads, feed-forward 3,072'
    """
    return (f"{config.num_hidden_layers} layers x {config.hidden_size}, {config.num_attention_heads} heads, "
            f"feed-forward {inner_size(config):,}")  # fmt: skip
