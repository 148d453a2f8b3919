"""A corpus as token ids on disk: tokenised once on all cores, then mapped into memory.

Each paragraph is tokenised separately, after a space, as `WordEncoder` does with sentences; so a word has
the same sub-words at the start of a line as anywhere else, and there are no tokens for line ends. A
separator follows each document. Text that looks like a special token is not one: the ids have no special
tokens except separators and the unknown token.
"""

from __future__ import annotations

import copy
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
from roster.parsing import parse_json
from roster.pretraining.documents import split_position
from roster.pretraining.prefetch import prefetch
from roster.pretraining.tokenizer_structure import plain_backend
from roster.progress import bar

FACTS = "tokens.json"
TRAIN, VALID = "train.bin", "valid.bin"
BATCH = 4 << 20
"""Characters tokenised at a time."""

COPIED = 1 << 24
REMEDY = "delete the folder to tokenise the text again"


@dataclass(frozen=True)
class TokenStatistics:
    """Content of `tokens.json`: the type and the sizes of the two files beside it, and counts."""

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
    """Token ids of the training and of the validation documents, each followed by a separator."""

    train: np.ndarray
    valid: np.ndarray
    facts: TokenStatistics

    @classmethod
    def load(cls, folder: str | Path) -> TokenisedCorpus:
        """Map the files that `tokenise` wrote into memory.

        Raises:
            DataError: a file is missing or damaged.
        """
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
    """Write the token ids of all documents to a folder.

    Of two or more documents each split gets at least one: if need be, the document whose hash is nearest
    to the border moves. A document without tokens is left out.

    Parameters:
        documents: the texts.
        tokenizer: a fast tokenizer.
        folder: where to write; complete when the function returns, otherwise absent.
        separator: the id that follows each document.
        valid_share: share of the documents for validation; `held_out` selects them.
        log: called with a line about the counts and the time.

    Raises:
        ConfigError: the share is not in [0, 1).
        DataError: the text has no tokens.
    """
    if not 0 <= valid_share < 1:
        raise ConfigError(
            f"the share of validation documents must be at least 0 and below 1, not {valid_share}"
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
        train, valid = _SplitWriter(train_file, dtype, last=False), _SplitWriter(valid_file, dtype, last=True)
        for batch, ids, lengths in stream.batches(documents):
            progress.update(len(lengths))
            totals["characters"] += batch.characters
            totals["words"] += batch.words
            totals["unknown"] += int(np.count_nonzero(ids == stream.unknown))
            narrow = ids.astype(dtype)
            starts = np.cumsum(lengths) - lengths
            for where, start, length in zip(batch.places, starts.tolist(), lengths.tolist(), strict=True):
                if length:
                    writer = valid if where < valid_share else train
                    writer.add(np.append(narrow[start : start + length], dtype.type(separator)), where)
        documents_seen = train.documents + valid.documents
        if documents_seen == 0:
            raise DataError("the text has no tokens: it is empty, or the tokenizer drops all its characters")
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
            f"{facts.train:,} tokens for training, {facts.valid:,} for validation"
        )
    return TokenisedCorpus.load(folder)


def token_counts(documents: Iterable[str], tokenizer: Any, characters: int) -> np.ndarray:
    """Count the occurrences of each token id in the first documents, about `characters` characters in all."""
    stream = _Stream(tokenizer)
    counts = np.zeros(stream.size, np.int64)
    for _, ids, _ in stream.batches(_first(documents, characters)):
        counts += np.bincount(ids, minlength=stream.size)
    return counts


@dataclass(frozen=True)
class _Batch:
    """Documents that are tokenised together; `places` are their hashes, which select the split."""

    paragraphs: list[str]
    sizes: list[int]  # the number of paragraphs of each document
    places: list[float]
    characters: int
    words: int


class _Stream:
    """Tokenises documents on all cores; the next batch is read in the meantime."""

    def __init__(self, tokenizer: Any):
        self._backend = plain_backend(tokenizer)
        self.size = 1 + max(tokenizer.get_vocab().values())
        specials = Specials.of(copy.deepcopy(tokenizer))  # this turns off truncation and padding
        self.unknown = specials.unknown
        self._mapping = np.arange(self.size)
        self._mapping[list(specials.numbers)] = specials.unknown

    def batches(self, documents: Iterable[str]) -> Iterator[tuple[_Batch, np.ndarray, np.ndarray]]:
        """For each batch: the ids of all its documents, and how many of them each document has."""
        for batch in prefetch(_batches(documents)):
            encodings = self._backend.encode_batch_fast(batch.paragraphs, add_special_tokens=False)
            counts = np.fromiter(map(len, encodings), np.int64, len(encodings))
            ids = np.fromiter(chain.from_iterable(one.ids for one in encodings), np.int64, int(counts.sum()))
            firsts = np.cumsum([0, *batch.sizes[:-1]])
            yield batch, self._mapping[ids], np.add.reduceat(counts, firsts)


class _SplitWriter:
    """Writes the file of one split.

    It remembers the document nearest to the border with the other split: in `train` (`last` false) the one
    with the smallest hash, in `valid` the one with the largest.
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

    def move_to(self, other: _SplitWriter, path: Path) -> None:
        """Move the nearest document from this split, whose file is at `path`, to the other."""
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
        # An empty paragraph still counts, so that its document has one.
        lines = [f" {line}" for line in document.split("\n")]
        paragraphs += lines
        sizes.append(len(lines))
        places.append(split_position(document))
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
        content = parse_json(path.read_text(encoding="utf-8"))
        facts = TokenStatistics(**content)
    except FileNotFoundError as error:
        raise DataError(f"no such file; {REMEDY}", path=path) from error
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"not a description of tokens ({error}); {REMEDY}", path=path) from error
    if not all(type(count) is int and count >= 0 for count in (facts.train, facts.valid)):
        raise DataError(f"the numbers of tokens are wrong; {REMEDY}", path=path)
    if facts.dtype not in ("<u2", "<u4"):
        raise DataError(f"unknown dtype {facts.dtype!r}; {REMEDY}", path=path)
    return facts


def _mapped(path: Path, dtype: str, count: int) -> np.ndarray:
    try:
        size = path.stat().st_size
        if size != count * np.dtype(dtype).itemsize:
            raise DataError(f"{size} bytes do not match the {count} tokens in {FACTS}; {REMEDY}", path=path)
        return np.memmap(path, dtype, "r") if count else _empty(dtype)
    except FileNotFoundError as error:
        raise DataError(f"no such file; {REMEDY}", path=path) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from error


def _empty(dtype: str) -> np.ndarray:
    ids = np.zeros(0, dtype)
    ids.flags.writeable = False
    return ids
