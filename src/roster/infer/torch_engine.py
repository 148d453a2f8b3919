"""A trained model, read with torch."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from roster.backbone.words import AnyWordEncoder
from roster.infer.bert import bert_reader
from roster.infer.engine import CPU_TOKENS, InferenceEngine, encoder_of
from roster.methods.registry import head_of
from roster.model.batches import Batch
from roster.model.folder import ModelFacts, load_model
from roster.model.heads import Model
from roster.model.processor import cores, single_threads
from roster.model.reading import TOKENS, arithmetic, choose_device


class ReaderEngine(InferenceEngine):
    """Computes logits with `reader`: `(ids, mask, at)` to [words, classes]."""

    def __init__(self, facts: ModelFacts, encoder: AnyWordEncoder, reader: nn.Module, device: torch.device):
        super().__init__(facts, encoder)
        self.device, self.reader = device, reader.to(device)
        on_cpu = self.device.type == "cpu"
        self.workers = min(torch.get_num_threads(), cores()) if on_cpu else 1
        self.tokens = CPU_TOKENS if on_cpu else TOKENS.get(self.device.type, 2048)

    @torch.inference_mode()
    def logits(self, ids: np.ndarray, mask: np.ndarray, at: np.ndarray) -> np.ndarray:
        with arithmetic(self.device):
            found = self.reader(*(torch.from_numpy(x).to(self.device) for x in (ids, mask, at)))
        result: np.ndarray = found.float().cpu().numpy()
        return result

    @contextmanager
    def pool(self) -> Iterator[ThreadPoolExecutor]:
        with single_threads(self.workers) as pool:
            yield pool


class TorchEngine(ReaderEngine):
    """A model folder."""

    def __init__(self, folder: Path, facts: ModelFacts, device: str = "auto"):
        encoder, chosen = encoder_of(folder, facts), choose_device(device)
        super().__init__(facts, encoder, self.load_reader(folder, facts), chosen)

    @staticmethod
    def load_reader(folder: Path, facts: ModelFacts) -> nn.Module:
        """Our own for BERT's family, else the model as trained."""
        found = bert_reader(folder, facts)
        return HubReader(load_model(folder, head_of)[0]).eval() if found is None else found


class HubReader(nn.Module):
    """A model as it was trained: its encoder is one of transformers, or our own."""

    def __init__(self, model: Model):
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, mask: Tensor, at: Tensor) -> Tensor:
        return self.model.logits(Batch(ids, mask, at, at))
