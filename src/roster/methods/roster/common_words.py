"""Labels of common words that begin a sentence: `The`, `He`, `One`.

A dictionary made from a knowledge base lists such words as names of songs, ships and tribes. Matching by case
does not refuse them at the start of a sentence, where every word has a capital. They can be a tenth of all
labels, and a model learns them easily, because the labels are consistent. The text itself gives them away: a
name has its capital everywhere, a common word only at the start of a sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from roster.corpus.sentence import Sentence, Span

CAPITALISED = 0.95
"""Types of which fewer labels begin with a capital (dates, quantities, diseases) are left alone."""
MOST_TOLD = 5
"""Words that the log names."""


def common_words(sentences: Iterable[Sentence]) -> dict[str, int]:
    """Words labelled as names that the text uses as common words, with the number of these labels.

    Such a label is one word with a capital, of a type whose labels are nearly all written with a capital. At
    least half of the word's labels are at the start of a sentence, and the text has it in lower case, without
    a label, more often than it is labelled. Most frequent first.

    >>> there = [Sentence.from_words(["The", "end"], [Span(0, 1, "MISC")])]
    >>> elsewhere = [Sentence.from_words(["by", "the", "sea", "of", "the", "Rhine"], [Span(5, 6, "LOC")])]
    >>> common_words([*there, *elsewhere])
    {'The': 1}
    """
    labelled, first, lower = Counter[str](), Counter[str](), Counter[str]()
    of_type, capitals = Counter[str](), Counter[str]()
    candidates: list[tuple[str, str, bool]] = []
    for sentence in sentences:
        spans = sentence.spans or ()
        inside = {i for span in spans for i in range(span.start, span.end)}
        lower.update(w for i, w in enumerate(sentence.words) if i not in inside and w == w.lower())
        start = _first_word(sentence)
        for span in spans:
            word = sentence.words[span.start]
            of_type[span.label] += 1
            capitals[span.label] += not word[0].islower()
            if _one_word(span) and _capitalised(word):
                candidates.append((word, span.label, span.start == start))
    for word, label, at_start in candidates:
        if capitals[label] >= CAPITALISED * of_type[label]:
            labelled[word] += 1
            first[word] += at_start
    return {
        word: count
        for word, count in sorted(labelled.items(), key=lambda item: (-item[1], item[0]))
        if 2 * first[word] >= count and lower[word.lower()] > count
    }


def skip_common_words(
    sentences: Sequence[Sentence], sure: Sequence[bool]
) -> tuple[list[Sentence], dict[str, int]]:
    """Makes labels of common words phrases of unknown type: they are in no loss, and no longer labels.

    Labels of sentences that are `sure` stay, and those of a type that would lose all of its labels. Returns
    the sentences, and how many labels of which words were skipped.
    """
    noisy = [s for s, known in zip(sentences, sure, strict=True) if not known]
    words = common_words(noisy)
    types = {x.label for s in noisy for x in s.spans or () if not _is_of(s, x, words)}
    skipped, changed = Counter[str](), []
    for sentence, known in zip(sentences, sure, strict=True):
        spans = sentence.spans or ()
        gone = {x for x in spans if not known and x.label in types and _is_of(sentence, x, words)}
        if gone:
            skipped.update(sentence.words[x.start] for x in gone)
            unknown = [*sentence.unknown, *(Span(x.start, x.end, "") for x in gone)]
            sentence = sentence.with_spans([x for x in spans if x not in gone], sorted(unknown))
        changed.append(sentence)
    return changed, dict(skipped.most_common())


def describe_skipped(skipped: Mapping[str, int]) -> str:
    """For the log.

    >>> describe_skipped({"The": 156, "He": 68})
    '224 labels on common words at the start of sentences are not used: The (156), He (68)'
    """
    told = [f"{word} ({count})" for word, count in list(skipped.items())[:MOST_TOLD]]
    more = [f"{len(skipped) - MOST_TOLD} other words"] if len(skipped) > MOST_TOLD else []
    return (
        f"{sum(skipped.values())} labels on common words at the start of sentences are not used: "
        f"{', '.join([*told, *more])}"
    )


def _first_word(sentence: Sentence) -> int:
    """Behind quotation marks, brackets and the like."""
    return next((i for i, word in enumerate(sentence.words) if any(map(str.isalnum, word))), 0)


def _one_word(span: Span) -> bool:
    return span.end == span.start + 1


def _capitalised(word: str) -> bool:
    """One capital, and then none: `The` and `A`, but not `US`.

    >>> [_capitalised(word) for word in ("The", "A", "US", "the", "1st", "iPod")]
    [True, True, False, False, False, False]
    """
    return word[0].isupper() and word[1:] == word[1:].lower()


def _is_of(sentence: Sentence, span: Span, words: Mapping[str, int]) -> bool:
    return _one_word(span) and sentence.words[span.start] in words
