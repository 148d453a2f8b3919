"""A spaCy recogniser with the architecture of the small English pipeline, for its speed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass
from benchmarks.prediction.systems import BATCH, Spacy
from benchmarks.prediction.tasks import read_words

SPACY_WORDS, SPACY_UPDATES = 4000, 50
SPACY_MODEL = {
    "@architectures": "spacy.TransitionBasedParser.v2",
    "state_type": "ner",
    "extra_state_tokens": False,
    "hidden_width": 64,
    "maxout_pieces": 2,
    "use_upper": True,
    "tok2vec": {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "spacy.MultiHashEmbed.v2",
            "width": 96,
            "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
            "rows": [5000, 1000, 2500, 2500],
            "include_static_vectors": False,
        },
        "encode": {
            "@architectures": "spacy.MaxoutWindowEncoder.v2",
            "width": 96,
            "depth": 4,
            "window_size": 1,
            "maxout_pieces": 3,
        },
    },
}
"""The config of the entity recogniser in spaCy's small English pipeline."""


def build_spacy(text: str, folder: str) -> Iterator[dict[str, Any]]:
    """Train a recogniser of the size of spaCy's small English one briefly, on words with capitals."""
    for package in Spacy.without:
        sys.modules[package] = None  # type: ignore[assignment]
    import spacy
    from spacy.tokens import Doc, Span
    from spacy.training import Example

    nlp = spacy.blank("en")
    nlp.add_pipe("ner", config={"model": SPACY_MODEL})
    examples, words = [], 0
    for row in read_words(Path(text)):
        doc = Doc(nlp.vocab, words=row)
        doc.ents = [Span(doc, first, last, "NAME") for first, last in capitals(row)]
        examples.append(Example(Doc(nlp.vocab, words=row), doc))
        words += len(row)
        if words >= SPACY_WORDS:
            break
    optimizer = nlp.initialize(lambda: examples)
    batches = cycle([examples[at : at + BATCH] for at in range(0, len(examples), BATCH)])
    for batch in islice(batches, SPACY_UPDATES):
        nlp.update(batch, sgd=optimizer)
    nlp.to_disk(folder)
    yield {"words": words}


def capitals(words: Sequence[str]) -> list[tuple[int, int]]:
    """Return runs of words that begin with a capital, as (first, last + 1).

    >>> capitals(["They", "met", "Ana", "Lee", "in", "Bonn"])
    [(0, 1), (2, 4), (5, 6)]
    """
    runs: list[tuple[int, int]] = []
    for i, word in enumerate(words):
        if word[:1].isupper():
            runs.append((runs.pop()[0], i + 1) if runs and runs[-1][1] == i else (i, i + 1))
    return runs
