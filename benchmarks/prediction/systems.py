"""Our recogniser and others behind one face, and what is measured of each, in a process of its own.

Nothing is imported here that not every one of them needs: it would count as its memory.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from roster.corpus.sentence import Sentence
from roster.errors import ModelError
from roster.progress import peak_memory

if TYPE_CHECKING:
    from roster.infer.recogniser import Recogniser

WARM_UP = 64
"""Sentences that are read before the clock starts: the first batch of every system is slow."""
BATCH = 32
PIPELINE_KINDS = ("one-head", "two-heads")
"""Heads that can be those of a token classifier of transformers."""
FITS = f"{' or '.join(PIPELINE_KINDS)} on a transformer"
"""What a model must be, in words."""


class PredictionSystem(ABC):
    """One way to find entities. Making it loads it; `find` is what is measured."""

    packages: ClassVar[tuple[str, ...]]
    without: ClassVar[tuple[str, ...]] = ()
    """Packages that it would load but does not need."""

    @abstractmethod
    def __init__(self, source: str, device: str): ...

    def version(self) -> str:
        return ", ".join(f"{name} {version(name)}" for name in self.packages if name in sys.modules)

    @abstractmethod
    def take(self, sentences: Iterable[list[str]]) -> Sequence[Any]:
        """The text in the shape this system takes it in. Not measured."""

    @abstractmethod
    def find(self, text: Sequence[Any]) -> int:
        """One pass; how many entities were found."""


class RosterModel(PredictionSystem):
    """As `roster.load(folder)` gives it: torch, or ONNX Runtime where the folder is an export."""

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
    """transformers' token classification with our encoder, our weights and our heads, one text at a time."""

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
    """The same with the batch size that its documentation tells people to try."""

    def find(self, text: Sequence[str]) -> int:
        return sum(map(len, self.pipe(list(text), batch_size=BATCH)))


class Spacy(PredictionSystem):
    """A spaCy pipeline with nothing in it but what finds entities, one sentence at a time.

    Words are given, as to ours.
    """

    packages = ("spacy", "thinc")
    without = ("torch",)  # loaded where it is installed, for nothing

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
    """The same as a stream, which it cuts into batches of its own."""

    def find(self, text: Sequence[Any]) -> int:
        return sum(len(doc.ents) for doc in self.nlp.pipe(text))


SYSTEMS: dict[str, type[PredictionSystem]] = {
    "ours": RosterModel,
    "pipeline": Pipeline,
    f"pipeline-{BATCH}": BatchedPipeline,
    "spacy": Spacy,
    "spacy-pipe": SpacyPipe,
}


def token_classifier(folder: Path) -> Any:
    """A model folder as transformers' own token classifier: the same weights, the same classes.

    Its linear classifier is replaced by our heads, so that it finds what we find and the pipeline has the
    same entities to write. A head that decides on a sentence as a whole has no place there.
    """
    from transformers import AutoConfig, AutoModelForTokenClassification

    from roster.model.folder import read_facts, weights_file
    from roster.model.weights import load_tensors

    facts = read_facts(folder)
    if why := unfit(folder):
        raise ModelError(
            f"{folder} {why}; transformers' pipeline can only be compared for models that are {FITS}"
        )
    names = ["O", *facts.types]
    if facts.kind == "one-head":
        names = ["O", *(f"{prefix}-{name}" for name in facts.types for prefix in "BI")]
    config = AutoConfig.from_pretrained(folder, id2label=dict(enumerate(names)),
                                        label2id={name: i for i, name in enumerate(names)})  # fmt: skip
    model = AutoModelForTokenClassification.from_config(config)
    tensors, _ = load_tensors(weights_file(folder))
    encoder = {name.removeprefix("encoder."): t for name, t in tensors.items() if name.startswith("encoder.")}
    model.base_model.load_state_dict(encoder)
    heads = {name: t for name, t in tensors.items() if not name.startswith("encoder.")}
    model.classifier = _classifier(facts.kind, config.hidden_size, len(facts.types), heads)
    return model.eval()


def unfit(folder: Path) -> str:
    """Why a model can be no token classifier of transformers, to stand after its name; empty where it can."""
    from roster.backbone.words import is_word_level
    from roster.model.folder import read_facts, weights_file

    if not weights_file(folder).is_file():
        return "has no torch weights"
    try:
        kind = read_facts(folder).kind
    except ModelError:
        return "cannot be read"
    if is_word_level(folder):
        return f"is {kind} on a BiLSTM-CNN"
    return "" if kind in PIPELINE_KINDS else f"is {kind} on a transformer"


def _classifier(kind: str, width: int, n_types: int, weights: dict[str, Any]) -> Any:
    """Our heads as one module from states to class scores, for the last layer of any token classifier."""
    import torch
    from torch import Tensor, nn

    from roster.methods.roster.head import joint

    class Joint(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.entity_head, self.type_head = nn.Linear(width, 1), nn.Linear(width, n_types)

        def forward(self, h: Tensor) -> Tensor:
            shape = h.shape[:-1]
            b, z = self.entity_head(h).flatten(), self.type_head(h).flatten(0, -2)
            return torch.log(joint(b, z) + 1e-30).view(*shape, 1 + n_types)

    head: nn.Module = Joint()
    if kind == "one-head":
        head = nn.Linear(width, 1 + 2 * n_types)
        weights = {name.removeprefix("tag."): tensor for name, tensor in weights.items()}
    head.load_state_dict(weights)
    return head


def predict(system: str, source: str, text: str, device: str, gold: str | None) -> Iterator[dict[str, Any]]:
    """Loads a system and reads a text with it; scores it on gold sentences when all is measured."""
    for package in SYSTEMS[system].without:
        sys.modules[package] = None  # type: ignore[assignment]
    start = time.perf_counter()
    it = SYSTEMS[system](source, device)
    yield {"load_seconds": time.perf_counter() - start, "version": it.version()}
    it.find(it.take(islice(read_words(Path(text)), WARM_UP)))
    taken = it.take(read_words(Path(text)))
    start = time.perf_counter()
    entities = it.find(taken)
    yield {"seconds": time.perf_counter() - start, "entities": entities, **peak_memory()}
    if gold is not None and isinstance(it, RosterModel):
        yield {"scores": _scores(it.ner, gold)}


def stream(source: str, text: str, device: str, size: float) -> Iterator[dict[str, Any]]:
    """Reads `size` bytes, the text again and again, as they come: what memory a large file takes."""
    it = RosterModel(source, device)
    it.find(it.take(islice(read_words(Path(text)), WARM_UP)))
    words = 0

    def sentences() -> Iterator[Sentence]:
        nonlocal words
        for row in repeated(Path(text), size):
            words += len(row)
            yield Sentence.from_words(row)

    start = time.perf_counter()
    entities = it.find(sentences())
    yield {"seconds": time.perf_counter() - start, "words": words, "entities": entities, **peak_memory()}


def repeated(path: Path, size: float) -> Iterator[list[str]]:
    """The sentences of a file, from its beginning again when it ends, until `size` bytes were read."""
    read = 0
    while True:
        with path.open("rb") as file:
            for line in file:
                yield line.decode().split()
                read += len(line)
                if read >= size:
                    return


def read_words(path: Path) -> Iterator[list[str]]:
    """A sentence on each line, words between spaces."""
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.split()


def _scores(ner: Recogniser, gold: str) -> dict[str, float]:
    from roster.corpus.io import read
    from roster.scores import evaluate_sentences

    truth = list(read(gold))
    scores = evaluate_sentences((one.sentence for one in ner.find(truth)), truth)
    return {name: round(getattr(scores, name), 5) for name in ("precision", "recall", "f1")}


SPACY_WORDS, SPACY_UPDATES = 4000, 50
SPACY_MODEL = {
    "@architectures": "spacy.TransitionBasedParser.v2",
    "state_type": "ner",
    "extra_state_tokens": False,
    "hidden_width": 64,
    "maxout_pieces": 2,
    "use_upper": True,
    "tok2vec": {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "spacy.MultiHashEmbed.v2",
            "width": 96,
            "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
            "rows": [5000, 1000, 2500, 2500],
            "include_static_vectors": False,
        },
        "encode": {
            "@architectures": "spacy.MaxoutWindowEncoder.v2",
            "width": 96,
            "depth": 4,
            "window_size": 1,
            "maxout_pieces": 3,
        },
    },
}
"""The entity recogniser of spaCy's small English pipeline, as its own config has it."""


def build_spacy(text: str, folder: str) -> Iterator[dict[str, Any]]:
    """A recogniser as large as spaCy's small English one, which learns for a moment to find capitals."""
    for package in Spacy.without:
        sys.modules[package] = None  # type: ignore[assignment]
    import spacy
    from spacy.tokens import Doc, Span
    from spacy.training import Example

    nlp = spacy.blank("en")
    nlp.add_pipe("ner", config={"model": SPACY_MODEL})
    examples, words = [], 0
    for row in read_words(Path(text)):
        doc = Doc(nlp.vocab, words=row)
        doc.ents = [Span(doc, first, last, "NAME") for first, last in capitals(row)]
        examples.append(Example(Doc(nlp.vocab, words=row), doc))
        words += len(row)
        if words >= SPACY_WORDS:
            break
    optimizer = nlp.initialize(lambda: examples)
    batches = cycle([examples[at : at + BATCH] for at in range(0, len(examples), BATCH)])
    for batch in islice(batches, SPACY_UPDATES):
        nlp.update(batch, sgd=optimizer)
    nlp.to_disk(folder)
    yield {"words": words}


def capitals(words: Sequence[str]) -> list[tuple[int, int]]:
    """Runs of words that begin with a capital, as (first, last + 1).

    >>> capitals(["They", "met", "Ana", "Lee", "in", "Bonn"])
    [(0, 1), (2, 4), (5, 6)]
    """
    runs: list[tuple[int, int]] = []
    for i, word in enumerate(words):
        if word[:1].isupper():
            runs.append((runs.pop()[0], i + 1) if runs and runs[-1][1] == i else (i, i + 1))
    return runs
