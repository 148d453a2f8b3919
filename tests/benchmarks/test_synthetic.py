"""Synthetic names and text."""

from __future__ import annotations

from itertools import islice
from random import Random

from benchmarks.synthetic import KINDS, synthetic_names, synthetic_text, synthetic_words


def test_words_are_distinct_and_made_of_letters() -> None:
    words = synthetic_words(Random(3), 2000)
    assert len(set(words)) == 2000
    assert all(word.isalpha() and word.islower() and set(word) & set("aeiou") for word in words)


def test_names_are_distinct_and_always_the_same() -> None:
    found = list(islice(synthetic_names(), 3000))
    assert found == list(islice(synthetic_names(), 3000))
    assert found != list(islice(synthetic_names(seed=1), 3000))
    names = [name for name, _ in found]
    assert len(set(names)) == 3000
    assert {kind for _, kind in found} == set(KINDS)
    assert all(word.istitle() for name in names for word in name.split())
    assert {len(name.split()) for name in names} == {1, 2, 3, 4}


def test_text_has_the_names_in_it() -> None:
    names = [name for name, _ in islice(synthetic_names(), 300)]
    text = list(synthetic_text(names, 5000))
    assert text == list(synthetic_text(names, 5000))
    size = sum(map(len, text))
    assert 5000 <= size < 5200
    joined = " ".join(f"| {' '.join(sentence)}" for sentence in text)
    assert sum(f" {name} " in joined for name in names) > 150
    capitals = sum(word[0].isupper() for sentence in text for word in sentence[1:])
    assert 0.05 * size < capitals < 0.4 * size
