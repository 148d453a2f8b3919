"""The two passes over a corpus: the first counts and decides, the second labels."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from roster.corpus.sentence import Sentence
from roster.distant.compiling.cache import load_lexicons
from roster.distant.labelling.chunk_labeller import ChunkLabeller, Labelled, with_labels
from roster.distant.labelling.chunks import Chunk, Corpus, Task, chunks
from roster.distant.labelling.first_pass import FirstPass
from roster.distant.labelling.kb_matcher import CandidateNames
from roster.distant.labelling.process_pool import ProcessPool
from roster.distant.labelling.span_sources import SpanSources
from roster.distant.matching.denied import Denied
from roster.distant.matching.dictionary_matcher import DictionaryMatcher
from roster.distant.matching.patterns import PatternMatcher
from roster.distant.matching.refused_matches import RefusedMatches
from roster.distant.matching.span_mentions import Annotate
from roster.distant.policy.decision import Decision
from roster.distant.settings import Settings
from roster.progress import bar


class Labeller:
    """Labels one corpus by all sources of the settings: `prepare`, then `label`.

    Args:
        settings: sources, policies and rules for conflicts.
        cache: folder for compiled dictionaries and answers; None keeps nothing.
        annotators: what annotates for each of `settings.models`, in their order.
        log: called with each line of the log.
    """

    def __init__(
        self,
        settings: Settings,
        cache: Path | None = None,
        *,
        annotators: Sequence[Annotate] = (),
        log: Callable[[str], None] | None = None,
    ):
        self.settings = settings
        self.span_sources = SpanSources(settings, annotators)
        """Annotations and models, with the counts of the last pass."""
        self.lexicons = load_lexicons(
            settings.sources, settings.policies, cache, patch=settings.patch, log=log
        )
        self.refused_matches = RefusedMatches()
        """Counts of matches that became no label, since the last `reset_counts`."""
        self.decisions: dict[str, Decision] = {}
        """By type of the dictionaries: how its names are matched, and why; empty before `prepare`."""
        self.beginning: Chunk = []
        """The documents at the beginning of the corpus, kept for what other policies would give."""
        self.kb_types: tuple[str, ...] = ()
        """Types that the knowledge base can give; empty without one and before `prepare`."""
        self.chunk_labeller = ChunkLabeller(
            DictionaryMatcher(self.lexicons, settings.policies),
            PatternMatcher(settings.patterns) if settings.patterns else None,
            denied=Denied(denied) if (denied := [c.name for c in settings.patch.of("deny")]) else None,
            overlap=settings.overlap,
            ambiguous=settings.ambiguous,
            agreement=settings.conflicts.agreement,
        )
        """What labels a chunk; complete after `prepare`."""
        self._cache, self._log = cache, log

    def prepare(self, corpus: Corpus, candidates: Iterable[str] | None = None) -> None:
        """Reads the corpus once, or its beginning if that is enough, to decide what depends on it.

        Policies of types, common words, and what the knowledge base has on the candidates.

        Args:
            corpus: read once.
            candidates: the names of all candidates in it, if they were gathered elsewhere; see
            `candidate_names`.
        """
        first_pass = FirstPass(self.lexicons, self.settings.policies) if self.lexicons else None
        names = CandidateNames(self.settings, self._cache, self._log) if self.settings.kb.source else None
        if names is not None and candidates is not None:
            names.take(candidates)
        counters = [counter for counter in (first_pass, names) if counter is not None]
        if not all(counter.done for counter in counters):
            with bar(corpus(), description="count", unit="sentence") as sentences:
                for chunk in chunks(sentences):
                    for counter in counters:
                        if not counter.done:
                            counter.add(chunk)
                    if all(counter.done for counter in counters):
                        break
        if first_pass is not None:
            prepared = first_pass.result()
            self.decisions, self.beginning = prepared.decisions, prepared.beginning
            self.chunk_labeller = replace(self.chunk_labeller, dictionaries=prepared.matcher)
        if names is not None:
            self.kb_types = names.types
            self.chunk_labeller = replace(self.chunk_labeller, kb=names.look_up())

    def reset_counts(self) -> None:
        """Sets the counts of matches that became no label to zero, before another pass."""
        self.refused_matches = RefusedMatches()

    def label(self, corpus: Corpus | Iterable[Sentence], workers: int = 1) -> Iterator[Labelled]:
        """Each sentence with its labels, in order; the same for any number of worker processes.

        The corpus is read once, in this process.
        """
        waiting: deque[Chunk] = deque()  # sent to worker processes, which send only the labels back

        def remembered() -> Iterator[Task]:
            for task in self.tasks(corpus() if callable(corpus) else corpus):
                waiting.append(task.chunk)
                yield task

        with ProcessPool(self.chunk_labeller.labels, workers, at_once=bool(self.span_sources)) as pool:
            for labels, refused in pool.map(remembered()):
                self.refused_matches.add(refused)
                yield from with_labels(waiting.popleft(), labels)

    def tasks(self, sentences: Iterable[Sentence]) -> Iterator[Task]:
        """The sentences in chunks, as worker processes get them.

        Raises:
            DataError: for annotations that cannot be read, or that do not correspond to the corpus.
        """
        return self.span_sources.tasks(chunks(sentences))

    def of_dictionaries(self, case: str | None = None) -> ChunkLabeller:
        """The same without patterns and knowledge base, with one case policy for all types if given."""
        matcher = self.chunk_labeller.dictionaries
        if case is not None:
            policies = self.settings.policies
            others = {kind: replace(policies.of(kind), case=case) for kind in self.decisions}
            matcher = DictionaryMatcher(self.lexicons, policies.with_decided(others), matcher.common)
        return replace(self.chunk_labeller, dictionaries=matcher, patterns=None, kb=None, agreement=1)
