"""Whole words and their characters, for an encoder that has no tokenizer (the BiLSTM-CNN).

A word is a row of numbers: [its number in the vocabulary, its characters...], zeros behind. Numbers in a
vocabulary stand in this order:

    0 padding    1 unknown    the words that are learned    the other words of a file of vectors, fixed

A word that is not there is looked up in lower case, and then is unknown; its characters are read all the
same. All words of the file are kept, not only those of the training text, so that a saved model reads new
text as well as if it had the file beside it, and nothing about the text to be predicted is known in training.
"""

from __future__ import annotations

import io
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from roster.backbone.alignment import Borders, Encoded, Specials, WordEncoder
from roster.errors import DataError, ModelError
from roster.files import write_json
from roster.parsing import parse_json
from roster.unpacking import unpacked

PAD, UNKNOWN = 0, 1
FIRST = 2
"""The number of the first real word, and of the first real character."""
CHARACTERS = 20
"""Of a longer word, the first half of them and the last half."""
MODEL_TYPE = "roster-bilstm-cnn"
FILE = "words.json"


@dataclass(frozen=True)
class Words:
    """A vocabulary. It stands where other models have their tokenizer."""

    learned: tuple[str, ...]
    fixed: tuple[str, ...]
    characters: str

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(chain(self.learned, self.fixed), FIRST)}

    @cached_property
    def character_numbers(self) -> dict[str, int]:
        return {character: i for i, character in enumerate(self.characters, FIRST)}

    def number(self, word: str) -> int:
        found = self.numbers.get(word)
        return self.numbers.get(word.lower(), UNKNOWN) if found is None else found

    def rows(self, words: Sequence[str]) -> np.ndarray:
        """[words, 1 + CHARACTERS]

        >>> Words(("a", "cab"), (), "abc").rows(["Cab", "b"])[:, :5].tolist()
        [[3, 1, 2, 3, 0], [1, 3, 0, 0, 0]]
        """
        found = np.zeros((len(words), 1 + CHARACTERS), np.int32)
        known, half = self.character_numbers, CHARACTERS // 2
        for row, word in zip(found, words, strict=True):
            row[0] = self.number(word)
            kept = word if len(word) <= CHARACTERS else word[:half] + word[-half:]
            row[1 : 1 + len(kept)] = [known.get(character, UNKNOWN) for character in kept]
        return found

    def save_pretrained(self, folder: Path) -> None:
        write_json(
            folder / FILE, {"learned": self.learned, "fixed": self.fixed, "characters": self.characters}
        )

    @classmethod
    def load(cls, folder: Path) -> Words:
        path = folder / FILE
        try:
            found = parse_json(path.read_text(encoding="utf-8"))
            return cls(tuple(found["learned"]), tuple(found["fixed"]), str(found["characters"]))
        except FileNotFoundError:
            raise ModelError(f"the model has no vocabulary: {path} is missing") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path} is damaged: {error}") from None


class WholeWords:
    """Encodes sentences as `WordEncoder` does; the pieces are whole words, and a sentence is one window."""

    specials = Specials((), (), PAD, UNKNOWN, (PAD, UNKNOWN))

    def __init__(self, words: Words, max_length: int):
        self.tokenizer: Any = words
        self.limit = max_length  # of no meaning here: an LSTM takes sentences of any length

    def encode(self, sentences: Sequence[Sequence[str]], borders: Borders | None = None) -> Encoded:
        """A sentence without words has no window; `borders` are not needed."""
        distinct: dict[str, int] = {}
        which = [distinct.setdefault(word, len(distinct)) for words in sentences for word in words]
        lengths = np.array([len(words) for words in sentences if words], np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        order = np.arange(len(which))
        return Encoded(
            ids=self.tokenizer.rows(list(distinct))[which] if which else self.tokenizer.rows([]),
            starts=starts,
            positions=(order - np.repeat(starts[:-1], lengths)).astype(np.int32),
            words=order,
            word_starts=starts,
            n_words=len(which),
        )


AnyWordEncoder = WordEncoder | WholeWords


@dataclass(frozen=True)
class Vectors:
    """Words and their vectors from a file, [words, size]."""

    words: tuple[str, ...]
    values: np.ndarray

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def of(self, word: str) -> np.ndarray | None:
        """The vector of a word, or of it in lower case."""
        found = self.numbers.get(word, self.numbers.get(word.lower()))
        return None if found is None else self.values[found]


def read_vectors(path: str | Path) -> Vectors:
    """`word v1 v2 ...` on each line (GloVe, word2vec's text form with its heading, fastText), maybe `.gz`."""
    path = Path(path).expanduser()
    try:
        with path.open("rb") as raw:
            file = unpacked(raw, ".gz", path) if path.suffix == ".gz" else raw
            return _vectors(io.TextIOWrapper(file, encoding="utf-8", newline="\n"), path)
    except FileNotFoundError:
        raise DataError("no such file of word vectors", path=path) from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read as word vectors: {error}", path=path) from None


def _vectors(lines: Iterable[str], path: Path) -> Vectors:
    numbers: dict[str, int] = {}
    values: list[np.ndarray] = []
    size = 0
    for line, text in enumerate(lines, 1):
        parts = text.rstrip().split(" ")
        if line == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
            continue  # word2vec's heading: how many there are, and how long
        size = size or len(parts) - 1
        word = " ".join(parts[:-size]) if size else ""  # some files have words with spaces in them
        try:
            vector = np.array(parts[-size:], np.float32)
        except ValueError:
            vector = np.full(1, np.nan)
        if not size or len(parts) <= size or not np.isfinite(vector).all():
            expected = f"a word and {size} numbers" if size else "a word and its numbers"
            raise DataError(f"expected {expected}, with single spaces in between", path=path, line=line)
        if word not in numbers:
            numbers[word] = len(numbers)
            values.append(vector)
    if not values:
        raise DataError("there are no word vectors in it", path=path)
    return Vectors(tuple(numbers), np.stack(values))


@dataclass(frozen=True)
class Learned:
    """A vocabulary made of training text, with what a fresh encoder needs of it.

    `given` [2 + learned words, size] has vectors from the file, NaN where there is none; `rare` has the
    numbers of words that occur once and have none: now and then these are unknown in training, or the
    vector of unknown words would learn nothing.
    """

    words: Words
    given: np.ndarray
    fixed: np.ndarray
    rare: np.ndarray


def learn_words(
    sentences: Iterable[Sequence[str]], min_count: int, size: int, vectors: Vectors | None
) -> Learned:
    """`size` is that of random vectors; a file has its own."""
    counts = Counter(chain.from_iterable(sentences))
    learned = [word for word, count in counts.items() if count >= min_count]
    learned.sort(key=lambda word: (-counts[word], word))
    characters = "".join(sorted({character for word in counts for character in word}))
    size = size if vectors is None else vectors.values.shape[1]
    given = np.full((FIRST + len(learned), size), np.nan, np.float32)
    fixed, rest = np.zeros((0, size), np.float32), tuple[str, ...]()
    if vectors is not None:
        for i, word in enumerate(learned, FIRST):
            vector = vectors.of(word)
            if vector is not None:
                given[i] = vector
        mine = set(learned)
        left = [i for i, word in enumerate(vectors.words) if word not in mine]
        fixed, rest = vectors.values[left], tuple(vectors.words[i] for i in left)
    once = np.array([False] * FIRST + [counts[word] == 1 for word in learned])
    return Learned(Words(tuple(learned), rest, characters), given, fixed, once & np.isnan(given[:, 0]))


def is_word_level(folder: str | Path) -> bool:
    """Whether a model folder has an encoder of whole words."""
    try:
        found: Any = parse_json((Path(folder) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("model_type") == MODEL_TYPE
