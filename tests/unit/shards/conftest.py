"""A corpus for shards, and a model that finds something in it."""

from __future__ import annotations

from pathlib import Path

import pytest

WORDS = (
    "Anna",
    "Berg",
    "went",
    "to",
    "Paris",
    "and",
    "Bonn",
    "with",
    "Carl",
    "café",
    "Oslo",
    "in",
    "the",
    "house",
)


def lines(number: int) -> list[str]:
    """Lines of several lengths, some empty, some with characters of several bytes."""
    return [" ".join(WORDS[(i * 7 + j * 3) % len(WORDS)] for j in range(i % 11)) + " ." * (i % 11 > 0)
            for i in range(number)]  # fmt: skip


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "news.txt"
    path.write_text("\n".join(lines(400)), encoding="utf-8")  # no line end at the end
    return path


@pytest.fixture(scope="session")
def model(backbones: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights, as loud as trained ones."""
    import torch

    from roster.backbone.loading import load_encoder, load_tokenizer
    from roster.methods.registry import heads
    from roster.model.folder import save_model

    torch.manual_seed(3)
    found = heads()["one-head"](load_encoder(str(backbones["bert"])), 2)
    for head in found.heads:
        found.get_submodule(head).weight.data.mul_(50)
    folder = tmp_path_factory.mktemp("models") / "bert"
    save_model(folder, found, load_tokenizer(str(backbones["bert"])), ("PER", "LOC"), 24, "seed = 1\n")
    return folder
