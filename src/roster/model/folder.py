"""A trained model as a folder that needs nothing else: no hub, no backbone, no pickles.

model/roster.json          kind of model, types, maximum length
model/config.json          the encoder's architecture (Hugging Face)
model/tokenizer.json ...   its tokenizer
model/model.safetensors    all weights
model/config.toml          the config of the run that made it
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from roster.errors import ModelError
from roster.files import atomic_folder, write_json, write_text
from roster.model.heads import HEADS, OneHead, TwoHeads
from roster.model.weights import load_tensors, save_tensors

LAYOUT = 1


@dataclass(frozen=True)
class ModelFacts:
    kind: str
    types: tuple[str, ...]
    max_length: int
    layout: int = LAYOUT


def save_model(
    folder: str | Path,
    model: TwoHeads | OneHead,
    tokenizer: Any,
    types: tuple[str, ...],
    max_length: int,
    config: str,
) -> None:
    with atomic_folder(folder) as part:
        model.encoder.config.save_pretrained(part)
        _save_tokenizer(tokenizer, part)
        save_tensors(part / "model.safetensors", model.state_dict())
        write_text(part / "config.toml", config)
        write_json(part / "roster.json", asdict(ModelFacts(model.kind, types, max_length)))


def _save_tokenizer(tokenizer: Any, folder: Path) -> None:
    try:
        tokenizer.save_pretrained(folder)
    except OSError:
        raise
    except Exception as error:  # the tokenizers library knows only this one, for a full disk too
        raise OSError(str(error)) from error


def load_model(folder: str | Path) -> tuple[TwoHeads | OneHead, Any, ModelFacts]:
    """Model (on the CPU, in evaluation mode), tokenizer and facts."""
    from roster.backbone.loading import encoder_from_config, load_tokenizer

    folder = Path(folder)
    facts = read_facts(folder)
    encoder = encoder_from_config(folder)
    tokenizer = load_tokenizer(str(folder))
    model = HEADS[facts.kind](encoder, len(facts.types))
    tensors, _ = load_tensors(folder / "model.safetensors")
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        raise ModelError(f"{folder}: the weights do not fit the model's own description ({reason})") from None
    return model.eval(), tokenizer, facts


def is_model(path: str | Path) -> bool:
    return (Path(path) / "roster.json").is_file()


def read_facts(folder: Path) -> ModelFacts:
    path = folder / "roster.json"
    if not folder.is_dir():
        raise ModelError(f"there is no model folder {folder}")
    if not path.is_file():
        inner = folder / "model"
        hint = f"; did you mean {inner}?" if is_model(inner) else ""
        raise ModelError(f"{folder} is not a model: it has no roster.json{hint}")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        facts = ModelFacts(
            found["kind"], tuple(found["types"]), int(found["max_length"]), int(found["layout"])
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is damaged: {error}") from None
    if facts.layout != LAYOUT or facts.kind not in HEADS:
        raise ModelError(
            f"{folder} was made by another version of roster (layout {facts.layout}, kind {facts.kind})"
        )
    return facts
