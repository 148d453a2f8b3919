"""Token classifiers of transformers (`BertForTokenClassification`, ...): what their folders say.

Nothing of transformers is imported. A folder is refused if it has pickles, or wants code of its own to run
(`roster.safe_folder`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roster.backbone.loading import FROM_PADDING
from roster.corpus.tags import split_tag
from roster.errors import ModelError
from roster.model.decoding import PREFIXES
from roster.parsing import parse_json
from roster.safe_folder import check_folder

LONGEST = 512
"""Windows are no longer, even where the encoder has more positions."""
ENDING = "ForTokenClassification"
MARK = "roster"
"""The key of the config of a classifier that roster made; its `max_length` is that of the windows."""
SAFE = ("model.safetensors", "model.safetensors.index.json")


@dataclass(frozen=True)
class Labels:
    """The labels of a classifier as classes of one of our schemes.

    `classes` has the class of each label; several labels can be of one class, and a class can have none.
    """

    types: tuple[str, ...]
    scheme: str
    classes: tuple[int, ...]


@dataclass(frozen=True)
class Classifier:
    """What a folder says of its labels, and the longest input, special tokens included."""

    labels: Labels
    max_length: int


def labels_of(names: Sequence[str]) -> Labels:
    """Tags of any scheme (`B-PER`, `U-PER`, `PER`, `O`) as classes.

    The scheme is `io` where no label has a prefix other than `I-`, `bio` where there is `B-` too, and `bioes`
    otherwise; `L-` and `U-` are `E-` and `S-`. A word is `O` with the sum of the probabilities of all `O`.

    Raises:
        ValueError: there is no label `O`, or no other.

    >>> labels_of(["O", "B-PER", "I-PER"])
    Labels(types=('PER',), scheme='bio', classes=(0, 1, 2))
    >>> labels_of(["PER", "O", "O", "LOC"])
    Labels(types=('PER', 'LOC'), scheme='io', classes=(1, 0, 0, 2))
    """
    tags = [split_tag(name) for name in names]
    if not any(prefix == "O" for prefix, _ in tags):
        raise ValueError("none of its labels is O, so they are no tags of entities")
    types = tuple(dict.fromkeys(label for _, label in tags if label))
    if not types:
        raise ValueError("it has no label but O")
    used = {prefix for prefix, _ in tags} - {"O"}
    scheme = next(name for name, prefixes in PREFIXES.items() if used <= set(prefixes))
    width, order = len(PREFIXES[scheme]), PREFIXES[scheme]
    classes = [1 + types.index(t) * width + order.index(p) if t else 0 for p, t in tags]
    return Labels(types, scheme, tuple(classes))


def is_token_classifier(folder: str | Path) -> bool:
    """Whether a folder holds a token classifier of transformers, by its config.json."""
    config = _read(Path(folder) / "config.json")
    return any(str(name).endswith(ENDING) for name in config.get("architectures") or ())


def read_classifier(folder: Path) -> Classifier:
    """The labels and the longest input of a token classifier.

    Raises:
        ModelError: its labels are no tags of entities, its weights are pickles, or it wants to run code.
    """
    check_folder(folder)
    config, tokenizer = (_read(folder / name) for name in ("config.json", "tokenizer_config.json"))
    if not any((folder / name).is_file() for name in SAFE):
        raise ModelError(f"{folder} has no model.safetensors, so it has no weights that roster reads")
    try:
        return classifier_of(config, tokenizer)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{folder} is not a model for entities: {error}") from None


def classifier_of(config: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> Classifier:
    """The same from the content of config.json and tokenizer_config.json.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the labels are no tags of entities.
    """
    labels = labels_of(label_names(config))
    known = tokenizer.get("model_max_length")
    limits = [LONGEST, known if isinstance(known, int) and known > 0 else LONGEST]
    if isinstance(table := config.get("max_position_embeddings"), int) and table > 0:
        shift = (config.get("pad_token_id", 1) or 0) + 1 if config.get("model_type") in FROM_PADDING else 0
        limits.append(table - shift)
    return Classifier(labels, min(limits))


def label_names(config: Mapping[str, Any]) -> list[str]:
    """`id2label` of a config in the order of the logits.

    Raises:
        ValueError: the numbers are not 0, 1, 2, ...

    >>> label_names({"id2label": {"1": "B-PER", "0": "O"}})
    ['O', 'B-PER']
    """
    names = {int(number): str(name) for number, name in config["id2label"].items()}
    if sorted(names) != list(range(len(names))):
        raise ValueError("the labels of its config.json are not numbered from 0 on")
    return [names[number] for number in range(len(names))]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
