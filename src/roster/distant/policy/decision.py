"""The policy of a type from counts over its entries and over the text, with the reason in words.

Pure functions; gold labels are not used. The case in which a name may match depends on how the dictionary
lists it and on how the text writes the names that it has. In the text, distinct names are counted and not
occurrences, since one frequent common word would outvote a hundred names; and names of several words where
there are enough, since these are seldom common words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from roster.distant.policy.entry_stats import EntryStats
from roster.distant.policy.policies import AUTO, MIN_LENGTH, STOP_WORDS, Policy

ENOUGH_NAMES = 5
"""Fewer names than this in the text decide nothing."""
AGREES, DISAGREES, ONLY_WORDS = 0.5, 0.75, 0.9
"""Share of the names in lower case that makes them terms: where the dictionary lists them so; where it does
not; and where it does not and there are only single words, which may be common words."""
RARE, RARE_FACTOR = 0.1, 5
"""Where a smaller share of the entries than the first is listed in lower case, their share of the matches
may be so many times as large; names that are more frequent than that are common words."""
LISTS_COMMON_WORDS = 0.03
"""A type that lists a larger share of all stop-words as names lists any word."""
NO_CAPITALS = 0.02
"""A text in which fewer words than this have a capital (or lack one) has no informative case."""
IN_LONGER, ENOUGH_MATCHES = 0.9, 20
"""A type of which more matches are inside longer runs of capitals is one of parts of names."""


@dataclass(frozen=True)
class CaseCounts:
    """Distinct names of a type, by how the text mostly writes them where a capital is informative."""

    lower: int = 0
    capital: int = 0

    def __add__(self, other: CaseCounts) -> CaseCounts:
        return CaseCounts(self.lower + other.lower, self.capital + other.capital)

    @property
    def names(self) -> int:
        return self.lower + self.capital

    @property
    def share(self) -> float:
        """The share of names in lower case, with add-one smoothing."""
        return (self.lower + 1) / (self.names + 2)


@dataclass(frozen=True)
class CorpusStats:
    """How a text writes the names of a type: those listed in lower case and others, words and phrases."""

    lower_words: CaseCounts = CaseCounts()
    lower_phrases: CaseCounts = CaseCounts()
    capital_words: CaseCounts = CaseCounts()
    capital_phrases: CaseCounts = CaseCounts()
    lower_matches: int = 0
    """Occurrences in lower case of names listed so."""
    capital_matches: int = 0
    """Occurrences of all names with an informative capital."""


@dataclass(frozen=True)
class TextCase:
    """Words of a text that have a case (single letters not counted), and how many of them have a capital."""

    cased: int = 0
    capitals: int = 0

    @property
    def informative(self) -> bool:
        """Whether capitals are informative; True for a script without capitals."""
        return not self.cased or NO_CAPITALS <= self.capitals / self.cased <= 1 - NO_CAPITALS


@dataclass(frozen=True)
class Decision:
    """The policy of a type with nothing `auto` left in it; `reason` is in words, `rule` a short name."""

    policy: Policy
    rule: str
    reason: str
    entry_stats: EntryStats
    corpus_stats: CorpusStats


def decide(policy: Policy, entry_stats: EntryStats, corpus_stats: CorpusStats, text: TextCase) -> Decision:
    """Decides case, stop-words, minimum length and words of one type, as far as they are `auto`.

    >>> lower = CorpusStats(lower_words=CaseCounts(40, 2))
    >>> decide(Policy(), EntryStats(50, 50, 45), lower, TextCase(1000, 150)).policy.case
    'terms'
    >>> decide(Policy(), EntryStats(50, 50, 0), CorpusStats(), TextCase(1000, 0)).policy.case
    'terms'
    >>> decide(Policy(case="exact"), EntryStats(50, 50, 45), lower, TextCase(1000, 150)).policy.case
    'exact'
    """
    rule, reason = "given", "set by the user"
    if policy.case == AUTO:
        case, rule, reason = _case(entry_stats, corpus_stats, text)
        # Without capitals, the film It and the word cannot be told apart.
        alone = rule == "no capitals" and lists_common_words(entry_stats)
        policy = replace(policy, case=case, min_words=max(policy.min_words, 2 if alone else 1))
        if alone:
            reason += "; single words are refused, since the type lists common words"
    if AUTO in policy.stop_words:
        named = tuple(word for word in policy.stop_words if word != AUTO)
        lists = () if entry_stats.keeps_stop_words else tuple(name for name in STOP_WORDS if name != AUTO)
        policy = replace(policy, stop_words=(*lists, *named))
        if entry_stats.keeps_stop_words:
            reason += "; stop-words match, since they are a third of the entries or more"
    if not policy.min_length:
        policy = replace(policy, min_length=1 if entry_stats.keeps_short else MIN_LENGTH)
        if entry_stats.keeps_short:
            reason += "; single letters match, since they are most of the entries"
    return Decision(policy, rule, reason, entry_stats, corpus_stats)


def decide_whole(decision: Decision, matches: int, inside: int) -> Decision:
    """Decides whether parts of longer names match: `inside` of the `matches` are parts of longer runs."""
    if decision.policy.whole != AUTO:
        return decision
    parts = matches >= ENOUGH_MATCHES and inside > IN_LONGER * matches
    policy = replace(decision.policy, whole="false" if parts else "true")
    if not policy.whole_only:
        policy = replace(policy, whole="false")
    reason = decision.reason
    if parts:
        reason += f"; parts of longer names match, since {inside:,} of its {matches:,} matches are such"
    return replace(decision, policy=policy, reason=reason)


def lists_common_words(entry_stats: EntryStats) -> bool:
    return entry_stats.stop_words > LISTS_COMMON_WORDS * len(STOP_WORDS["english"])


def _case(entry_stats: EntryStats, corpus_stats: CorpusStats, text: TextCase) -> tuple[str, str, str]:
    """The case policy, the rule that gave it, and why."""
    if not text.informative:
        why = "is in capitals throughout" if text.capitals > text.cased / 2 else "has no capitals"
        return "terms", "no capitals", f"the text {why}"
    low, low_why = _lower_listed(entry_stats, corpus_stats)
    lower = _enough(corpus_stats.lower_phrases, corpus_stats.lower_words)
    agrees = low and entry_stats.lower_share >= (AGREES if lower is None else RARE)
    high, high_why = _capital_listed(entry_stats, corpus_stats, agrees)
    why = "; ".join(part for part in (low_why, high_why) if part)
    if high:
        return "terms", "terms", why
    if low:
        return "listed", "as listed", why
    return "smart", "names", why


def _lower_listed(entry_stats: EntryStats, corpus_stats: CorpusStats) -> tuple[bool, str]:
    """Whether entries listed in lower case match in any case."""
    if not entry_stats.lower:
        return False, ""
    listed = f"{entry_stats.lower_share:.0%} of the entries are listed in lower case"
    if entry_stats.lower_share < RARE:
        if not corpus_stats.lower_matches:
            return False, ""
        matches = corpus_stats.lower_matches + corpus_stats.capital_matches
        allowed = RARE_FACTOR * entry_stats.lower_share * matches
        if lists_common_words(entry_stats) or corpus_stats.lower_matches > allowed:
            return (
                False,
                f"the few entries listed in lower case ({entry_stats.lower_share:.1%}) are common words",
            )
    counts = _enough(corpus_stats.lower_phrases, corpus_stats.lower_words)
    if counts is None:
        return True, f"{listed}, and the text has too few of them to decide otherwise"
    if counts.share > AGREES:
        return True, f"{listed}, and so in the text ({_of(counts)})"
    return False, f"{listed}, but the text writes them with capitals ({_of(counts)} in lower case)"


def _capital_listed(entry_stats: EntryStats, corpus_stats: CorpusStats, agrees: bool) -> tuple[bool, str]:
    """Whether entries listed with capitals match in any case; `agrees`: those in lower case are terms."""
    if not entry_stats.cased:
        return False, "the names are in a script without capitals"
    if entry_stats.lower == entry_stats.cased:
        return agrees, ""
    if lists_common_words(entry_stats):
        return False, f"{entry_stats.stop_words} stop-words are among the entries, so a name needs a capital"
    counts = corpus_stats.capital_phrases
    needed = AGREES if agrees else DISAGREES
    if counts.names < ENOUGH_NAMES:
        counts += corpus_stats.capital_words
        needed = AGREES if agrees else ONLY_WORDS
    if counts.names >= (1 if agrees else ENOUGH_NAMES):
        if counts.share > needed:
            return True, f"those listed with capitals are in lower case in the text ({_of(counts)})"
        return False, f"the text writes those listed with capitals so ({_of(counts)} in lower case)"
    if agrees and entry_stats.lower_share >= AGREES:
        return True, ""
    return False, f"{1 - entry_stats.lower_share:.0%} of the entries are listed with capitals"


def _enough(phrases: CaseCounts, words: CaseCounts) -> CaseCounts | None:
    """The names that decide: those of several words where there are enough, else all, else none."""
    if phrases.names >= ENOUGH_NAMES:
        return phrases
    counts = phrases + words
    return counts if counts.names >= ENOUGH_NAMES else None


def _of(counts: CaseCounts) -> str:
    return f"{counts.lower:,} of {counts.names:,} names"
