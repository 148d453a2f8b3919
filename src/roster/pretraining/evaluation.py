"""Validation of a masked language model, and the hidden states that recentering needs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from roster.model.reading import arithmetic, evaluating
from roster.pretraining.masked_lm import SplitMaskedLM
from roster.pretraining.masking import IGNORED, Masked, Masker
from roster.pretraining.sequences import PackedSequences

VALID_ROWS = 512
STATE_ROWS = 64
"""Rows whose hidden states give the mean and the scale for recentering."""


def validation_batches(rows: PackedSequences, masker: Masker, seed: int) -> list[Masked]:
    """Return batches of the validation documents, with fixed masks."""
    generator = torch.Generator(rows.device).manual_seed(seed)
    starts = rows.starts(0)[: rows.rows]  # a batch repeats the rows of a short text
    return [
        masker(rows.take(starts[i : i + 64]), "random", generator)
        for i in range(0, min(len(starts), VALID_ROWS), 64)
    ]


def last_states(model: SplitMaskedLM, rows: PackedSequences, precision: str) -> Tensor:
    """Return last hidden states of unmasked text, [positions, width]."""
    ids = rows.take(rows.starts(0)[:STATE_ROWS])
    with evaluating(model), arithmetic(rows.device, precision):
        return model.states(ids, every=False)[-1].float().flatten(0, 1)


def evaluate(model: SplitMaskedLM, batches: list[Masked], precision: str) -> dict[str, float]:
    """Return the loss and the accuracy of a model at masked positions."""
    loss, correct, count = 0.0, 0, 0
    for masked in batches:
        with evaluating(model), arithmetic(masked.ids.device, precision):
            states = model.states(masked.ids, every=False)[-1]
            logits = model.logits(states, masked.places).float()
        targets = masked.targets.flatten()
        masked_places = targets != IGNORED
        loss += float(nn.functional.cross_entropy(logits, targets, ignore_index=IGNORED, reduction="sum"))
        correct += int((logits.argmax(-1) == targets)[masked_places].sum())
        count += int(masked_places.sum())
    return {"valid_loss": loss / max(1, count), "valid_accuracy": correct / max(1, count)}
