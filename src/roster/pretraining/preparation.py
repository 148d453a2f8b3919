"""Prepare the tokenizer and the tokenised corpus of a pre-training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from roster.backbone.alignment import Specials
from roster.backbone.loading import load_tokenizer
from roster.errors import ModelError
from roster.files import atomic_folder, fingerprint, write_json, write_text
from roster.pretraining.documents import read_documents
from roster.pretraining.initialisation import VOCABULARY
from roster.pretraining.settings import PretrainingSettings
from roster.pretraining.tokenizer_structure import tokenizer_fingerprint
from roster.pretraining.tokenizer_training import train_tokenizer
from roster.pretraining.tokens import TokenisedCorpus, token_counts, tokenise
from roster.pretraining.vocabulary_reduction import reduce_vocabulary

COUNTED = 50_000_000
"""Characters of the corpus in which the use of entries is counted, to reduce a vocabulary."""
Log = Callable[[str], None]


def prepare_tokenizer(
    paths: Sequence[Path], work: Path, settings: PretrainingSettings, log: Log
) -> tuple[Any, np.ndarray | None]:
    """Return the tokenizer of the backbone, and the old ids of its entries if its vocabulary was reduced.

    Parameters: the text files, the folder for what an unfinished pre-training needs (a tokenizer that is
    there is loaded), the settings, and a function that takes a line of the log.
    """
    first = settings.teacher or settings.start
    folder = work / "tokenizer"
    if first:
        tokenizer = load_tokenizer(first)
        if not settings.vocabulary or settings.vocabulary >= len(tokenizer):
            return tokenizer, None
        if (folder / "kept.npy").exists():
            return load_tokenizer(str(folder)), np.load(folder / "kept.npy")
        counts = token_counts(read_documents(paths), tokenizer, COUNTED)
        reduced, kept = reduce_vocabulary(tokenizer, counts, settings.vocabulary)
        covered = 100 * counts[kept].sum() / max(1, counts.sum())
        log(
            f"vocabulary: reduced from {len(tokenizer):,} to {len(reduced):,} entries, "
            f"{covered:.1f} % of the sub-words of the text"
        )
        _save(folder, reduced, kept)
        return reduced, kept
    if not (folder / "tokenizer.json").exists():
        entries = settings.vocabulary or VOCABULARY
        tokenizer = train_tokenizer(read_documents(paths), entries, settings.tokens)
        tokenizer.model_max_length = settings.positions
        log(f"vocabulary: {len(tokenizer):,} entries trained on the text")
        _save(folder, tokenizer, None)
    return load_tokenizer(str(folder)), None


def _save(folder: Path, tokenizer: Any, kept: np.ndarray | None) -> None:
    with atomic_folder(folder) as part:
        tokenizer.save_pretrained(part)
        write_json(part / "config.json", {"model_type": "bert"})  # transformers needs a config to load it
        if kept is not None:
            np.save(part / "kept.npy", kept)


def prepare_tokens(
    paths: Sequence[Path],
    work: Path,
    tokenizer: Any,
    specials: Specials,
    settings: PretrainingSettings,
    log: Log,
) -> TokenisedCorpus:
    """Return the tokenised corpus, from the folder if it was made with this tokenizer and these settings."""
    folder, key = work / "tokens", fingerprint(tokenizer_fingerprint(tokenizer), settings.valid)
    marker = work / "tokens.key"
    if folder.exists() and marker.exists() and marker.read_text(encoding="utf-8") == key:
        return TokenisedCorpus.load(folder)
    if not specials.suffix:
        raise ModelError("the tokenizer has no special token at the end of a sequence to separate documents")
    separator = specials.suffix[-1]
    tokens = tokenise(
        read_documents(paths), tokenizer, folder, separator=separator, valid_share=settings.valid, log=log
    )
    write_text(marker, key)
    return tokens
