"""Vocabulary transfer: the embedding of a new entry is the mean of its sub-words in the old vocabulary."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from roster.backbone.loading import FROM_PADDING
from roster.backbone.token_features import token_features, word_marks

ROLES = ("cls_token_id", "sep_token_id", "pad_token_id", "mask_token_id", "unk_token_id",
         "bos_token_id", "eos_token_id")  # fmt: skip


@torch.no_grad()
def transfer_vocabulary(model: Any, old: Any, new: Any) -> Any:
    """Return a masked language model of the tokenizer `old` with the vocabulary of the tokenizer `new`."""
    config = copy.deepcopy(model.config)
    config.vocab_size = len(new)
    for name in ROLES:
        if getattr(config, name, None) is not None:
            setattr(config, name, getattr(new, name, None))
    if config.pad_token_id is None:
        config.pad_token_id = new.pad_token_id
    other = type(model)(config)
    state, before = model.state_dict(), model.config.vocab_size
    entries, pieces, shares = mapping(old, new)
    for name in by_entry(model):
        tensor = state[name].view(before, -1)
        mapped = tensor.new_zeros(len(new), tensor.shape[1])
        mapped.index_add_(0, entries, tensor[pieces] * shares[:, None])
        state[name] = mapped.view(-1, *state[name].shape[1:])
    state = keep_positions(state, model.config, config)
    other.load_state_dict(state)
    other.tie_weights()
    return other


def mapping(old: Any, new: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return which old entries each new entry is the mean of, as flat tensors: new id, old id, weight.

    Special tokens are mapped by their role, and entries that both vocabularies share to themselves, because
    some entries are single bytes and no text.
    """
    pieces = piece_finder(old)
    roles: dict[int, int] = {}
    for name in ROLES:
        mine, theirs = getattr(new, name, None), getattr(old, name, None)
        if mine is not None and theirs is not None:
            roles.setdefault(mine, theirs)
    shared = old.get_vocab() if word_marks(old) == word_marks(new) else {}
    tokens = new.convert_ids_to_tokens(list(range(len(new))))
    text, begins = surfaces(new)
    places: list[tuple[int, int]] = []
    values: list[float] = []
    unknown = old.unk_token_id if old.unk_token_id is not None else old.mask_token_id
    for i, (token, piece, begin) in enumerate(zip(tokens, text, begins, strict=True)):
        same = roles.get(i, shared.get(token))
        parts = [same] if same is not None else pieces(piece, begin) or [unknown]
        places.extend((i, j) for j in parts)
        values.extend([1 / len(parts)] * len(parts))
    entries, found_pieces = torch.tensor(places).unbind(1)
    return entries, found_pieces, torch.tensor(values)


def surfaces(tokenizer: Any) -> tuple[list[str], list[bool]]:
    """Return the text of each entry, and whether it begins a word."""
    opening, inner = word_marks(tokenizer)
    begins = token_features(tokenizer).starts_word.tolist()
    text = []
    for token, begin in zip(
        tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))), begins, strict=True
    ):
        bare = (token or "").removeprefix(opening if begin else inner)
        text.append(bare if bare.isascii() or inner else tokenizer.convert_tokens_to_string([bare]))
    return text, begins


def piece_finder(tokenizer: Any) -> Callable[[str, bool], list[int]]:
    """Return a function from a string, and whether it begins a word, to the ids of a tokenizer."""
    from tokenizers import pre_tokenizers

    opening, inner = word_marks(tokenizer)
    model, known = tokenizer.backend_tokenizer.model, tokenizer.get_vocab()
    normalizer, unknown = tokenizer.backend_tokenizer.normalizer, tokenizer.unk_token_id
    spell = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)

    def find(piece: str, begins: bool) -> list[int]:
        if normalizer is not None:
            piece = normalizer.normalize_str(piece).removeprefix(opening)
        if not piece:
            return []
        if inner and not begins:
            return _greedy(piece, known, inner)
        text = piece
        if opening and opening != "▁":
            text = "".join(part for part, _ in spell.pre_tokenize_str(piece))
        ids = [token.id for token in model.tokenize(opening + text if begins else text)]
        return [i for i in ids if i != unknown]

    return find


def _greedy(piece: str, known: dict[str, int], mark: str) -> list[int]:
    """Longest-match-first ids for the inside of a word, as in WordPiece; empty if there are none."""
    ids, start = [], 0
    while start < len(piece):
        end = next((e for e in range(len(piece), start, -1) if mark + piece[start:e] in known), None)
        if end is None:
            return []
        ids.append(known[mark + piece[start:end]])
        start = end
    return ids


def by_entry(model: Any) -> list[str]:
    """Return the names of the weights that have a row for each entry of the vocabulary."""
    tables = [model.get_input_embeddings().weight, model.get_output_embeddings().weight]
    pointers = {table.data_ptr() for table in tables}
    size, inside = len(tables[0]), f"{model.base_model_prefix}."
    return [
        name
        for name, tensor in model.state_dict().items()
        if tensor.shape[:1] == (size,)
        and (tensor.data_ptr() in pointers or (tensor.dim() == 1 and not name.startswith(inside)))
        and "norm" not in name.lower()
    ]


def keep_positions(state: dict[str, Tensor], before: Any, after: Any) -> dict[str, Tensor]:
    """Shift the position embeddings of RoBERTa, which start at the id of the padding token, to the new id."""
    if before.model_type not in FROM_PADDING or before.pad_token_id == after.pad_token_id:
        return state
    shift = after.pad_token_id - before.pad_token_id
    return {
        name: tensor.roll(shift, 0) if "position_embeddings" in name else tensor
        for name, tensor in state.items()
    }


def keep_entries(model: Any, kept: Any) -> Any:
    """Return the model with only the `kept` entries of its vocabulary (old ids), in this order."""
    rows = torch.from_numpy(kept).long()
    config = copy.deepcopy(model.config)
    config.vocab_size = len(kept)
    new = {int(old): i for i, old in enumerate(kept)}
    for name in ROLES:
        if getattr(config, name, None) is not None:
            setattr(config, name, new.get(getattr(config, name)))
    smaller = type(model)(config)
    state = model.state_dict()
    for name in by_entry(model):
        state[name] = state[name][rows]
    smaller.load_state_dict(keep_positions(state, model.config, config))
    smaller.tie_weights()
    return smaller
