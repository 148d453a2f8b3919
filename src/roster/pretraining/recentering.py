"""Recentre and scale the last hidden states of a masked LM; its outputs are unchanged.

Neither the masked-LM loss nor the cosine distance to a teacher determines the mean and the scale of the last
hidden states. A new head on small differences around a large mean learns slowly, and varies between seeds.
Mean and scale can be chosen afterwards, because the states come from a layer norm and go into a linear layer:

    h' = c (h - m)        with the norm's scale and shift, and        W h + b = (W / c) h' + (b + W m)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from roster.model.bert_layout import NotStackableError, layer_modules, shape_of
from roster.pretraining.masked_lm import SplitMaskedLM

SPREAD = 0.5
"""Root mean square deviation of the last states from their mean; about 0.4 in an encoder of base size."""


@torch.no_grad()
def recentre(model: SplitMaskedLM, states: Tensor) -> float | None:
    """Recentre and scale the last hidden states of a model, in place.

    Parameters:
        model: the weights of its last layer norm and of the first linear layer of its head are changed.
        states: last hidden states of the model on some text, [n, width].

    Returns:
        The factor; None if nothing was changed, because the model is not BERT-like (a layer norm last, a head
        that begins with a linear layer) or the states do not vary.
    """
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
