"""Context-free augmentations: every labelled name is replaced by another of its type, whatever is around it.

This is what the paper sets its own augmentations against (Section 3.3). It needs labels, and changes nothing
but labelled names. A replacement has as many words as the name, so that words keep their numbers; it may have
another number of sub-words, so the sentences are tokenised again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roster.backbone.words import AnyWordEncoder
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import tokenize
from roster.distant.entries import read_entries
from roster.errors import DataError
from roster.methods.roster.augmentation import encode_again
from roster.model.batches import DeviceCorpus
from roster.training.objective import Models, derive_seed

Words = tuple[str, ...]
Names = Mapping[tuple[str, int], Sequence[Words]]
"""Of each type and number of words, the distinct names, in an order that does not depend on chance."""


def labelled_names(sentences: Iterable[Sentence]) -> Names:
    """The names that the labels of a corpus have found in it.

    >>> from roster.corpus.sentence import Span
    >>> labelled_names([Sentence.from_words(["Anna", "Berg", "left"], [Span(0, 2, "PER")])])
    {('PER', 2): [('Anna', 'Berg')]}
    """
    return _grouped((span.label, s.words[span.start : span.end]) for s in sentences for span in s.spans or ())


def dictionary_names(path: str, types: Sequence[str]) -> Names:
    """The names of a dictionary file, cut into words as raw text is."""
    found = _grouped(
        (kind, tuple(surface[a:b] for a, b in tokenize(surface)))
        for batch in read_entries(path)
        for surface, kind in zip(batch.surfaces, batch.kinds, strict=True)
        if kind in types
    )
    if not found:
        raise DataError(f"no name has one of the types {', '.join(types)}", path=path)
    return found


def _grouped(names: Iterable[tuple[str, Words]]) -> Names:
    found: dict[tuple[str, int], set[Words]] = {}
    for label, words in names:
        found.setdefault((label, len(words)), set()).add(words)
    return {key: sorted(found[key]) for key in sorted(found)}


def replace_names(sentence: Sentence, names: Names, generator: np.random.Generator) -> Words:
    """The words of a sentence with another name in the place of each labelled one, where there is another."""
    words = list(sentence.words)
    for span in sentence.spans or ():
        old = sentence.words[span.start : span.end]
        others = names.get((span.label, len(old)), ())
        if len(others) > (old in others):
            while (new := others[int(generator.integers(len(others)))]) == old:
                pass
            words[span.start : span.end] = new
    return tuple(words)


@dataclass(frozen=True)
class NameAugmenter:
    names: Names
    corpus: DeviceCorpus
    sentences: Sequence[Sentence]
    encoder: AnyWordEncoder
    seed: int

    def __call__(self, models: Models, epoch: int) -> DeviceCorpus:
        generator = np.random.default_rng(derive_seed(self.seed, "augmentation", epoch))
        new = [replace_names(sentence, self.names, generator) for sentence in self.sentences]
        return encode_again(self.corpus, self.encoder, [s.words for s in self.sentences], new)
