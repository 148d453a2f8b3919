"""One pass of a model over a corpus, without dropout: the distribution of every word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roster.model.batches import DeviceCorpus
from roster.model.heads import OneHead, TwoHeads

TOKENS = {"cuda": 32768, "cpu": 2048}


def choose_device(name: str = "auto") -> torch.device:
    from roster.errors import ConfigError

    # cuDNN's attention makes a plan for every shape it meets, and sentences have many.
    torch.backends.cuda.enable_cudnn_sdp(False)
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"the device '{name}' cannot be used here: {str(error).splitlines()[0]}") from None
    return device


def number_type(device: torch.device, precision: str = "auto") -> torch.dtype:
    """What matrix products are made of: bf16 on a GPU, float32 on a CPU, unless told otherwise."""
    low = precision == "bfloat16" or (precision == "auto" and device.type == "cuda")
    return torch.bfloat16 if low else torch.float32


def arithmetic(device: torch.device, precision: str = "auto") -> AbstractContextManager[Any]:
    """Matrix products in the numbers that `number_type` says; weights and all else stay float32."""
    dtype = number_type(device, precision)
    return nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype)


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    was = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was)


def read_words(
    model: TwoHeads | OneHead, corpus: DeviceCorpus, rows: np.ndarray, precision: str = "auto"
) -> tuple[Tensor, Tensor]:
    """The words of some windows, by number, and their distributions [n, classes]."""
    with evaluating(model), arithmetic(corpus.device, precision):
        plan = corpus.reading_plan(TOKENS.get(corpus.device.type, 2048), rows)
        found = [(batch.words, model.probabilities(batch)) for batch in corpus.batches(plan)]
    words, p = zip(*found, strict=True)
    return torch.cat(words), torch.cat(p)


def read_probabilities(model: TwoHeads | OneHead, corpus: DeviceCorpus, precision: str = "auto") -> Tensor:
    """[words, classes] in word order, float32, on the corpus's device."""
    parts, numbers = [], []
    with evaluating(model), arithmetic(corpus.device, precision):
        for batch in corpus.readings(TOKENS.get(corpus.device.type, 2048)):
            parts.append(model.probabilities(batch))
            numbers.append(batch.words)
    if not parts:
        return torch.zeros(0, 1, device=corpus.device)
    p = torch.cat(parts)
    found = torch.empty_like(p)
    found[torch.cat(numbers)] = p
    return found
