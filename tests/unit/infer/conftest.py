"""Model folders of every architecture and kind of heads, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from roster.backbone.loading import load_encoder, load_tokenizer
from roster.corpus.sentence import Sentence
from roster.methods.registry import heads
from roster.model.folder import save_model

TYPES = ("PER", "LOC", "é")
Models = Callable[[str, str], Path]


@pytest.fixture(scope="session")
def models(backbones: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Models:
    """`models("bert", "one-head")`; nothing may write to the folder."""

    @cache
    def make(name: str, kind: str) -> Path:
        folder = tmp_path_factory.mktemp("models") / f"{name}-{kind}"
        torch.manual_seed(3)
        model = heads()[kind](load_encoder(str(backbones[name])), len(TYPES))
        for head in model.heads:  # as loud as trained ones
            model.get_submodule(head).weight.data.mul_(50)
        save_model(folder, model, load_tokenizer(str(backbones[name])), TYPES, 24, "seed = 1\n")
        return folder

    return make


@pytest.fixture(scope="session")
def texts() -> list[Sentence]:
    """Of several lengths, one of several windows, one of no words."""
    words = ("Anna", "Carl met Dora in Rome .", "the house " * 30, "", "Anna Berg went to Paris and Bonn")
    return [Sentence.from_words(one.split()) for one in words]
