"""Everything that decides a pre-training, with what is allowed; written beside the backbone it made."""

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
    start: str = option("", "backbone to start from; empty: from nothing, or from the teacher's own weights")
    teacher: str = option("", "masked language model to learn from; its vocabulary becomes the student's")

    layers: str = option(
        "", "how many layers, or which of the first model's (0,2,4); empty: as in the start, or 6"
    )
    width: int = option(0, "size of a state; 0: as in the start, or 384", low=0)
    heads: int = option(0, "attention heads; 0: as in the start, or 12", low=0)
    inner: int = option(0, "units of a feed-forward network; 0: as in the start, or 4 times the width", low=0)
    positions: int = option(512, "longest sequence of a model made from nothing", low=8)

    vocabulary: int = option(
        0, "entries: a new vocabulary has so many, another is cut to so many; 0: 24,000, or not cut", low=0
    )
    tokens: str = option(
        "bpe", "kind of a new vocabulary: bpe (bytes, as RoBERTa) or wordpiece (as BERT)",
        choices=("bpe", "wordpiece"),
    )  # fmt: skip

    length: int = option(192, "sub-words in one sequence, special tokens included", low=8)
    valid: float = option(0.005, "share of the documents kept apart", low=0, high=0.5)
    mask: float = option(0.2, "share of the sub-words that are masked", low=0.01, high=0.9)
    masking: str = option(
        "mixed", "random: sub-words; words: whole words; names: whole words, capitalised ones more often; "
        "mixed: random and names by turns", choices=MASKINGS,
    )  # fmt: skip
    names: float = option(2.0, "how much more often a capitalised word is masked", low=1)

    batch: int = option(256, "sequences in one step", low=1)
    at_once: int = option(0, "sequences in memory at once; 0: the whole batch", low=0)
    steps: int = option(0, "length of the training in steps", low=0)
    minutes: float = option(0.0, "or in minutes of this machine, compiling included", low=0)
    epochs: float = option(10.0, "or, where neither is given, in passes over the text", low=0)
    rate: float = option(5e-4, "peak learning rate", low=0)
    warmup: float = option(0.05, "share of the training with a rising rate; then it falls linearly to 0",
                           low=0, high=1)  # fmt: skip
    weight_decay: float = option(0.01, "AdamW's decay; none on biases and norms", low=0)
    clip: float = option(1.0, "largest norm of a gradient", low=1e-6)
    dropout: float = option(
        0.0, "dropout while pre-training; the backbone keeps its own for later", low=0, high=0.9
    )

    guess: float = option(1.0, "weight of the masked-LM loss", low=0)
    imitate: float = option(1.0, "weight of the teacher's distributions at masked places", low=0)
    hidden: float = option(1.0, "weight of the teacher's states at all places", low=0)
    hidden_layers: str = option("last", "which states: last, or all layers", choices=("last", "all"))
    relations: float = option(0.0, "weight of the teacher's attention relations (queries, keys, values of "
                                   "the last layer; BERT's kin)", low=0)  # fmt: skip

    recentre: str = option(
        "auto", "centre and scale the last states, so that fresh heads learn well from them; what the model "
        "says stays the same. auto: of a student, and of a model made from nothing",
        choices=("auto", "on", "off"),
    )  # fmt: skip
    seed: int = option(30, "everything random follows from it", low=0, high=2**31 - 1)
    device: str = option("auto", "auto: the first GPU if there is one; or cpu, cuda, cuda:1, mps")
    precision: str = option("auto", "auto: bf16 on a GPU, and on a CPU that multiplies it; else float32",
                            choices=("auto", "float32", "bfloat16"))  # fmt: skip
    compile: str = option("auto", "compile the step; auto: on a GPU", choices=("auto", "on", "off"))
    weights: str = option("float16", "numbers of the saved weights", choices=("float16", "float32"))
    checkpoint: float = option(60.0, "seconds between two checkpoints", low=0)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def deciding(self) -> dict[str, Any]:
        """All but what may change when a training goes on: where it runs, and how its result is written."""
        return {name: value for name, value in self.as_dict().items() if name not in FREE}

    @property
    def recentres(self) -> bool:
        """A model that is only read on is left as its users know it."""
        return self.recentre == "on" or (self.recentre == "auto" and bool(self.teacher or not self.start))

    @property
    def layer_numbers(self) -> tuple[int, ...]:
        """Which layers were asked for by number; none where only their count was, or nothing."""
        return tuple(int(part) for part in self.layers.split(",")) if "," in self.layers else ()

    @property
    def layer_count(self) -> int:
        """How many layers were asked for; 0: nothing was."""
        return len(self.layer_numbers) or int(self.layers or 0)


def load_settings(values: Mapping[str, Any]) -> PretrainingSettings:
    """Checked settings; every one that is not given keeps its default."""
    found = section(PretrainingSettings, values, "pretrain")
    parts = found.layers.replace(" ", "").split(",") if found.layers.strip() else []
    if not all(part.isdecimal() for part in parts) or parts == ["0"]:
        raise ConfigError(
            f"'layers' must be a number, or numbers of layers such as 0,2,4, not '{found.layers}'"
        )
    if found.steps and found.minutes:
        raise ConfigError("give the length of the training in steps or in minutes, not both")
    if not (found.steps or found.minutes or found.epochs):
        raise ConfigError("the training has no length: 'steps', 'minutes' or 'epochs' must be more than 0")
    if not found.teacher and not found.guess:
        raise ConfigError("without a teacher there is only the masked-LM loss; 'guess' must be more than 0")
    if found.teacher and not (found.guess or found.imitate or found.hidden or found.relations):
        raise ConfigError("every loss has the weight 0: 'guess', 'imitate', 'hidden', 'relations'")
    if found.at_once and found.batch % found.at_once:
        raise ConfigError(f"'batch' ({found.batch}) must be a multiple of 'at_once' ({found.at_once})")
    return dataclasses.replace(found, layers=",".join(parts))
