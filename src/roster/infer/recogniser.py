"""The recogniser: finds entities with exact character offsets in texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from roster.backbone.alignment import Encoded
from roster.corpus.sentence import Sentence, Span
from roster.corpus.texts import TEXT_COLUMN, check_text, describe, texts_in
from roster.corpus.tokenizer import sentences, starts_within
from roster.errors import DataError
from roster.infer.batches import padded, words_of
from roster.infer.calibration import Calibration, load_calibration
from roster.infer.engine import InferenceEngine, load_engine
from roster.infer.logits import probabilities
from roster.model.decoding import decode
from roster.model.folder import inner_model
from roster.model.hub import local_folder
from roster.model.plan import plan_for
from roster.pages.inline import marked

CHUNK_WORDS = 8192
"""Least number of words that are sorted into batches together, enough to find windows of similar length."""
CHUNK_BATCHES = 4
"""Least number of batches in a chunk for each worker."""


@dataclass(frozen=True, slots=True)
class Entity:
    """`text` is exactly `document[start:end]`; `score` is the mean probability of its words, or of a
    calibrated model how likely the entity is right."""

    text: str
    label: str
    start: int
    end: int
    score: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Entities(list[Entity]):
    """The entities of one text, which notebooks show as coloured text.

    >>> found = Entities("Ada ran.", [Entity("Ada", "PER", 0, 3, 0.9)])
    >>> found.text, found[0].label, len(found)
    ('Ada ran.', 'PER', 1)
    """

    def __init__(self, text: str, entities: Iterable[Entity] = ()):
        super().__init__(entities)
        self.text = text

    def __reduce__(self) -> tuple[Any, ...]:
        return Entities, (self.text, list(self))

    def _repr_html_(self) -> str:
        return marked(self.text, [(one.start, one.end, one.label) for one in self])


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence with the spans that were found in it, and their scores."""

    sentence: Sentence
    scores: tuple[float, ...]

    @property
    def entities(self) -> list[Entity]:
        s = self.sentence
        return [
            Entity(s.span_text(span), span.label, *s.char_span(span), score)
            for span, score in zip(s.spans or (), self.scores, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class _Begun:
    """A chunk whose batches are being computed."""

    sentences: list[Sentence]
    encoded: Encoded
    batches: list[tuple[np.ndarray, Future[np.ndarray]]]


class Recogniser:
    """Finds entities. Calling it takes one text; `pipe` takes a stream of them.

    With `share_batches` few batches are cut smaller, so that all cores have some. Without it batches, and so
    the last digits of scores, are the same for any number of cores.
    """

    def __init__(
        self, engine: InferenceEngine, calibration: Calibration | None = None, *, share_batches: bool = True
    ):
        self.engine, self.calibration = engine, calibration
        self.types = engine.facts.types
        self._share_batches = share_batches
        self._chunk_words = max(CHUNK_WORDS, CHUNK_BATCHES * self._sharing * engine.tokens)

    @overload
    def __call__(self, text: str) -> Entities: ...

    @overload
    def __call__(self, text: Mapping[str, Any]) -> dict[str, Any]: ...

    def __call__(self, text: str | Mapping[str, Any]) -> Entities | dict[str, Any]:
        """The entities of one text; for rows with a column `text`, as `Dataset.map` gives them, see `batch`.

        Raises `DataError` for anything else, and for invalid Unicode; `pipe` takes several texts.
        """
        if isinstance(text, Mapping):
            return self.batch(text)
        if not isinstance(text, str):
            raise DataError(f"expected one text (a string), not {describe(text)}; ner.pipe takes several")
        return next(self.pipe([text]))

    def frame(self, texts: Any) -> Any:
        """A pandas data frame with one row for each entity.

        Args:
            texts: a list of strings, a pandas or polars Series, a frame with a column `text`, or what else
                `pipe` takes.

        Returns:
            The columns `doc`, `text`, `label`, `start`, `end` and `score`. `doc` is the index of the text
            where `texts` is from pandas, else its position.

        Raises:
            RosterError: pandas is not installed.
            DataError: for what is no text, with its position.

        >>> ner.frame(["Ada ran.", "She left Oslo."]).groupby("label").size()  # doctest: +SKIP
        """
        from roster.infer.tables import frame

        return frame(self, texts)

    def batch(self, columns: Mapping[str, Any], column: str = TEXT_COLUMN) -> dict[str, Any]:
        """Entities as a column, for `Dataset.map(ner, batched=True)` and polars.

        Args:
            columns: rows as a mapping from column to values; or one row.
            column: the column with the texts.

        Returns:
            `entities`: for each row a list of entities with `text`, `label`, `start`, `end` and `score`.

        Raises:
            DataError: there is no such column, or it has what is no text.

        >>> ner.batch({"text": ["Ada ran."]})["entities"][0][0]["label"]  # doctest: +SKIP
        'PER'
        """
        from roster.infer.tables import batch

        return batch(self, columns, column)

    @staticmethod
    def features(data: Any) -> Any:
        """The features of a Hugging Face data set with the column `entities` that `batch` adds.

        `Dataset.map` derives the type of a column from the first rows that it writes, and fails where none of
        these has an entity but later ones have.

        Args:
            data: the data set before the call of `map`.

        Raises:
            RosterError: the library `datasets` is not installed.

        >>> data.map(ner, batched=True, features=ner.features(data))  # doctest: +SKIP
        """
        from roster.infer.tables import features

        return features(data)

    def pipe(self, texts: Iterable[str]) -> Iterator[Entities]:
        """Entities of each text in turn. Raises `DataError` for what is no text, with its position.

        Texts are read one chunk ahead of the results (see `find`). An error while reading them is raised
        after the results of all texts before it.
        """
        is_last: deque[bool] = deque()
        with closing(self.find(_sentences(texts_in(texts), is_last))) as found:
            entities: list[Entity] = []
            for one in found:
                entities += one.entities
                if is_last.popleft():
                    yield Entities(one.sentence.text, entities)
                    entities = []

    def find(
        self, sentences: Iterable[Sentence], chunk_words: int | None = None
    ) -> Generator[Found, None, None]:
        """Labels sentences in order, at constant memory.

        While the model computes one chunk of about `chunk_words` words, the next is read from `sentences` and
        tokenised. An error while reading them is raised after the
        results of all sentences before it.
        """
        with self.engine.pool() as pool:
            begun: deque[_Begun] = deque()
            for chunk, error in chunks(sentences, chunk_words or self._chunk_words):
                begun.append(self._begin(chunk, pool))
                while begun and (error or len(begun) > 1):
                    yield from self._finish(begun.popleft())
                if error:
                    raise error
            while begun:
                yield from self._finish(begun.popleft())

    def logits(self, sentences: Iterable[Sentence]) -> np.ndarray:
        """The heads' raw output for every word, [words, classes], for sentences that fit in memory."""
        with self.engine.pool() as pool:
            return self._collect(self._begin(list(sentences), pool))

    @property
    def _sharing(self) -> int:
        """The number of workers for which batches are cut."""
        return self.engine.workers if self._share_batches else 1

    def _begin(self, sentences: list[Sentence], pool: Executor) -> _Begun:
        encoded = self.engine.encoder.encode([s.words for s in sentences], starts_within(sentences))
        batches = plan_for(encoded.lengths, self.engine.tokens, self._sharing)
        return _Begun(
            sentences, encoded, [(rows, pool.submit(self._read, encoded, rows)) for rows in batches]
        )

    def _read(self, encoded: Encoded, rows: np.ndarray) -> np.ndarray:
        return self.engine.logits(*padded(encoded, rows, self.engine.pad))

    def _collect(self, begun: _Begun) -> np.ndarray:
        found = np.empty((begun.encoded.n_words, self.engine.facts.classes), np.float32)
        for rows, future in begun.batches:
            found[words_of(begun.encoded, rows)] = future.result()
        return found

    def _finish(self, begun: _Begun) -> Iterator[Found]:
        p = probabilities(self.engine.facts.kind, self._collect(begun))
        best, at = p.max(-1), 0
        spans_of = decode(self.engine.facts.scheme, p, map(len, begun.sentences), self.types)
        for sentence, spans in zip(begun.sentences, spans_of, strict=True):
            yield Found(sentence.with_spans(spans), self._scores(best, at, spans))
            at += len(sentence)

    def _scores(self, best: np.ndarray, at: int, spans: Sequence[Span]) -> tuple[float, ...]:
        scores = np.array([best[at + span.start : at + span.end].mean() for span in spans], float)
        if self.calibration is not None:
            scores = self.calibration(scores)
        return tuple(scores.round(4).tolist())


def load(folder: str | Path, device: str = "auto") -> Recogniser:
    """The recogniser in a folder.

    Args:
        folder: a model folder, trained or exported, or a run folder, which has one; a token classifier of
            transformers; or one of these on the Hugging Face hub, as `hf://owner/name`.
        device: `auto`, `cpu` or `cuda`.

    Returns:
        The recogniser, ready to be called.

    Raises:
        ModelError: the folder is not a model, is damaged, or has pickles or code instead of safe weights.

    >>> ner = load("runs/news")  # doctest: +SKIP
    """
    inner = inner_model(local_folder(folder))
    return Recogniser(load_engine(inner, device), load_calibration(inner))


def chunks(sentences: Iterable[Sentence], words: int) -> Iterator[tuple[list[Sentence], Exception | None]]:
    """Sentences with about so many words together; with the last, the error that ended them, if any."""
    source, chunk, total = iter(sentences), list[Sentence](), 0
    while True:
        try:
            sentence = next(source, None)
        except Exception as error:
            yield chunk, error
            return
        if sentence is None:
            if chunk:
                yield chunk, None
            return
        chunk.append(sentence)
        total += len(sentence) + 1
        if total >= words:
            yield chunk, None
            chunk, total = [], 0


def _sentences(texts: Iterable[str], is_last: deque[bool]) -> Iterator[Sentence]:
    """Sentences of all texts, one at a time; `is_last` gets whether each is the last of its text."""
    for number, text in enumerate(texts):
        check_text(text, number)
        several = sentences(text)
        sentence = next(several)
        for following in several:
            is_last.append(False)
            yield sentence
            sentence = following
        is_last.append(True)
        yield sentence
