"""Names as rows of numbers, one for each distinct subtoken: pure functions on flat arrays."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from roster.distant.compiling.lexicon import PAIR_BITS, encode, pair_hash
from roster.distant.subtokens import Array, flat_ranges, sequence_hash


def numbered(key: Array, check: Array) -> tuple[Array, Array, Array]:
    """A number from 1 for every subtoken, and the distinct subtokens in the order of their numbers."""
    vocabulary, first, numbers = np.unique(key, return_index=True, return_inverse=True)
    if (check[first][numbers] != check).any():
        raise RuntimeError("two different words have the same hash; change the multipliers in subtokens.py")
    return (numbers + 1).astype(np.int32), vocabulary, check[first]


def distinct(vocabulary: Array, numbers: Array, starts: Array) -> tuple[Array, Array]:
    """One form of each distinct name, and for each form the number of its name.

    Names of one subtoken come first. Then neighbours in the automaton's table should be neighbours in memory,
    so the order is by the first subtoken, then the second.
    """
    if len(starts) == 1:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    hashes = sequence_hash(vocabulary[numbers - 1], starts[:-1], starts[1:])
    _, names, name_of = np.unique(hashes, return_index=True, return_inverse=True)
    del hashes
    first = starts[names]
    longer = starts[names + 1] - first > 1
    second = np.where(longer, numbers[np.minimum(first + 1, len(numbers) - 1)], 0)
    order = np.lexsort((second, numbers[first], longer))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return names[order].astype(np.int32), rank[name_of]


def coded(numbers: Array, starts: Array, forms: Array, width: int) -> list[bytes]:
    """The names of some forms, as the automaton reads them."""
    length = starts[forms + 1] - starts[forms]
    index, begins = flat_ranges(starts[forms], length)
    codes = encode(numbers[index], width).tobytes()
    borders = [*(begins * width).tolist(), len(codes)]
    return [codes[a:b] for a, b in pairwise(borders)]


def pair_bits(numbers: Array, starts: Array, forms: Array) -> Array:
    """A bit for every two neighbouring subtokens of a name, so that most of a text can be skipped."""
    bits = np.zeros(1 << PAIR_BITS, bool)
    for at in range(0, len(forms), 1 << 18):
        chosen = forms[at : at + (1 << 18)]
        index, _ = flat_ranges(starts[chosen], starts[chosen + 1] - starts[chosen] - 1)
        bits[pair_hash(numbers[index], numbers[index + 1])] = True
    return np.packbits(bits, bitorder="little")


def gathered(values: Array, starts: Array, order: Array) -> Array:
    """The stretches of `values` in another order."""
    parts = []
    for at in range(0, len(order), 1 << 18):  # in parts, because the indices take more memory than the values
        chosen = order[at : at + (1 << 18)]
        parts.append(values[flat_ranges(starts[chosen], starts[chosen + 1] - starts[chosen])[0]])
    return np.concatenate(parts) if parts else values[:0]


def same_names(numbers: Array, starts: Array, name_of: Array) -> None:
    """Two forms of one name have the same subtokens, not only the same hash."""
    same = np.flatnonzero(name_of[1:] == name_of[:-1])
    length = np.diff(starts)
    equal = bool((length[same] == length[same + 1]).all())
    if equal:
        index, _ = flat_ranges(starts[same], length[same])
        equal = bool((numbers[index] == numbers[index + np.repeat(length[same], length[same])]).all())
    if not equal:
        raise RuntimeError("two different names have the same hash; change the multipliers in subtokens.py")


def starts_of(lengths: Array) -> Array:
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
