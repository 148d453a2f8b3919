"""Annotations of a corpus in a file of any format: which document of the file is which of the corpus.

Both are read side by side, each once. Two documents correspond if they have the same characters, apart from
white space: it does not matter which tokenizer made the words, nor how the text was cut into sentences.
Several consecutive documents of the file, such as sentences one by one, may make up one of the corpus.

A file may cover a part of the corpus, in the order of the corpus; documents that it does not have are
counted. A document of the file that the corpus does not have, or has elsewhere, is an error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from roster.corpus.formats.records import documents
from roster.corpus.io import read
from roster.corpus.sentence import Sentence, type_set
from roster.distant.labelling.chunks import Chunk
from roster.distant.matching.mention import Mention
from roster.distant.matching.span_mentions import Located, SpanMentions
from roster.distant.span_sources import Annotations
from roster.errors import DataError

SHOWN = 40

Place = tuple[int, int]
"""Sentence of a document, and word in it."""


@dataclass(frozen=True, slots=True)
class _Given:
    """A document of the file, with its number."""

    number: int
    sentences: list[Sentence]
    characters: str


@dataclass
class AnnotationFile:
    """The annotations of one file over a corpus: `mentions` of each chunk in turn, then `finish`.

    Args:
        settings: which file, and what its spans are worth.
        spans: makes mentions of its spans, and counts.
    """

    settings: Annotations
    spans: SpanMentions
    _waiting: deque[_Given] = field(default_factory=deque)
    _matched: tuple[int, int] = (0, 0)
    """Numbers of the last document of the file that was found, and of the corpus where it was found."""

    def __post_init__(self) -> None:
        self._documents = self._read()

    def mentions(self, chunk: Chunk) -> Iterator[tuple[Mention, ...]]:
        """The mentions in each sentence of a chunk.

        Raises:
            DataError: for a file that cannot be read, or that has a document without labels.
        """
        for document in chunk:
            characters = _characters(document)
            given = None
            if characters:
                self.spans.counts.documents += 1
                given = self._corresponding(characters)
            if given is None:
                yield from (() for _ in document)
                continue
            self.spans.counts.covered += 1
            self._matched = given[-1].number, self.spans.counts.documents
            found = self._located(document, [s for one in given for s in one.sentences])
            for sentence, located in zip(document, found, strict=True):
                yield self.spans.mentions(sentence, located)

    def finish(self) -> None:
        """Checks that the whole file was used, when all of the corpus was.

        Raises:
            DataError: the file has a document that the corpus does not have there, or no words at all.
        """
        if not self._more(1):
            if not self.spans.counts.covered:
                raise DataError("it has no words, so no annotations", path=self.settings.path)
            return
        left = self._waiting[0]
        before = "its documents must be those of the corpus, in the same order"
        if self._matched[0]:
            before += f"; document {self._matched[0]} is document {self._matched[1]} of the corpus"
        raise DataError(
            f"document {left.number} ({_shown(left.sentences)!r}) is not in the corpus after those before "
            f"it: {before}",
            path=self.settings.path,
        )

    def _corresponding(self, characters: str) -> list[_Given] | None:
        """The next documents of the file, if they have these characters; they are used up then."""
        have, count = "", 0
        while len(have) < len(characters) and self._more(count + 1):
            have += self._waiting[count].characters
            count += 1
            if not characters.startswith(have):
                return None
        if have != characters:
            return None
        return [self._waiting.popleft() for _ in range(count)]

    def _more(self, count: int) -> bool:
        """Whether the file goes on for so many documents; they are read if so."""
        while len(self._waiting) < count:
            following = next(self._documents, None)
            if following is None:
                return False
            self._waiting.append(following)
        return True

    def _read(self) -> Iterator[_Given]:
        settings = self.settings
        sentences: Iterable[Sentence] = settings.sentences or ()
        if settings.sentences is None:
            sentences = read(settings.path, settings.format, split=settings.split, scores=True)
        for number, document in enumerate(documents(sentences), 1):
            characters = _characters(document)
            if not characters:
                continue
            if any(sentence.spans is None for sentence in document):
                raise DataError(f"document {number} ({_shown(document)!r}) has no labels", path=settings.path)
            yield _Given(number, document, characters)

    def _located(self, document: Sequence[Sentence], given: Sequence[Sentence]) -> list[list[Located]]:
        """The words of the corpus that the spans of a document have, by sentence of the corpus."""
        found: list[list[Located]] = [[] for _ in document]
        if [s.words for s in document] == [s.words for s in given]:
            for of_sentence, sentence in zip(found, given, strict=True):
                of_sentence += _spans(sentence)
            return found
        starts: dict[int, Place] = {}
        ends: dict[int, Place] = {}
        for (start, end), place in zip(_borders(document), _places(document), strict=True):
            starts.setdefault(start, place)
            ends[end] = place
        borders = iter(_borders(given))
        for sentence in given:
            words = [next(borders) for _ in sentence.words]
            for first, last, kind, score in _spans(sentence):
                begin, end_at = starts.get(words[first][0]), ends.get(words[last - 1][1])
                if begin is None or end_at is None or begin[0] != end_at[0]:
                    self.spans.cut(" ".join(sentence.words[first:last]))
                else:
                    found[begin[0]].append((begin[1], end_at[1] + 1, kind, score))
        return found


def _spans(sentence: Sentence) -> Iterator[Located]:
    """The spans of an annotated sentence, one for each type of a label; those of unknown type too."""
    spans = sentence.spans or ()
    scores = sentence.scores or (None,) * len(spans)
    for span, score in zip(spans, scores, strict=True):
        for kind in type_set(span.label):
            yield span.start, span.end, kind, score
    for span in sentence.unknown:
        yield span.start, span.end, "", None


def _characters(document: Iterable[Sentence]) -> str:
    """The characters of the words of a document, without white space."""
    return "".join("".join(chain.from_iterable(s.words for s in document)).split())


def _borders(document: Iterable[Sentence]) -> list[tuple[int, int]]:
    """For each word its place in `_characters`."""
    borders, at = [], 0
    for sentence in document:
        for word in sentence.words:
            size = len("".join(word.split()))
            borders.append((at, at + size))
            at += size
    return borders


def _places(document: Iterable[Sentence]) -> Iterator[Place]:
    return ((i, word) for i, sentence in enumerate(document) for word in range(len(sentence)))


def _shown(document: Sequence[Sentence]) -> str:
    """The beginning of a document."""
    text = " ".join(word for sentence in document for word in sentence.words)
    return text if len(text) <= SHOWN else text[:SHOWN].rsplit(maxsplit=1)[0] + " ..."
