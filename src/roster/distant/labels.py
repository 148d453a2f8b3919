"""Labelling from end to end: what `roster label` and `roster.label` do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from roster.corpus.sentence import Sentence
from roster.corpus.tags import Scheme
from roster.distant.labelling.labeller import Corpus, Labelled, Labeller
from roster.distant.labelling.process_pool import WorkerLostError
from roster.distant.output.policy_report import labels_by_case
from roster.distant.output.report import Report, dead_entries
from roster.distant.output.shards import can_be_joined, write_parts
from roster.distant.output.target import Target
from roster.distant.settings import Settings
from roster.errors import DataError, RosterError
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
            self._labeller.label(self._corpus, self._workers), description="label", unit="sentence"
        ) as all_:
            yield from report.follow(all_)
        _some(report)
        report.finish(self._labeller, self._others)

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
        """Writes labels, sources and report; gives the number of entries that can match nothing.

        Args:
            target: a folder (for `roster.train`), or a file whose name tells the format.
            scheme: tags to write, where the format has tags.
            provenance: also write where each label comes from.
            gold: the same sentences with true labels; adds precision and recall to the report.
        """
        if not isinstance(target, Target):
            target = Target(target)
        scores = None if gold is None else self.score(gold)  # first: then nothing is written if it fails
        if not self._save_in_parts(target, scheme, provenance):
            target.write(self.labelled(), scheme, sources=provenance)
        self.report.scores = scores
        return target.finish(self.report, dead_entries(self._labeller))

    @cached_property
    def _others(self) -> dict[str, Any]:
        """What other policies would give; the same for every pass."""
        return labels_by_case(self._labeller)

    def _save_in_parts(self, target: Target, scheme: Scheme, provenance: bool) -> bool:
        """By several processes, where the format allows it."""
        if self._workers <= 1 or sys.platform != "linux" or not can_be_joined(target):
            return False
        self._labeller.forget()
        try:
            self.report = write_parts(
                self._labeller,
                self._corpus,
                target,
                scheme,
                sources=provenance,
                workers=self._workers,
                check=_some,
            )
        except WorkerLostError:
            raise
        except RosterError:
            return False  # one process after the other says exactly what is wrong, and where
        self.report.finish(self._labeller, self._others)
        target.tidy(provenance)
        return True


def _some(report: Report) -> None:
    if not report.words:
        raise DataError("there is no word in the corpus, so nothing to label")
