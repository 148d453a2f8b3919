"""The tables `[[patterns]]` of TOML: the keys that they may have, and errors for all others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roster.distant.matching.patterns.regex import WordRegex, compiled
from roster.distant.matching.patterns.tokens import TokenPattern
from roster.errors import ConfigError

KEYS: dict[str, type] = {
    "name": str,
    "label": str,
    "regex": str,
    "tokens": list,
    "group": object,
    "ignore_case": bool,
    "longest": bool,
    "priority": int,
    "source": str,
}
IN_WORDS = {str: "a string", list: "a list of token tables", bool: "true or false", int: "a whole number"}
REGEX_ONLY = ("group", "ignore_case", "longest")
REFERENCE = re.compile(r"\(\?&([\w-]*)\)")
LINE_BREAK = re.compile(r"\s*\n\s*")
MAX_LENGTH = 100_000
"""Characters of a regex with its parts filled in: parts of parts grow fast."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern, checked. `kind` is the label as the table writes it, `label` what it is called here."""

    name: str
    label: str
    kind: str
    source: str
    regex: str | None = None
    tokens: tuple[Mapping[str, Any], ...] | None = None
    group: int | str | None = None
    ignore_case: bool = False
    longest: bool = True
    priority: int = 0

    def word_regex(self) -> WordRegex:
        assert self.regex is not None
        return WordRegex(self.regex, group=self.group, ignore_case=self.ignore_case, longest=self.longest)

    def token_pattern(self) -> TokenPattern:
        assert self.tokens is not None
        return TokenPattern(self.tokens)


def load_patterns(tables: Sequence[Mapping[str, object]], *, origin: str) -> list[Pattern]:
    """The patterns of the tables; `origin`, a file or a section, is what errors and labels call them.

    A table has `name`, `label` and either

    - `regex`, over the words joined by single spaces, that must match whole words (see `regex.py`). `group`,
      a number or a name, selects the part that is the entity. `ignore_case` matches any case. With
      `longest = false` the first alternative that fits is taken, not the longest match. A line break, with
      the blanks around it, is not part of the regex, so that a long one can be written on several lines; a
      space at the end of such a line is written `[ ]`. Or
    - `tokens`, a list of spaCy's token tables (see `tokens.py`).

    `priority` goes into the labels, for whoever has to choose between them, and so does `source` in place of
    `origin`.

    A table with `part` instead of `name` and `label` names a piece of regex for the tables below it, which
    use it as `(?&piece)`.

    >>> load_patterns([{"part": "n", "regex": "[0-9]+"}, {"name": "score", "label": "SCORE",
    ...     "regex": "(?&n) ?- ?(?&n)"}], origin="here")[0].regex
    '(?:[0-9]+) ?- ?(?:[0-9]+)'
    """
    parts: dict[str, str] = {}
    by_name: dict[str, Pattern] = {}
    for number, table in enumerate(tables, 1):
        what = f"{origin}: pattern {number}"
        if not isinstance(table, Mapping):
            raise ConfigError(f"{what}: expected a table, got {table!r}")
        named = table.get("part", table.get("name"))
        if isinstance(named, str) and named:
            what = f"{origin}: {'part' if 'part' in table else 'pattern'} {named!r}"
        try:
            if "part" in table:
                name, regex = _part(table, parts)
                parts[name] = regex
            else:
                pattern = _pattern(table, parts, origin)
                if pattern.name in by_name:
                    raise ConfigError("the name is used twice; give each pattern its own")
                by_name[pattern.name] = pattern
        except ConfigError as error:
            raise ConfigError(f"{what}: {error}") from error.__cause__
    return list(by_name.values())


def _part(table: Mapping[str, object], parts: Mapping[str, str]) -> tuple[str, str]:
    name, regex = table["part"], table.get("regex")
    if set(table) != {"part", "regex"} or not isinstance(name, str) or not isinstance(regex, str):
        raise ConfigError("a part has the two keys part and regex, both strings")
    if not re.fullmatch(r"[\w-]+", name):
        raise ConfigError("the name of a part is made of letters, digits, - and _")
    if name in parts:
        raise ConfigError("the part is defined twice")
    regex = _filled(regex, parts)
    if compiled(regex).groups:
        raise ConfigError("a part cannot hold a capturing group: write (?:...) in place of (...)")
    return name, regex


def _pattern(table: Mapping[str, object], parts: Mapping[str, str], origin: str) -> Pattern:
    for key, value in table.items():
        if key not in KEYS:
            raise ConfigError(f"unknown key {key!r}; a pattern has {', '.join(KEYS)}")
        kind = KEYS[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ConfigError(f"{key} must be {IN_WORDS[kind]}, got {value!r}")
    for key in ("name", "label"):
        if not table.get(key):
            raise ConfigError(f"{key} is missing")
    if ("regex" in table) == ("tokens" in table):
        raise ConfigError("needs exactly one of regex and tokens")
    group = table.get("group")
    if group is not None and (
        isinstance(group, bool) or not isinstance(group, int | str) or group in (0, "")
    ):
        raise ConfigError(
            f"group must be the number (from 1) or the name of a group of the regex, got {group!r}"
        )
    if isinstance(group, int) and group < 0:
        raise ConfigError(f"group must be 1 or more, got {group}")
    values: dict[str, Any] = dict(table)
    if "regex" in values:
        values["regex"] = _filled(values["regex"], parts)
        if not values["regex"]:
            raise ConfigError("the regex is empty")
    else:
        values["tokens"] = tuple(values["tokens"])
        for key in REGEX_ONLY:
            if key in values:
                raise ConfigError(f"{key} goes with regex, not with tokens")
    source = values.pop("source", "") or origin
    pattern = Pattern(kind=values["label"], source=source, **values)
    # Compiled here only to be checked; the matcher compiles its own, so that patterns stay plain data.
    if pattern.regex is not None:
        pattern.word_regex()
    else:
        pattern.token_pattern()
    return pattern


def _filled(regex: str, parts: Mapping[str, str]) -> str:
    """The regex on one line, each `(?&part)` replaced."""

    def fill(match: re.Match[str]) -> str:
        if match[1] not in parts:
            raise ConfigError(f"there is no part {match[1]!r} above this table")
        return f"(?:{parts[match[1]]})"

    filled = REFERENCE.sub(fill, LINE_BREAK.sub("", regex.strip("\n")))
    if len(filled) > MAX_LENGTH:
        raise ConfigError(
            f"with its parts the regex has {len(filled)} characters; at most {MAX_LENGTH} are allowed"
        )
    return filled
