"""`roster.Recognizer`: label, train and recognise with the methods of an estimator of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from roster.api.labelling import label
from roster.api.training import train
from roster.corpus.formats.base import Options
from roster.corpus.formats.records import from_record
from roster.corpus.sentence import Sentence
from roster.corpus.texts import texts_in
from roster.errors import ConfigError, DataError
from roster.scores import evaluate_sentences

if TYPE_CHECKING:
    from roster.infer.recogniser import Entities, Recogniser


class Recognizer:
    """Trains on texts and names, then finds entities. `sklearn.base.clone` copies it.

    Args:
        run: the run folder; without one, a temporary folder that goes with this object.
        labelling: settings of `roster.label`, such as `{"builtin": ["DATE"]}`.
        training: settings of `roster.train` by name: `minutes=30`, `method="fine-tune"`, `overrides={...}`.

    >>> Recognizer(minutes=30).set_params(method="fine-tune").get_params()
    {'run': None, 'labelling': None, 'minutes': 30, 'method': 'fine-tune'}
    """

    def __init__(
        self, run: str | Path | None = None, labelling: Mapping[str, Any] | None = None, **training: Any
    ):
        self.run, self.labelling, self.training = run, labelling, training

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All settings by name."""
        return {"run": self.run, "labelling": self.labelling, **self.training}

    def set_params(self, **settings: Any) -> Recognizer:
        """The same object with other settings."""
        self.__init__(**{**self.get_params(), **settings})  # type: ignore[misc]
        return self

    def fit(self, texts: str | Path | Iterable[Any], names: Any = ()) -> Recognizer:
        """Labels texts with names and trains on them; both as `roster.label` takes them.

        Raises `DataError`, `ConfigError` and `RosterError` as `roster.label` and `roster.train` do.
        """
        labels = label(texts, names, **(self.labelling or {}))
        self._folder = TemporaryDirectory(prefix="roster-") if self.run is None else None
        run = self.run if self._folder is None else self._folder.name
        self.recogniser_: Recogniser = train(labels, str(run), **self.training)
        return self

    def predict(self, texts: Iterable[str]) -> list[Entities]:
        """The entities of each text. Raises `DataError` for what is no text, `ConfigError` before `fit`."""
        if not hasattr(self, "recogniser_"):
            raise ConfigError("this Recognizer is not trained; call fit(texts, names) first")
        return list(self.recogniser_.pipe(texts))

    def score(self, texts: Iterable[str], gold: Iterable[Iterable[Any]]) -> float:
        """Strict F1. `gold` has for each text its true spans: entities, (start, end, type), or mappings.

        Raises `DataError` for a span outside its text, or another number of texts.
        """
        read = list(texts_in(texts))
        given, found = list(gold), self.predict(read)
        if len(given) != len(read):
            raise DataError(f"expected gold spans for {len(read)} texts, found them for {len(given)}")
        sides = (_sentences(read, found), _sentences(read, given))
        return evaluate_sentences(*sides).f1

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not None]
        return f"Recognizer({', '.join(given)})"


def _sentences(texts: list[str], spans: Iterable[Iterable[Any]]) -> list[Sentence]:
    found: list[Sentence] = []
    for number, (text, of_text) in enumerate(zip(texts, spans, strict=True)):
        given = [asdict(one) if is_dataclass(one) and not isinstance(one, type) else one for one in of_text]
        try:
            found += from_record({"id": number, "text": text, "spans": given}, Options())
        except ValueError as error:
            raise DataError(f"text {number}: {error}") from None
    return found
