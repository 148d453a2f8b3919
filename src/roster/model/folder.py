"""A trained model as a folder that needs nothing else: no hub, no backbone, no pickles.

model/roster.json          kind of model, types, maximum length, special tokens
model/tokenizer.json ...   the encoder's tokenizer; words.json, the vocabulary, where it reads whole words
model/config.toml          the config of the run that made it
model/calibration.json     what `roster calibrate` fitted: from scores to probabilities
model/README.md            the model card
model/checksums.json       SHA-256 of the files that decide what it predicts; compared when it is loaded

and, as training leaves it (layout 1),

model/config.json          the encoder's architecture (as Hugging Face has it)
model/roster.safetensors   all weights, of encoder and heads; not under transformers' name for them, or its
                           `from_pretrained` would load the encoder and make up heads of its own

or, as `roster export` makes it (layout 2),

model/model.onnx           the whole model as a graph
model/parity.json          how it compares with the original

A token classifier of transformers, which has a config.json and no roster.json, is read as a model, too
(`roster.model.token_classifier`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from roster.backbone.alignment import Specials, WordEncoder
from roster.backbone.loading import FROM_PADDING, max_positions
from roster.backbone.words import AnyWordEncoder, Words
from roster.errors import ModelError
from roster.files import atomic_folder, file_digest, is_plain_name, write_json, write_text
from roster.model.decoding import SCHEMES, n_classes
from roster.model.encoders import empty_encoder
from roster.parsing import parse_json
from roster.safe_folder import check_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from roster.model.heads import WordStates

TRAINED, EXPORTED, TRANSFORMERS = 1, 2, 3
"""Layouts of folders. The last is that of transformers, and stands in no roster.json."""
CHECKSUMS, CALIBRATION, CARD = "checksums.json", "calibration.json", "README.md"
WEIGHTS, OLD_WEIGHTS = "roster.safetensors", "model.safetensors"
"""File name of the weights, and that of models trained by earlier versions."""
SUMMED = (
    "roster.json", "config.json", "tokenizer.json", "tokenizer_config.json", "words.json", WEIGHTS,
    OLD_WEIGHTS, "model.onnx", CALIBRATION,
)  # fmt: skip


@dataclass(frozen=True)
class ModelFacts:
    """The content of `roster.json`. Folders of earlier versions have no special tokens."""

    kind: str
    types: tuple[str, ...]
    max_length: int
    layout: int = TRAINED
    specials: Specials | None = None
    scheme: str = "bio"
    """How classes of words become spans (`roster.model.decoding.SCHEMES`)."""

    @property
    def classes(self) -> int:
        """How many logits a word has: one for each class, or the entity head's and one for each type."""
        return n_classes(self.scheme, len(self.types))


def save_model(
    folder: str | Path,
    model: WordStates,
    tokenizer: Any,
    types: tuple[str, ...],
    max_length: int,
    config: str,
    card: str = "",
) -> None:
    """Writes a model folder; `card` is the text of its README.md."""
    from roster.model.weights import save_tensors

    with atomic_folder(folder) as part:
        model.encoder.config.save_pretrained(part)
        tokenizer.save_pretrained(part)
        save_tensors(part / WEIGHTS, model.state_dict())
        write_text(part / "config.toml", config)
        if card:
            write_text(part / CARD, card)
        specials = None if isinstance(tokenizer, Words) else Specials.of(tokenizer)
        write_facts(part, ModelFacts(model.kind, types, max_length, TRAINED, specials, model.scheme))
        write_checksums(part)


def load_model(
    folder: str | Path, head_of: Callable[[str], type[WordStates]]
) -> tuple[WordStates, Any, ModelFacts]:
    """Model (on the CPU, in evaluation mode), tokenizer or vocabulary, and facts.

    `head_of` gives the class of a kind of model (`roster.methods.registry.head_of`).
    """
    from roster.model.weights import load_tensors

    folder = Path(folder)
    facts = read_facts(folder)
    check_folder(folder)
    if facts.layout != TRAINED:
        if facts.layout == TRANSFORMERS:
            raise ModelError(f"{folder} is a model of transformers, not one that roster trained")
        raise ModelError(
            f"{folder} is an export, which has no weights of its own; use the model it came from"
        )
    encoder, tokenizer = empty_encoder(folder)
    model = head_of(facts.kind)(encoder, len(facts.types))
    tensors, _ = load_tensors(weights_file(folder))
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        raise ModelError(f"{folder}: the weights do not fit the model's own description ({reason})") from None
    return model.eval(), tokenizer, facts


def weights_file(folder: Path) -> Path:
    """The file with the weights of a trained model, whether it is there or not."""
    old = folder / OLD_WEIGHTS
    return old if old.is_file() and not (folder / WEIGHTS).exists() else folder / WEIGHTS


def write_checksums(folder: Path) -> None:
    write_json(folder / CHECKSUMS, {n: file_digest(folder / n) for n in SUMMED if (folder / n).is_file()})


def replace_file(folder: Path, name: str, text: str) -> None:
    """Writes one file of a model folder and its checksum; the others stay as they are, verified or not.

    The old checksum goes first, so that the folder can be loaded whenever this is interrupted.
    """
    sums = _read_checksums(folder)
    if sums is None:
        write_text(folder / name, text)
        return
    sums.pop(name, None)
    write_json(folder / CHECKSUMS, sums)
    write_text(folder / name, text)
    write_json(folder / CHECKSUMS, {**sums, name: file_digest(folder / name)})


def _read_checksums(folder: Path) -> dict[str, str] | None:
    """By file name. Folders of earlier versions have none."""
    path = folder / CHECKSUMS
    if not path.is_file():
        return None
    try:
        sums = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} is damaged: {error}") from None
    if not isinstance(sums, dict) or not all(isinstance(one, str) for one in sums.values()):
        raise ModelError(f"{path} is damaged: expected a checksum for each file")
    if wrong := [name for name in sums if not is_plain_name(name)]:
        raise ModelError(f"{path} is damaged: {wrong[0]!r} is not the name of a file in the folder")
    return sums


def verify(folder: Path) -> None:
    """Raise `ModelError` if a file of a model folder is not as it was saved.

    Folders of earlier versions have no checksums and are taken as they are.
    """
    for name, told in (_read_checksums(folder) or {}).items():
        try:
            same = file_digest(folder / name) == told
        except FileNotFoundError:
            raise ModelError(f"{folder / name} is missing") from None
        except OSError as error:
            raise ModelError(f"{folder / name} cannot be read: {error.strerror}") from None
        if not same:
            raise ModelError(
                f"{folder / name} is damaged: its checksum differs from the one it was saved with; copy the "
                "model again"
            )


def check_numbers(folder: Path, encoder: AnyWordEncoder) -> None:
    """Raise `ModelError` if the numbers of a model folder contradict each other.

    Only folders of earlier versions can be damaged unnoticed, because they have no checksums.
    """
    if not isinstance(encoder, WordEncoder):
        return
    entries, path = encoder.vocabulary_size, folder / "config.json"
    if path.is_file():  # an exported model has none
        try:
            config = SimpleNamespace(**parse_json(path.read_text(encoding="utf-8")))
            entries, padding = int(config.vocab_size), getattr(config, "pad_token_id", None)
            shifted = config.model_type in FROM_PADDING
            if shifted and not (isinstance(padding, int) and 0 <= padding < entries):
                raise ValueError(
                    f"'pad_token_id' is {padding}, not one of the {entries} entries of the vocabulary"
                )
            positions = max_positions(config)
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise ModelError(f"{path} is damaged: {error}; copy the model again") from None
        if positions is not None and encoder.limit > positions:
            raise ModelError(
                f"{folder} is damaged: its encoder has {positions} positions, too few for inputs of "
                f"{encoder.limit} sub-words (roster.json: 'max_length'; config.json: "
                "'max_position_embeddings', 'pad_token_id'); copy the model again"
            )
    specials = encoder.specials
    for number in (specials.pad, specials.unknown, *specials.prefix, *specials.suffix):
        if not 0 <= number < entries:
            raise ModelError(
                f"{folder} is damaged: the special token {number} is not one of the {entries} entries of the "
                "vocabulary (roster.json: 'specials'; tokenizer_config.json); copy the model again"
            )


def is_model(path: str | Path) -> bool:
    return (Path(path) / "roster.json").is_file()


def is_readable(path: str | Path) -> bool:
    """Whether a folder is a model of ours, or a token classifier of transformers."""
    from roster.model.token_classifier import is_token_classifier

    return is_model(path) or is_token_classifier(path)


AUDIT, AUDIT_ROWS = "audit", "audit.jsonl"
"""Folder of the audit in a run folder, beside the model, and the name of its claims as data."""


def inner_model(folder: str | Path) -> Path:
    """The model folder itself, or the one in a run folder."""
    folder = Path(folder)
    inner = folder / "model"
    return inner if not is_readable(folder) and inner.is_dir() else folder


def write_facts(folder: Path, facts: ModelFacts) -> None:
    write_json(folder / "roster.json", asdict(facts))


def read_facts(folder: Path) -> ModelFacts:
    path = folder / "roster.json"
    if not folder.is_dir():
        raise ModelError(f"there is no model folder {folder}")
    if not path.is_file():
        if is_readable(folder):
            return _classifier_facts(folder)
        inner = folder / "model"
        hint = f"; did you mean {inner}?" if is_model(inner) else ""
        raise ModelError(f"{folder} is not a model: it has no roster.json{hint}")
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
        facts = ModelFacts(
            found["kind"],
            tuple(found["types"]),
            int(found["max_length"]),
            int(found["layout"]),
            _specials(found.get("specials")),
            found.get("scheme", "io" if found["kind"] == "two-heads" else "bio"),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path} is damaged: {error}") from None
    if facts.layout not in (TRAINED, EXPORTED) or facts.scheme not in SCHEMES:
        raise ModelError(
            f"{folder} was made by another version of roster (layout {facts.layout}, kind {facts.kind})"
        )
    return facts


def _classifier_facts(folder: Path) -> ModelFacts:
    """Those of a token classifier of transformers: words are classified one by one."""
    from roster.model.token_classifier import read_classifier

    found = read_classifier(folder)
    return ModelFacts(
        "one-head", found.labels.types, found.max_length, TRANSFORMERS, None, found.labels.scheme
    )


def _specials(found: Mapping[str, Any] | None) -> Specials | None:
    if found is None:
        return None
    lists = {name: tuple(map(int, found[name])) for name in ("prefix", "suffix", "numbers")}
    return Specials(pad=int(found["pad"]), unknown=int(found["unknown"]), **lists)
