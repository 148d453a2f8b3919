"""The entities of a spaCy pipeline as annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roster.corpus.sentence import Sentence, Span
from roster.distant.matching.spacy_pipeline import check_words, load_pipeline, spaces_after, unusable
from roster.distant.matching.span_mentions import ScoredSpan


class SpacyEntities:
    """Runs a pipeline over the corpus's own words and takes `doc.ents`; they have no scores.

    Args:
        pipeline: name of an installed pipeline, or a folder.
        batch_size: sentences in a batch.

    Raises:
        RosterError: spaCy is not installed.
        ConfigError: there is no such pipeline, or it cannot be used.
    """

    def __init__(self, pipeline: str, batch_size: int = 32):
        self._name, self._size = pipeline, batch_size
        self._nlp, self._doc = load_pipeline(pipeline, "a spaCy pipeline as a source of labels")

    def __call__(self, sentences: Sequence[Sentence]) -> Iterator[list[ScoredSpan]]:
        """The entities of each sentence.

        Raises:
            ConfigError: the pipeline joins or splits words, or one of its components fails.
        """
        vocabulary = self._nlp.vocab
        docs = (self._doc(vocabulary, words=list(s.words), spaces=spaces_after(s)) for s in sentences)
        tagged = self._nlp.pipe(docs, batch_size=self._size)
        for sentence in sentences:
            try:
                doc = next(tagged)
            except (ValueError, KeyError, ImportError) as error:
                raise unusable(self._name, error) from error
            check_words(self._name, self._nlp, doc, len(sentence))
            yield [
                ScoredSpan(*sentence.char_span(Span(one.start, one.end, "")), one.label_) for one in doc.ents
            ]
