"""Hidden inputs: the share, never a special token, nothing else changed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_tokenizer
from roster.corpus.sentence import Sentence
from roster.errors import ModelError
from roster.methods.roster.masking import input_mask
from roster.model.batches import DeviceCorpus


def test_masked_inputs(tiny: Path, toy: list[Sentence]) -> None:
    tokenizer = load_tokenizer(str(tiny))
    encoder = WordEncoder(tokenizer, 32)
    corpus = DeviceCorpus.put(
        encoder.encode([s.words for s in toy]), tokenizer.pad_token_id, torch.device("cpu")
    )
    (batch,) = corpus.batches([np.arange(60)])
    special = torch.isin(batch.ids, torch.tensor(tokenizer.all_special_ids))
    mask = input_mask(0.3, encoder, torch.device("cpu"))
    torch.manual_seed(0)
    hidden = mask(batch.ids)
    changed = hidden != batch.ids
    assert not changed[special].any()
    assert (hidden[changed] == tokenizer.mask_token_id).all()
    assert 0.25 < changed.sum() / (~special).sum() < 0.35
    assert not torch.equal(mask(batch.ids), hidden)
    torch.manual_seed(0)
    assert torch.equal(mask(batch.ids), hidden)
    assert input_mask(0.0, encoder, torch.device("cpu"))(batch.ids) is batch.ids


def test_a_tokenizer_without_a_mask(tokenizers: dict[str, Any]) -> None:
    class NoMask:
        tokenizer = SimpleNamespace(mask_token_id=None)

    with pytest.raises(ModelError, match="no mask token"):
        input_mask(0.1, NoMask(), torch.device("cpu"))  # type: ignore[arg-type]
