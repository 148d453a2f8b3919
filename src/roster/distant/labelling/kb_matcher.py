"""The candidates of a corpus, looked up in a knowledge base once, as mentions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from roster.corpus.sentence import Sentence
from roster.distant.labelling.chunks import Chunk, sentences_of
from roster.distant.matching.candidates import Candidate, rule_candidates, spacy_candidates
from roster.distant.matching.mention import Mention
from roster.distant.settings import Candidates, Settings

Items = Mapping[str, tuple[tuple[str, str], ...]]
"""By name: the types of its items, and the items."""


@dataclass(frozen=True)
class KbMatcher:
    """Mentions of the items that a knowledge base has for the candidates of a corpus."""

    settings: Settings
    items: Items

    def mentions(self, sentences: Sequence[Sentence]) -> Iterator[list[Mention]]:
        """The mentions in each sentence."""
        spans = _candidates(sentences, self.settings.candidates)
        for sentence, candidates in zip(sentences, spans, strict=True):
            yield list(self._of_sentence(sentence, candidates))

    def _of_sentence(self, sentence: Sentence, candidates: Sequence[Candidate]) -> Iterator[Mention]:
        kb = self.settings.kb
        for start, end in candidates:
            name = _name(sentence, start, end)
            for kind, item in self.items.get(name, ()):
                label = self.settings.policies.label(kind)
                if label is not None:
                    yield Mention(start, end, label, kind, kb.source, item, priority=kb.priority, name=name)


class CandidateNames:
    """The distinct names of the candidates of a corpus: `add` all of its chunks, then `look_up`.

    Args:
        settings: with a knowledge base, which is opened here, so that a wrong address is found early.
        cache: folder that keeps the answers of an endpoint; None keeps none.
        log: called with each line of the log.
    """

    def __init__(self, settings: Settings, cache: Path | None, log: Callable[[str], None] | None):
        from roster.distant.kb.classes import load_classes
        from roster.distant.kb.lookup import open_backend

        self._settings, kb = settings, settings.kb
        self._classes = load_classes(kb.classes or "conll")
        options = {"timeout": kb.timeout, "cache": None if cache is None else cache / "sparql", "log": log}
        self._backend = open_backend(kb.source, **(options if "://" in kb.source else {}))
        self._names: dict[str, None] = {}
        self.done = False
        """Candidates of the whole corpus are needed."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types that the knowledge base can give."""
        return tuple(kind.name for kind in self._classes.types)

    def add(self, chunk: Chunk) -> None:
        """Adds the candidates of some documents."""
        self._names.update(dict.fromkeys(candidate_names(chunk, self._settings.candidates)))

    def take(self, names: Iterable[str]) -> None:
        """Takes the names of all candidates of the corpus, in its order, in place of `add`."""
        self._names = dict.fromkeys(names)
        self.done = True

    def look_up(self) -> KbMatcher:
        """Asks the knowledge base for all names, in batches."""
        from roster.distant.kb.lookup import types_of

        hits = types_of(self._backend, self._names, self._classes, case_variants=self._settings.kb.any_case)
        items = {name: tuple((hit.type, hit.item) for hit in of) for name, of in hits.items() if of}
        return KbMatcher(self._settings, items)


def candidate_names(chunk: Chunk, rules: Candidates) -> Iterator[str]:
    """The names of the candidates in some documents, in their order."""
    sentences = list(sentences_of(chunk))
    for sentence, candidates in zip(sentences, _candidates(sentences, rules), strict=True):
        for start, end in candidates:
            yield _name(sentence, start, end)


def _candidates(sentences: Sequence[Sentence], rules: Candidates) -> Iterator[list[Candidate]]:
    """The candidates of each sentence, by capital letters or by the tags of a spaCy pipeline."""
    if rules.by == "rules":
        return (rule_candidates(sentence.words, nested=rules.nested) for sentence in sentences)
    return spacy_candidates(sentences, rules.by, nested=rules.nested)


def _name(sentence: Sentence, start: int, end: int) -> str:
    """The query for a candidate: the text of its words, with single spaces."""
    return " ".join(sentence.text[sentence.offsets[start][0] : sentence.offsets[end - 1][1]].split())
