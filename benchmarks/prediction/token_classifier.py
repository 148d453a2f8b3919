"""A model of ours as a token classifier of transformers, for its pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.errors import ModelError

if TYPE_CHECKING:
    pass

PIPELINE_KINDS = ("one-head", "two-heads")
"""Heads that a token classifier of transformers can have."""
FITS = f"{' or '.join(PIPELINE_KINDS)} on a transformer"
"""Description of the models that can be converted."""


def token_classifier(folder: Path) -> Any:
    """Return a model as a token classifier of transformers: the same weights, the same classes.

    Its linear classifier is replaced by our heads, so that it finds what we find and the pipeline has the
    same entities to write. A head that decides on a sentence as a whole has no place there.
    """
    from transformers import AutoConfig, AutoModelForTokenClassification

    from roster.model.folder import read_facts, weights_file
    from roster.model.weights import load_tensors

    facts = read_facts(folder)
    if why := unfit(folder):
        raise ModelError(
            f"{folder} {why}; transformers' pipeline can only be compared for models that are {FITS}"
        )
    names = ["O", *facts.types]
    if facts.kind == "one-head":
        names = ["O", *(f"{prefix}-{name}" for name in facts.types for prefix in "BI")]
    config = AutoConfig.from_pretrained(folder, id2label=dict(enumerate(names)),
                                        label2id={name: i for i, name in enumerate(names)})  # fmt: skip
    model = AutoModelForTokenClassification.from_config(config)
    tensors, _ = load_tensors(weights_file(folder))
    encoder = {name.removeprefix("encoder."): t for name, t in tensors.items() if name.startswith("encoder.")}
    model.base_model.load_state_dict(encoder)
    heads = {name: t for name, t in tensors.items() if not name.startswith("encoder.")}
    model.classifier = _classifier(facts.kind, config.hidden_size, len(facts.types), heads)
    return model.eval()


def unfit(folder: Path) -> str:
    """Return why a model cannot be a token classifier of transformers, as a predicate; empty if it can."""
    from roster.backbone.words import is_word_level
    from roster.model.folder import read_facts, weights_file

    if not weights_file(folder).is_file():
        return "has no torch weights"
    try:
        kind = read_facts(folder).kind
    except ModelError:
        return "cannot be read"
    if is_word_level(folder):
        return f"is {kind} on a BiLSTM-CNN"
    return "" if kind in PIPELINE_KINDS else f"is {kind} on a transformer"


def _classifier(kind: str, width: int, n_types: int, weights: dict[str, Any]) -> Any:
    """Return our heads as one module from hidden states to class scores."""
    import torch
    from torch import Tensor, nn

    from roster.methods.roster.head import joint

    class Joint(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.entity_head, self.type_head = nn.Linear(width, 1), nn.Linear(width, n_types)

        def forward(self, h: Tensor) -> Tensor:
            shape = h.shape[:-1]
            b, z = self.entity_head(h).flatten(), self.type_head(h).flatten(0, -2)
            return torch.log(joint(b, z) + 1e-30).view(*shape, 1 + n_types)

    head: nn.Module = Joint()
    if kind == "one-head":
        head = nn.Linear(width, 1 + 2 * n_types)
        weights = {name.removeprefix("tag."): tensor for name, tensor in weights.items()}
    head.load_state_dict(weights)
    return head
