"""A match of one source, and the label that is made of all matches of the same words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mention:
    """One source's claim that the words `start` to `end` (exclusive) of a sentence are a name.

    `label` is the entity type, empty for a phrase of unknown type (AutoNER's full dictionary). `kind` is
    the type as the source writes it (`ORG.company` where the label is `ORG`). `source` is the name of a
    dictionary, pattern set, knowledge base, file of annotations or model; `entry` what matched there: a
    surface, the name of a pattern, an item, the words of an annotation; `line` the line of the entry in its
    file, 0 where there is none. `name` is the name of an item, empty where `entry` can be read by people.
    `score` is that of an annotation or a prediction, None where it has none.
    """

    start: int
    end: int
    label: str
    kind: str
    source: str
    entry: str
    line: int = 0
    priority: int = 0
    name: str = ""
    score: float | None = None

    @property
    def shown(self) -> str:
        """The entry as a report shows it."""
        return self.name or self.entry


@dataclass(frozen=True, slots=True)
class Label:
    """A stretch of words with the type or types that were decided, and the claims behind them.

    `types` is empty for a phrase of unknown type: no label, but no evidence of absence either.
    """

    start: int
    end: int
    types: tuple[str, ...]
    evidence: tuple[Mention, ...]
