"""Stretches of words that may be names: the paper's first step, before a knowledge base gives them types.

Both ways to find them, by capital letters and by spaCy's tags, end in the same place: one letter for each
word (`NAME`, `LINK`, ...), and one pattern over these letters, which joins names over links.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from roster.corpus.sentence import Sentence
from roster.distant.matching.candidate_rules import ENGLISH_CANDIDATES, CandidateRules, word_set
from roster.distant.matching.spacy_pipeline import check_words, load_pipeline, spaces_after, unusable
from roster.errors import ConfigError

Candidate = tuple[int, int]
"""First word and the word after the last."""


# One letter for each word. A sentence, a quotation or the text of a list item may begin after OPEN and SIGN.
NAME, TITLE, FUNCTION, LINK, SIGN, ARTICLE, OPEN, OTHER = "NTFLSAO."
_CAPITALS = f"[{NAME}{TITLE}{FUNCTION}]+"
_OPENER = f"(?<![^{OPEN}{SIGN}]){FUNCTION}"
_BETWEEN = f"(?:[{LINK}{SIGN}]{{1,2}}|{LINK}{ARTICLE})"
_RUN = re.compile(f"(?:({_OPENER})|(?!{_OPENER}))({_CAPITALS}(?:{_BETWEEN}{_CAPITALS})*)")
_SEPARATOR = re.compile(f"[{LINK}{SIGN}{ARTICLE}]+|{TITLE}+")
_LINKS = LINK + SIGN + ARTICLE

# Words of a part of a run, at most: what keeps the number of candidates linear in the words.
LONGEST_PART = 10
LONGEST_PART_IN_CAPITALS = 3

KNOWN_WORDS = 1 << 18
PENN_PROPER_NOUNS = frozenset({"NNP", "NNPS"})
# Factories of components that give no part of speech; those named merge_ would join the corpus's words.
UNNEEDED = word_set(
    """
    ner beam_ner parser beam_parser senter sentencizer lemmatizer trainable_lemmatizer entity_linker
    entity_ruler span_ruler future_entity_ruler span_finder spancat spancat_singlelabel
    textcat textcat_multilabel merge_entities merge_noun_chunks merge_subtokens
    """
)
_STRAIGHT = str.maketrans("\u2019\u02bc\uff07", "'''")


def rule_candidates(
    words: Sequence[str], rules: CandidateRules = ENGLISH_CANDIDATES, *, nested: bool = False
) -> list[Candidate]:
    """Runs of words with a capital letter, joined over connectors; nothing but the words is needed.

    A function word that opens the sentence is left out. In a sentence all in capitals, every run of words
    that are not function words is a candidate. Scripts without capitals have no candidates.

    >>> words = "The Bank of England lent Ada J. Pym 's firm 3 pounds".split()
    >>> rule_candidates(words)
    [(1, 4), (5, 8)]

    With `nested`, also what a knowledge base may have instead: the run with the function word that opens it,
    the parts between connectors, what stands before and after a title, and in a sentence all in capitals
    every part of up to three words.

    >>> [" ".join(words[a:b]) for a, b in rule_candidates(words, nested=True)]
    ['The Bank', 'The Bank of England', 'Bank', 'Bank of England', 'England', 'Ada J. Pym']
    """
    capitals = "".join(words).isupper()
    codes = "".join(map(_codes_by_word(rules, capitals).__getitem__, words))
    return _runs(codes, nested=nested, capitals=capitals)


def spacy_candidates(
    sentences: Iterable[Sentence],
    pipeline: str | Path,
    batch_size: int = 256,
    *,
    rules: CandidateRules = ENGLISH_CANDIDATES,
    nested: bool = False,
) -> Iterator[list[Candidate]]:
    """Runs of proper nouns, joined over connectors, for each sentence in turn.

    `pipeline` is the name of an installed spaCy pipeline or a folder; it is loaded at once, so that an error
    comes before the corpus is read. It tags the corpus's own words, its tokenizer is not used. Of the rules,
    `function_words` are not used: the tags are more reliable.
    """
    nlp, Doc = _tagger(pipeline)
    docs = ((Doc(nlp.vocab, words=s.words, spaces=spaces_after(s)), len(s)) for s in sentences)

    def tagged() -> Iterator[list[Candidate]]:
        for doc, length in nlp.pipe(docs, as_tuples=True, batch_size=batch_size):
            check_words(pipeline, nlp, doc, length)
            yield _runs("".join(_tagged_code(token, rules) for token in doc), nested=nested)

    return tagged()


def _runs(codes: str, *, nested: bool, capitals: bool = False) -> list[Candidate]:
    candidates: list[Candidate] = []
    for match in _RUN.finditer(codes):
        start, end = match.span(2)
        if NAME not in match[2] and TITLE not in match[2]:
            continue
        if nested:
            opening = start if match[1] is None else start - 1
            candidates += _parts(codes, opening, start, end, capitals)
        else:
            candidates.append((start, end))
    return candidates


def _parts(codes: str, opening: int, start: int, end: int, capitals: bool) -> list[Candidate]:
    """The run from `start` to `end` and the parts of it that may be names, sorted.

    A part begins and ends at an end of the run or at a connector or title, in capitals at any word; never
    with a connector. `opening` is `start`, or where a function word opens the run.
    """
    starts: Sequence[int] = range(start, end)
    ends: Sequence[int] = range(start + 1, end + 1)
    longest = LONGEST_PART_IN_CAPITALS
    if not capitals:
        separators = [match.span() for match in _SEPARATOR.finditer(codes, start, end)]
        if not separators and opening == start:
            return [(start, end)]
        starts = sorted({opening, start, *(after for _, after in separators)} - {end})
        ends = sorted({*(before for before, _ in separators), end} - {start})
        longest = LONGEST_PART
    parts = {(start, end)}
    for first in starts:
        if codes[first] in _LINKS:
            continue
        for last in ends[bisect_right(ends, first) :]:
            if last - first > longest:
                break
            if codes[last - 1] not in _LINKS and NAME in codes[first:last]:
                parts.add((first, last))
    return sorted(parts)


class _CodesByWord(dict[str, str]):
    """The letter of each word, computed at its first use."""

    def __init__(self, rules: CandidateRules, capitals: bool):
        super().__init__()
        self._rules, self._capitals = rules, capitals

    def __missing__(self, word: str) -> str:
        if len(self) >= KNOWN_WORDS:
            self.clear()
        code = self[word] = _code(word, self._rules, self._capitals)
        return code


@lru_cache(maxsize=16)
def _codes_by_word(rules: CandidateRules, capitals: bool) -> _CodesByWord:
    return _CodesByWord(rules, capitals)


def _code(word: str, rules: CandidateRules, capitals: bool) -> str:
    """The letter of a word by its look; `capitals` where the whole sentence is in capitals."""
    lower = _lower(word)
    link = _link_code(word, lower if capitals else word, rules)
    if link is not None:
        return link
    if not _has_letter(word):
        return OTHER if word == "," else OPEN
    if not any(c.isupper() or c.istitle() for c in word):
        return OTHER
    if lower in rules.function_words:
        if capitals:
            return OTHER
        if word[1:] == word[1:].lower():  # "WHO" and "IT" in a sentence in small letters are names
            return FUNCTION
    return TITLE if lower in rules.titles else NAME


def _tagged_code(token: Any, rules: CandidateRules) -> str:
    """The letter of a word by its tag. A sign or number among proper nouns joins them, but is no end."""
    lower = _lower(token.text)
    proper = token.pos_ == "PROPN" or token.tag_ in PENN_PROPER_NOUNS
    if proper and lower not in rules.clitics:
        if not _has_letter(token.text):
            return SIGN
        return TITLE if lower in rules.titles else NAME
    return _link_code(token.text, lower, rules) or OTHER


def _link_code(word: str, key: str, rules: CandidateRules) -> str | None:
    """The letter of a word that the rules list as `key`: part of a name only between others, or never."""
    if _lower(word) in rules.clitics:
        return OTHER
    if key in rules.connectors:
        return LINK if _has_letter(word) else SIGN
    return ARTICLE if key in rules.articles else None


def _lower(word: str) -> str:
    return word.lower().translate(_STRAIGHT)


def _has_letter(word: str) -> bool:
    return any(map(str.isalpha, word))


@lru_cache(maxsize=2)
def _tagger(pipeline: str | Path) -> tuple[Any, Any]:
    """The pipeline, ready to tag and with no component that is not needed for it, and spaCy's `Doc`.

    Loading one takes a second or more, and a corpus is labelled chunk by chunk.
    """
    nlp, Doc = load_pipeline(pipeline, "finding proper nouns")
    try:
        nlp.select_pipes(disable=_unneeded(nlp))
        sample = nlp(Doc(nlp.vocab, words=["Ada", "sleeps"]))
    except (OSError, ValueError, ImportError) as error:
        raise unusable(pipeline, error) from error
    labels = {label for name in nlp.pipe_names for label in nlp.pipe_labels.get(name, ())}
    if not sample.has_annotation("POS") and not labels & PENN_PROPER_NOUNS:
        raise ConfigError(
            f"the spaCy pipeline {str(pipeline)!r} marks no proper nouns: choose one with a morphologizer "
            f"or a tagger with the tags NNP and NNPS (this one has: {', '.join(nlp.pipe_names) or 'nothing'})"
        )
    return nlp, Doc


def _unneeded(nlp: Any) -> list[str]:
    """Components that set no part of speech and no attribute that another component requires."""
    metas = {name: nlp.get_pipe_meta(name) for name in nlp.pipe_names}
    kept = [meta for meta in metas.values() if meta.factory not in UNNEEDED]
    required = {attribute for meta in kept for attribute in meta.requires}
    return [
        name
        for name, meta in metas.items()
        if meta.factory in UNNEEDED and not required.intersection(meta.assigns)
    ]
