"""Token patterns as spaCy writes them: one table of conditions for each word, with operators.

    tokens = [{LOWER = "flight"}, {IS_UPPER = true, LENGTH = 2}, {IS_DIGIT = true, OP = "+"}]

spaCy itself decides whether a word meets a table's conditions. The operators are followed here, all ways at
once: spaCy's own search keeps every way apart, and three `*` in a row over a long sentence take it minutes.
For the same reason REGEX is run by RE2 and not by Python's `re`.

Only what a word shows by itself can be asked for. POS, LEMMA and the like need a trained pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from roster.distant.matching.patterns.regex import compiled
from roster.errors import ConfigError, RosterError

STRINGS = {"ORTH": "orth_", "TEXT": "text", "LOWER": "lower_", "NORM": "norm_", "SHAPE": "shape_"}
"""Attributes with a string for a value, and where spaCy's tokens keep it."""
FLAGS = frozenset(
    [
        "IS_ALPHA",
        "IS_ASCII",
        "IS_DIGIT",
        "IS_LOWER",
        "IS_UPPER",
        "IS_TITLE",
        "IS_PUNCT",
        "IS_SPACE",
        "IS_BRACKET",
        "IS_QUOTE",
        "IS_LEFT_PUNCT",
        "IS_RIGHT_PUNCT",
        "IS_CURRENCY",
        "IS_STOP",
        "LIKE_NUM",
        "LIKE_URL",
        "LIKE_EMAIL",
    ]
)
ATTRIBUTES = frozenset(STRINGS) | FLAGS | {"LENGTH"}
NEED_PIPELINE = frozenset(
    [
        "POS",
        "TAG",
        "MORPH",
        "DEP",
        "LEMMA",
        "ENT_TYPE",
        "ENT_ID",
        "ENT_IOB",
        "ENT_KB_ID",
        "SENT_START",
        "IS_SENT_START",
        "_",
    ]
)
OPERATOR = re.compile(r"([!?+*])|\{(\d+)\}|\{(\d*),(\d*)\}")
DIGITS = 9
"""Of a number in an operator; it is too large with fewer."""
MAX_STATES = 1000
"""Words that a pattern may spell out once its {n,m} are written as repetitions."""
CACHED_WORDS = 1 << 16

Regexes = tuple[tuple[str, Any, bool], ...]
"""(attribute, compiled expression, whether it must match) of one table."""


def load_spacy() -> Any:
    try:
        import spacy
    except ImportError as error:
        raise RosterError('token patterns need spaCy: pip install "roster-ner[spacy]"') from error
    return spacy


class TokenPattern:
    """A sequence of conditions on words; leftmost-longest matches that do not overlap.

    `tables` are the distinct conditions that a `WordConditions` has to decide; `spans` takes its decisions.
    """

    def __init__(self, tokens: Sequence[Mapping[str, Any]]):
        if not tokens:
            raise ConfigError("tokens is empty; expected a list of token tables")
        self.tables: list[dict[str, Any]] = []
        self.regexes: list[Regexes] = []
        # One state for each word to be read: (table, whether it must match, may be passed over, may repeat).
        self._states: list[tuple[int, bool, bool, bool]] = []
        for number, token in enumerate(tokens, 1):
            try:
                self._add(token)
            except ConfigError as error:
                raise ConfigError(f"token {number}: {error}") from error.__cause__
        if all(optional for _, _, optional, _ in self._states):
            raise ConfigError("every token is optional, so that the pattern matches nothing at all")
        _check(self.tables)

    def _add(self, token: Mapping[str, Any]) -> None:
        if not isinstance(token, Mapping):
            raise ConfigError(f'expected a table such as {{LOWER = "inc"}}, got {token!r}')
        conditions = {str(key).upper(): value for key, value in token.items()}
        wanted, least, most = _operator(conditions.pop("OP", "{1}"))
        table, regexes = _split(conditions)
        index = len(self.tables)
        self.tables.append(table)
        self.regexes.append(regexes)
        if max(least, most or 0) > MAX_STATES:  # before they are written out
            raise ConfigError(f"{{n,m}} counts to {MAX_STATES} at most")
        self._states += [(index, wanted, False, False)] * least
        if most is None:
            self._states.append((index, wanted, True, True))
        else:
            self._states += [(index, wanted, True, False)] * (most - least)
        if len(self._states) > MAX_STATES:
            raise ConfigError(
                f"the pattern spells out more than {MAX_STATES} words; make its {{n,m}} smaller"
            )

    def spans(self, met: Sequence[int]) -> Iterator[tuple[int, int]]:
        """`met` has for each word the set of tables it meets, as the bits of a number."""
        at = 0
        while at < len(met):
            span = self._leftmost_longest(met, at)
            if span is None:
                return
            yield span
            at = span[1]

    def _leftmost_longest(self, met: Sequence[int], at: int) -> tuple[int, int] | None:
        """One pass over the words. Of the ways that lead to a state only the one that began first is kept."""
        last = len(self._states)
        best: tuple[int, int] | None = None
        active: dict[int, int] = {}
        for position in range(at, len(met)):
            if best is None:
                self._enter(active, 0, position)
            following: dict[int, int] = {}
            for state, began in active.items():
                if state == last or (best is not None and began > best[0]):
                    continue
                table, wanted, _, repeats = self._states[state]
                if bool(met[position] >> table & 1) == wanted:
                    self._enter(following, state if repeats else state + 1, began)
            active = following
            if last in active and (best is None or active[last] <= best[0]):
                best = (active[last], position + 1)
            if best is not None and not any(began <= best[0] for s, began in active.items() if s != last):
                break
        return best

    def _enter(self, active: dict[int, int], state: int, began: int) -> None:
        """Put a way into a state and into those behind it that can be reached without reading a word."""
        while True:
            if active.get(state, began + 1) <= began:
                return
            active[state] = began
            if state == len(self._states) or not self._states[state][2]:
                return
            state += 1


def _operator(op: object) -> tuple[bool, int, int | None]:
    """(whether the word must meet the table, least, most times)."""
    match = OPERATOR.fullmatch(op) if isinstance(op, str) else None
    if match is not None:
        sign, exactly, least, most = match.groups()
        if sign is not None:
            return {"!": (False, 1, 1), "?": (True, 0, 1), "+": (True, 1, None), "*": (True, 0, None)}[sign]
        low = int((exactly or least or "0")[:DIGITS])
        high = int((exactly or most)[:DIGITS]) if exactly or most else None
        if high is None or (low <= high and high > 0):
            return True, low, high
    raise ConfigError(f"OP must be one of ! ? + * {{n}} {{n,m}} {{n,}} {{,m}}, got {op!r}")


def _split(conditions: dict[str, Any]) -> tuple[dict[str, Any], Regexes]:
    """The conditions that spaCy decides, and the expressions that RE2 does."""
    table: dict[str, Any] = {}
    regexes: list[tuple[str, Any, bool]] = []
    for key, value in conditions.items():
        if key in NEED_PIPELINE:
            raise ConfigError(
                f"{key} needs a trained pipeline, which is not available; use what the word shows by itself: "
                f"{', '.join(sorted(ATTRIBUTES))}"
            )
        if key not in ATTRIBUTES:
            raise ConfigError(f"unknown attribute {key!r}; known are {', '.join(sorted(ATTRIBUTES))}")
        if isinstance(value, Mapping) and "REGEX" in value:
            if key not in STRINGS:
                raise ConfigError(f"REGEX asks for a string, which {key} is not")
            value = dict(value)
            regex, wanted = _alternatives(value.pop("REGEX"))
            regexes.append((STRINGS[key], compiled(regex, capture=False), wanted))
            if not value:
                continue
        table[key] = value
    return table, tuple(regexes)


def _alternatives(value: object) -> tuple[str, bool]:
    """REGEX is an expression, or a table {IN = [...]} or {NOT_IN = [...]} of several."""
    if isinstance(value, str):
        return value, True
    if isinstance(value, Mapping) and len(value) == 1:
        key, several = next(iter(value.items()))
        if key in ("IN", "NOT_IN") and isinstance(several, list) and all(isinstance(x, str) for x in several):
            for regex in several:
                compiled(regex)
            # An empty list is met by no word; RE2 writes "nothing" as a class without members.
            return "|".join(f"(?:{x})" for x in several) or r"[^\x00-\x{10FFFF}]", key == "IN"
    raise ConfigError(
        f"REGEX must be a string, or a table IN or NOT_IN with a list of strings, got {value!r}"
    )


def _check(tables: Sequence[Mapping[str, Any]]) -> None:
    """Let spaCy look at the tables, and put its complaint into one line."""
    load_spacy()
    from spacy.errors import MatchPatternError
    from spacy.matcher import Matcher
    from spacy.vocab import Vocab

    matcher = Matcher(Vocab(), validate=True)
    for number, table in enumerate(tables, 1):
        try:
            matcher.add("pattern", [[dict(table)]])
        except (MatchPatternError, ValueError, TypeError) as error:
            lines = [line.strip("- ").strip() for line in str(error).splitlines()]
            told = [re.sub(r"^\[pattern -> \d+ -> ", "[", line) for line in lines if line.startswith("[")]
            raise ConfigError(f"token {number}: spaCy says: {'; '.join(told) or lines[0]}") from error


@cache
def _spacy_vocab(lang: str) -> Any:
    """spaCy's vocabulary of a language; slow to make, so it is made once."""
    spacy = load_spacy()
    try:
        return spacy.blank(lang).vocab
    except ImportError as error:
        raise ConfigError(f"spaCy has no language {lang!r}; xx stands for any") from error


class WordConditions:
    """Which of the tables of several patterns a word meets. What one word was found to meet is kept."""

    def __init__(self, patterns: Sequence[TokenPattern], lang: str):
        vocab = _spacy_vocab(lang)
        from spacy.matcher import Matcher
        from spacy.tokens import Doc

        matcher = Matcher(vocab)
        regexes: dict[int, Regexes] = {}
        always = 0
        self._offsets: list[tuple[int, int]] = []
        for pattern in patterns:
            offset = len(regexes)
            self._offsets.append((offset, (1 << len(pattern.tables)) - 1))
            for table, asked in zip(pattern.tables, pattern.regexes, strict=True):
                number = len(regexes)
                regexes[number] = asked
                if table:
                    matcher.add(str(number), [[table]])
                else:
                    always |= 1 << number
        numbers: dict[int, int] = {vocab.strings[str(n)]: n for n in regexes if str(n) in vocab.strings}

        def meets(word: str) -> int:
            doc = Doc(vocab, words=[word])
            met = always
            for rule, _, _ in matcher(doc) if len(matcher) else ():
                met |= 1 << numbers[rule]
            for number, asked in regexes.items():
                for attribute, regex, wanted in asked:
                    text = getattr(doc[0], attribute).encode("utf-8", "surrogatepass")
                    if (regex.search(text) is not None) != wanted:
                        met &= ~(1 << number)
            return met

        self._meets: Callable[[str], int] = lru_cache(CACHED_WORDS)(meets)

    def met(self, words: Sequence[str]) -> list[int]:
        return [self._meets(word) for word in words]

    def of(self, pattern: int, met: Sequence[int]) -> list[int]:
        """Which tables of one pattern match, from `met`."""
        offset, mask = self._offsets[pattern]
        return [bits >> offset & mask for bits in met]
