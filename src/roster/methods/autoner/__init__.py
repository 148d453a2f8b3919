"""AutoNER (Shang et al., EMNLP 2018): ties and breaks between words, then the types of spans.

    labels      of every gap between two words whether it ties them; the spans between two breaks
    objective   the loss on gaps and spans
    head        three linear layers over the states of words
    decoding    from gaps and spans to a distribution of every word

A dictionary of phrases without types marks the gaps that are left out of the loss.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from roster.config import Config, option
from roster.corpus.sentence import Sentence, type_set
from roster.errors import DataError
from roster.methods.autoner.head import TieHeads
from roster.methods.autoner.labels import tie_labels
from roster.methods.autoner.objective import TieOrBreakObjective
from roster.methods.base import OneStage, Prepared
from roster.methods.facts import Facts
from roster.training.objective import Objective
from roster.training.task import Task


@dataclass(frozen=True)
class AutoNER:
    """AutoNER: ties and breaks between words, and the types of what lies between two breaks."""

    epochs: int = option(3, "passes over the data", low=1, high=10_000)
    learning_rate: float = option(5e-5, "peak rate", low=0)
    head_learning_rate: float = option(0.0, "peak rate of the heads; 0: the same as the encoder's", low=0)
    phrases: bool = option(
        True, "learn nothing around phrases of unknown type; off: every gap outside a name is a break"
    )


class AutoNERMethod(OneStage):
    name = "autoner"
    title = "AutoNER"
    summary = "ties between words and types of spans; uses phrases of unknown type"
    sections = {"autoner": AutoNER}
    head = TieHeads

    def objective(self, task: Task, model: TieHeads) -> Objective:
        phrases = task.config.section(AutoNER).phrases
        labels = tie_labels(task.sentences, task.types, task.corpus.encoded, phrases=phrases)
        return TieOrBreakObjective(task.corpus, labels, task.gold)

    def types(self, types: tuple[str, ...]) -> tuple[str, ...]:
        return single_types(types)

    def prepare(self, config: Config, sentences: Sequence[Sentence], is_gold: Sequence[bool]) -> Prepared:
        check_phrases(sentences, config.section(AutoNER))
        return Prepared(sentences)

    def derive(self, config: Config, facts: Facts, given: Collection[str]) -> dict[str, Any]:
        return {**super().derive(config, facts, given), "autoner.phrases": facts.phrases > 0}

    def describe(self, config: Config, facts: Facts) -> list[str]:
        lines = super().describe(config, facts)
        if not config.section(AutoNER).phrases:
            lines.append("No phrases of unknown type: every gap outside a name is a break.")
        return lines


def single_types(types: Sequence[str]) -> tuple[str, ...]:
    """The types that AutoNER chooses from: a label of several types is none of its own.

    >>> single_types(["PER", "LOC,PER", "LOC"])
    ('PER', 'LOC')
    """
    return tuple(dict.fromkeys(name for label in sorted(types, key=_several) for name in type_set(label)))


def _several(label: str) -> bool:
    return len(type_set(label)) > 1


def check_phrases(sentences: Sequence[Sentence], own: AutoNER) -> None:
    """Raise `DataError` if phrases are asked for and there are none: the method would be another one."""
    if own.phrases and not any(sentence.unknown for sentence in sentences):
        raise DataError(
            "AutoNER learns from a dictionary of phrases without types too, and the training sentences have "
            "no phrase of unknown type; label them with both (roster label TEXT --dictionary core.txt "
            "full.txt --overlap squares --ambiguous all -o DATASET, in JSON lines), or go on without: "
            "--set autoner.phrases=false, where every gap outside a name is a break"
        )


METHOD = AutoNERMethod()
