"""A token classifier of transformers as an engine: the same windows and words as for our own models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from roster.backbone.alignment import WordEncoder
from roster.errors import ModelError
from roster.infer.torch_engine import TorchEngine
from roster.model.folder import ModelFacts
from roster.model.token_classifier import read_classifier

NEVER = -1e9
"""The logarithm of the probability of a class that has no label."""


class TransformersEngine(TorchEngine):
    """Reads the logits of a word at its first sub-word, as logarithms of the probabilities of our classes."""

    def __init__(self, folder: Path, facts: ModelFacts, device: str = "auto"):
        super().__init__(folder, facts, device)
        self.folder = folder
        if not isinstance(self.encoder, WordEncoder):
            raise ModelError(f"{folder} has no tokenizer of sub-words")
        entries = self.reader.get_submodule("model").get_input_embeddings().weight.shape[0]  # type: ignore[operator]
        highest = max(self.encoder.vocabulary_size - 1, self.pad, self.encoder.specials.unknown)
        if highest >= entries:
            raise ModelError(
                f"{folder}: its tokenizer has entry {highest}, but the model has only {entries} embeddings"
            )

    @staticmethod
    def load_reader(folder: Path, facts: ModelFacts) -> nn.Module:
        return ClassifierReader(
            load_classifier(folder), read_classifier(folder).labels.classes, facts.classes
        )


class ClassifierReader(nn.Module):
    """`classes` has the class of each label of `model`, which is one of `n` classes."""

    def __init__(self, model: nn.Module, classes: Sequence[int], n: int):
        super().__init__()
        self.model = model
        self.labels = [[i for i, one in enumerate(classes) if one == c] for c in range(n)]

    def forward(self, ids: Tensor, mask: Tensor, at: Tensor) -> Tensor:
        """`ids` and `mask` [rows, length], places `at` of words in rows x length; to [words, classes]."""
        p = self.label_logits(ids, mask, at).log_softmax(-1)
        found = [
            p[:, labels].logsumexp(-1) if labels else torch.full_like(p[:, 0], NEVER)
            for labels in self.labels
        ]
        return torch.stack(found, -1)

    def label_logits(self, ids: Tensor, mask: Tensor, at: Tensor) -> Tensor:
        """The logits of all labels as transformers gives them, [words, labels]."""
        logits: Tensor = self.model(input_ids=ids, attention_mask=mask).logits
        return logits.flatten(0, 1)[at].float()


def load_classifier(folder: Path) -> Any:
    """The model itself, in float32 and evaluation mode.

    Raises:
        ModelError: it cannot be loaded, or lacks weights.
    """
    from transformers import AutoModelForTokenClassification
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        model, info = AutoModelForTokenClassification.from_pretrained(
            str(folder),
            dtype=torch.float32,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    except Exception as error:  # transformers and safetensors raise errors of many types for a bad folder
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"{folder} cannot be loaded by transformers ({reason[:300]})") from error
    if info["missing_keys"]:  # transformers would fill them at random
        raise ModelError(f"{folder} has no weights for {min(info['missing_keys'])}")
    return model.eval()
