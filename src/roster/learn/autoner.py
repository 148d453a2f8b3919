"""AutoNER (Shang et al., EMNLP 2018): learns which words are tied to each other, then what they are.

A dictionary of phrases without types says where nothing can be learned; see `roster.learn.ties`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from roster.config import AutoNER
from roster.corpus.sentence import Sentence, type_set
from roster.errors import DataError
from roster.learn.gold import Gold
from roster.learn.loop import Objective, Schedule
from roster.learn.losses import bce, wmean
from roster.learn.run import Run
from roster.learn.stage import train_method
from roster.learn.task import Task
from roster.learn.ties import UNKNOWN, TieLabels, tie_labels
from roster.model.batches import DeviceCorpus
from roster.model.heads import TieHeads
from roster.model.ties import at_places


class TieOrBreakObjective(Objective):
    """Binary cross entropy on the known gaps, and on the spans the cross entropy of a target that the model
    sets itself: its own distribution, restricted to the types that the span may have.

    With one allowed type this is plain cross entropy. Each is a mean, over the gaps and over the spans of a
    batch; a gap counts as the word after it, a span as its last word. A gold sentence has no unknown gap, and
    that is all that its words need to be learned as they are.
    """

    def __init__(self, corpus: DeviceCorpus, labels: TieLabels, gold: Gold | None = None):
        super().__init__(corpus, gold)
        arrays = (labels.gaps, labels.lengths, labels.allowed)
        self.gaps, self.lengths, self.allowed = (torch.from_numpy(x).to(corpus.device) for x in arrays)

    def loss(self, outputs: Sequence[Any], words: Tensor, present: Tensor) -> Tensor:
        ((after, before, first, last),) = outputs
        gaps, lengths, counted = self.gaps[words].long(), self.lengths[words], self.counted(words, present)
        tie = after.gather(-1, earlier(present, torch.ones_like(words))) + before
        of_gaps = wmean(bce(gaps.clamp_max(1).to(tie.dtype), tie), counted * (gaps != UNKNOWN))
        types = at_places(first, earlier(present, (lengths - 1).clamp_min(0))) + last
        target = types.detach().masked_fill(~self.allowed[words], float("-inf")).softmax(-1)
        of_spans = -(target * types.log_softmax(-1)).sum(-1)
        return of_gaps + wmean(of_spans, counted * (lengths > 0))


def earlier(present: Tensor, back: Tensor) -> Tensor:
    """The places [K, n] of the words that come `back` words before those at each place of a batch.

    The words of a window stand in order; between them, where `present` is 0, may be places without a word.

    >>> earlier(torch.tensor([[1.0, 1.0, 0.0, 1.0]]), torch.tensor([[0, 1, 0, 1]])).tolist()
    [[0, 0, 1, 1]]
    """
    n = present.shape[-1]
    here = present > 0
    number = here.long().cumsum(-1) - 1
    place = torch.zeros(*present.shape[:-1], n + 1, dtype=torch.long, device=present.device)
    place.scatter_(-1, torch.where(here, number, n), torch.arange(n, device=present.device).expand_as(number))
    return place.gather(-1, (number - back).clamp_min(0))


def train_autoner(task: Task, run: Run) -> TieHeads:
    config = task.config.autoner

    def begin(model: TieHeads) -> tuple[Objective, Schedule]:
        labels = tie_labels(task.sentences, task.types, task.corpus.encoded, phrases=config.phrases)
        schedule = Schedule(config.epochs, config.learning_rate, config.head_learning_rate)
        return TieOrBreakObjective(task.corpus, labels, task.gold), schedule

    found: TieHeads = train_method(task, run, "autoner", TieHeads.kind, begin)
    return found


def single_types(types: Sequence[str]) -> tuple[str, ...]:
    """The types that AutoNER chooses from: a label of several types is none of its own.

    >>> single_types(["PER", "LOC,PER", "LOC"])
    ('PER', 'LOC')
    """
    return tuple(dict.fromkeys(name for label in sorted(types, key=_several) for name in type_set(label)))


def _several(label: str) -> bool:
    return len(type_set(label)) > 1


def check_phrases(sentences: Sequence[Sentence], config: AutoNER) -> None:
    """AutoNER without a dictionary of phrases is another method, and nobody's by mistake."""
    if config.phrases and not any(sentence.unknown for sentence in sentences):
        raise DataError(
            "AutoNER learns from a dictionary of phrases without types too, and the training sentences have "
            "no phrase of unknown type; label them with both (roster label TEXT --dictionary core.txt "
            "full.txt --overlap squares --ambiguous all -o DATASET, in JSON lines), or go on without: "
            "--set autoner.phrases=false, where every gap outside a name is a break"
        )
