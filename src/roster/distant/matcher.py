"""Names of a lexicon in sentences: the automaton's hits, held to word borders and to the policy of each type.

Works on thousands of sentences at once. Each distinct word of the text is cut into pieces once; after that a
word costs a look-up and a few array operations. What is found is every name, overlapping ones too; which of
them become labels is decided in `conflicts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from roster.distant.filters import ALLOWED, MAX_WORDS
from roster.distant.lexicon import ANY_SHAPE, Lexicon, pair_hash
from roster.distant.pieces import (
    ALL_CAPITALS,
    HAS_CAPITAL,
    HAS_CASE,
    Array,
    cut,
    stretches,
)
from roster.distant.policy import Policies
from roster.distant.signs import Signs
from roster.distant.words import AT_BORDER, BREAK, INSIDE, PAST_POSSESSIVE, PAST_PUNCTUATION, Words

MAX_FORMS = 1 << 20
"""Distinct words of the text that are remembered; then the memory starts afresh."""
HEADLINE = 0.25
"""A sentence with a smaller share of its cased words in lower case is a headline: capitals say nothing."""

EXACT, UPPER_TOO, ANY, SMART = range(4)
CASES = {"exact": EXACT, "upper": UPPER_TOO, "insensitive": ANY, "smart": SMART}


MAX_CHUNK = 1 << 20
"""Words in one call of `find`, so that a match fits in 64 bits."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Entry `entry[i]` of the lexicon is the words `start[i]` to `end[i]` of sentence `sentence[i]`.

    Sorted by sentence, start, end and entry. `refused` counts, for each kind of the lexicon, matches that
    only the case policy refused.
    """

    sentence: Array
    start: Array
    end: Array
    entry: Array
    refused: Array


class Matcher:
    """Finds the names of a lexicon. `common`, from `common_words`, serves the case policy `smart`."""

    def __init__(self, lexicon: Lexicon, policies: Policies, common: Array | None = None):
        self.lexicon = lexicon
        if common is None:
            common = np.zeros(len(lexicon.arrays["vocabulary"]) + 1, bool)
        # Stop-words are common, also where the text is too short to show it.
        common[lexicon.numbers(cut(sorted(policies.default.stops), lexicon.form))] = True
        common[0] = False
        self.common = common
        rules = [policies.of(kind) for kind in lexicon.kinds]
        self._case = np.array([CASES[rule.case] for rule in rules], np.uint8)
        self._edges = np.array([rule.edges for rule in rules], bool)
        self._possessive = np.array([rule.possessive for rule in rules], bool)
        self._only_smart = bool((self._case == SMART).all()) and not lexicon.arrays["entry_flags"].any()
        self._words = Words(lexicon)

    def find(self, sentences: Sequence[Sequence[str]]) -> Matches:
        """All names in the sentences, each a row of words; at most `MAX_CHUNK` words at once."""
        text = self._read(sentences)
        lexicon, arrays = self.lexicon, self.lexicon.arrays
        start, end, name = self._hits(text.number)
        keep = (text.before[start] < INSIDE) & (text.after[end - 1] < INSIDE)
        start, end, name = start[keep], end[keep], name[keep]
        signs = Signs(text.case, text.letters, text.telling, self.common[text.number])
        refused = np.zeros(len(lexicon.kinds), np.int64)
        if self._only_smart:  # most hits are common words; they need not be looked at more closely
            shown = signs.shown(start, end)
            refused += self._kinds_of(name[~shown])
            start, end, name = start[shown], end[shown], name[shown]

        # From names to the entries behind them.
        first = arrays["name_starts"][name].astype(np.int64)
        count = arrays["name_starts"][name + 1] - first
        form, _ = stretches(first, count)
        start, end = np.repeat(start, count), np.repeat(end, count)
        entry = arrays["form_entry"][form]
        kind = arrays["entry_kind"][entry]
        before, after = text.before[start], text.after[end - 1]
        edges = self._edges[kind]
        bordered = (before == AT_BORDER) | edges
        bordered &= (
            (after == AT_BORDER)
            | ((after == PAST_PUNCTUATION) & edges)
            | ((after == PAST_POSSESSIVE) & self._possessive[kind])
        )
        fitting = bordered & self._case_fits(text, signs, start, end, form, entry, kind)
        refused += np.bincount(kind[bordered & ~fitting], minlength=len(lexicon.kinds))
        start, end, entry = start[fitting], end[fitting], entry[fitting]

        # Sorted, and once each: a name and its plural may be two hits of one entry on the same words.
        first, length = text.word[start], text.word[end - 1] - text.word[start]
        packed = first << 43 | length << 31 | entry
        packed.sort()
        packed = packed[np.append(True, packed[1:] != packed[:-1])[: len(packed)]]
        first, length, entry = packed >> 43, (packed >> 31) & (MAX_WORDS - 1), packed & ((1 << 31) - 1)
        sentence = np.searchsorted(text.sentence_first, first, side="right") - 1
        start = first - text.sentence_first[sentence]
        return Matches(sentence, start, start + length + 1, entry, refused)

    def count(self, sentences: Sequence[Sequence[str]]) -> tuple[Array, Array]:
        """How often each piece of the lexicon is in lower case, and capitalised where that says something."""
        text = self._read(sentences)
        size = len(self.common)
        lower = (text.case & (HAS_CASE | HAS_CAPITAL)) == HAS_CASE
        capital = ((text.case & HAS_CAPITAL) > 0) & text.telling
        return np.bincount(text.number[lower], minlength=size), np.bincount(
            text.number[capital], minlength=size
        )

    def _hits(self, numbers: Array) -> tuple[Array, Array, Array]:
        """(first piece, last piece + 1, name) of every hit of the automata."""
        alone = self.lexicon.arrays["single"][numbers]
        at = np.flatnonzero(alone >= 0)
        found, offset = [(at, at + 1, alone[at].astype(np.int64))], self.lexicon.singles
        numbers, place = self._promising(numbers)
        codes, width = self.lexicon.codes(numbers), self.lexicon.code_width
        for automaton in self.lexicon.automata:
            hits = automaton.find_overlapping(codes)
            rows = np.fromiter(chain.from_iterable(hits), np.int64, 3 * len(hits)).reshape(-1, 3)
            first, last = place[rows[:, 0] // width], place[rows[:, 1] // width - 1]
            found.append((first, last + 1, rows[:, 2] + offset))
            offset += self.lexicon.automaton_size
        start, end, name = (np.concatenate(columns) for columns in zip(*found, strict=True))
        return start, end, name

    def _promising(self, numbers: Array) -> tuple[Array, Array]:
        """The pieces that have a neighbour as in some name, with breaks between them, and where they stood.

        The automata need not run over the rest, which is most of a text.
        """
        pair = pair_hash(numbers[:-1], numbers[1:])
        bits = self.lexicon.arrays["pairs"][(pair >> np.uint64(3)).astype(np.int64)]
        near = (bits >> (pair & np.uint64(7)).astype(np.uint8)) & 1 > 0
        near &= (numbers[:-1] > 0) & (numbers[1:] > 0)
        keep = np.zeros(len(numbers), bool)
        keep[:-1] |= near
        keep[1:] |= near
        place = np.flatnonzero(keep)
        # A stretch ends where the next piece is another's neighbour.
        ends = np.flatnonzero(~near[place[:-1]]) + 1 if len(place) else place
        return np.insert(numbers[place], ends, 0), np.insert(place, ends, -1)

    def _kinds_of(self, names: Array) -> Array:
        """How many of the names have a first entry of each kind."""
        arrays = self.lexicon.arrays
        first = arrays["form_entry"][arrays["name_starts"][names]]
        return np.bincount(arrays["entry_kind"][first], minlength=len(self.lexicon.kinds))

    def _case_fits(
        self, text: _Text, signs: Signs, start: Array, end: Array, form: Array, entry: Array, kind: Array
    ) -> Array:
        """Whether the case of the text is one in which the entry may match."""
        policy = self._case[kind]
        smart, shown = policy == SMART, signs.shown(start, end)
        clear = shown & signs.capital_ends(start, end) & ~signs.one_short_word(start, end)
        fits = (policy == ANY) | ((policy == UPPER_TOO) & signs.only_capitals(start, end)) | (smart & clear)
        allowed = (self.lexicon.arrays["entry_flags"][entry] & ALLOWED) > 0
        # For the rest the shapes of the words must be compared, which takes longer.
        open_ = np.flatnonzero(~fits & (~smart | shown | allowed))
        if not len(open_):
            return fits
        start, end, form = start[open_], end[open_], form[open_]
        length = end - start
        piece, first = stretches(start, length)
        shapes = self.lexicon.arrays["shape_starts"][form]
        listed = self.lexicon.arrays["shapes"][stretches(shapes, length)[0]]
        shape = text.shape[piece]
        exact = np.logical_and.reduceat((shape == listed) | (listed == ANY_SHAPE), first)
        # A short word in capitals is an acronym, and no name that is listed otherwise; and vice versa.
        other = (shape == ALL_CAPITALS) != (listed == ALL_CAPITALS)
        acronym = np.logical_or.reduceat(other & text.telling[piece] & (text.letters[piece] > 0), first)
        also = smart[open_] & shown[open_] & signs.capital_ends(start, end) & ~acronym
        fits[open_] = exact | also
        return fits

    def _read(self, sentences: Sequence[Sequence[str]]) -> _Text:
        if len(self._words.forms) > MAX_FORMS:
            self._words = Words(self.lexicon)
        words: list[str] = []
        for row in sentences:
            words.extend(row)
            words.append(BREAK)
        table = self._words
        if len(words) > MAX_CHUNK:
            raise ValueError(f"at most {MAX_CHUNK} words at once, not {len(words)}")
        numbers = table.numbers(words)
        count = table.count.values[numbers]
        ends = np.cumsum(count)
        size = int(ends[-1]) if len(ends) else 0
        if size == len(numbers) and (count == 1).all():
            index, word = table.first.values[numbers], np.arange(size)
        else:
            word = np.repeat(np.arange(len(numbers)), count)
            index, _ = stretches(table.first.values[numbers], count)
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences)) + 1
        sentence_first = np.cumsum(lengths) - lengths
        sentence = np.repeat(np.arange(len(sentences)), lengths)[word]
        case = table.case.values[index]
        return _Text(
            number=table.number.values[index],
            shape=table.shape.values[index],
            case=case,
            letters=table.letters.values[index],
            before=table.before.values[index],
            after=table.after.values[index],
            word=word,
            sentence=sentence,
            sentence_first=sentence_first,
            telling=_telling(case, sentence, len(sentences)),
        )


@dataclass(frozen=True, slots=True)
class _Text:
    """Sentences as pieces: flat arrays, one row for each piece."""

    number: Array
    shape: Array
    case: Array
    letters: Array
    before: Array
    after: Array
    word: Array  # counted over all sentences, breaks included
    sentence: Array
    sentence_first: Array  # the first word of each sentence
    telling: Array  # whether a capital says anything here


def _telling(case: Array, sentence: Array, sentences: int) -> Array:
    """Not in the first cased word of a sentence, nor anywhere in a headline."""
    cased = (case & HAS_CASE) > 0
    lower = cased & ((case & HAS_CAPITAL) == 0)
    total = np.bincount(sentence[cased], minlength=sentences)
    small = np.bincount(sentence[lower], minlength=sentences)
    headline = small < HEADLINE * total
    at = np.flatnonzero(cased)
    telling = ~headline[sentence]
    first = np.ones(len(at), bool)
    first[1:] = sentence[at[1:]] != sentence[at[:-1]]
    telling[at[first]] = False
    return telling


def common_words(matcher: Matcher, chunks: Iterable[Sequence[Sequence[str]]]) -> Array:
    """The pieces that the text has more often in lower case than with a capital that says something."""
    lower = np.zeros(len(matcher.common), np.int64)
    capital = np.zeros(len(matcher.common), np.int64)
    for chunk in chunks:
        small, large = matcher.count(chunk)
        lower += small
        capital += large
    return np.asarray(lower > capital)
