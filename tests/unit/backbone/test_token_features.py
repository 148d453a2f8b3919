"""What entries look like, for each way of marking word starts."""

from __future__ import annotations

from typing import Any

import pytest

from roster.backbone.loading import load_tokenizer
from roster.backbone.token_features import token_features

MARKS = {
    "wordpiece": ("", "##"),
    "bpe": ("Ġ", ""),
    "bpe-prefix": ("Ġ", ""),
    "unigram": ("▁", ""),
    "modern": ("Ġ", ""),
}

PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES = {chr(b): b for b in PRINTABLE}
BYTES |= {chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in PRINTABLE)}


def readable(tokenizer: Any, token: str) -> str:
    """The text of an entry, without its mark. Byte-level entries spell bytes as other letters."""
    bare = token.removeprefix("##").removeprefix("Ġ").removeprefix("▁")
    if type(tokenizer.backend_tokenizer.model).__name__ != "BPE":
        return bare
    return bytes(BYTES[c] for c in bare).decode("utf-8", errors="replace")


@pytest.mark.parametrize("name", [*MARKS, "roster-small-en-2"])
def test_traits(name: str, tokenizers: dict[str, Any]) -> None:
    tokenizer = tokenizers[name] if name in MARKS else load_tokenizer(name)
    opening, inner = MARKS.get(name, ("", "##"))
    v = token_features(tokenizer)
    special_, starts_, capital_, alphanumeric_ = (
        trait.tolist() for trait in (v.special, v.starts_word, v.capital, v.alphanumeric)
    )
    special = set(tokenizer.all_special_ids)
    counts = {"starts": 0, "not": 0, "capital": 0, "lower": 0, "other": 0}
    for i, token in enumerate(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))):
        assert special_[i] == (i in special), token
        if i in special:
            continue
        starts = token.startswith(opening) if opening else not token.startswith(inner)
        text = readable(tokenizer, token)
        assert starts_[i] == starts, token
        assert capital_[i] == text[:1].isupper(), (token, text)
        assert alphanumeric_[i] == text.isalnum(), (token, text)
        counts["starts" if starts else "not"] += 1
        counts["capital" if text[:1].isupper() else "lower"] += 1
        counts["other"] += not text.isalnum()
    assert all(counts.values()), counts


@pytest.mark.parametrize("name", MARKS)
def test_entries_that_begin_a_word_begin_words(name: str, tokenizers: dict[str, Any]) -> None:
    """The traits agree with what alignment finds in a text."""
    from roster.backbone.alignment import WordEncoder

    tokenizer = tokenizers[name]
    v = token_features(tokenizer)
    words = ["Anna", "Berg", "went", "walking", "to", "unheard", "Oslo", "with", "the", "fox", "quietly"]
    ((ids, owner),) = WordEncoder(tokenizer, 100).subwords([words])
    # A mark may stand alone as a piece of its own.
    lone = [tokenizer.tokenize(f" {word}")[0] in ("▁", "Ġ") for word in words]
    for i in range(len(ids)):
        first = i == 0 or owner[i] != owner[i - 1]
        if ids[i] != tokenizer.unk_token_id and not (first and lone[owner[i]]):
            assert v.starts_word[ids[i]] == first, tokenizer.convert_ids_to_tokens(ids.tolist())
