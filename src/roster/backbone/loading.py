"""Encoders by bundled name, folder or hub name, with errors that a person can act on."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

from roster.config import BILSTM_CNN
from roster.errors import ModelError
from roster.safe_folder import check_folder

NO_CODE = {"trust_remote_code": False}
"""Without it transformers would ask on the terminal whether to run code of the repository."""
BUNDLED = ("roster-small-en-2",)
FROM_PADDING = ("roberta", "xlm-roberta", "camembert", "longformer", "mpnet", "xlm-roberta-xl")
"""Architectures that count positions from the number of the padding token on."""


def resolve(name: str) -> str:
    """The folder of a bundled backbone, the folder itself, or the hub name unchanged.

    A folder of that name in the current directory wins over a hub name, as in transformers.
    """
    if name in BUNDLED and not Path(name).is_dir():
        return str(resources.files("roster") / "backbone" / "bundled" / name)
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"{path} is not a backbone: it has no config.json")
        return str(path)
    if path.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ModelError(f"there is no backbone folder {path}")
    return name


def load_tokenizer(name: str) -> Any:
    """The fast tokenizer of a backbone (offsets into the text are what alignment needs)."""
    from transformers import AutoTokenizer

    tokenizer = _load(
        name, "tokenizer", lambda source: AutoTokenizer.from_pretrained(source, use_fast=True, **NO_CODE)
    )
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"{name}: its tokenizer has no fast version, which gives the offsets that words need"
        )
    return tokenizer


def bare_tokenizer(folder: Path) -> Any:
    """The tokenizer of one of our own model folders, without importing transformers, which takes seconds."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # or it warns in every process that is forked
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelError(f"the model has no tokenizer: {path} is missing")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the tokenizers library knows only this one
        reason = " ".join(str(error).split())[:300]
        raise ModelError(f"{path} is damaged, or of a kind this version of tokenizers does not know "
                         f"({reason})") from None  # fmt: skip


def load_encoder(name: str) -> Any:
    """The encoder alone, in float32, without a pooler or heads.

    A masked language model keeps its encoder under a prefix that `AutoModel` strips itself.
    """
    from transformers import AutoModel

    def load(source: str) -> Any:
        options = _options()
        try:
            model, info = AutoModel.from_pretrained(source, add_pooling_layer=False, **options)
        except TypeError:  # not every architecture has a pooler to leave out
            model, info = AutoModel.from_pretrained(source, **options)
        if info["missing_keys"]:  # transformers would fill them at random
            raise ValueError(f"no weights for {min(info['missing_keys'])}")
        return model

    return _load(name, "encoder", load)


def load_masked_lm(name: str) -> Any:
    """A masked language model with its own trained head, or an error that names the three ways out."""
    if name == BILSTM_CNN:
        raise ModelError(_no_masked_lm(name, "is no masked language model"))
    from transformers import AutoModelForMaskedLM

    def load(source: str) -> Any:
        model, info = AutoModelForMaskedLM.from_pretrained(source, **_options())
        missing = [key for key in _missing(model, info) if not key.startswith(model.base_model_prefix)]
        if missing:
            lacks = f"has no trained masked-language-model head (missing {missing[0]})"
            raise ModelError(_no_masked_lm(name, lacks))
        return model

    return _load(name, "masked language model", load)


def _no_masked_lm(name: str, lacks: str) -> str:
    return (
        f"{name} {lacks}, so it cannot write augmentations. Either turn them off "
        "(--set augmentation.enabled=false), or name another masked language model for them "
        "(--set augmentation.masked_lm=NAME_OR_FOLDER), or replace names by other names, which needs none "
        "(--set augmentation.by=names)"
    )


def load_token_classifier(name: str) -> Any:
    """A model for token classification with its trained head, in float32."""
    from transformers import AutoModelForTokenClassification

    def load(source: str) -> Any:
        model, info = AutoModelForTokenClassification.from_pretrained(source, **_options())
        if missing := _missing(model, info):
            raise ValueError(f"no weights for {missing[0]}, so it is no trained token classifier")
        return model

    return _load(name, "token classifier", load)


def load_any_masked_lm(name: str) -> tuple[Any, bool]:
    """A masked language model to train further, and whether its head is fresh: encoders may have none."""
    from transformers import AutoConfig, AutoModelForMaskedLM

    def load(source: str) -> tuple[Any, bool]:
        if type(AutoConfig.from_pretrained(source, **NO_CODE)) not in AutoModelForMaskedLM._model_mapping:
            raise ModelError(f"{name}: transformers has no masked language model for this architecture")
        model, info = AutoModelForMaskedLM.from_pretrained(source, **_options())
        missing = _missing(model, info)
        if inside := [key for key in missing if key.startswith(f"{model.base_model_prefix}.")]:
            raise ValueError(f"no weights for {inside[0]}")
        return model, bool(missing)

    return _load(name, "masked language model", load)


def _missing(model: Any, info: dict[str, Any]) -> list[str]:
    """Weights that were not in the files, but for those tied to others."""
    tied = set(getattr(model, "_tied_weights_keys", None) or ())
    return sorted(key for key in info["missing_keys"] if key not in tied)


def load_architecture(name: str) -> Any:
    """The backbone's Hugging Face config."""
    from transformers import AutoConfig

    return _load(name, "architecture", lambda source: AutoConfig.from_pretrained(source, **NO_CODE))


def max_positions(architecture: Any) -> int | None:
    """How many sub-words an encoder has positions for; None where it has no table of them.

    RoBERTa counts its positions from the padding number on, so it has fewer than its table is long.
    """
    table = getattr(architecture, "max_position_embeddings", None)
    if not table or table < 0:
        return None
    shifted = architecture.model_type in FROM_PADDING
    return int(table) - (architecture.pad_token_id or 0) - 1 if shifted else int(table)


def import_code(name: str) -> None:
    """Imports the code of a backbone's architecture, which takes seconds, before its time is taken."""
    if name == BILSTM_CNN:
        return
    from transformers import AutoModel, AutoModelForMaskedLM

    config = load_architecture(name)
    for auto in (AutoModel, AutoModelForMaskedLM):
        with suppress(KeyError):  # not every encoder has a masked language model
            auto._model_mapping[type(config)]


def encoder_from_config(folder: str | Path) -> Any:
    """An encoder of the architecture in `folder/config.json`, its weights still to be filled."""
    from transformers import AutoConfig, AutoModel

    def build(source: str) -> Any:
        config = AutoConfig.from_pretrained(source, **NO_CODE)
        options = {"dtype": _float32(), **NO_CODE}
        try:
            return AutoModel.from_config(config, add_pooling_layer=False, **options)
        except TypeError:
            return AutoModel.from_config(config, **options)

    return _load(str(folder), "encoder", build)


def _options() -> dict[str, Any]:
    """For loading weights: only safetensors are read, and no code of the repository runs."""
    return {"dtype": _float32(), "output_loading_info": True, "use_safetensors": True, **NO_CODE}


def _float32() -> Any:
    import torch

    return torch.float32


def _load(name: str, what: str, load: Callable[[str], Any]) -> Any:
    source = resolve(name)
    if Path(source).is_dir():
        check_folder(source)
    quiet()
    try:
        return load(source)
    except ModelError:
        raise
    # transformers, safetensors and the hub client raise whatever they like for a bad folder: RuntimeError,
    # KeyError, json errors, safetensors' own. All mean that this backbone cannot be loaded.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        if Path(source).is_dir():
            hint = (
                "the folder is incomplete, damaged, or of a kind this version of transformers does not know"
            )
        else:
            hint = (
                "it is neither bundled nor a folder, and could not be had from the Hugging Face hub; "
                f"bundled: {', '.join(BUNDLED)}"
            )
        raise ModelError(f"cannot load the {what} of backbone '{name}': {hint}. ({reason[:300]})") from error


def quiet() -> None:
    """Only warnings of ours reach the user: loading a backbone is not news."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
