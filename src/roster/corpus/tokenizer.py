"""Tokenization and sentence splitting, with exact character offsets.

Every character other than white space belongs to exactly one word, also control and zero-width characters;
only a byte order mark at the start counts as white space. The rules are based on Unicode categories and do
not depend on the language, apart from `rules.Rules`. Time is linear in the text: repeats are of a single
class and possessive, or nothing after them can fail. (Possessive repeats of a group are not used: they match
wrongly in Python 3.11 before 3.11.5.)
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise

from roster.corpus.rules import ENGLISH, Rules
from roster.corpus.sentence import Sentence, Span

Offsets = list[tuple[int, int]]
CharSpan = tuple[int, int, str]

# Scripts without spaces between words: every character (with its marks) is a word, so that boundaries of
# names are boundaries of words.
UNSPACED = (
    "\u0e01-\u0e30\u0e32-\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2-\u0eb3\u0ec0-\u0ec6\u1000-\u102a\u1780-\u17b3"
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
JOINERS = "\u00ad\u200c\u200d\u2060\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
APOSTROPHES = "'\u2019\u02bc\uff07"
HYPHENS = "\\-\u2010\u2011"

ENDS = frozenset(".!?\u2026\u061f\u06d4\u0964\u0965\u203c\u2047\u2048\u2049\uff0e")
ENDS_WITHOUT_SPACE = frozenset("\u3002\uff01\uff1f\uff61")
OPENING = frozenset("\"'([{\u00a1\u00bf\u00ab\u2018\u201c\u201e\u2039\u300c\u300e#@-\u2013\u2014*")
CLOSING = frozenset("\"')]}\u00bb\u2019\u201d\u203a\u300d\u300f\u3011\u3009\u300b\uff09")
BYTE_ORDER_MARK = "\ufeff"
LONGEST = 8192
"""Largest number of words in a sentence of a text: it bounds the memory for a text without full stops."""
NEWLINES = frozenset("\n\r\x0b\x0c\x85\u2028\u2029")


@cache
def _classes() -> tuple[str, str, str]:
    """Character classes for `re`, which has no Unicode categories: marks, word characters, capitals."""
    unspaced = re.compile(f"[{UNSPACED}]")
    marks, words, capitals = [], [], []
    # Above the second plane there are only ideographs, which UNSPACED has, and variation selectors.
    for c in map(chr, range(0x20000)):
        category = unicodedata.category(c)
        if category[0] == "M":
            marks.append(c)
        elif category[0] in "LN" and not unspaced.match(c):
            words.append(c)
        if category in ("Lu", "Lt"):
            capitals.append(c)
    mark = _ranges(marks) + JOINERS + "\U000e0100-\U000e01ef"
    return mark, _ranges(words) + "_" + mark, _ranges(capitals)


def _ranges(chars: list[str]) -> str:
    """Sorted characters (none special inside brackets) as ranges: `abcx` -> `a-cx-x`."""
    parts: list[list[str]] = []
    for c in chars:
        if parts and ord(c) == ord(parts[-1][1]) + 1:
            parts[-1][1] = c
        else:
            parts.append([c, c])
    return "".join(f"{a}-{b}" for a, b in parts)


@cache
def _pattern(rules: Rules) -> re.Pattern[str]:
    mark, word, capital = _classes()
    clitic = "(?!)"
    if rules.clitics:
        ends = rf"(?![{word}]|[{HYPHENS}][{word}])"
        clitic = f"[{APOSTROPHES}](?i:{'|'.join(map(re.escape, rules.clitics))}){ends}"
    letter = rf"(?=[^\W\d_])[{word}][{mark}]*+"
    # Not after a letter and a period: a second match from there would fail, too, in quadratic time.
    acronym = rf"(?<![{word}]\.){letter}\.(?:{letter}\.)+(?!{letter}\.)(?:{letter}(?![{word}]))?(?![{word}])"
    inner = (
        rf"(?:(?!{clitic})[{APOSTROPHES}{HYPHENS}&](?=[{word}])"  # don't, Swiss-based, AT&T
        rf"|\.(?=[{word}])(?![{capital}](?!\.))"  # example.com, 3.5, Ph.D., but not "end.Next"
        r"|(?<=\d)[.,:/](?=\d))"  # 1,000 and 10:30
    )
    segment = rf"(?:{acronym}|[{word}]++)"
    return re.compile(
        rf"(?=\S)(?:{clitic}"
        rf"|{segment}(?:{inner}{segment})*"
        rf"|[{UNSPACED}][{mark}]*+"
        r"|[\U0001f1e6-\U0001f1ff]{2}"  # a flag is two of these
        r"|\.++|-++|!++|\?++|\*++|=++|~++|\u2014++|\u2013++|\u2026++"
        rf"|\S[{mark}]*+(?:(?<=\u200d)[^\s{word}{UNSPACED}][{mark}]*+)*)"  # symbols; emoji joined into one
    )


def tokenize(text: str, cuts: Iterable[int] = (), rules: Rules = ENGLISH) -> Offsets:
    """(start, end) of every word. Words are also cut at the character positions `cuts`.

    >>> text = "Mr. Northgate's U.S. arm don't pay 3.5%."
    >>> [text[a:b] for a, b in tokenize(text)]
    ['Mr.', 'Northgate', "'s", 'U.S.', 'arm', "don't", 'pay', '3.5', '%', '.']
    """
    return _cut(list(_words(text, rules)), cuts)


def _words(text: str, rules: Rules) -> Iterator[tuple[int, int]]:
    length, last = len(text), 0
    for match in _pattern(rules).finditer(text, _begin(text)):
        start, end = match.span()
        if start < last:  # the period that belongs to an abbreviation
            start = last
            if start >= end:
                continue
        if end < length and text[end] == "." and _keeps_period(text, start, end, rules):
            end += 1
        yield start, end
        last = end


def _begin(text: str) -> int:
    return 1 if text.startswith(BYTE_ORDER_MARK) else 0


def _keeps_period(text: str, start: int, end: int, rules: Rules) -> bool:
    """Whether the period at `end` belongs to the word before it: `Mr.`, and the initial in `J. Smith`."""
    if text[end + 1 : end + 2] == ".":
        return False
    if end - start == 1:
        return text[start].isupper() and text[end + 1 : end + 2] == " " and text[end + 2 : end + 3].isupper()
    return text[start:end].lower() in rules.abbreviations


def _cut(offsets: Offsets, cuts: Iterable[int]) -> Offsets:
    positions = sorted(set(cuts))
    if not positions:
        return offsets
    result: Offsets = []
    at = 0
    for start, end in offsets:
        while at < len(positions) and positions[at] <= start:
            at += 1
        while at < len(positions) and positions[at] < end:
            result.append((start, positions[at]))
            start = positions[at]
            at += 1
        result.append((start, end))
    return result


def split(
    text: str,
    doc: str = "",
    spans: Iterable[CharSpan] | None = None,
    offsets: Sequence[tuple[int, int]] | None = None,
    rules: Rules = ENGLISH,
) -> list[Sentence]:
    """The sentences of a text, which they share. A text without words is one sentence without words.

    `spans` are (start, end, label) in characters, of non-blank parts of the text. Words are split at their
    boundaries, and no sentence ends inside one. `offsets` gives the words if they are known.

    >>> for s in split("Swiss Bank Corp. sets warrants. It rains.", spans=[(0, 16, "ORG")]):
    ...     print(s.words, s.spans)
    ('Swiss', 'Bank', 'Corp.', 'sets', 'warrants', '.') (Span(start=0, end=3, label='ORG'),)
    ('It', 'rains', '.') ()
    """
    if spans is None and offsets is None:
        return list(sentences(text, doc, rules))
    known = None if spans is None else list(spans)
    if offsets is None:
        cuts = [cut for start, end, _ in known or () for cut in trimmed(text, start, end)]
        offsets = tokenize(text, cuts, rules)
    located = None if known is None else locate(text, offsets, known)
    borders = [0, *sentence_starts(text, offsets, located or ()), len(offsets)]
    return at_borders(text, offsets, borders, located, doc)


def sentences(text: str, doc: str = "", rules: Rules = ENGLISH) -> Iterator[Sentence]:
    """What `split` gives without spans, one sentence at a time: only one is in memory.

    >>> [s.words for s in sentences("It rains. Ada ran.")]
    [('It', 'rains', '.'), ('Ada', 'ran', '.')]
    """
    part: Offsets = []
    for word, begins in _marked(text, _words(text, rules)):
        if begins:
            yield _sentence(text, part, doc)
            part = []
        part.append(word)
    yield _sentence(text, part, doc)


def _sentence(text: str, offsets: Sequence[tuple[int, int]], doc: str) -> Sentence:
    return Sentence(tuple(text[a:b] for a, b in offsets), tuple(offsets), text, doc=doc)


def at_borders(
    text: str,
    offsets: Sequence[tuple[int, int]],
    borders: Sequence[int],
    spans: Sequence[Span] | None,
    doc: str,
) -> list[Sentence]:
    """Sentences from the first border to the last, with their part of the (sorted) spans."""
    found, at = list[Sentence](), 0
    for first, last in pairwise(borders):
        inside: list[Span] = []
        while spans is not None and at < len(spans) and spans[at].start < last:
            span = spans[at]
            if span.end > last:
                raise ValueError(
                    f"span at character {offsets[span.start][0]} goes over the end of a sentence"
                )
            inside.append(Span(span.start - first, span.end - first, span.label))
            at += 1
        sentence = _sentence(text, offsets[first:last], doc)
        found.append(sentence if spans is None else sentence.with_spans(inside))
    return found


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without white space at its ends. Raises ValueError if nothing is left."""
    if not 0 <= start < end <= len(text):
        raise ValueError(f"span {start} to {end} is empty or outside a text of {len(text)} characters")
    begin = max(start, _begin(text))
    inside = text[begin:end]
    if not inside or inside.isspace():
        raise ValueError(f"span {start} to {end} holds only white space")
    return end - len(inside.lstrip()), begin + len(inside.rstrip())


def locate(text: str, offsets: Sequence[tuple[int, int]], spans: Iterable[CharSpan]) -> list[Span]:
    """Character spans to spans of words, in order. Raises ValueError for one that splits a word."""
    starts, ends = [a for a, _ in offsets], [b for _, b in offsets]
    located = []
    for exact_start, exact_end, label in spans:
        start, end = exact_start, exact_end
        for _ in range(2):
            first, last = bisect_left(starts, start), bisect_left(ends, end)
            if first <= last < len(ends) and starts[first] == start and ends[last] == end:
                located.append(Span(first, last + 1, label))
                break
            start, end = trimmed(text, exact_start, exact_end)
        else:
            raise ValueError(f"span {exact_start} to {exact_end} does not begin and end with a word")
    return sorted(located)


def sentence_starts(text: str, offsets: Sequence[tuple[int, int]], spans: Iterable[Span] = ()) -> list[int]:
    """Indices of the words that begin a sentence, without the first, and without those inside `spans`.

    >>> s = Sentence.from_words(["Ada", "ran", ".", "She", "won", "."])
    >>> sentence_starts(s.text, s.offsets)
    [3]
    """
    borders = [i for i, (_, begins) in enumerate(_marked(text, offsets)) if begins]
    for span in spans:
        del borders[bisect_right(borders, span.start) : bisect_left(borders, span.end)]
    return borders


def starts_within(several: Sequence[Sentence]) -> Callable[[int], list[int]]:
    """`sentence_starts` of a sentence by its number: a list of words given as one can be several."""
    return lambda i: sentence_starts(several[i].text, several[i].offsets)


def _marked(text: str, words: Iterable[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], bool]]:
    """Each word, and whether it begins a sentence; not the first."""
    last = ending = None  # the word before, and the one before the closing quotes and brackets, if any
    touches = False  # whether `last` follows the word before it without a gap
    length = 0
    for word in words:
        if last is None:
            yield word, False
        else:
            if ending is None or not touches or not _closes(text, last):
                ending = last
            begins = length == LONGEST or _begins(text, last, word, text[ending[0] : ending[1]])
            if begins:
                length = 0
            yield word, begins
            touches = last[1] == word[0]
        last = word
        length += 1


def _begins(text: str, last: tuple[int, int], word: tuple[int, int], ending: str) -> bool:
    """Whether `word` begins a sentence; `ending` is the last word before it that is not a closing quote."""
    end, start = last[1], word[0]
    first, mark = text[start : start + 1], ending[-1:]
    gap = text[end:start]
    if gap and not NEWLINES.isdisjoint(gap):
        # A blank line always ends a sentence; a single one not where the text goes on in lower case.
        return not first.islower() or gap.count("\n") > 1
    if mark in ENDS_WITHOUT_SPACE:
        return not _closes(text, word) and first not in ENDS_WITHOUT_SPACE
    if not gap or mark not in ENDS:
        return False
    if mark == "." and ending.strip("."):  # Mr., U.S., J.
        return False
    return not first.islower() and (unicodedata.category(first or " ")[0] not in "PM" or first in OPENING)


def _closes(text: str, word: tuple[int, int]) -> bool:
    start, end = word
    return end - start == 1 and text[start] in CLOSING
