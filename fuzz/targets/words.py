"""The tokenizer of words, the assignment of sub-words to them, and the codec of tags."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from fuzz.target import Target
from fuzz.targets.corpora import check
from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_tokenizer
from roster.config import Backbone
from roster.corpus import tags
from roster.corpus.tokenizer import sentences, split, tokenize

TEXTS = (
    "Mr. Northgate's U.S. arm don't pay 3.5%. \u201cYes\u201d, said J. Smith-Jones... AT&T! 東京は大きい。",
    "a\u0301b c\u200dd \U0001f468\u200d\U0001f469 \U0001f1f3\U0001f1f4 \ufeffx\u00a0y\u2028z\x00\x85 (1,000)",
)


def targets() -> list[Target]:
    """Words, sub-words, tags."""
    texts = [text.encode() for text in TEXTS]
    return [
        Target("tokenizer", _tokenizer, lambda: texts),
        Target("alignment", _alignment, lambda: texts),
        Target("tags", _tags, lambda: [b"B-PER I-PER O S-LOC E-X-Y L- U-A -B I- M-LOC PER"]),
    ]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "ignore")


def _tokenizer(data: bytes, folder: Path) -> None:
    text = _text(data)
    words = tokenize(text)
    covered = {i for start, end in words for i in range(start, end)}
    missing = [c for i, c in enumerate(text) if i not in covered and not c.isspace()]
    assert set(missing) <= {"\ufeff"}, f"characters in no word: {missing}"
    assert all(start < end for start, end in words)
    whole = list(sentences(text))
    assert [pair for s in whole for pair in s.offsets] == words
    check(whole)
    cuts = [(data[i] * 7) % (len(text) + 1) for i in range(min(len(data), 8))]
    spans = [
        (a, b, "X") for a, b in zip(cuts[::2], cuts[1::2], strict=False) if text[a:b].strip("\ufeff \t\n")
    ]
    try:
        found = split(text, "", spans[:1])
    except ValueError as error:
        assert "white space" in str(error) or "empty" in str(error), error
        return
    check(found)
    assert sum(len(s.spans or ()) for s in found) == len(spans[:1])


@cache
def _encoder() -> WordEncoder:
    return WordEncoder(load_tokenizer(Backbone().name), 16, 512)


def _alignment(data: bytes, folder: Path) -> None:
    groups: Sequence[list[str]] = [line.split(" ") for line in _text(data).split("\n")]
    groups = [[word for word in group if word] for group in groups]
    found = _encoder().encode(groups)
    n = sum(map(len, groups))
    assert found.n_words == n
    assert sorted(found.words.tolist()) == list(range(n)), "a word is not classified once"
    assert (found.lengths <= 16).all()
    assert (np.diff(found.starts) > 0).all()
    for window in range(found.n_windows):
        first, last = found.word_starts[window : window + 2]
        assert (found.positions[first:last] < found.lengths[window]).all(), "a position outside its window"


def _tags(data: bytes, folder: Path) -> None:
    given = _text(data).split()
    spans = tags.decode(given)
    for scheme in ("BIO", "BIOES"):
        written = tags.encode(spans, len(given), scheme)  # type: ignore[arg-type]
        assert tags.decode(written) == spans, scheme
        assert tags.check(written, scheme) is None  # type: ignore[arg-type]
    for scheme in tags.SCHEMES:
        tags.check(given, scheme)
