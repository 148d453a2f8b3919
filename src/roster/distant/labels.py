"""Labelling from end to end: what `roster label` and `roster.label` do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from roster.corpus.sentence import Sentence
from roster.corpus.tags import Scheme
from roster.distant.labelling.chunk_labeller import Labelled
from roster.distant.labelling.chunks import Corpus
from roster.distant.labelling.labeller import Labeller
from roster.distant.matching.span_mentions import Annotate
from roster.distant.output.policy_report import labels_by_case
from roster.distant.output.record import Origin, write_record
from roster.distant.output.report import Report, dead_entries
from roster.distant.output.shards import can_be_joined, write_shards
from roster.distant.output.target import Target
from roster.distant.settings import Settings
from roster.errors import DataError
from roster.progress import bar
from roster.scores import Evaluation, Scorer, evaluate_sentences


class Labels:
    """The labels of a corpus; iterating gives its sentences with labels, computed one chunk at a time.

    Args:
        corpus: gives the sentences from the first one each time it is called; read once here, to count, and
            once for each pass over the labels.
        settings: from `load_settings`.
        cache: folder for compiled dictionaries and answers; None keeps nothing.
        workers: number of processes.
        annotators: what annotates for each of `settings.models`, in their order; each pass asks them again.
        inputs: files that must not be written to.
        origin: where the corpus and all else comes from, for the record beside the labels.
        log: called with each line of the log.

    Raises:
        RosterError: for a corpus, a dictionary or a knowledge base that cannot be read.
    """

    def __init__(
        self,
        corpus: Corpus,
        settings: Settings,
        *,
        cache: Path | None = None,
        workers: int = 1,
        annotators: Sequence[Annotate] = (),
        inputs: Iterable[str | Path] = (),
        origin: Origin | None = None,
        log: Callable[[str], None] | None = None,
    ):
        corpus()  # a missing corpus is reported before a dictionary is compiled
        self._corpus, self._workers, self._inputs = corpus, workers, tuple(inputs)
        self._settings, self._origin = settings, origin
        self._labeller = Labeller(settings, cache, annotators=annotators, log=log)
        self._labeller.prepare(corpus)
        self.report = Report()
        """Counts of the last pass, complete when it is."""

    def __iter__(self) -> Iterator[Sentence]:
        return (one.sentence for one in self.labelled())

    def labelled(self) -> Iterator[Labelled]:
        """The sentences with their labels, and with the mentions that each label rests on."""
        report = self.report = Report()
        self._labeller.reset_counts()
        with bar(
            self._labeller.label(self._corpus, self._workers), description="label", unit="sentence"
        ) as all_:
            yield from report.follow(all_)
        _check_not_empty(report)
        report.finish(self._labeller, self._by_case)

    def score(self, gold: Iterable[Sentence]) -> Evaluation:
        """Precision and recall against the same sentences with true labels."""
        return evaluate_sentences(self, gold, same_words=True)

    def save(
        self,
        target: Target | str | Path,
        scheme: Scheme = "BIO",
        *,
        provenance: bool = True,
        gold: Iterable[Sentence] | None = None,
    ) -> int:
        """Writes labels, sources, report and the record of how they were made, with one pass over the corpus.

        Args:
            target: a folder (for `roster.train`), or a file whose name tells the format.
            scheme: tags to write, where the format has tags.
            provenance: also write where each label comes from.
            gold: the same sentences with true labels; adds precision and recall to the report.

        Returns:
            The number of entries that can match nothing.

        Raises:
            DataError: for a corpus that cannot be read, that has no words, or that has other sentences than
                `gold`. Nothing is written then.
        """
        if not isinstance(target, Target):
            target = Target(target, inputs=self._inputs)
        if self._workers > 1 and can_be_joined(target):
            self._labeller.reset_counts()
            self.report = write_shards(
                self._labeller,
                self._corpus,
                target,
                scheme,
                sources=provenance,
                workers=self._workers,
                check=_check_not_empty,
                gold=gold,
            )
            self.report.finish(self._labeller, self._by_case)
            target.tidy(provenance)
        elif gold is None:
            target.write(self.labelled(), scheme, sources=provenance)
        else:
            scorer = Scorer(gold, same_words=True)
            labelled = scorer.follow(self.labelled(), lambda one: one.sentence)
            target.write(labelled, scheme, sources=provenance)
            self.report.scores = scorer.result()
        dead = target.finish(self.report, dead_entries(self._labeller))
        write_record(target, self._settings, self._origin, scheme, provenance=provenance)
        return dead

    @cached_property
    def _by_case(self) -> dict[str, Any]:
        """Labels under other case policies; the same for every pass."""
        return labels_by_case(self._labeller)


def _check_not_empty(report: Report) -> None:
    if not report.words:
        raise DataError("there is no word in the corpus, so nothing to label")
