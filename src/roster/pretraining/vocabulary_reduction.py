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
    """A tokenizer of `size` entries, and for each of them its number in the old one, ascending.

    `counts` says how often each old number occurs in a text that the vocabulary is to suit. Special and
    added tokens stay, and all characters (or bytes), so that every text is spelled as before. The rest
    goes by use; see `_bpe_order`, `_wordpiece_order` and `_unigram_order`. (A WordPiece vocabulary that
    lacks a character by itself keeps the entries it occurs in, yet a longer word around it may become
    unknown.)
    """
    structure = structure_of(tokenizer)
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
