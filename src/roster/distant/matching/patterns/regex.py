"""Regular expressions over the words of a sentence.

The engine is RE2, which follows all ways to match at once instead of trying one after the other: a search
takes time linear in the length of the sentence, whatever the expression, and there is one search for each
match. For that it has no look-around and no back references; what stands around an entity goes into the
expression, and `group` selects the entity. Its `\\w`, `\\d` and `\\b` mean ASCII; letters of any script are
`\\pL`, capitals `\\p{Lu}`.

An expression sees the words joined by single spaces, so a space in it is a border between two words. A space
inside a word, which some corpora have, is shown as a no-break space (U+00A0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from roster.errors import ConfigError, RosterError

MAX_MEMORY = 32 << 20
"""Bytes that one compiled expression, with the automaton built from it while it runs, may take."""

NO_LOOK = (
    "look-ahead and look-behind do not exist here (expressions run in linear time); write what stands around "
    "the entity into the regex and select the entity with group"
)
NO_REFERENCE = "back references do not exist here (expressions run in linear time)"
BORDERS = "(?:^| )(?:{})(?: |$)"
SPACE = 0x20
HINTS = {
    "operator: (?=": NO_LOOK,
    "operator: (?!": NO_LOOK,
    "operator: (?<": NO_LOOK,
    "operator: (?P": NO_REFERENCE,
    "\\Z": "the end of the sentence is written \\z",
    "too large": "the regex is too large; split it into several patterns or make its repetitions smaller",
    "repetition size": "a repetition may count to 1000 at most",
    **{f"\\{digit}": NO_REFERENCE for digit in range(1, 10)},
}


def load_re2() -> Any:
    try:
        import re2
    except ImportError as error:
        raise RosterError("regex patterns need RE2: pip install google-re2") from error
    return re2


def compiled(regex: str, *, ignore_case: bool = False, longest: bool = False, capture: bool = True) -> Any:
    """The expression as RE2 compiles it, or an error in words that name the construct at fault."""
    re2 = load_re2()
    options = re2.Options()
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    options.case_sensitive = not ignore_case
    options.longest_match = longest
    options.never_capture = not capture
    try:
        return re2.compile(regex.encode(), options)
    except UnicodeEncodeError as error:
        raise ConfigError("the regex holds half of a surrogate pair, which is no character") from error
    except re2.error as error:
        cause = error.args[0]
        cause = cause.decode(errors="replace") if isinstance(cause, bytes) else str(cause)
        hint = next((words for sign, words in HINTS.items() if sign in cause), None)
        raise ConfigError(f"the regex is not valid ({cause})" + (f": {hint}" if hint else "")) from error


def joined(words: Sequence[str]) -> bytes:
    """The words as expressions see them; every space is a border between words."""
    text = " ".join(words)
    if text.count(" ") != len(words) - 1:
        text = " ".join(word.replace(" ", "\u00a0") for word in words)
    return text.encode("utf-8", "surrogatepass")


class WordRegex:
    """An expression that matches whole words only.

    Matches do not overlap; each is the leftmost that is left, and the longest that begins there (`longest`),
    or else the one that Perl and Python would find, where the first alternative that fits wins.

    >>> list(WordRegex("a b|a|b c").spans(joined(["a", "b", "c", "ab"])))
    [(0, 2)]
    >>> list(WordRegex("Dr (A[a-z]+)", group=1).spans(joined(["Dr", "Ada", "met", "Dr", "Bob"])))
    [(1, 2)]
    """

    def __init__(
        self, regex: str, *, group: int | str | None = None, ignore_case: bool = False, longest: bool = True
    ):
        alone = compiled(regex, ignore_case=ignore_case)
        names = {name.decode(): number for name, number in alone.groupindex.items()}
        if isinstance(group, str) and group not in names:
            known = f"; it has {', '.join(names)}" if names else ""
            raise ConfigError(f"the regex has no group named {group!r}{known}")
        number = names[group] if isinstance(group, str) else group or 0
        if number > alone.groups:
            raise ConfigError(f"group is {number}, but the regex has {alone.groups or 'no'} groups")
        self._group = number
        self._search = compiled(
            BORDERS.format(regex), ignore_case=ignore_case, longest=longest, capture=number > 0
        ).search

    def spans(self, text: bytes) -> Iterator[tuple[int, int]]:
        """(first word, word after the last) of each entity in a text made by `joined`."""
        at = counted = word = 0
        while at < len(text) and (match := self._search(text, at)) is not None:
            start, end = match.span()
            if text[start] == SPACE:
                start += 1
            if end > start and text[end - 1] == SPACE:
                end -= 1
            # The next search begins at the border after this match, which is its border before.
            at = max(end, at + 1)
            if self._group:
                start, end = match.span(self._group)
                if not _whole_words(text, start, end):
                    continue
                at = end
            if start < end:
                word += text.count(b" ", counted, start)
                counted = start
                yield word, word + text.count(b" ", start, end) + 1


def gate(regexes: Sequence[tuple[str, bool]]) -> Callable[[bytes], bool]:
    """Whether any of (expression, ignore case) matches a text at all: one pass in place of many.

    Most sentences have nothing for any pattern, and a call costs more than the search itself.
    """
    if not regexes:
        return lambda text: False
    union = "|".join(f"(?i:{regex})" if ignore_case else f"(?:{regex})" for regex, ignore_case in regexes)
    try:
        # Anchored at the start, RE2 runs over the text once and does not go back to where a match begins.
        match = compiled("(?s:.*)" + BORDERS.format(union), capture=False).match
    except ConfigError:
        # Together they are too large for one automaton: each will be asked by itself.
        return lambda text: True
    return lambda text: match(text) is not None


def _whole_words(text: bytes, start: int, end: int) -> bool:
    """Whether a group took part in the match, is not empty, and lies between two borders."""
    return (
        0 <= start < end
        and (start == 0 or text[start - 1] == SPACE)
        and (end == len(text) or text[end] == SPACE)
    )
