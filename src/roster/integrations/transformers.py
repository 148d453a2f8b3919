"""A trained model as a token classifier of transformers, in a folder that its pipelines and the hub take.

One linear layer over the states of sub-words takes the place of our heads; the probabilities are the same:

- One head (fine-tune, BOND): the layer is the head, the labels are `O`, `B-t`, `I-t`.
- Two heads (RoSTER), with the entity logit `b` and the type logits `z`: type `t` gets the logit `z_t`, and
  `O` has as many labels as there are types, with the logits `z_t - b`. Then, in the softmax over all labels,

      sum_t exp(z_t - b) = exp(-b) sum_t exp(z_t),    so    p(O) = 1 / (1 + exp(b)) = 1 - e,    p(t) = e r_t

  A single logit of `O` would be logsumexp(z) - b, which is not linear. The price: where a program takes the
  label of the highest probability, as pipelines do, a word is `O` if e < 1/2, not if 1 - e > e max r. The two
  differ where 1/2 < e < 1 / (1 + max r), that is, where the model is unsure of both entity and type.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from roster.backbone.words import is_word_level
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import starts_within
from roster.errors import ModelError
from roster.files import atomic_folder, write_json, write_text
from roster.infer.batches import padded, words_of
from roster.infer.export import check_exportable, check_target, sample
from roster.infer.logits import probabilities
from roster.infer.parity import TOLERANCE, ParityError
from roster.infer.recogniser import Recogniser
from roster.infer.transformers_engine import TransformersEngine
from roster.log import LOGGER
from roster.methods.card import transformers_card
from roster.methods.registry import head_of
from roster.model.folder import (
    CALIBRATION,
    CARD,
    ModelFacts,
    inner_model,
    is_model,
    load_model,
    read_facts,
)
from roster.model.plan import plan
from roster.model.token_classifier import MARK, is_token_classifier

FOLDED = ("one-head", "two-heads")
"""The kinds of models whose heads are one linear layer, or can be written as one."""
NOT_DIVISIBLE = 1e-4
"""ModernBERT's last norm has weights; none of them may be so close to zero in proportion to the largest."""


@dataclass(frozen=True)
class Folded:
    """What was written, compared with the model on the words of some sentences.

    `difference` is the largest difference of two probabilities when roster reads the folder, `agreement` the
    share of words with the same entity tag when a program takes the label of the highest probability.
    """

    architecture: str
    labels: int
    words: int
    difference: float
    agreement: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def table(self) -> str:
        """The comparison as text."""
        return (
            f"architecture: {self.architecture}, {self.labels} labels\n"
            f"largest difference of a probability: {self.difference:.2g} over {self.words:,} words\n"
            f"words with the same tag by the highest probability: {100 * self.agreement:.2f} %"
        )


def export_transformers(
    model: str | Path,
    folder: str | Path,
    *,
    language: str | None = None,
    sentences: Sequence[Sentence] | None = None,
) -> Folded:
    """Writes a trained model as a token classifier of transformers, and compares the two.

    Args:
        model: a model folder or a run folder.
        folder: the folder to write: config.json, model.safetensors, the tokenizer, and a model card.
        language: the code of the language for the card, such as `en`.
        sentences: what to compare both on; without them, the bundled sample.

    Returns:
        The comparison.

    Raises:
        ModelError: one linear layer cannot express the model.
        ParityError: the folder gives other probabilities; nothing is written then.

    >>> export_transformers("runs/news", "news-hf", language="en").agreement  # doctest: +SKIP
    """
    source, target = inner_model(model), Path(folder)
    facts = read_facts(source)
    check_exportable(source, facts)
    check_target(source, target, lambda it: is_token_classifier(it) and not is_model(it))
    check_foldable(source, facts)
    card = (source / CARD).read_text(encoding="utf-8") if (source / CARD).is_file() else ""
    card = transformers_card(card, facts.types, facts.scheme, language)
    classifier, tokenizer = token_classifier(source)
    with atomic_folder(target) as part:
        classifier.save_pretrained(part)
        save_tokenizer(tokenizer, part, facts.max_length)
        if (source / CALIBRATION).is_file():
            shutil.copyfile(source / CALIBRATION, part / CALIBRATION)
        found = _compare(source, part, list(sentences) if sentences else sample(), facts)
        if not found.difference <= TOLERANCE:
            raise ParityError(
                "the model for transformers is not the same: a probability differs by "
                f"{found.difference:.2g}, more than the {TOLERANCE:g} that rounding explains; nothing was "
                "written"
            )
        write_text(part / CARD, card)
    LOGGER.info(f"wrote {source} as {found.architecture}")
    return found


def check_foldable(source: Path, facts: ModelFacts) -> None:
    """Raises `ModelError` if no linear layer over sub-words of an encoder can express the model."""
    if is_word_level(source) or facts.kind not in FOLDED:
        raise ModelError(
            f"{source} cannot be written for transformers: only models that classify words one by one "
            "(methods roster, fine-tune, bond) on an encoder of transformers can; roster predict takes it as "
            "it is"
        )


def token_classifier(source: Path) -> tuple[Any, Any]:
    """The token classifier of transformers that a model folder makes, and its tokenizer.

    Raises:
        ModelError: one linear layer cannot express the model.
    """
    check_foldable(source, read_facts(source))
    trained, tokenizer, facts = load_model(source, head_of)
    weight, bias, labels = fold({name: p.detach() for name, p in trained.named_parameters()}, facts)
    classifier = with_encoder(trained.encoder, weight, bias, labels, source)
    setattr(classifier.config, MARK, {"max_length": facts.max_length})
    return classifier, tokenizer


def fold(parameters: dict[str, Tensor], facts: ModelFacts) -> tuple[Tensor, Tensor, list[str]]:
    """The heads as one layer.

    Args:
        parameters: those of the model, by name.
        facts: its kind, one of `FOLDED`, and its types.

    Returns:
        Weight [labels, width], bias [labels] and the names of the labels. Types have a prefix even where
        there is only `I-`: transformers takes the part of a name before a hyphen for one.

    """
    if facts.kind == "one-head":
        names = ["O", *(f"{prefix}-{t}" for t in facts.types for prefix in "BI")]
        return parameters["tag.weight"], parameters["tag.bias"], names
    weights, biases = (
        torch.cat([parameters[f"type_head.{part}"] - parameters[f"entity_head.{part}"],
                   parameters[f"type_head.{part}"]])
        for part in ("weight", "bias")
    )  # fmt: skip
    return weights, biases, ["O"] * len(facts.types) + [f"I-{t}" for t in facts.types]


def with_encoder(encoder: Any, weight: Tensor, bias: Tensor, labels: Sequence[str], source: Path) -> Any:
    """The token classifier of the encoder's architecture with these weights.

    Raises:
        ModelError: transformers has none, or it is more than the encoder and one linear layer.
    """
    from transformers import AutoModelForTokenClassification

    config = type(encoder.config).from_dict(encoder.config.to_dict())
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: i for i, label in reversed(list(enumerate(labels)))}
    if config.model_type == "modernbert":
        config.classifier_activation = "linear"
    try:
        model = AutoModelForTokenClassification.from_config(config, dtype=torch.float32)
    except ValueError:
        raise ModelError(
            f"{source} cannot be written for transformers, which has no token classifier for its "
            f"architecture ({config.model_type})"
        ) from None
    weights = {f"{model.base_model_prefix}.{name}": p for name, p in encoder.state_dict().items()}
    weights |= {"classifier.weight": weight, "classifier.bias": bias}
    if config.model_type == "modernbert":
        weights |= _modernbert_head(encoder.final_norm, source)
    missing = set(model.state_dict()) - set(weights)
    try:
        if missing:
            raise RuntimeError(f"the encoder has no {min(missing)}")
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ModelError(
            f"{source} cannot be written for transformers: its {type(model).__name__} is more than the "
            f"encoder and one linear layer ({' '.join(str(error).split())[:200]})"
        ) from None
    return model.eval()


def _modernbert_head(norm: nn.LayerNorm, source: Path) -> dict[str, Tensor]:
    """Weights with which ModernBERT's layers between encoder and classifier change nothing.

    They are a linear layer, an activation (set to none) and a norm. States are a norm's output, `g x`; the
    linear layer divides by `g`, the norm finds mean 0 and variance 1, and multiplies by `g` again.
    """
    g = norm.weight.detach()
    if norm.bias is not None or g.abs().min() < NOT_DIVISIBLE * g.abs().max():
        raise ModelError(f"{source} cannot be written for transformers: its last norm cannot be undone")
    return {"head.dense.weight": torch.diag(1 / g), "head.norm.weight": g}


def save_tokenizer(tokenizer: Any, folder: Path, max_length: int) -> None:
    """Writes the tokenizer, with the longest input of the model.

    A byte-level tokenizer gets a space before the first word, as `WordEncoder` gives it in training: without
    it the first word of a text would be cut into other sub-words.
    """
    tokenizer.model_max_length = max_length
    tokenizer.save_pretrained(folder)
    path, settings = folder / "tokenizer.json", folder / "tokenizer_config.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    if _with_space(content.get("pre_tokenizer")):
        _with_space(content.get("post_processor"))
        write_text(path, json.dumps(content, ensure_ascii=False))
        write_json(settings, {**json.loads(settings.read_text(encoding="utf-8")), "add_prefix_space": True})


def _with_space(part: Any) -> bool:
    """Sets `add_prefix_space` wherever a part of a tokenizer has it; whether any had it."""
    parts = part if isinstance(part, list) else list(part.values()) if isinstance(part, dict) else []
    found = [_with_space(one) for one in parts]
    if isinstance(part, dict) and "add_prefix_space" in part:
        part["add_prefix_space"] = True
        return True
    return any(found)


def _compare(source: Path, folder: Path, sentences: list[Sentence], facts: ModelFacts) -> Folded:
    """Both on the same sentences: probabilities as roster reads them, tags as a pipeline takes them."""
    from roster.infer.engine import load_engine

    ours, theirs = (
        Recogniser(load_engine(source, "cpu")),
        TransformersEngine(folder, read_facts(folder), "cpu"),
    )
    p = probabilities(facts.kind, ours.logits(sentences))
    q = probabilities("one-head", Recogniser(theirs).logits(sentences))
    best = plain_classes(theirs, sentences)
    model: Any = theirs.reader.get_submodule("model")
    return Folded(
        architecture=type(model).__name__,
        labels=model.config.num_labels,
        words=len(p),
        difference=float(np.abs(p - q).max(initial=0.0)) if p.shape == q.shape else 1.0,
        agreement=float((p.argmax(-1) == best).mean()) if len(p) else 1.0,
    )


@torch.inference_mode()
def plain_classes(engine: TransformersEngine, sentences: Sequence[Sentence]) -> np.ndarray:
    """The class of the most probable label of each word, [words]; labels of one class are not summed."""
    from roster.model.token_classifier import read_classifier

    encoded = engine.encoder.encode([s.words for s in sentences], starts_within(sentences))
    classes = np.array(read_classifier(engine.folder).labels.classes)
    found = np.zeros(encoded.n_words, int)
    for rows in plan(encoded.lengths, engine.tokens):
        batch = (torch.from_numpy(x) for x in padded(encoded, rows, engine.pad))
        logits = engine.reader.label_logits(*batch)  # type: ignore[operator]
        found[words_of(encoded, rows)] = classes[logits.argmax(-1).numpy()]
    return found
