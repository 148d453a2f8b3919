"""Labelling from end to end: what `roster label` and `roster.label` do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from roster.corpus.sentence import Sentence
from roster.corpus.tags import Scheme
from roster.distant.labeller import Corpus, Labelled, Labeller
from roster.distant.output import Target
from roster.distant.report import Report, dead_entries
from roster.distant.settings import Settings
from roster.errors import DataError
from roster.progress import bar
from roster.scores import Evaluation, evaluate_sentences


class Labels:
    """The labels of a corpus. Iterating gives its sentences with labels, made as they are asked for."""

    def __init__(
        self,
        corpus: Corpus,
        settings: Settings,
        *,
        cache: Path | None = None,
        workers: int = 1,
        log: Callable[[str], None] | None = None,
    ):
        corpus()  # a corpus that is not there is said before a dictionary is compiled
        self._corpus, self._workers = corpus, workers
        self._labeller = Labeller(settings, cache, log=log)
        self._labeller.prepare(corpus)
        self.report = Report()
        """Counts of the last pass, complete when it is."""

    def __iter__(self) -> Iterator[Sentence]:
        return (one.sentence for one in self.labelled())

    def labelled(self) -> Iterator[Labelled]:
        """The sentences with their labels, and with what each label rests on."""
        report = self.report = Report()
        self._labeller.forget()
        with bar(
            self._labeller.label(self._corpus(), self._workers), description="label", unit="sentence"
        ) as all_:
            yield from report.follow(all_)
        if not report.words:
            raise DataError("there is no word in the corpus, so nothing to label")
        report.finish(self._labeller)

    def score(self, gold: Iterable[Sentence]) -> Evaluation:
        """Precision and recall against the same sentences with true labels."""
        return evaluate_sentences(self, gold, same_words=True)

    def save(
        self,
        target: Target,
        scheme: Scheme = "BIO",
        *,
        provenance: bool = True,
        gold: Iterable[Sentence] | None = None,
    ) -> int:
        """Writes labels, sources and report; gives the number of entries that can match nothing."""
        scores = None if gold is None else self.score(gold)  # first: then nothing is written if it fails
        target.write(self.labelled(), scheme, sources=provenance)
        self.report.scores = scores
        return target.finish(self.report, dead_entries(self._labeller))
