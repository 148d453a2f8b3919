"""The toy model as ONNX."""

from __future__ import annotations

from pathlib import Path

import pytest

from roster.corpus.sentence import Sentence
from roster.infer.export import export


@pytest.fixture(scope="session")
def exported(trained: Path, toy: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model as ONNX, in float32; nothing may write to the folder."""
    folder = tmp_path_factory.mktemp("exported") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("roster.infer.parity.SECONDS", 0.0)
        export(trained, folder, gold=toy)
    return folder
