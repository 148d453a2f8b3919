"""The folder of a pre-training.

    config.json, model.safetensors, tokenizer files     the backbone, when it is finished
    README.md, curve.svg                                its model card
    training.jsonl                                      the curve, point by point
    settings.json                                       the settings and a fingerprint of the corpus
    work/                                               tokens and checkpoint of an unfinished pre-training

Every file is written completely or not at all. A folder with a config.json is finished; any other is resumed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from roster.errors import ModelError, RunError
from roster.files import atomic_folder, write_text
from roster.parsing import parse_json
from roster.training.folder import RunFolder


class PretrainingFolder(RunFolder):
    """The folder of a pre-training; `claim` creates it or resumes it."""

    noun = "backbone"
    activity = "pre-training"
    marker_name = "settings.json"
    work_name = "work"
    layout = 3  # 3: checksums of checkpoints
    differences = {
        "layout": "by another version of roster",
        "settings": "with other settings",
        "corpus": "from another corpus",
    }

    @property
    def finished(self) -> bool:
        return (self.path / "config.json").exists()

    @property
    def curve_file(self) -> Path:
        return self.path / "training.jsonl"

    def abandon(self) -> None:
        """Remove a pre-training that failed before its first point, so that its folder can be used again."""
        if not self.finished and not self.curve_file.exists():
            self.remove_new()

    def write_curve(self, curve: Sequence[Mapping[str, float]]) -> None:
        write_text(self.curve_file, "".join(json.dumps(point) + "\n" for point in curve))

    def curve(self) -> list[dict[str, Any]]:
        """Return the points of the curve.

        Raises:
            RunError: the file is missing or damaged.
        """
        try:
            return [parse_json(line) for line in self.curve_file.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError):
            raise RunError(f"{self.curve_file} is missing or damaged") from None

    def finish(self, model: Any, tokenizer: Any, dtype: torch.dtype, texts: Mapping[str, str]) -> None:
        """Write the backbone and remove what only an unfinished pre-training needs.

        Parameters:
            model: the masked language model, as transformers has it.
            tokenizer: its tokenizer.
            dtype: the type of the saved weights.
            texts: further files by name.

        Raises:
            ModelError: a weight is not finite in `dtype`.
        """
        final = self.work / "final"
        model = model.to(device="cpu", dtype=dtype)
        if not all(p.isfinite().all() for p in model.parameters()):
            raise ModelError("some weights are not finite, or too large for float16; try weights=float32")
        with atomic_folder(final) as part:
            model.save_pretrained(part)
            tokenizer.save_pretrained(part)
            for name, text in texts.items():
                write_text(part / name, text)
        # The config is moved last, because a folder that has one counts as finished.
        for path in sorted(final.iterdir(), key=lambda path: path.name == "config.json"):
            path.chmod(0o644)
            path.replace(self.path / path.name)
        self.remove_work()
