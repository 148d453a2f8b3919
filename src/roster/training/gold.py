"""A few gold sentences among the distantly labelled ones: which words are sure, and how much each counts.

All stages use the same two arrays. `weight` is a factor on what a word counts, wherever words are averaged; a
`fixed` word keeps its label, wherever a stage would drop it, remove it, or put a prediction in its place.
Without gold sentences every weight is 1 and no word is fixed, which changes nothing, not even a rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from roster.config import GoldSentences
from roster.corpus.dataset import content
from roster.corpus.formats.lines import TEXT
from roster.corpus.io import HOW, detect, read
from roster.corpus.sentence import Sentence
from roster.errors import DataError
from roster.files import fingerprint

ALL = slice(None)


@dataclass(frozen=True)
class Gold:
    """Of every word, on the device: whether it is `fixed` (bool), its `weight` (float), and its label, which
    matters where it is fixed (0 is `O`, t + 1 is type t)."""

    fixed: Tensor
    weight: Tensor
    labels: Tensor

    @classmethod
    def of(
        cls, fixed: np.ndarray, labels: np.ndarray, weight: float | np.ndarray, device: torch.device
    ) -> Gold:
        """Fixed words count `weight`, of all or of each word, all others 1."""
        weights = np.where(fixed, weight, 1.0).astype(np.float32)
        arrays = (fixed, weights, labels.astype(np.int64))
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))

    @classmethod
    def none(cls, words: int, device: torch.device) -> Gold:
        return cls.of(np.zeros(words, bool), np.zeros(words, np.int64), 1.0, device)

    def entities(self, e: Tensor, words: Tensor | slice = ALL) -> Tensor:
        """Entity targets of some words: 0 or 1, by their label, where they are fixed."""
        return torch.where(self.fixed[words], (self.labels[words] > 0).to(e.dtype), e)

    def types(self, r: Tensor, words: Tensor | slice = ALL) -> Tensor:
        """Type targets of some words: 1 for their label where they are fixed. A fixed `O` has no
        type, so there `r` stays as it is."""
        labels = self.labels[words]
        own = F.one_hot((labels - 1).clamp_min(0), r.shape[-1]).to(r.dtype)
        return torch.where((self.fixed[words] & (labels > 0)).unsqueeze(-1), own, r)


def read_gold(settings: GoldSentences, types: Sequence[str]) -> list[Sentence]:
    """The labelled sentences of the gold file; none where the config names no file."""
    if not settings.file:
        return []
    path = Path(settings.file)
    if not path.exists():
        raise DataError("no such gold file", path=path)
    try:
        form = settings.format or detect(path)
    except DataError as error:
        raise DataError(str(error).replace(HOW, "say which one it is with --set gold.format=NAME")) from None
    # Beside lines of text may lie distant labels too, which `read` would rather take.
    beside = form == "lines" and (path.is_dir() or path.name.endswith(TEXT))
    labelled = []
    for number, sentence in enumerate(read(path, form, labels="true" if beside else None), 1):
        if sentence.spans is None or not sentence.words:
            continue
        for span in sentence.spans:
            if span.label not in types:
                raise DataError(
                    f"gold sentence {number} has the label {span.label!r}, which the data set does not have; "
                    f"it has {', '.join(types)} (a types.txt in its folder can list more)", path=path,
                )  # fmt: skip
        labelled.append(sentence.with_spans(sentence.spans))  # gold leaves no phrase open
    if not labelled:
        raise DataError("none of the gold sentences has labels", path=path)
    return labelled


def add_gold(train: Sequence[Sentence], gold: Sequence[Sentence]) -> tuple[list[Sentence], list[bool]]:
    """All sentences to learn from, and which of them are gold. A training sentence with the same words as a
    gold one goes, with its distant labels."""
    known = {s.words for s in gold}
    rest = [s for s in train if s.words not in known]
    return [*rest, *gold], [False] * len(rest) + [True] * len(gold)


def word_weights(sentences: Sequence[Sentence], is_gold: Sequence[bool], weight: float) -> np.ndarray:
    """What each word counts if it is gold: `weight`, times the sampling weight of its sentence.

    Sampling weights are divided by their mean over the gold words, so that gold counts as much as a whole,
    and its sentences among each other as the text from which they were drawn.

    >>> from dataclasses import replace
    >>> one = Sentence.from_words(["a"])
    >>> word_weights([one, replace(one, weight=3.0)], [True, True], 5.0).tolist()
    [2.5, 7.5]
    """
    lengths = [len(s) for s in sentences]
    sampling = np.repeat([s.weight for s in sentences], lengths)
    gold = np.repeat(np.asarray(is_gold, bool), lengths)
    mean = sampling[gold].mean() if gold.any() else 1.0
    return weight * sampling / mean


def gold_fingerprint(gold: Sequence[Sentence]) -> str:
    """By words and labels, from whatever file."""
    return fingerprint(content(gold))
