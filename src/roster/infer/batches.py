"""Windows of similar length in one batch, so that little of it is padding; numpy only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from roster.backbone.alignment import Encoded


class Padded(NamedTuple):
    """`ids` and `mask` [rows, length]; a word has its state at place `at` of rows x length.

    `ids` of whole words (`roster.backbone.words`) have one dimension more.
    """

    ids: np.ndarray
    mask: np.ndarray
    at: np.ndarray


def padded(encoded: Encoded, rows: np.ndarray, pad: int) -> Padded:
    """Some windows as one batch."""
    lengths = encoded.lengths[rows]
    width = int(lengths.max())
    inside = np.arange(width) < lengths[:, None]
    ids = np.full((*inside.shape, *encoded.ids.shape[1:]), pad, np.int64)
    ids[inside] = encoded.ids[_ranges(encoded.starts[rows], lengths)]
    counts = encoded.word_starts[rows + 1] - encoded.word_starts[rows]
    at = encoded.positions[_ranges(encoded.word_starts[rows], counts)].astype(np.int64)
    return Padded(ids, inside.astype(np.int64), at + np.repeat(np.arange(len(rows)) * width, counts))


def words_of(encoded: Encoded, rows: np.ndarray) -> np.ndarray:
    """The numbers of the words that these windows classify, in the order of `Padded.at`."""
    starts = encoded.word_starts[rows]
    return encoded.words[_ranges(starts, encoded.word_starts[rows + 1] - starts)]


def _ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """`starts[0], starts[0] + 1, ...`, `lengths[0]` of them, then those of the next."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
