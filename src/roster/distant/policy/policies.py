"""How the names of a type are matched, and what a type is called in the labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from importlib import resources
from typing import Any, cast

from roster.config import option, section
from roster.distant.subtokens import Unicode
from roster.errors import ConfigError

CALENDAR = """
monday tuesday wednesday thursday friday saturday sunday
january february march april may june july august september october november december
"""
STOP_WORDS = {
    "english": frozenset(
        (resources.files("roster.distant.policy") / "stop_words_en.txt").read_text("utf-8").split()
    ),
    "calendar": frozenset(CALENDAR.split()),
}
"""English words that are left out as names, even if a gazetteer lists them."""
STOP_WORDS["auto"] = STOP_WORDS["english"] | STOP_WORDS["calendar"]


AUTO = "auto"
CASES = (AUTO, "exact", "upper", "insensitive", "smart", "listed", "terms")
MIN_LENGTH = 2
"""Letters and digits of a name, unless most entries of its type have fewer."""


@dataclass(frozen=True)
class Policy:
    """How the names of one type are matched; what is `auto` is decided in `decision`."""

    case: str = option(
        AUTO,
        "exact: as written; upper: also in capitals; insensitive: any case; smart: any case in which the "
        "text shows a name: no common word in lower case, nor one whose capital only begins a sentence; "
        "terms: any case, but acronyms and names of two letters as written; listed: names listed in lower "
        "case as terms, others as smart; auto: smart, listed or terms, by how dictionary and text write "
        "the type",
        choices=CASES,
    )
    whole: str = option(
        AUTO,
        "with case = smart or listed, a part of a longer run of capitals does not match: Lund in Maria Lund; "
        "auto: so, unless nearly all names of the type stand in longer runs",
        choices=(AUTO, "true", "false"),
    )
    min_length: int = option(
        0,
        "names with fewer letters and digits than this are left out; 0: fewer than two, unless most names "
        "of the type have fewer",
        low=0,
    )
    min_words: int = option(1, "names with fewer words than this are left out", low=1)
    stop_words: tuple[str, ...] = option(
        (AUTO,),
        "names of only such words are left out; english and calendar (days, months) are bundled lists; "
        "auto: both, unless they would take a third of the type's names",
    )
    plural: bool = option(False, "the English plural of the last word matches too: tumour, tumours")
    possessive: bool = option(True, "a name matches in a word with 's or ' at its end: Japan's")
    edges: bool = option(
        True, "punctuation at the edges of a name or of a word is passed over: Corp., (Reuters)"
    )
    unicode: str = option(
        "NFKC",
        "normal form in which names and text are compared; accents: without accents",
        choices=("NFKC", "NFC", "accents", "none"),
    )
    allow: tuple[str, ...] = option((), "names that always match as written, listed or not")
    deny: tuple[str, ...] = option((), "names that never match, in any case")

    @property
    def form(self) -> Unicode:
        return cast(Unicode, self.unicode)

    @property
    def stops(self) -> frozenset[str]:
        return frozenset().union(*(STOP_WORDS.get(word, {word}) for word in self.stop_words))

    @property
    def shortest(self) -> int:
        return self.min_length or MIN_LENGTH

    @property
    def whole_only(self) -> bool:
        """Whether a part of a longer run of capitals does not match."""
        return self.whole != "false" and self.case in (AUTO, "smart", "listed")


@dataclass(frozen=True)
class Policies:
    """Policies and labels by the type as a dictionary writes it (`ORG.company`), with patterns (`ORG.*`).

    An exact name goes before a pattern, a longer pattern before a shorter one. A type without a policy of its
    own has the default one; a type that is not in `labels` is its own label; the label "" means that
    names of this type are not wanted.

    >>> policies = Policies.from_tables({"min_length": 3}, {"MISC.*": {"min_words": 2}}, {"MISC.*": "MISC"})
    >>> policies.of("MISC.film").min_words, policies.of("MISC.film").min_length, policies.label("MISC.film")
    (2, 3, 'MISC')
    """

    default: Policy = field(default_factory=Policy)
    types: tuple[tuple[str, Policy], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    decided: Mapping[str, Policy] = field(default_factory=dict)
    """By type: policies in which dictionary and text have decided what was `auto`."""

    @classmethod
    def from_tables(
        cls,
        default: Mapping[str, Any] | None = None,
        types: Mapping[str, Any] | None = None,
        labels: Mapping[str, Any] | None = None,
        where: str = "",
    ) -> Policies:
        base = section(Policy, _with_text(default or {}), f"{where}[defaults]")
        of_types = []
        for name, table in (types or {}).items():
            if not isinstance(table, Mapping):
                raise ConfigError(f"{where}[types]: {name} must be a table such as [types.{name}]")
            of_types.append((name, section(Policy, _with_text(table), f"{where}[types.{name}]", base)))
        for name, label in (labels or {}).items():
            if not isinstance(label, str):
                raise ConfigError(f'{where}[labels]: {name} must be a text ("" for no label), not {label!r}')
        return cls(base, tuple(of_types), tuple((labels or {}).items()))

    def of(self, kind: str) -> Policy:
        return self.decided.get(kind) or _most_specific(self.types, kind) or self.default

    def with_decided(self, decided: Mapping[str, Policy]) -> Policies:
        return replace(self, decided={**self.decided, **decided})

    def label(self, kind: str) -> str | None:
        """The label of a type; None where names of this type are not wanted. Untyped stays untyped."""
        if not kind:
            return ""
        label = _most_specific(self.labels, kind)
        return kind if label is None else label or None

    def kind(self, label: str) -> str | None:
        """The type with which a new entry gets a label: the label itself, or else what is mapped to it.

        >>> Policies.from_tables(labels={"ORG": "", "firm": "ORG"}).kind("ORG")
        'firm'
        """
        mapped = (kind for kind, of in self.labels if of == label)
        return next((kind for kind in (label, *mapped) if self.label(kind) == label), None)

    def as_dict(self) -> dict[str, Any]:
        return {
            "defaults": asdict(self.default),
            "types": {name: asdict(policy) for name, policy in self.types},
            "labels": dict(self.labels),
        }


def _with_text(table: Mapping[str, Any]) -> dict[str, Any]:
    """TOML's true and false of `whole`, which has a third value, as text."""
    whole = table.get("whole")
    return {**table, "whole": str(whole).lower()} if isinstance(whole, bool) else dict(table)


def _most_specific(table: tuple[tuple[str, Any], ...], kind: str) -> Any:
    fitting = [(name == kind, len(name), value) for name, value in table if fnmatchcase(kind, name)]
    return max(fitting, key=lambda item: item[:2])[2] if fitting else None
