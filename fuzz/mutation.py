"""Mutated inputs where Atheris is not installed: bytes and tokens changed, removed, repeated and spliced."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

TOKENS = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r\n", b"\n\n", b"\t", b" ", b"'", b'"',
    b"{", b"}", b"[", b"]", b"[[[[[[[[", b":", b",", b"null", b"true", b"NaN", b"Infinity", b"-1", b"0",
    b"1e999", b"9" * 400, b"9" * 5000, b"\\u0000", b"\\ud800", b"\\", b"../", b"/", b"..", b"B-PER", b"I-",
    b"O", b"-DOCSTART-", b"# ", b"\xe2\x80\xae", b"\xc2\x85", b"\x1b[31m", b"\xe2\x80\xa8", b"text", b"spans",
    b"start", b"end", b"label", b"tokens", b"tags", b"words", b"id", b"T1\tPER 0 3\tAda", b"=", b"#",
    b"\x1f\x8b",
)  # fmt: skip
"""What formats have in common, and what they are afraid of; also the dictionary of Atheris."""
LONGEST = 8192
WORD = re.compile(rb"[A-Za-z_]+|-?\d+|\"[^\"]*\"")


def mutated(data: bytes, corpus: Sequence[bytes], random_: random.Random) -> bytes:
    """One to six changes of an input.

    Args:
        data: the input.
        corpus: other inputs, of which parts are taken.
        random_: decides.
    """
    for _ in range(random_.randint(1, 6)):
        data = random_.choice(CHANGES)(data, corpus, random_)[:LONGEST]
    return data


def _places(data: bytes, random_: random.Random) -> tuple[int, int]:
    first = random_.randint(0, len(data))
    return first, min(len(data), first + random_.choice((1, 1, 2, 4, 16, 64)))


def _insert(data: bytes, corpus: Sequence[bytes], random_: random.Random) -> bytes:
    at, _ = _places(data, random_)
    return data[:at] + random_.choice(TOKENS) + data[at:]


def _replace(data: bytes, corpus: Sequence[bytes], random_: random.Random) -> bytes:
    start, end = _places(data, random_)
    return data[:start] + random_.choice(TOKENS) + data[end:]


def _remove(data: bytes, corpus: Sequence[bytes], random_: random.Random) -> bytes:
    start, end = _places(data, random_)
    return data[:start] + data[end:]


def _repeat(data: bytes, corpus: Sequence[bytes], random_: random.Random) -> bytes:
    start, end = _places(data, random_)
    return data[:end] + data[start:end] * random_.choice((1, 2, 50)) + data[end:]


def _byte(data: bytes, corpus: Sequence[bytes], random_: random.Random) -> bytes:
    at, _ = _places(data, random_)
    return data[:at] + random_.randbytes(1) + data[at + 1 :]


def _splice(data: bytes, corpus: Sequence[bytes], random_: random.Random) -> bytes:
    other = random_.choice(corpus)
    return data[: _places(data, random_)[0]] + other[_places(other, random_)[0] :]


def _value(data: bytes, corpus: Sequence[bytes], random_: random.Random) -> bytes:
    """A word, number or string replaced by another token or by one of another input."""
    found = list(WORD.finditer(data))
    if not found:
        return _insert(data, corpus, random_)
    one, others = random_.choice(found), WORD.findall(random_.choice(corpus))
    new = random_.choice(TOKENS) if not others or random_.random() < 0.5 else random_.choice(others)
    return data[: one.start()] + new + data[one.end() :]


CHANGES = (_insert, _replace, _remove, _repeat, _byte, _splice, _value, _value)
