"""Inference engines, which compute the logits of words: torch, or ONNX Runtime for an exported model.

On a CPU an engine reads as many small batches at the same time as there are cores, each on one core. That
needs no waiting inside a matrix product, keeps a batch in the core's own cache, and lets tokenisation and
decoding go on beside it. On a GPU batches are wide and one after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from roster.backbone.words import AnyWordEncoder
from roster.model.encoders import load_word_encoder
from roster.model.folder import EXPORTED, TRANSFORMERS, ModelFacts, check_numbers, read_facts, verify
from roster.safe_folder import check_folder

CPU_TOKENS = 384
"""Sub-words in a batch for one core; measured, with little between 256 and 768."""


class InferenceEngine(ABC):
    """A loaded model that computes the logits of words."""

    def __init__(self, facts: ModelFacts, encoder: AnyWordEncoder):
        self.facts, self.encoder = facts, encoder
        self.pad = encoder.specials.pad
        self.workers = 1
        self.tokens = CPU_TOKENS

    @abstractmethod
    def logits(self, ids: np.ndarray, mask: np.ndarray, at: np.ndarray) -> np.ndarray:
        """One batch, `ids` and `mask` [rows, length], to [words, classes], float32.

        The state of word i is that at place `at[i]` of rows x length. Threads may call it at the same time.
        """

    @contextmanager
    def pool(self) -> Iterator[ThreadPoolExecutor]:
        """Threads for `logits`; when it ends they are gone, and what had not begun is dropped."""
        pool = ThreadPoolExecutor(self.workers, "roster")
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


def encoder_of(folder: Path, facts: ModelFacts) -> AnyWordEncoder:
    """What makes the inputs of the model in a folder, whose files are compared with their checksums first."""
    check_folder(folder)
    verify(folder)
    encoder = load_word_encoder(folder, facts.max_length, facts.specials)
    if facts.layout != TRANSFORMERS:
        check_numbers(folder, encoder)
    return encoder


def load_engine(folder: Path, device: str = "auto") -> InferenceEngine:
    """The engine for a model folder; torch is not imported for an export."""
    facts = read_facts(folder)
    if facts.layout == EXPORTED:
        from roster.infer.onnx_engine import OnnxEngine

        return OnnxEngine(folder, facts, device)
    if facts.layout == TRANSFORMERS:
        from roster.infer.transformers_engine import TransformersEngine

        return TransformersEngine(folder, facts, device)
    from roster.infer.torch_engine import TorchEngine

    return TorchEngine(folder, facts, device)
