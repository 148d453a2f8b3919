"""Strings as flat arrays of subtokens, the alphabet of matching.

A subtoken is a run of letters and digits, or one other character. Names and the words of a corpus are split
in the same way, so a name matches whatever tokenizer made the words: `U.S.` is `u . s .` as one word or as
four.
A subtoken is identified by two hashes (96 bits) of its folded characters; its shape is where its capitals
are. Everything is computed for many strings at once.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from roster.corpus.tokenizer import JOINERS, UNSPACED

Array = npt.NDArray[Any]
Unicode = Literal["NFKC", "NFC", "accents", "none"]

# Classes of characters.
SPACE, DROPPED, WORD, ATTACHED, SINGLE, MARK = range(6)
# Kinds of case.
CASELESS, LOWER, UPPER, UNCASED = range(4)  # digits and marks; letters with case; letters without
# Shapes of subtokens; all others are 3 or more, one for each pattern of capitals.
NO_CAPITAL, CAPITALISED, ALL_CAPITALS = range(3)
# Properties of a subtoken's case, independent of its shape.
HAS_CASE, HAS_CAPITAL, ONLY_CAPITALS, HAS_UNCASED = 1, 2, 4, 8

EDGES = frozenset(".,;:!?\"'`\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2026\u2039\u203a")
"""Punctuation that is no part of a name at its edge: the period of `Corp.`, quotes around a title."""
TEXT_EDGES = EDGES | frozenset("()[]{}<>-\u2010\u2011\u2013\u2014*#/\\|_~+=")
"""The same inside a word of the text, `(Reuters)`; a name may well end in a bracket."""
APOSTROPHES = frozenset("'\u2019\u02bc\uff07`")

_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, slots=True)
class Subtokens:
    """The subtokens of n strings: those of string i are `starts[i]` to `starts[i + 1]`."""

    starts: Array  # int64 [n + 1]
    key: Array  # uint64, hash of the folded characters
    check: Array  # uint32, a second hash: two subtokens are the same if both agree
    shape: Array  # uint32
    case: Array  # uint8, HAS_CASE and so on
    kind: Array  # uint8: WORD, SINGLE or MARK
    length: Array  # int32, characters
    first: Array  # uint32, the first character, folded; identifies a punctuation mark

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def owner(self) -> Array:
        """The string of each subtoken."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


@cache
def _tables() -> tuple[Array, Array, Array]:
    """Class, lower case and case of every character, by code point."""
    size = 0x110000
    classes = np.full(size, MARK, np.uint8)
    lower = np.arange(size, dtype=np.uint32)
    case = np.zeros(size, np.uint8)
    # Above the second plane there are only ideographs, which UNSPACED has, and variation selectors.
    for code in range(0x20000):
        char = chr(code)
        category = unicodedata.category(char)
        if char.isspace() or category[0] == "Z":
            classes[code] = SPACE
        elif category[0] == "M":
            classes[code] = ATTACHED
        elif category[0] in "LN":
            classes[code] = WORD
            small = char.casefold()  # as lower case, but with one sigma
            if small != char and len(small) == 1:
                lower[code] = ord(small)
            if category in ("Lu", "Lt"):
                case[code] = UPPER
            elif category == "Ll":
                case[code] = LOWER
            elif category[0] == "L":
                case[code] = UNCASED
    lower[0x130], case[0x130] = ord("i"), UPPER  # its lower case is two characters
    for table, value in (
        (UNSPACED, SINGLE),
        (JOINERS, DROPPED),
        ("\ufe00-\ufe0f\U000e0100-\U000e01ef", DROPPED),
    ):
        for first, last in _ranges(table):
            classes[first : last + 1] = value
            if value == SINGLE:
                case[first : last + 1] = UNCASED
    classes[0x1F3FB:0x1F400] = MARK  # skin tones are symbols of their own here
    return classes, lower, case


def _ranges(pattern: str) -> list[tuple[int, int]]:
    """The ranges of the inside of a character class, `a-cx` -> (97, 99), (120, 120)."""
    ranges, at = [], 0
    while at < len(pattern):
        last = pattern[at + 2] if pattern[at + 1 : at + 2] == "-" and at + 2 < len(pattern) else pattern[at]
        ranges.append((ord(pattern[at]), ord(last)))
        at += 3 if pattern[at + 1 : at + 2] == "-" and at + 2 < len(pattern) else 1
    return ranges


def normalised(text: str, form: Unicode) -> str:
    """The text in a normal form; `accents` also takes the accents off."""
    if form == "none" or text.isascii():
        return text
    text = text.replace("ß", "ss").replace("\u1e9e", "SS")  # its capitals are two letters
    if form == "accents":
        marked = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in marked if not unicodedata.combining(c))
        return unicodedata.normalize("NFKC", text)
    return unicodedata.normalize(form, text)


def to_subtokens(strings: Sequence[str], form: Unicode = "NFKC") -> Subtokens:
    """The subtokens of each string.

    >>> to_subtokens(["Swiss Bank", "AT&T", "..."]).starts.tolist()
    [0, 2, 5, 8]
    >>> words, names = to_subtokens(["U.S."]), to_subtokens(["u. s ."])
    >>> bool((words.key == names.key).all()), words.shape.tolist(), names.shape.tolist()
    (True, [1, 0, 1, 0], [0, 0, 0, 0])
    """
    joined = "\n".join(strings)
    if joined.count("\n") != max(len(strings) - 1, 0):
        joined = "\n".join(s.replace("\n", " ") for s in strings)
    joined = normalised(joined, form)
    chars = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    classes, lower, case = _tables()
    kind = classes[chars]
    if (kind == DROPPED).any():
        keep = kind != DROPPED
        chars, kind = chars[keep], kind[keep]

    before = np.empty_like(kind)
    before[:1] = SPACE
    before[1:] = kind[:-1]
    begins = (kind == SINGLE) | (kind == MARK)
    inside = (before == WORD) | (before == ATTACHED)
    begins |= (kind == WORD) & ~inside
    begins |= (kind == ATTACHED) & ~inside & (before != SINGLE)
    at = np.flatnonzero(begins)
    solid = kind != SPACE
    breaks = np.flatnonzero(chars == 10)
    starts = np.zeros(len(strings) + 1, np.int64)
    starts[1 : len(breaks) + 1] = np.searchsorted(at, breaks)
    starts[len(breaks) + 1 :] = len(at)
    if not len(at):
        nothing = np.zeros(0, np.uint64)
        small = nothing.astype(np.uint8)
        whole = nothing.astype(np.uint32)
        return Subtokens(starts, nothing, whole, whole, small, small, whole.astype(np.int32), whole)

    # Only solid characters belong to subtokens; with the spaces gone the subtokens lie side by side.
    place = np.cumsum(solid) - 1
    first = place[at]
    chars = chars[solid]
    folded = lower[chars]
    length = np.diff(first, append=len(chars)).astype(np.int32)
    position = np.arange(len(chars)) - np.repeat(first, length)
    powers = _powers(int(length.max()))
    values = folded.astype(np.uint64) + np.uint64(1)
    key = np.add.reduceat(values * powers[0][position], first)
    check = np.add.reduceat(values * powers[1][position], first) * _FIRST
    check = (check >> np.uint64(32)).astype(np.uint32)

    cased = case[chars]
    capital = cased == UPPER
    capitals = np.add.reduceat(capital.astype(np.int32), first)
    letters = np.add.reduceat(((cased == LOWER) | capital).astype(np.int32), first)
    uncased = np.logical_or.reduceat(cased == UNCASED, first)
    where = np.add.reduceat(np.where(capital, powers[0][position], np.uint64(0)), first)
    shape = ((where * _SECOND >> np.uint64(34)) + np.uint64(3)).astype(np.uint32)
    shape[(capitals == letters) & (capitals > 1)] = ALL_CAPITALS
    shape[(capitals == 1) & capital[first]] = CAPITALISED
    shape[capitals == 0] = NO_CAPITAL
    known = (letters > 0) * HAS_CASE + (capitals > 0) * HAS_CAPITAL
    known = known + ((capitals == letters) & (letters > 0)) * ONLY_CAPITALS + uncased * HAS_UNCASED
    subtokens = kind[at]
    subtokens[subtokens == ATTACHED] = WORD
    return Subtokens(starts, key, check, shape, known.astype(np.uint8), subtokens, length, folded[first])


def _powers(length: int) -> tuple[Array, Array]:
    """Powers of both multipliers, 1 included, modulo 2 ** 64."""
    size = 64
    while size < length:
        size *= 2
    return _power_table(size)


@cache
def _power_table(size: int) -> tuple[Array, Array]:
    tables = []
    for base in (_FIRST, _SECOND):
        steps = np.full(size, base, np.uint64)
        steps[0] = 1
        tables.append(np.multiply.accumulate(steps))
    return tables[0], tables[1]


def sequence_hash(key: Array, starts: Array, ends: Array) -> Array:
    """One hash for each stretch `starts[i]` to `ends[i]` (not empty) of a row of subtoken hashes."""
    hashes = np.zeros(len(starts), np.uint64)
    for at in range(0, len(starts), 1 << 16):  # in parts, to bound the memory of intermediate arrays
        first, length = starts[at : at + (1 << 16)], (ends - starts)[at : at + (1 << 16)]
        index, begins = flat_ranges(first, length)
        mixed = key[index]
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _SECOND
        powers = _powers(int(length.max()))[0]
        mixed *= powers[np.arange(len(index)) - np.repeat(begins, length)]
        hashes[at : at + (1 << 16)] = np.add.reduceat(mixed, begins)
    return hashes


def flat_ranges(first: Array, length: Array) -> tuple[Array, Array]:
    """The indices `first[i]`, `first[i] + 1`, ... of all stretches in a row, and where each begins in it.

    >>> [a.tolist() for a in flat_ranges(np.array([7, 2]), np.array([1, 3]))]
    [[7, 2, 3, 4], [0, 1]]
    """
    ends = np.cumsum(length)
    begins = ends - length
    size = int(ends[-1]) if len(ends) else 0
    return np.arange(size) + np.repeat(first - begins, length), begins
