"""What a model folder from a stranger must not have: pickles, code of its own, paths to elsewhere.

Weights are read as safetensors or ONNX only. Nothing here imports torch or transformers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roster.errors import ModelError
from roster.files import is_plain_name
from roster.parsing import parse_json

PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".dill")
"""Suffixes of files that torch, joblib and others write as pickles."""
CONFIGS = ("config.json", "tokenizer_config.json", "gliner_config.json")
CODE = ("auto_map", "custom_pipelines")
"""Keys of a config that name Python files of the folder, or of a repository, to be run."""
KERNELS = ("attn_implementation", "_attn_implementation", "experts_implementation", "_experts_implementation")
"""Keys whose values can name compiled code on the Hugging Face hub, as `owner/name`."""
ADAPTER, INDEX = "adapter_config.json", "model.safetensors.index.json"


def check_folder(folder: str | Path, *, pickles: tuple[str, ...] = PICKLES) -> None:
    """Refuses a folder that could run code, or lead elsewhere, when it is read as a model.

    Args:
        folder: a folder with a model, an encoder or a tokenizer. Its sub-folders are not read.
        pickles: the suffixes that count as pickles.

    Raises:
        ModelError: it has a pickle, wants code to run, or names files outside it.
    """
    folder = Path(folder)
    try:
        names = sorted(file.name for file in folder.iterdir())
    except OSError as error:
        raise ModelError(f"{folder} cannot be read: {error.strerror}") from None
    if found := next((name for name in names if name.lower().endswith(pickles)), None):
        rest = (
            "its safetensors are enough, so remove the file"
            if any(name.endswith((".safetensors", ".onnx")) for name in names)
            else "where you trust it, load it with transformers, whose save_pretrained writes safetensors"
        )
        raise ModelError(f"{folder} has a pickle, {found}, which can run code when it is read; {rest}")
    if ADAPTER in names:
        raise ModelError(
            f"{folder} is an adapter to another model ({ADAPTER}); merge them and save the result"
        )
    for name in CONFIGS:
        if name in names:
            _check_config(folder, _read(folder / name))
    if INDEX in names:
        files = _read(folder / INDEX).get("weight_map")
        wrong = [one for one in files.values() if not _is_safe(one)] if isinstance(files, dict) else [files]
        if wrong:
            raise ModelError(f"{folder / INDEX} names {wrong[0]!r}, which is no safetensors file beside it")


def _check_config(folder: Path, config: dict[str, Any]) -> None:
    if wanted := next((key for key in CODE if key in config), None):
        raise ModelError(
            f"{folder} wants to run code of its own ({wanted}), which roster never does; models of an "
            "architecture that transformers has need none"
        )
    for key, value in _pairs(config):
        if key in KERNELS and any("/" in one for one in _texts(value)):
            raise ModelError(f"{folder} names code on the Hugging Face hub ({key}), which roster never runs")


def _is_safe(name: object) -> bool:
    return is_plain_name(name) and str(name).endswith(".safetensors")


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """All keys of nested objects, with their values."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield key, one
            yield from _pairs(one)


def _texts(value: Any) -> list[str]:
    return [one for one in (value.values() if isinstance(value, dict) else [value]) if isinstance(one, str)]


def _read(path: Path) -> dict[str, Any]:
    """An object, empty if the file is damaged, which is for those to report who need it."""
    try:
        found = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
