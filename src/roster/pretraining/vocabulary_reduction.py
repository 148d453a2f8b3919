"""Reduce the vocabulary of a tokenizer to the entries that a text uses most."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from roster.errors import ConfigError, ModelError
from roster.pretraining.tokenizer_structure import structure_of

BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def reduce_vocabulary(tokenizer: Any, counts: np.ndarray, size: int) -> tuple[Any, np.ndarray]:
    """Reduce the vocabulary of a tokenizer.

    Special and added tokens are kept, and all characters (or bytes), so that every text can still be encoded.
    The other entries are kept by use: see `_bpe_order`, `_wordpiece_order` and `_unigram_order`. (If a
    WordPiece vocabulary has no entry for a character alone, the entries with it are kept, but a longer word
    around it may become unknown.)

    Parameters:
        tokenizer: a fast tokenizer.
        counts: how often each id occurs in the text that the vocabulary is reduced for.
        size: number of entries of the result.

    Returns:
        The tokenizer, and the old id of each of its entries, ascending.

    Raises:
        ModelError: the vocabulary is of an unknown type.
        ConfigError: the size is too small.
    """
    structure = structure_of(tokenizer)
    model = structure["model"]
    if model.get("type") not in ORDERS:
        known = ", ".join(ORDERS)
        raise ModelError(f"a vocabulary of type {model.get('type')} cannot be reduced; known are {known}")
    fixed = {token["id"] for token in structure["added_tokens"]} | _named(structure["post_processor"])
    fixed.update(tokenizer.all_special_ids)
    if (unknown := _unknown(model)) is not None:
        fixed.add(unknown)
    needed, others = ORDERS[model["type"]](model, counts)
    fixed |= needed
    if size < len(fixed):
        raise ConfigError(
            f"a vocabulary of {size} entries is too small for the special tokens and all characters of this "
            f"tokenizer; use at least {len(fixed)}"
        )
    chosen = [number for number in others if number not in fixed][: size - len(fixed)]
    kept = np.array(sorted(fixed.union(chosen)), np.int64)
    return _with(tokenizer, _renumbered(structure, kept)), kept


Order = tuple[set[int], list[int]]
"""The ids that are needed to encode every text, and all ids, the most useful first."""


def _wordpiece_order(model: dict[str, Any], counts: np.ndarray) -> Order:
    """By frequency. Needed: entries of one character, and those whose characters are no entries."""
    vocabulary, prefix = model["vocab"], model["continuing_subword_prefix"]

    def pieces(entry: str) -> list[str]:
        inner = entry.startswith(prefix) and len(entry) > len(prefix)
        bare = entry[len(prefix) :] if inner else entry
        return [prefix + c if inner or i else c for i, c in enumerate(bare)]

    needed = _indivisible(vocabulary, pieces)
    return needed, sorted(vocabulary.values(), key=lambda number: (-counts[number], number))


def _unigram_order(model: dict[str, Any], counts: np.ndarray) -> Order:
    """By frequency. Needed: bytes, entries of one character, and those whose characters are no entries."""
    vocabulary = {entry: number for number, (entry, _) in enumerate(model["vocab"])}
    needed = _indivisible(vocabulary, list) | _byte_pieces(model, vocabulary)
    return needed, sorted(vocabulary.values(), key=lambda number: (-counts[number], number))


def _bpe_order(model: dict[str, Any], counts: np.ndarray) -> Order:
    """By how often an entry is produced while a text is tokenised, also where it is merged further.

    That is the number of sub-words that its merge saves. No entry is produced more often than its parts, so
    that every prefix of this order has with an entry also its parts. Needed: entries that no merge produces,
    which are single characters and bytes.
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


def _indivisible(vocabulary: dict[str, int], pieces: Callable[[str], list[str]]) -> set[int]:
    """Ids of entries of one character, and of those with a character that is no entry."""
    return {
        number
        for entry, number in vocabulary.items()
        if len(parts := pieces(entry)) <= 1 or not all(part in vocabulary for part in parts)
    }


def _byte_pieces(model: dict[str, Any], vocabulary: dict[str, int]) -> set[int]:
    """Ids of byte entries such as `<0x41>`, into which some vocabularies split characters they lack."""
    if not model.get("byte_fallback"):
        return set()
    return {number for entry, number in vocabulary.items() if BYTE.fullmatch(entry)}


def _unknown(model: dict[str, Any]) -> int | None:
    """The id of the unknown token."""
    if model["type"] == "Unigram":
        number: int | None = model.get("unk_id")
    else:
        number = model["vocab"].get(model.get("unk_token"))
    return number


def _merges(model: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for merge in model["merges"]:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        yield left, right


def _merged(model: dict[str, Any], left: str, right: str) -> str:
    return left + right.removeprefix(model.get("continuing_subword_prefix") or "")


def _renumbered(structure: dict[str, Any], kept: np.ndarray) -> dict[str, Any]:
    """The structure with only the entries `kept`, in this order."""
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
    """A post-processor, or its parts."""
    if processor is not None and processor["type"] == "Sequence":
        for part in processor["processors"]:
            yield from _processors(part)
    elif processor is not None:
        yield processor


def _named(processor: dict[str, Any] | None) -> set[int]:
    """The ids that a post-processor adds to a text."""
    numbers: set[int] = set()
    for part in _processors(processor):
        numbers.update(part[name][1] for name in ("sep", "cls") if name in part)
        numbers.update(number for token in part.get("special_tokens", {}).values() for number in token["ids"])
    return numbers


def _with(tokenizer: Any, structure: dict[str, Any]) -> Any:
    """A copy of the tokenizer with another structure."""
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
