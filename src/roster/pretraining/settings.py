"""The settings of `roster pretrain`, with their defaults and limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roster.config import option, section
from roster.errors import ConfigError

FREE = ("device", "compile", "checkpoint", "weights")
MASKINGS = ("random", "words", "names", "mixed")


@dataclass(frozen=True)
class PretrainingSettings:
    start: str = option("", "backbone to start from; empty: random weights, or those of the teacher")
    teacher: str = option("", "masked language model to distil; the student takes its vocabulary")

    layers: str = option(
        "", "number of layers, or the layers of the first model to keep (0,2,4); empty: as in the start, or 6"
    )
    width: int = option(0, "size of the hidden states; 0: as in the start, or 384", low=0)
    heads: int = option(0, "attention heads; 0: as in the start, or 12", low=0)
    inner: int = option(0, "units of a feed-forward network; 0: as in the start, or 4 times the width", low=0)
    positions: int = option(512, "maximum sequence length of a model with random weights", low=8)

    vocabulary: int = option(
        0, "size of a new vocabulary, or to which another one is reduced; 0: 24,000, or not reduced", low=0
    )
    tokens: str = option(
        "bpe", "type of a new vocabulary: bpe (byte level, as RoBERTa) or wordpiece (as BERT)",
        choices=("bpe", "wordpiece"),
    )  # fmt: skip

    length: int = option(192, "sub-words per sequence, special tokens included", low=8)
    valid: float = option(0.005, "share of the documents held out for validation", low=0, high=0.5)
    mask: float = option(0.2, "share of the sub-words that are masked", low=0.01, high=0.9)
    masking: str = option(
        "mixed", "random: sub-words; words: whole words; names: whole words, capitalised ones more often; "
        "mixed: random and names in alternating steps", choices=MASKINGS,
    )  # fmt: skip
    names: float = option(2.0, "factor by which capitalised words are masked more often", low=1)

    batch: int = option(256, "sequences per step", low=1)
    at_once: int = option(
        0, "sequences per forward pass, for gradient accumulation; 0: the whole batch", low=0
    )
    steps: int = option(0, "number of training steps", low=0)
    minutes: float = option(0.0, "training time in minutes, compilation included, instead of steps", low=0)
    epochs: float = option(10.0, "passes over the text, if neither steps nor minutes are given", low=0)
    rate: float = option(5e-4, "peak learning rate", low=0)
    warmup: float = option(0.05, "share of the training with linear warm-up; linear decay to 0 follows",
                           low=0, high=1)  # fmt: skip
    weight_decay: float = option(0.01, "weight decay of AdamW; none on biases and norms", low=0)
    clip: float = option(1.0, "maximum norm of the gradient", low=1e-6)
    dropout: float = option(
        0.0, "dropout during pre-training; the config of the backbone keeps its own value", low=0, high=0.9
    )

    guess: float = option(1.0, "weight of the masked-LM loss", low=0)
    imitate: float = option(
        1.0, "weight of the divergence from the teacher's distributions at masked positions", low=0
    )
    hidden: float = option(
        1.0, "weight of the distance from the teacher's hidden states at all positions", low=0
    )
    hidden_layers: str = option(
        "last", "hidden states that are compared: of the last layer, or of all", choices=("last", "all")
    )
    relations: float = option(0.0, "weight of the teacher's attention relations (queries, keys, values of "
                                   "the last layer; BERT-like encoders only)", low=0)  # fmt: skip

    recentre: str = option(
        "auto", "recentre and scale the last hidden states, so that new heads learn faster; model "
        "outputs are unchanged. auto: for a student, and for a model with random weights",
        choices=("auto", "on", "off"),
    )  # fmt: skip
    seed: int = option(30, "seed of all random numbers", low=0, high=2**31 - 1)
    device: str = option("auto", "auto: the first GPU if there is one; or cpu, cuda, cuda:1, mps")
    precision: str = option("auto", "auto: bf16 on a GPU, and on a CPU with bf16 instructions; else float32",
                            choices=("auto", "float32", "bfloat16"))  # fmt: skip
    compile: str = option("auto", "compile the training step; auto: on a GPU", choices=("auto", "on", "off"))
    weights: str = option("float16", "type of the saved weights", choices=("float16", "float32"))
    checkpoint: float = option(60.0, "seconds between checkpoints", low=0)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def deciding(self) -> dict[str, Any]:
        """The settings that an unfinished pre-training cannot change: all but the device and the output."""
        return {name: value for name, value in self.as_dict().items() if name not in FREE}

    @property
    def recentres(self) -> bool:
        """Whether the last hidden states are recentred; with `auto`, not if a model is only trained on."""
        return self.recentre == "on" or (self.recentre == "auto" and bool(self.teacher or not self.start))

    @property
    def layer_numbers(self) -> tuple[int, ...]:
        """The layers given by number; empty if a count was given, or nothing."""
        return tuple(int(part) for part in self.layers.split(",")) if "," in self.layers else ()

    @property
    def layer_count(self) -> int:
        """The number of layers; 0 if none was given."""
        return len(self.layer_numbers) or int(self.layers or 0)


def load_settings(values: Mapping[str, Any]) -> PretrainingSettings:
    """Return checked settings; a value that is not given has its default.

    Raises:
        ConfigError: a name is unknown, or a value is not allowed.

    >>> load_settings({"steps": 100}).steps
    100
    """
    settings = section(PretrainingSettings, values, "pretrain")
    parts = settings.layers.replace(" ", "").split(",") if settings.layers.strip() else []
    if not all(part.isdecimal() for part in parts) or parts == ["0"]:
        raise ConfigError(
            f"'layers' must be a number, or numbers of layers such as 0,2,4, not '{settings.layers}'"
        )
    if settings.steps and settings.minutes:
        raise ConfigError("give 'steps' or 'minutes', not both")
    if not (settings.steps or settings.minutes or settings.epochs):
        raise ConfigError("one of 'steps', 'minutes' and 'epochs' must be more than 0")
    if not settings.teacher and not settings.guess:
        raise ConfigError("without a teacher, 'guess' (the masked-LM loss) must be more than 0")
    if settings.teacher and not (settings.guess or settings.imitate or settings.hidden or settings.relations):
        raise ConfigError("one of 'guess', 'imitate', 'hidden' and 'relations' must be more than 0")
    if settings.at_once and settings.batch % settings.at_once:
        raise ConfigError(f"'batch' ({settings.batch}) must be a multiple of 'at_once' ({settings.at_once})")
    return dataclasses.replace(settings, layers=",".join(parts))
