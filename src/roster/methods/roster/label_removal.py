"""Noisy label removal (Section 3.2): labels that the model does not believe leave the loss."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from roster.corpus.sentence import Sentence

KEEP_O, KEEP_ENTITIES = 0.5, 0.6
"""No O label goes where more than this share of them would; no entity label of a type where more than the
other share of that type's would."""
LACKING, COMPLETE = 0.5, 0.2
"""Labels count as incomplete above the first ratio of predicted entity words labelled O to words labelled as
entities, and as complete below the second."""


def label_weights(
    e: Tensor,
    r: Tensor,
    labels: Tensor,
    tau: float,
    keep_minority: float,
    remove_entities: bool = False,
    guard: bool = False,
    only_o: bool = False,
) -> tuple[Tensor, Tensor]:
    """The weights `w_e` and `w_t` of every word, from one pass without dropout:

        w_t = 1[r_y > tau]          on words labelled with a type y     (0 on the others)
        w_e = 1[1 - e > tau]        on words labelled O
        w_e = 1                     on words labelled with a type; with `remove_entities`, 1[e > tau]

    Minority guard: a type of which more than `keep_minority` of the words would go keeps them all. With
    `guard` the entity head has guards of its own (`KEEP_O`, `KEEP_ENTITIES`): a model that would remove
    most labels has learned too little to judge them. With `only_o` the labels of all entity words stay.

    `e` [words] and `r` [words, types] are the heads' probabilities; `labels` has 0 for `O`.
    """
    entity = labels > 0
    y = (labels - 1).clamp_min(0)
    believed = r.gather(1, y.unsqueeze(1)).squeeze(1) > tau
    n_types = r.shape[1]
    count = torch.bincount(y[entity], minlength=n_types)
    removed = torch.bincount(y[entity & ~believed], minlength=n_types)
    guarded = removed > keep_minority * count
    w_t = (entity & (believed | guarded[y])).float()
    vouched = torch.ones_like(entity)
    if remove_entities:
        vouched = e > tau
    absent = 1 - e > tau
    if guard:
        gone = torch.bincount(y[entity & ~vouched], minlength=n_types)
        vouched = vouched | (gone > KEEP_ENTITIES * count)[y]
        absent = absent | ((~entity & ~absent).sum() > KEEP_O * (~entity).sum())
    if only_o:
        return (entity | absent).float(), entity.float()
    w_e = torch.where(entity, vouched | guarded[y], absent).float()
    return w_e, w_t


def outside_labels(predicted: Tensor, labels: Tensor) -> float:
    """Predicted entity words labelled O, as a share of the words labelled as entities.

    >>> outside_labels(torch.tensor([True, False, True, False]), torch.tensor([1, 1, 0, 0]))
    0.5
    """
    return float((predicted & (labels == 0)).sum()) / max(1, int((labels > 0).sum()))


def labels_lack_names(e: Tensor, labels: Tensor) -> bool:
    """Whether the labels are incomplete (`LACKING`): no entity label should then be removed.

    >>> labels = torch.tensor([1, 1, 0, 0])
    >>> [labels_lack_names(torch.tensor(e), labels) for e in ([0.9, 0.1, 0.8, 0.7], [0.1, 0.1, 0.8, 0.2])]
    [True, False]
    """
    return outside_labels(e > 0.5, labels) > LACKING


def words_of_phrases(sentences: Iterable[Sentence]) -> np.ndarray:
    """A mask of the words that have no label but lie in a phrase of unknown type: maybe an entity, maybe not.

    >>> from roster.corpus.sentence import Span
    >>> one = Sentence.from_words("Ada has a red blood cell".split(), [Span(0, 1, "PER")])
    >>> words_of_phrases([one.with_spans(one.spans, [Span(3, 6, "")])]).astype(int)
    array([0, 0, 0, 1, 1, 1])
    """
    parts = [np.zeros(0, bool)]
    for sentence in sentences:
        row = np.zeros(len(sentence), bool)
        for value, spans in ((True, sentence.unknown), (False, sentence.spans or ())):
            for span in spans:
                row[span.start : span.end] = value
        parts.append(row)
    return np.concatenate(parts)


def dropped_o(labels: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    """A mask of the `O` words that this model never sees, at random: exactly `share` of them."""
    o = np.flatnonzero(labels == 0)
    mask = np.zeros(len(labels), bool)
    mask[generator.choice(o, size=round(share * len(o)), replace=False)] = True
    return mask
