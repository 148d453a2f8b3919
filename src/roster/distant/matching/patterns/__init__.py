"""Labels by pattern, for the types that no dictionary lists: dates, amounts, numbers, names by their form.

A pattern is a table of TOML. The bundled English ones, `patterns_en.toml`, are written in the same tables as
the user's own:

    [[patterns]]
    name = "case-number"          # what a label's provenance calls it
    label = "CASE"
    regex = 'No\\.? (\\d+/\\d+)'     # or tokens = [{LOWER = "no"}, {SHAPE = "dd/dd"}]
    group = 1

`table.py` reads the tables, `regex.py` and `tokens.py` match the two kinds, `matcher.py` runs all of them
over a sentence.
"""

from roster.distant.matching.patterns.builtin import builtin_patterns
from roster.distant.matching.patterns.matcher import PatternMatcher
from roster.distant.matching.patterns.table import Pattern, load_patterns

__all__ = ["Pattern", "PatternMatcher", "builtin_patterns", "load_patterns"]
