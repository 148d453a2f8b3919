"""The sentences to review: a random sample of a text, with what the model finds in them and how sure it
is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from roster.corpus.sentence import Sentence
from roster.errors import DataError
from roster.infer.logits import probabilities
from roster.infer.recogniser import Recogniser
from roster.model.decoding import decode
from roster.progress import bar
from roster.reviewing.expectation import Expectation, expect, type_probabilities
from roster.reviewing.folder import portion

CHUNK = 1000
"""Sentences that are predicted together."""


def sample(sentences: Iterable[Sentence], most: int, seed: int) -> tuple[list[Sentence], int]:
    """At most `most` sentences, drawn at random and in their order, and how many there are; read once.

    Sentences without words are left out. Vitter's reservoir, so memory does not grow with the text.

    >>> drawn, total = sample((Sentence.from_words([str(i)]) for i in range(100)), 3, 0)
    >>> len(drawn), total
    (3, 100)
    """
    generator = np.random.default_rng(seed)
    kept: list[tuple[int, Sentence]] = []
    total = 0
    for sentence in sentences:
        if not sentence.words:
            continue
        place = total if total < most else int(generator.integers(total + 1))
        if place < most:
            one = (total, portion(sentence))
            if total < most:
                kept.append(one)
            else:
                kept[place] = one
        total += 1
    return [sentence for _, sentence in sorted(kept, key=lambda one: one[0])], total


def predict(ner: Recogniser, sentences: Sequence[Sentence]) -> tuple[list[Sentence], Expectation]:
    """The sentences with the predicted names in place of their labels, and what to expect of them.

    Labels that the sentences have (of a dictionary) are what the prediction is compared with.

    Raises:
        DataError: there are no sentences.
    """
    if not sentences:
        raise DataError("the text to review has no sentences")
    facts, found, known = ner.engine.facts, list[Sentence](), list[np.ndarray]()
    with bar(description="predict", unit="sentence", total=len(sentences)) as progress:
        for at in range(0, len(sentences), CHUNK):
            part = sentences[at : at + CHUNK]
            p = probabilities(facts.kind, ner.logits(part))
            spans = decode(facts.scheme, p, map(len, part), ner.types)
            ends = np.cumsum([len(sentence) for sentence in part])
            of_types = np.split(type_probabilities(p, facts.scheme), ends[:-1])
            found += [sentence.with_spans(one) for sentence, one in zip(part, spans, strict=True)]
            known += of_types
            progress.update(len(part))
    return found, expect(found, known, ner.types, [sentence.spans for sentence in sentences])
