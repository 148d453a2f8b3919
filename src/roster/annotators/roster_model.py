"""A model of ours, trained or exported, as an annotator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from roster.corpus.sentence import Sentence
from roster.distant.matching.span_mentions import ScoredSpan
from roster.infer.recogniser import Recogniser, load


@dataclass(frozen=True)
class RosterModel:
    """Annotates with a recogniser; its scores are those of `roster predict`."""

    ner: Recogniser

    @classmethod
    def load(cls, folder: str, device: str = "auto") -> RosterModel:
        """The model in a model folder or a run folder.

        Raises:
            ModelError: for a folder that is no model.
        """
        return cls(load(folder, device))

    def __call__(self, sentences: Sequence[Sentence]) -> Iterator[list[ScoredSpan]]:
        """The entities of each sentence."""
        with closing(self.ner.find(sentences)) as found:
            for one in found:
                yield [ScoredSpan(x.start, x.end, x.label, x.score) for x in one.entities]
