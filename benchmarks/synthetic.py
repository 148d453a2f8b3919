"""Synthetic names and text: pronounceable, free of licences, and the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

ONSETS, VOWELS, CODAS = (
    row.split(" ")
    for row in (
        "b br c cl d dr f fl g gr h j k l m n p pr qu r s sh sl st t th tr v w z",
        "a e i o u ai ea ee ie oo ou",
        "   l m n nd nt r rd rk s st t x",  # three empty codas
    )
)

NAME_WORDS, TEXT_WORDS = 60_000, 20_000
"""Number of distinct words in names, and in text outside names."""
KINDS = ("LOC", "ORG", "PER")
NAME_SHARE = 0.08
"""Probability that a name begins at a word of the text."""


def synthetic_words(draw: Random, number: int) -> list[str]:
    """Return distinct words of one to four syllables, in lower case.

    >>> synthetic_words(Random(1), 4)
    ['vegent', 'noukoclee', 'kearasleegord', 'waibabouprax']
    """
    words: dict[str, None] = {}
    while len(words) < number:
        syllables = draw.choices((1, 2, 3, 4), (1, 4, 3, 1))[0]
        word = "".join(draw.choice(ONSETS) + draw.choice(VOWELS) for _ in range(syllables))
        words[word + draw.choice(CODAS)] = None
    return list(words)


def synthetic_names(seed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield distinct names with a type, without end; a few words are in many names, most in few."""
    draw = Random(seed)
    words = [word.capitalize() for word in synthetic_words(draw, NAME_WORDS)]
    seen = set()
    while True:
        length = draw.choices((1, 2, 3, 4), (1, 6, 3, 1))[0]
        name = " ".join(_skewed_choice(draw, words) for _ in range(length))
        if name not in seen:
            seen.add(name)
            yield name, draw.choice(KINDS)


def synthetic_text(names: Sequence[str], words: int, seed: int = 0) -> Iterator[list[str]]:
    """Yield sentences of synthetic words with some of the names, about `words` words in total."""
    draw = Random(seed)
    common = synthetic_words(draw, TEXT_WORDS)
    made = 0
    while made < words:
        sentence: list[str] = []
        for _ in range(draw.randint(5, 25)):
            name = draw.random() < NAME_SHARE
            sentence += draw.choice(names).split() if name else [_skewed_choice(draw, common)]
        sentence[0] = sentence[0][:1].upper() + sentence[0][1:]
        sentence.append(".")
        made += len(sentence)
        yield sentence


def _skewed_choice(draw: Random, items: Sequence[str]) -> str:
    """Draw an item, early ones far more often, as the word frequencies of a language are skewed."""
    return items[int(len(items) * draw.random() ** 3)]
