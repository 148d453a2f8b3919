"""Recentre and scale the last hidden states of a masked LM; its outputs are unchanged.

Nothing in masked-LM training or in learning from a teacher's angles decides how large the last states are, or
around what they lie. A fresh head feels it: with small differences between large states it learns slowly, and
from seed to seed differently. Both can be chosen freely afterwards, because the states come out of a norm and
go into a linear layer:

    h' = c (h - m)        with the norm's scale and shift, and        W h + b = (W / c) h' + (b + W m)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from roster.model.bert_layout import NotStackableError, layer_modules, shape_of
from roster.pretraining.masked_lm import SplitMaskedLM

SPREAD = 0.5
"""Root mean square of what the last states differ from their mean by; a base-sized encoder has about 0.4."""


@torch.no_grad()
def recentre(model: SplitMaskedLM, states: Tensor) -> float | None:
    """Changes a model's weights, given last states of it [n, width]; the factor, or None where it cannot be
    done: only of BERT's kin we know that a norm comes last and that its head begins with a linear layer."""
    try:
        last = shape_of(model.config).layers - 1
    except NotStackableError:
        return None
    (name,) = layer_modules(model.config, last)["network_norm"]
    norm = model.encoder.get_submodule(name)
    first = next(m for m in model.head.modules() if isinstance(m, nn.Linear))
    middle = states.float().mean(0)
    spread = float((states.float() - middle).pow(2).mean().sqrt())
    if not 1e-6 < spread < 1e6:
        return None
    factor = SPREAD / spread
    first.bias.add_(first.weight @ middle)
    first.weight.div_(factor)
    norm.bias.sub_(middle).mul_(factor)  # type: ignore[operator, union-attr]
    norm.weight.mul_(factor)  # type: ignore[operator, union-attr]
    return factor
