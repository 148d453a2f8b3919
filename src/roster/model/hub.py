"""Models on the Hugging Face hub: `hf://owner/name`, or `hf://owner/name@revision`.

The prefix is needed so that a mistyped folder is an error at once, and its name is not sent anywhere.
"""

from __future__ import annotations

from pathlib import Path

from roster.errors import ModelError

PREFIX = "hf://"
WANTED = ["*.json", "*.safetensors", "*.txt", "*.model", "*.onnx", "*.toml", "README.md"]
"""No pickles and no code."""


def local_folder(model: str | Path) -> Path:
    """The folder of a model; one on the hub is downloaded into the cache of huggingface_hub.

    Args:
        model: a folder, or the name of a model on the hub with the prefix `hf://`.

    Returns:
        A folder on this machine, which need not exist where no prefix was given.

    Raises:
        ModelError: the hub has no such model, or cannot be reached.

    >>> local_folder("runs/news").as_posix()
    'runs/news'
    """
    name = str(model)
    if not (isinstance(model, str) and name.startswith(PREFIX)):
        return Path(model)
    repository, _, revision = name.removeprefix(PREFIX).partition("@")
    from huggingface_hub import snapshot_download

    try:
        found = snapshot_download(
            repository, revision=revision or None, allow_patterns=WANTED, ignore_patterns=["*/*"]
        )
    except Exception as error:  # of the hub, of the network, and of names that are none
        reason = " ".join(str(error).split())[:300]
        raise ModelError(f"{name} could not be had from the Hugging Face hub ({reason})") from error
    return Path(found)


def is_on_hub(model: object) -> bool:
    """Whether a name has the prefix of the hub.

    >>> is_on_hub("hf://someone/news"), is_on_hub("news")
    (True, False)
    """
    return isinstance(model, str) and model.startswith(PREFIX)
