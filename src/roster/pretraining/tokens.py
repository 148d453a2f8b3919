"""A corpus as token ids on disk: tokenised once on all cores, then mapped into memory.

Paragraphs are tokenised by themselves, each after a space, the way `WordEncoder` gives sentences to the
tokenizer; so a word has the same sub-words at the start of a line as anywhere else, and there are no
tokens for line ends. A separator follows each document. A text that spells a special token does not mean
it: the ids hold no special tokens but separators and the unknown one.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from roster.backbone.alignment import Specials
from roster.errors import ConfigError, DataError
from roster.files import atomic_folder, write_json
from roster.pretraining.documents import place
from roster.pretraining.prefetch import prefetch
from roster.pretraining.tokenizer_structure import plain_backend
from roster.progress import bar

FACTS = "tokens.json"
TRAIN, VALID = "train.bin", "valid.bin"
BATCH = 4 << 20
"""Characters that are tokenised at a time."""

COPIED = 1 << 24
AGAIN = "delete the folder, and the text is tokenised again"


@dataclass(frozen=True)
class TokenStatistics:
    """What `tokens.json` says of the two files beside it."""

    dtype: str
    train: int
    valid: int
    documents: int
    valid_documents: int
    characters: int
    words: int
    unknown: int


@dataclass(frozen=True)
class TokenisedCorpus:
    """Ids of the documents to learn from, and of those kept apart, each followed by a separator."""

    train: np.ndarray
    valid: np.ndarray
    facts: TokenStatistics

    @classmethod
    def load(cls, folder: str | Path) -> TokenisedCorpus:
        """Mapped from the files that `tokenise` wrote; nothing is read before it is needed."""
        folder = Path(folder)
        facts = _read_facts(folder / FACTS)
        return cls(
            _mapped(folder / TRAIN, facts.dtype, facts.train),
            _mapped(folder / VALID, facts.dtype, facts.valid),
            facts,
        )


def tokenise(
    documents: Iterable[str],
    tokenizer: Any,
    folder: str | Path,
    *,
    separator: int,
    valid_share: float,
    log: Callable[[str], None] | None = None,
) -> TokenisedCorpus:
    """Writes all documents as ids, followed by `separator`, to `folder`, which is whole or not there.

    The `valid_share` of the documents whose text `held_out` picks goes to `valid.bin`, the rest to
    `train.bin`. Neither is left empty where there are two documents: if need be, the document that came
    nearest to the other side goes there. A document without tokens is left out.
    """
    if not 0 <= valid_share < 1:
        raise ConfigError(
            f"the share of documents kept apart must be at least 0 and below 1, not {valid_share}"
        )
    began = time.perf_counter()
    stream = _Stream(tokenizer)
    dtype = np.dtype("<u2" if stream.size <= 1 << 16 else "<u4")
    totals = {"characters": 0, "words": 0, "unknown": 0}
    with (
        atomic_folder(folder) as part,
        (part / TRAIN).open("wb") as train_file,
        (part / VALID).open("wb") as valid_file,
        bar(description="tokenising", unit="document") as progress,
    ):
        train, valid = _Side(train_file, dtype, last=False), _Side(valid_file, dtype, last=True)
        for batch, ids, lengths in stream.batches(documents):
            progress.update(len(lengths))
            totals["characters"] += batch.characters
            totals["words"] += batch.words
            totals["unknown"] += int(np.count_nonzero(ids == stream.unknown))
            narrow = ids.astype(dtype)
            starts = np.cumsum(lengths) - lengths
            for where, start, length in zip(batch.places, starts.tolist(), lengths.tolist(), strict=True):
                if length:
                    side = valid if where < valid_share else train
                    side.add(np.append(narrow[start : start + length], dtype.type(separator)), where)
        documents_seen = train.documents + valid.documents
        if documents_seen == 0:
            raise DataError("the text has no tokens: it is empty, or this tokenizer drops all its characters")
        if not train.documents:
            valid.move_to(train, part / VALID)
        elif not valid.documents and valid_share > 0 and documents_seen > 1:
            train.move_to(valid, part / TRAIN)
        facts = TokenStatistics(
            dtype=dtype.str,
            train=train.tokens,
            valid=valid.tokens,
            documents=train.documents,
            valid_documents=valid.documents,
            **totals,
        )
        write_json(part / FACTS, asdict(facts))
    if log is not None:
        seconds = time.perf_counter() - began
        log(
            f"tokenised {documents_seen:,} documents ({facts.words:,} words) in {seconds:.0f} s: "
            f"{facts.train:,} tokens to learn from, {facts.valid:,} kept apart"
        )
    return TokenisedCorpus.load(folder)


def token_counts(documents: Iterable[str], tokenizer: Any, characters: int) -> np.ndarray:
    """How often each id occurs in the first documents, up to about so many characters in all."""
    stream = _Stream(tokenizer)
    counts = np.zeros(stream.size, np.int64)
    for _, ids, _ in stream.batches(_first(documents, characters)):
        counts += np.bincount(ids, minlength=stream.size)
    return counts


@dataclass(frozen=True)
class _Batch:
    """Documents to be tokenised together."""

    paragraphs: list[str]
    sizes: list[int]  # the number of paragraphs of each document
    places: list[float]
    characters: int
    words: int


class _Stream:
    """Documents to ids, on all cores; the next batch is read while one is tokenised."""

    def __init__(self, tokenizer: Any):
        self._backend = plain_backend(tokenizer)
        self.size = 1 + max(tokenizer.get_vocab().values())
        specials = Specials.of(copy.deepcopy(tokenizer))  # asking switches truncation and padding off
        self.unknown = specials.unknown
        self._meaning = np.arange(self.size)
        self._meaning[list(specials.numbers)] = specials.unknown

    def batches(self, documents: Iterable[str]) -> Iterator[tuple[_Batch, np.ndarray, np.ndarray]]:
        """For each batch: the ids of all its documents, and how many of them each document has."""
        for batch in prefetch(_batches(documents)):
            found = self._backend.encode_batch_fast(batch.paragraphs, add_special_tokens=False)
            counts = np.fromiter(map(len, found), np.int64, len(found))
            ids = np.fromiter(chain.from_iterable(one.ids for one in found), np.int64, int(counts.sum()))
            firsts = np.cumsum([0, *batch.sizes[:-1]])
            yield batch, self._meaning[ids], np.add.reduceat(counts, firsts)


class _Side:
    """One of the two files while it is written.

    It remembers the document nearest to the border with the other side: in `train` (`last` false) the one
    with the least place, in `valid` the one with the greatest.
    """

    def __init__(self, file: IO[bytes], dtype: np.dtype[Any], *, last: bool):
        self.file, self.dtype, self.sign = file, dtype, -1 if last else 1
        self.documents = self.tokens = 0
        self.nearest: tuple[float, int, int] = (np.inf, 0, 0)

    def add(self, ids: np.ndarray, where: float) -> None:
        self.nearest = min(self.nearest, (self.sign * where, self.tokens, len(ids)))
        self.documents += 1
        self.tokens += len(ids)
        self.file.write(ids.data)

    def move_to(self, other: _Side, path: Path) -> None:
        """The nearest document leaves this side, whose file is at `path`, for the other."""
        where, start, length = self.nearest
        self.file.flush()
        width = self.dtype.itemsize
        with path.open("rb+") as file:
            file.seek(start * width)
            other.add(np.frombuffer(file.read(length * width), self.dtype), self.sign * where)
            read = (start + length) * width
            while file.seek(read) and (data := file.read(COPIED)):
                file.seek(read - length * width)
                file.write(data)
                read += len(data)
            file.truncate((self.tokens - length) * width)
        self.documents -= 1
        self.tokens -= length


def _batches(documents: Iterable[str]) -> Iterator[_Batch]:
    paragraphs: list[str] = []
    sizes: list[int] = []
    places: list[float] = []
    characters = words = 0
    for document in documents:
        # Without a character, a paragraph still stands for its document.
        lines = [f" {line}" for line in document.split("\n")]
        paragraphs += lines
        sizes.append(len(lines))
        places.append(place(document))
        characters += len(document)
        words += len(document.split())
        if characters >= BATCH:
            yield _Batch(paragraphs, sizes, places, characters, words)
            paragraphs, sizes, places, characters, words = [], [], [], 0, 0
    if sizes:
        yield _Batch(paragraphs, sizes, places, characters, words)


def _first(documents: Iterable[str], characters: int) -> Iterator[str]:
    for document in documents:
        if characters <= 0:
            return
        yield document[:characters]
        characters -= len(document)


def _read_facts(path: Path) -> TokenStatistics:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        facts = TokenStatistics(**found)
    except FileNotFoundError as error:
        raise DataError(f"no such file; {AGAIN}", path=path) from error
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"it does not describe tokens ({error}); {AGAIN}", path=path) from error
    if facts.dtype not in ("<u2", "<u4"):
        raise DataError(f"unknown dtype {facts.dtype!r}; {AGAIN}", path=path)
    return facts


def _mapped(path: Path, dtype: str, count: int) -> np.ndarray:
    try:
        size = path.stat().st_size
        if size != count * np.dtype(dtype).itemsize:
            raise DataError(f"it has {size} bytes, and {FACTS} says {count} tokens; {AGAIN}", path=path)
        return np.memmap(path, dtype, "r") if count else _empty(dtype)
    except FileNotFoundError as error:
        raise DataError(f"no such file; {AGAIN}", path=path) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from error


def _empty(dtype: str) -> np.ndarray:
    found = np.zeros(0, dtype)
    found.flags.writeable = False
    return found
