"""Names of a lexicon in sentences: hits of the automata, within word borders and by the policy of their type.

Works on thousands of sentences at once. Each distinct word of the text is split into subtokens once; after
that a word costs a look-up and a few array operations. All names are matched, overlapping ones too; which of
them become labels is decided in `conflicts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from roster.distant.compiling.lexicon import ANY_SHAPE, Lexicon, pair_hash
from roster.distant.matching.case_evidence import CaseEvidence
from roster.distant.matching.text_arrays import TextArrays, to_arrays
from roster.distant.matching.word_table import AT_BORDER, INSIDE, PAST_POSSESSIVE, PAST_PUNCTUATION, WordTable
from roster.distant.policy.entry_stats import ACRONYM, LOWER, TINY
from roster.distant.policy.filters import ALLOWED, MAX_WORDS
from roster.distant.policy.policies import Policies
from roster.distant.subtokens import (
    ALL_CAPITALS,
    HAS_CAPITAL,
    HAS_CASE,
    Array,
    flat_ranges,
    to_subtokens,
)

MAX_FORMS = 1 << 20
"""Distinct words of the text that are remembered; then the memory starts afresh."""

EXACT, UPPER_TOO, ANY, SMART, LISTED, TERMS = range(6)
CASES = {
    "auto": SMART,  # until it is decided
    "exact": EXACT,
    "upper": UPPER_TOO,
    "insensitive": ANY,
    "smart": SMART,
    "listed": LISTED,
    "terms": TERMS,
}

IN_LOWER_CASE, COMMON, OTHERWISE, ALONE = range(4)
"""Why a match is refused: in lower case; a common word whose capital only begins a sentence or is in a
headline; written otherwise than listed; one word, where the policy requires several."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Entry `entry[i]` of the lexicon is the words `start[i]` to `end[i]` of sentence `sentence[i]`.

    Sorted by sentence, start, end and entry. `refused` has the entries of matches that the policy refused,
    with repetitions, and `why` the reasons.
    """

    sentence: Array
    start: Array
    end: Array
    entry: Array
    refused: Array
    why: Array


class Matcher:
    """Finds the names of a lexicon. `common`, from `common_words`, serves the case policy `smart`."""

    def __init__(self, lexicon: Lexicon, policies: Policies, common: Array | None = None):
        self.lexicon = lexicon
        if common is None:
            common = np.zeros(len(lexicon.arrays["vocabulary"]) + 1, bool)
        common = np.array(common)  # a copy: that of another process may be read-only
        # Stop-words are common, also where the text is too short to show it.
        common[lexicon.numbers(to_subtokens(sorted(policies.default.stops), lexicon.form))] = True
        common[0] = False
        self.common = common
        rules = [policies.of(kind) for kind in lexicon.kinds]
        flags = lexicon.arrays["entry_flags"]
        self._case = np.array([CASES[rule.case] for rule in rules], np.uint8)
        self._edges = np.array([rule.edges for rule in rules], bool)
        self._possessive = np.array([rule.possessive for rule in rules], bool)
        self._min_words = np.array([rule.min_words for rule in rules], np.int32)
        all_smart = bool((self._case == SMART).all()) and not (flags & ALLOWED).any()
        self._smart = None if all_smart else self._smart_names()
        self._words = WordTable(lexicon)

    def find(self, sentences: Sequence[Sequence[str]]) -> Matches:
        """All names in the sentences, each a row of words; at most `MAX_CHUNK` words at once."""
        text = self.arrays_of(sentences)
        arrays = self.lexicon.arrays
        start, end, name = self.hits(text.number)
        keep = (text.before[start] < INSIDE) & (text.after[end - 1] < INSIDE)
        start, end, name = start[keep], end[keep], name[keep]
        evidence = CaseEvidence(text.case, text.letters, text.informative, self.common[text.number])
        # Most hits are common words; those without a capital, of names that need one, are dropped first.
        rejected = ~evidence.shown(start, end)
        if self._smart is not None:
            rejected &= self._smart[name]
        refused = arrays["form_entry"][arrays["name_starts"][name[rejected]]]
        why = np.where(evidence.capitals(start[rejected], end[rejected]), COMMON, IN_LOWER_CASE)
        start, end, name = start[~rejected], end[~rejected], name[~rejected]

        # From names to the entries behind them.
        first = arrays["name_starts"][name].astype(np.int64)
        count = arrays["name_starts"][name + 1] - first
        form, _ = flat_ranges(first, count)
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
        enough = evidence.words(start, end) >= self._min_words[kind]
        enough |= (arrays["entry_flags"][entry] & ALLOWED) > 0
        fitting = bordered & enough & self._case_fits(text, evidence, start, end, form, entry, kind)
        out = np.flatnonzero(bordered & ~fitting)
        refused = np.concatenate([refused, entry[out]])
        why = np.concatenate([why, self._why(evidence, start[out], end[out], enough[out])])
        start, end, entry = start[fitting], end[fitting], entry[fitting]

        # Sorted, and once each: a name and its plural may be two hits of one entry on the same words.
        first, length = text.word[start], text.word[end - 1] - text.word[start]
        packed = first << 43 | length << 31 | entry
        packed.sort()
        packed = packed[np.append(True, packed[1:] != packed[:-1])[: len(packed)]]
        first, length, entry = packed >> 43, (packed >> 31) & (MAX_WORDS - 1), packed & ((1 << 31) - 1)
        sentence = np.searchsorted(text.sentence_first, first, side="right") - 1
        start = first - text.sentence_first[sentence]
        return Matches(sentence, start, start + length + 1, entry, refused, why.astype(np.uint8))

    def count(self, sentences: Sequence[Sequence[str]]) -> tuple[Array, Array]:
        """How often each subtoken of the lexicon is in lower case, and has an informative capital."""
        text = self.arrays_of(sentences)
        size = len(self.common)
        lower = (text.case & (HAS_CASE | HAS_CAPITAL)) == HAS_CASE
        capital = ((text.case & HAS_CAPITAL) > 0) & text.informative
        return np.bincount(text.number[lower], minlength=size), np.bincount(
            text.number[capital], minlength=size
        )

    def hits(self, numbers: Array) -> tuple[Array, Array, Array]:
        """(first subtoken, last subtoken + 1, name) of every hit of the automata."""
        alone = self.lexicon.arrays["single"][numbers]
        at = np.flatnonzero(alone >= 0)
        hit_columns, offset = [(at, at + 1, alone[at].astype(np.int64))], self.lexicon.singles
        numbers, place = self._promising(numbers)
        codes, width = self.lexicon.codes(numbers), self.lexicon.code_width
        for automaton in self.lexicon.automata:
            hits = automaton.find_overlapping(codes)
            rows = np.fromiter(chain.from_iterable(hits), np.int64, 3 * len(hits)).reshape(-1, 3)
            first, last = place[rows[:, 0] // width], place[rows[:, 1] // width - 1]
            hit_columns.append((first, last + 1, rows[:, 2] + offset))
            offset += self.lexicon.automaton_size
        start, end, name = (np.concatenate(columns) for columns in zip(*hit_columns, strict=True))
        return start, end, name

    def _promising(self, numbers: Array) -> tuple[Array, Array]:
        """Only the subtokens that are neighbours in some name, separated by breaks, and their positions.

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
        # A stretch ends where the next subtoken is another's neighbour.
        ends = np.flatnonzero(~near[place[:-1]]) + 1 if len(place) else place
        return np.insert(numbers[place], ends, 0), np.insert(place, ends, -1)

    def _smart_names(self) -> Array:
        """Names that match only with a capital that shows a name, whatever entry is behind them."""
        arrays = self.lexicon.arrays
        flags = arrays["entry_flags"]
        policy = self._case[arrays["entry_kind"]]
        entries = (policy == SMART) | ((policy == LISTED) & ((flags & LOWER) == 0))
        entries &= (flags & ALLOWED) == 0
        forms = entries[arrays["form_entry"]]
        starts = arrays["name_starts"][:-1]
        return np.logical_and.reduceat(forms, starts) if len(starts) else forms

    def _why(self, evidence: CaseEvidence, start: Array, end: Array, enough: Array) -> Array:
        """Why matches were refused."""
        lower, shown = ~evidence.capitals(start, end), evidence.shown(start, end)
        return np.select([~enough, lower & ~shown, ~shown], [ALONE, IN_LOWER_CASE, COMMON], OTHERWISE)

    def _case_fits(
        self,
        text: TextArrays,
        evidence: CaseEvidence,
        start: Array,
        end: Array,
        form: Array,
        entry: Array,
        kind: Array,
    ) -> Array:
        """Whether the case of the text is one in which the entry may match."""
        policy, flags = self._case[kind], self.lexicon.arrays["entry_flags"][entry]
        lower = (policy == LISTED) & ((flags & LOWER) > 0)
        smart, term = (policy == SMART) | ((policy == LISTED) & ~lower), (policy == TERMS) | lower
        shown = evidence.shown(start, end)
        clear = shown & evidence.capital_ends(start, end) & ~evidence.one_short_word(start, end)
        fits = (
            (policy == ANY) | ((policy == UPPER_TOO) & evidence.only_capitals(start, end)) | (smart & clear)
        )
        # `aids` is not AIDS, unless the sentence has no capitals at all.
        acronym = ((flags & ACRONYM) > 0) & ~text.small[start]
        fits |= term & ~acronym & ((flags & TINY) == 0)
        allowed = (flags & ALLOWED) > 0
        # For the rest the shapes of the words are compared, which takes longer.
        open_ = np.flatnonzero(~fits & (~smart | shown | allowed))
        if not len(open_):
            return fits
        start, end, form = start[open_], end[open_], form[open_]
        length = end - start
        subtoken, first = flat_ranges(start, length)
        shapes = self.lexicon.arrays["shape_starts"][form]
        listed = self.lexicon.arrays["shapes"][flat_ranges(shapes, length)[0]]
        shape = text.shape[subtoken]
        exact = np.logical_and.reduceat((shape == listed) | (listed == ANY_SHAPE), first)
        # A short word in capitals is an acronym, and no name that is listed otherwise; and vice versa.
        other = (shape == ALL_CAPITALS) != (listed == ALL_CAPITALS)
        differs = np.logical_or.reduceat(
            other & text.informative[subtoken] & (text.letters[subtoken] > 0), first
        )
        also = smart[open_] & shown[open_] & evidence.capital_ends(start, end) & ~differs
        fits[open_] = exact | also
        return fits

    def arrays_of(self, sentences: Sequence[Sequence[str]]) -> TextArrays:
        """The sentences as subtokens; at most `MAX_CHUNK` words."""
        if len(self._words.number_of) > MAX_FORMS:
            self._words = WordTable(self.lexicon)
        return to_arrays(self._words, sentences)


def common_words(matcher: Matcher, chunks: Iterable[Sequence[Sequence[str]]]) -> Array:
    """The subtokens that the text has more often in lower case than with an informative capital."""
    lower = np.zeros(len(matcher.common), np.int64)
    capital = np.zeros(len(matcher.common), np.int64)
    for chunk in chunks:
        small, large = matcher.count(chunk)
        lower += small
        capital += large
    return np.asarray(lower > capital)
