"""What AutoNER learns: which words are tied to each other, then what the spans between two breaks are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from roster.methods.autoner.decoding import at_places
from roster.methods.autoner.labels import UNKNOWN, TieLabels
from roster.model.batches import DeviceCorpus
from roster.training.gold import Gold
from roster.training.losses import bce, wmean
from roster.training.objective import Objective, Rows


class TieOrBreakObjective(Objective):
    """Binary cross entropy on the known gaps, and on the spans the cross entropy of a target that the model
    sets itself: its own distribution, restricted to the types that the span may have.

    With one allowed type this is plain cross entropy. Each is a mean, over the gaps and over the spans of a
    batch; a gap counts as the word after it, a span as its last word. A gold sentence has no unknown gap, and
    that is all that its words need to be learned as they are.
    """

    capturable = True

    def __init__(self, corpus: DeviceCorpus, labels: TieLabels, gold: Gold | None = None):
        super().__init__(corpus, gold)
        arrays = (labels.gaps, labels.lengths, labels.allowed)
        self.gaps, self.lengths, self.allowed = (torch.from_numpy(x).to(corpus.device) for x in arrays)

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor, own: Rows) -> Tensor:
        ((after, before, first, last),) = outputs
        gaps, lengths, counted = self.gaps[words].long(), self.lengths[words], self.counted(words, present)
        tie = after.gather(-1, earlier(present, torch.ones_like(words))) + before
        of_gaps = wmean(bce(gaps.clamp_max(1).to(tie.dtype), tie), counted * (gaps != UNKNOWN))
        types = at_places(first, earlier(present, (lengths - 1).clamp_min(0))) + last
        target = types.detach().masked_fill(~self.allowed[words], float("-inf")).softmax(-1)
        of_spans = -(target * types.log_softmax(-1)).sum(-1)
        return of_gaps + wmean(of_spans, counted * (lengths > 0))


def earlier(present: Tensor, back: Tensor) -> Tensor:
    """The places [..., n] of the words that come `back` words before those at each place of a batch.

    The words of a window stand in order; between them, where `present` is 0, may be places without a word.

    >>> earlier(torch.tensor([[1.0, 1.0, 0.0, 1.0]]), torch.tensor([[0, 1, 0, 1]])).tolist()
    [[0, 0, 1, 1]]
    """
    n = present.shape[-1]
    here = present > 0
    number = here.long().cumsum(-1) - 1
    place = torch.zeros(*present.shape[:-1], n + 1, dtype=torch.long, device=present.device)
    place = place.scatter(
        -1, torch.where(here, number, n), torch.arange(n, device=present.device).expand_as(number)
    )
    return place.gather(-1, (number - back).clamp_min(0))
