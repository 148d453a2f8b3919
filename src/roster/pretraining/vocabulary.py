"""Vocabularies: trained from text, and cut to the entries that a text needs."""

from __future__ import annotations

import copy
import json
import os
import re
import string
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from roster.errors import ConfigError, ModelError, RosterError
from roster.files import fingerprint

ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUES = "##"
SPELLED = 0.9999
"""The share of a text's characters that a WordPiece vocabulary spells; words with rarer ones are unknown."""

ALWAYS = string.ascii_letters + string.digits
"""Texts in every script hold some of these; and by them `word_marks` tells how words begin."""

BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def train_tokenizer(documents: Iterable[str], size: int, kind: str = "bpe") -> Any:
    """A cased tokenizer of `size` entries (fewer where the text has no more), the same for the same text.

    `bpe`: RoBERTa's byte-level one, which spells everything. `wordpiece`: BERT's; words with characters
    that hardly occur in the text are unknown to it.
    """
    if kind not in TRAINED:
        raise ConfigError(f"unknown kind of vocabulary {kind!r}; known are {', '.join(TRAINED)}")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # or it warns in every process that is forked
    return TRAINED[kind](documents, size)


def _train_bpe(documents: Iterable[str], size: int) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    _demand(size, len(ROBERTA) + len(alphabet), "the 256 bytes")
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
    learner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    learner.normalizer, learner.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    with _spool() as lines:
        characters = _alphabet(_count_characters(documents, lines.write), normalizer)
        lines.seek(0)
        first = [*BERT, *characters, *(CONTINUES + character for character in characters)]
        _demand(size, len(first), f"{len(characters)} characters (first in a word, and later)")
        # Without the characters among the special tokens, their numbers, and the order of merges that are
        # equally frequent with them, would depend on the order of a hash table.
        trainer = trainers.WordPieceTrainer(
            vocab_size=size,
            min_frequency=2,
            special_tokens=first,
            initial_alphabet=characters,
            limit_alphabet=len(characters),
            continuing_subword_prefix=CONTINUES,
            show_progress=False,
        )
        learner.train_from_iterator(lines, trainer)
    pad, unk, cls, sep, mask = BERT
    tokenizer = Tokenizer(
        models.WordPiece(learner.get_vocab(), unk_token=unk, continuing_subword_prefix=CONTINUES)
    )
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, learner.pre_tokenizer
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
def _spool() -> Iterator[IO[str]]:
    """A nameless file for text that is read twice."""
    try:
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as file:
            yield file
    except OSError as error:
        raise RosterError(
            f"cannot write the text to the temporary folder {tempfile.gettempdir()}: {error.strerror}; "
            "name another one in the environment variable TMPDIR"
        ) from error


def _demand(size: int, least: int, what: str) -> None:
    if size < least:
        raise ConfigError(
            f"a vocabulary of {size} entries cannot hold {what} and the special tokens; the least is {least}"
        )


def _count_characters(documents: Iterable[str], write: Callable[[str], Any]) -> np.ndarray:
    """How often each code point occurs. The text is written on, since it may not be there a second time."""
    counts = np.zeros(0x110000, np.int64)
    for document in documents:
        write(document + "\n")
        codes, times = np.unique(np.frombuffer(document.encode("utf-32-le"), np.uint32), return_counts=True)
        counts[codes] += times
    return counts


def _alphabet(counts: np.ndarray, normalizer: Any) -> list[str]:
    """`ALWAYS`, and the most frequent characters that make up `SPELLED` of what the normaliser leaves."""
    codes = [code for code in np.flatnonzero(counts).tolist() if normalizer.normalize_str(chr(code)).strip()]
    codes.sort(key=lambda code: (-counts[code], code))
    running = np.cumsum(counts[codes])
    kept = codes[: np.searchsorted(running, SPELLED * running[-1]) + 1] if codes else []
    return sorted({*map(chr, kept), *ALWAYS})


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """Changes when the tokenizer gives other numbers to a text, or other names to its special tokens."""
    return fingerprint(_structure(tokenizer), tokenizer.special_tokens_map)


def plain_backend(tokenizer: Any) -> Any:
    """A copy that gives all sub-words of a text: nothing cut, nothing filled up, no text a special token."""
    from tokenizers import Tokenizer

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # or it warns in every process that is forked
    backend = Tokenizer.from_str(json.dumps(_structure(tokenizer)))
    backend.encode_special_tokens = True
    return backend


def cut_vocabulary(tokenizer: Any, counts: np.ndarray, size: int) -> tuple[Any, np.ndarray]:
    """A tokenizer of `size` entries, and for each of them its number in the old one, ascending.

    `counts` says how often each old number occurs in a text that the vocabulary is to suit. Special and
    added tokens stay, and all characters (or bytes), so that every text is spelled as before. The rest
    goes by use; see `_bpe_order`, `_wordpiece_order` and `_unigram_order`. (A WordPiece vocabulary that
    lacks a character by itself keeps the entries it occurs in, yet a longer word around it may become
    unknown.)
    """
    structure = _structure(tokenizer)
    model = structure["model"]
    if model.get("type") not in ORDERS:
        known = ", ".join(ORDERS)
        raise ModelError(f"a vocabulary of the kind {model.get('type')} cannot be cut; known are {known}")
    fixed = {token["id"] for token in structure["added_tokens"]} | _named(structure["post_processor"])
    fixed.update(tokenizer.all_special_ids)
    if (unknown := _unknown(model)) is not None:
        fixed.add(unknown)
    needed, others = ORDERS[model["type"]](model, counts)
    fixed |= needed
    if size < len(fixed):
        raise ConfigError(
            f"a vocabulary of {size} entries cannot hold the special tokens and all characters of this "
            f"tokenizer; the least is {len(fixed)}"
        )
    chosen = [number for number in others if number not in fixed][: size - len(fixed)]
    kept = np.array(sorted(fixed.union(chosen)), np.int64)
    return _with(tokenizer, _renumbered(structure, kept)), kept


Order = tuple[set[int], list[int]]
"""The entries without which some text cannot be spelled, and all entries, the most useful first."""


def _wordpiece_order(model: dict[str, Any], counts: np.ndarray) -> Order:
    """By frequency. Needed is what has one character, and what cannot be spelled with such."""
    vocabulary, prefix = model["vocab"], model["continuing_subword_prefix"]

    def pieces(entry: str) -> list[str]:
        inner = entry.startswith(prefix) and len(entry) > len(prefix)
        bare = entry[len(prefix) :] if inner else entry
        return [prefix + c if inner or i else c for i, c in enumerate(bare)]

    needed = _unspelled(vocabulary, pieces)
    return needed, sorted(vocabulary.values(), key=lambda number: (-counts[number], number))


def _unigram_order(model: dict[str, Any], counts: np.ndarray) -> Order:
    """By frequency. Needed are bytes, what has one character, and what cannot be spelled with such."""
    vocabulary = {entry: number for number, (entry, _) in enumerate(model["vocab"])}
    needed = _unspelled(vocabulary, list) | _byte_pieces(model, vocabulary)
    return needed, sorted(vocabulary.values(), key=lambda number: (-counts[number], number))


def _bpe_order(model: dict[str, Any], counts: np.ndarray) -> Order:
    """By how often an entry is made while a text is tokenised, whether it stays or is merged further.

    That is the number of sub-words that its merge saves. No entry is made more often than those it is
    merged from, so every beginning of this order has with an entry also its parts. Needed is what no merge
    makes: single characters and bytes.
    """
    vocabulary = model["vocab"]
    parts: dict[str, tuple[str, str]] = {}
    rank: dict[str, int] = {}
    for at, (left, right) in enumerate(_merges(model)):
        made = _merged(model, left, right)
        rank.setdefault(made, at)
        parts.setdefault(made, (left, right))
    prefix, suffix = model.get("continuing_subword_prefix") or "", model.get("end_of_word_suffix") or ""
    length = {entry: len(entry.removeprefix(prefix)) for entry in vocabulary}
    times = {entry: int(counts[number]) for entry, number in vocabulary.items()}
    for entry in sorted(parts, key=lambda entry: -length[entry]):  # the parts are shorter
        for part in parts[entry]:
            times[part] += times[entry]
    single = {
        number
        for entry, number in vocabulary.items()
        if entry not in parts and len(entry.removeprefix(prefix).removesuffix(suffix)) <= 1
    }
    order = sorted(vocabulary, key=lambda entry: (-times[entry], length[entry], rank.get(entry, -1), entry))
    return single | _byte_pieces(model, vocabulary), [vocabulary[entry] for entry in order]


ORDERS: dict[str, Callable[[dict[str, Any], np.ndarray], Order]] = {
    "BPE": _bpe_order,
    "WordPiece": _wordpiece_order,
    "Unigram": _unigram_order,
}


def _unspelled(vocabulary: dict[str, int], pieces: Callable[[str], list[str]]) -> set[int]:
    """Entries of one character, and those with a character that is no entry by itself."""
    return {
        number
        for entry, number in vocabulary.items()
        if len(parts := pieces(entry)) <= 1 or not all(part in vocabulary for part in parts)
    }


def _byte_pieces(model: dict[str, Any], vocabulary: dict[str, int]) -> set[int]:
    """`<0x41>` and the like, with which some vocabularies spell characters that they do not have."""
    if not model.get("byte_fallback"):
        return set()
    return {number for entry, number in vocabulary.items() if BYTE.fullmatch(entry)}


def _unknown(model: dict[str, Any]) -> int | None:
    """The number that stands for what the model cannot spell."""
    if model["type"] == "Unigram":
        found: int | None = model.get("unk_id")
    else:
        found = model["vocab"].get(model.get("unk_token"))
    return found


def _merges(model: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for merge in model["merges"]:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        yield left, right


def _merged(model: dict[str, Any], left: str, right: str) -> str:
    return left + right.removeprefix(model.get("continuing_subword_prefix") or "")


def _renumbered(structure: dict[str, Any], kept: np.ndarray) -> dict[str, Any]:
    """The tokenizer's structure with the entries `kept` alone, in this order."""
    structure = copy.deepcopy(structure)
    new = {old: number for number, old in enumerate(kept.tolist())}
    model = structure["model"]
    if model["type"] == "Unigram":
        model["vocab"] = [entry for number, entry in enumerate(model["vocab"]) if number in new]
        if model.get("unk_id") is not None:
            model["unk_id"] = new[model["unk_id"]]
    else:
        model["vocab"] = {entry: new[old] for entry, old in model["vocab"].items() if old in new}
    if model["type"] == "BPE":
        vocabulary = model["vocab"]
        model["merges"] = [
            [left, right]
            for left, right in _merges(model)
            if left in vocabulary and right in vocabulary and _merged(model, left, right) in vocabulary
        ]
    for token in structure["added_tokens"]:
        token["id"] = new[token["id"]]
    for processor in _processors(structure["post_processor"]):
        for name in ("sep", "cls"):
            if name in processor:
                processor[name] = [processor[name][0], new[processor[name][1]]]
        for token in processor.get("special_tokens", {}).values():
            token["ids"] = [new[old] for old in token["ids"]]
    return structure


def _processors(processor: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """A post-processor, or those it consists of."""
    if processor is not None and processor["type"] == "Sequence":
        for part in processor["processors"]:
            yield from _processors(part)
    elif processor is not None:
        yield processor


def _named(processor: dict[str, Any] | None) -> set[int]:
    """The numbers that a post-processor puts around a text."""
    found: set[int] = set()
    for part in _processors(processor):
        found.update(part[name][1] for name in ("sep", "cls") if name in part)
        found.update(number for token in part.get("special_tokens", {}).values() for number in token["ids"])
    return found


def _structure(tokenizer: Any) -> dict[str, Any]:
    """What `tokenizer.json` would hold, without the cutting and filling up that the last call asked for."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(f"{type(tokenizer).__name__} is not a fast tokenizer, which this needs")
    try:
        structure: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    except Exception as error:  # the tokenizers library knows only this one
        raise ModelError(f"the tokenizer has parts that cannot be saved ({error})") from None
    return structure | {"truncation": None, "padding": None}


def _with(tokenizer: Any, structure: dict[str, Any]) -> Any:
    """A tokenizer like the given one, of another structure."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    names = {name: token for name, token in tokenizer.special_tokens_map.items() if isinstance(token, str)}
    options = {name: value for name, value in tokenizer.init_kwargs.items() if name == "add_prefix_space"}
    if others := [token for token in tokenizer.all_special_tokens if token not in names.values()]:
        options["additional_special_tokens"] = others
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(structure)),
        model_max_length=tokenizer.model_max_length,
        model_input_names=tokenizer.model_input_names,
        padding_side=tokenizer.padding_side,
        truncation_side=tokenizer.truncation_side,
        clean_up_tokenization_spaces=tokenizer.clean_up_tokenization_spaces,
        **names,
        **options,
    )
