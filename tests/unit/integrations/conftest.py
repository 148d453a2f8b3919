"""Models with random weights, exported for transformers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from roster.backbone.loading import load_encoder, load_tokenizer
from roster.integrations.transformers import export_transformers
from roster.methods.registry import heads
from roster.model.folder import save_model
from tests.unit.integrations.exported import SHORT, TYPES, Models


@pytest.fixture(scope="session")
def models(backbones: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Models:
    """`models("bert", "one-head")`: a model with random weights, and what is written for transformers."""

    @cache
    def make(name: str, kind: str) -> tuple[Path, Path]:
        folder = tmp_path_factory.mktemp("models") / f"{name}-{kind}"
        torch.manual_seed(3)
        model = heads()[kind](load_encoder(str(backbones[name])), len(TYPES))
        for head in model.heads:  # as loud as trained ones
            layer: Any = model.get_submodule(head)
            layer.weight.data.mul_(50)
            layer.bias.data.normal_()
        if name == "modernbert":  # a norm that has learned something
            model.encoder.final_norm.weight.data.uniform_(0.5, 2)
        save_model(folder, model, load_tokenizer(str(backbones[name])), TYPES, 60, "seed = 1\n")
        export_transformers(folder, folder.with_suffix(".hf"), sentences=SHORT)
        return folder, folder.with_suffix(".hf")

    return make
