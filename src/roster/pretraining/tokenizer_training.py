"""Train a tokenizer on plain text: byte-level BPE as in RoBERTa, or WordPiece as in BERT."""

from __future__ import annotations

import os
import string
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from roster.errors import ConfigError, RosterError

ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUES = "##"
COVERAGE = 0.9999
"""Share of the characters of a text that a WordPiece vocabulary covers; words with rarer ones are unknown."""

ALWAYS = string.ascii_letters + string.digits
"""Characters that every vocabulary has: they occur in texts of every script, and `word_marks` needs them."""


def train_tokenizer(documents: Iterable[str], size: int, kind: str = "bpe") -> Any:
    """Train a cased tokenizer. The same text gives the same tokenizer.

    Parameters:
        documents: the text.
        size: number of entries; fewer if the text does not have as many.
        kind: `bpe` (byte level, as RoBERTa: no unknown words) or `wordpiece` (as BERT: words with very rare
            characters are unknown).

    Raises:
        ConfigError: the size is too small, or the kind is unknown.
    """
    if kind not in TRAINED:
        raise ConfigError(f"unknown type of vocabulary {kind!r}; expected one of {', '.join(TRAINED)}")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # otherwise it warns in every forked process
    return TRAINED[kind](documents, size)


def _train_bpe(documents: Iterable[str], size: int) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    _check_size(size, len(ROBERTA) + len(alphabet), "the 256 bytes")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    special = [AddedToken(name, special=True, lstrip=name == "<mask>", normalized=False) for name in ROBERTA]
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=special,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    bos, pad, eos, unk, _ = ROBERTA
    tokenizer.post_processor = processors.RobertaProcessing(
        (eos, 2), (bos, 0), trim_offsets=True, add_prefix_space=True
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=bos, eos_token=eos, cls_token=bos, sep_token=eos, unk_token=unk,
        pad_token=pad, mask_token=special[4], add_prefix_space=True, clean_up_tokenization_spaces=False,
    )  # fmt: skip


def _train_wordpiece(documents: Iterable[str], size: int) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    normalizer = normalizers.BertNormalizer(clean_text=True, strip_accents=False, lowercase=False)
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer, trained.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    with _temporary_file() as lines:
        characters = _alphabet(_count_characters(documents, lines.write), normalizer)
        lines.seek(0)
        first = [*BERT, *characters, *(CONTINUES + character for character in characters)]
        _check_size(size, len(first), f"{len(characters)} characters (first in a word, and later)")
        # If the characters were no special tokens, their ids, and the order of merges of equal frequency,
        # would depend on the order of a hash table.
        trainer = trainers.WordPieceTrainer(
            vocab_size=size,
            min_frequency=2,
            special_tokens=first,
            initial_alphabet=characters,
            limit_alphabet=len(characters),
            continuing_subword_prefix=CONTINUES,
            show_progress=False,
        )
        trained.train_from_iterator(lines, trainer)
    pad, unk, cls, sep, mask = BERT
    tokenizer = Tokenizer(
        models.WordPiece(trained.get_vocab(), unk_token=unk, continuing_subword_prefix=CONTINUES)
    )
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, trained.pre_tokenizer
    tokenizer.decoder = decoders.WordPiece(CONTINUES, cleanup=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, 2), (sep, 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=pad, unk_token=unk, cls_token=cls, sep_token=sep,
        mask_token=mask, clean_up_tokenization_spaces=False,
    )  # fmt: skip


TRAINED: dict[str, Callable[[Iterable[str], int], Any]] = {"bpe": _train_bpe, "wordpiece": _train_wordpiece}


@contextmanager
def _temporary_file() -> Iterator[IO[str]]:
    """A temporary file for text that is read twice."""
    try:
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as file:
            yield file
    except OSError as error:
        raise RosterError(
            f"cannot write the text to the temporary folder {tempfile.gettempdir()}: {error.strerror}; "
            "set the environment variable TMPDIR to another folder"
        ) from error


def _check_size(size: int, least: int, what: str) -> None:
    if size < least:
        raise ConfigError(
            f"a vocabulary of {size} entries is too small for {what} and the special tokens; "
            f"use at least {least}"
        )


def _count_characters(documents: Iterable[str], write: Callable[[str], Any]) -> np.ndarray:
    """Count code points, and write the text on, because an iterator can be read only once."""
    counts = np.zeros(0x110000, np.int64)
    for document in documents:
        write(document + "\n")
        codes, times = np.unique(np.frombuffer(document.encode("utf-32-le"), np.uint32), return_counts=True)
        counts[codes] += times
    return counts


def _alphabet(counts: np.ndarray, normalizer: Any) -> list[str]:
    """`ALWAYS`, and the most frequent characters, up to `COVERAGE` of the normalised text."""
    codes = [code for code in np.flatnonzero(counts).tolist() if normalizer.normalize_str(chr(code)).strip()]
    codes.sort(key=lambda code: (-counts[code], code))
    running = np.cumsum(counts[codes])
    kept = codes[: np.searchsorted(running, COVERAGE * running[-1]) + 1] if codes else []
    return sorted({*map(chr, kept), *ALWAYS})
