"""The recognisers that are measured, ours and others, with one interface.

Only what all of them need is imported at the top, because imports count as memory of the system.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from roster.corpus.sentence import Sentence

if TYPE_CHECKING:
    from roster.infer.recogniser import Recogniser
from benchmarks.prediction.token_classifier import token_classifier

BATCH = 32


class PredictionSystem(ABC):
    """A recogniser. The constructor loads it; `find` is measured."""

    packages: ClassVar[tuple[str, ...]]
    without: ClassVar[tuple[str, ...]] = ()
    """Packages that it would import but does not need; their import is blocked."""

    @abstractmethod
    def __init__(self, source: str, device: str): ...

    def version(self) -> str:
        return ", ".join(f"{name} {version(name)}" for name in self.packages if name in sys.modules)

    @abstractmethod
    def take(self, sentences: Iterable[list[str]]) -> Sequence[Any]:
        """Convert the text to the input of the system. Not measured."""

    @abstractmethod
    def find(self, text: Sequence[Any]) -> int:
        """Find the entities in the text; return their number."""


class RosterModel(PredictionSystem):
    """The result of `roster.load(folder)`: torch, or ONNX Runtime for an export."""

    packages = ("torch", "onnxruntime")
    ner: Recogniser

    def __init__(self, source: str, device: str):
        from roster.infer.recogniser import load

        self.ner = load(source, device)

    def take(self, sentences: Iterable[list[str]]) -> list[Sentence]:
        return [Sentence.from_words(words) for words in sentences]

    def find(self, text: Iterable[Sentence]) -> int:
        return sum(len(one.entities) for one in self.ner.find(text))


class Pipeline(PredictionSystem):
    """The token classification pipeline of transformers with our weights, one text at a time."""

    packages = ("transformers", "torch")

    def __init__(self, source: str, device: str):
        from transformers import AutoTokenizer, pipeline

        from roster.model.reading import choose_device

        self.pipe = pipeline(
            "token-classification",
            model=token_classifier(Path(source)),
            tokenizer=AutoTokenizer.from_pretrained(source),
            device=choose_device(device),
        )

    def take(self, sentences: Iterable[list[str]]) -> list[str]:
        return [" ".join(words) for words in sentences if words]

    def find(self, text: Sequence[str]) -> int:
        return sum(len(self.pipe(one)) for one in text)


class BatchedPipeline(Pipeline):
    """The same with the batch size that its documentation recommends to try."""

    def find(self, text: Sequence[str]) -> int:
        return sum(map(len, self.pipe(list(text), batch_size=BATCH)))


class Spacy(PredictionSystem):
    """The entity recogniser of a spaCy pipeline alone, one sentence at a time, on given words."""

    packages = ("spacy", "thinc")
    without = ("torch",)  # spaCy imports it if it is installed

    def __init__(self, source: str, device: str):
        import spacy

        try:
            self.nlp = spacy.load(source)
        except OSError:
            raise ImportError(f"no spaCy pipeline '{source}' is installed") from None
        if "ner" not in self.nlp.pipe_names:
            raise ValueError(f"the spaCy pipeline '{source}' has no component 'ner'")
        feeds = [
            name for name, part in self.nlp.pipeline if "ner" in getattr(part, "listening_components", ())
        ]
        self.nlp.select_pipes(enable=[*feeds, "ner"])

    def take(self, sentences: Iterable[list[str]]) -> list[Any]:
        from spacy.tokens import Doc

        return [Doc(self.nlp.vocab, words=words) for words in sentences]

    def find(self, text: Sequence[Any]) -> int:
        return sum(len(self.nlp(doc).ents) for doc in text)


class SpacyPipe(Spacy):
    """The same with `nlp.pipe`, which forms batches."""

    def find(self, text: Sequence[Any]) -> int:
        return sum(len(doc.ents) for doc in self.nlp.pipe(text))


SYSTEMS: dict[str, type[PredictionSystem]] = {
    "ours": RosterModel,
    "pipeline": Pipeline,
    f"pipeline-{BATCH}": BatchedPipeline,
    "spacy": Spacy,
    "spacy-pipe": SpacyPipe,
}
