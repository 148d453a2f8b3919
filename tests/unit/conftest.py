"""A stage that is stopped after its first epoch, and where it goes on from; the toy model as ONNX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roster.corpus.sentence import Sentence
from roster.training.objective import Checkpoint
from roster.training.run import Run


class StoppedError(Exception):
    pass


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], Checkpoint]:
    """Trains until the first checkpoint is on disk, and reads it back with another `Run`."""
    monkeypatch.setenv("ROSTER_CHECKPOINT_SECONDS", "0")

    def stop(train: Callable[..., Any]) -> Checkpoint:
        run = Run.open(tmp_path, {}, {})
        save = run.after_epoch("stage", 3)

        def save_and_stop(epoch: int, take: Any) -> None:
            save(epoch, take)
            raise StoppedError

        with pytest.raises(StoppedError):
            train(after_epoch=save_and_stop)
        run.close()
        again = Run.open(tmp_path, {}, {})
        point = again.checkpoint("stage")
        again.close()
        assert point is not None
        assert point.epoch == 1
        return point

    return stop


@pytest.fixture(scope="session")
def exported(trained: Path, toy: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model as ONNX, in float32; nothing may write to the folder."""
    from roster.infer.export import export

    folder = tmp_path_factory.mktemp("exported") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("roster.infer.parity.SECONDS", 0.0)
        export(trained, folder, gold=toy)
    return folder
