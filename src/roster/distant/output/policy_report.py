"""How each type was matched and why, what was refused, what other policies would give, and warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from roster.distant.labelling.chunks import Task
from roster.distant.labelling.labeller import Labeller
from roster.distant.matching.refused_matches import PART, RefusedMatches
from roster.distant.policy.decision import Decision
from roster.distant.policy.filters import LIVE
from roster.distant.policy.policies import Policies

DECIDED = "as decided"
OTHER_CASES = ("smart", "insensitive", "exact")
EXAMPLES = 3
MOST_TYPES_SHOWN = 10
FEW_TYPES = 3
"""Up to this many types that are matched alike have their reasons one by one."""

REFUSED_WHY = {
    "lower_case": "in lower case in the text",
    "common_word": "common word, its capital only begins a sentence or stands in a headline",
    "other_writing": "written otherwise than listed",
    "single_word": "single word of a type that needs several",
    PART: "part of a longer run of capitals",
}
CASE_MEANS = {
    "exact": "as listed",
    "upper": "as listed, or in capitals",
    "insensitive": "in any case",
    "smart": "where a capital shows a name",
    "listed": "in any case if listed in lower case, else where a capital shows a name",
    "terms": "in any case, acronyms as listed",
}
RULE_MEANS = {
    "names": "listed with capitals, or written with capitals in the text",
    "terms": "written in lower case in the text",
    "as listed": "some are listed in lower case",
    "no capitals": "the text has no capitals",
    "given": "set by the user",
}


def decisions_as_data(decisions: Mapping[str, Decision], policies: Policies) -> dict[str, Any]:
    """For each type of the dictionaries, what was decided and the counts behind it."""
    as_data = {}
    for kind, decision in sorted(decisions.items()):
        policy, text = decision.policy, asdict(decision.corpus_stats)
        as_data[kind] = {
            "label": policies.label(kind),
            "case": policy.case,
            "whole": policy.whole_only,
            "stop_words": list(policy.stop_words),
            "min_length": policy.min_length,
            "min_words": policy.min_words,
            "rule": decision.rule,
            "reason": decision.reason,
            "dictionary": asdict(decision.entry_stats),
            "text": text,
        }
    return as_data


def refused_as_data(refused_matches: RefusedMatches) -> list[dict[str, Any]]:
    """Matches that policies refused, by type and reason, the most frequent first."""
    rows = sorted(refused_matches.refused.items(), key=lambda item: (-item[1], item[0]))
    return [
        {
            "reason": reason,
            "type": kind,
            "matches": count,
            "examples": refused_matches.examples_of(reason, EXAMPLES, kind),
        }
        for (reason, kind), count in rows
    ]


def labels_by_case(labeller: Labeller) -> dict[str, Any]:
    """Labels of dictionaries at the beginning of the corpus, as decided and with one case for all types."""
    documents = labeller.beginning
    cases = {decision.policy.case for decision in labeller.decisions.values()}
    others = [case for case in OTHER_CASES if cases != {case}]
    counts: dict[str, dict[str, int]] = {}
    for name in (DECIDED, *others) if documents else ():
        found: Counter[str] = Counter()
        for one in labeller.of_dictionaries(None if name == DECIDED else name).label(
            Task(documents), RefusedMatches()
        ):
            found.update(",".join(label.types) for label in one.labels if label.types)
        counts[name] = dict(sorted(found.items()))
    return {"words": sum(len(s) for document in documents for s in document), "labels": counts}


def warnings(labeller: Labeller, labels: Collection[str]) -> list[str]:
    """A warning for each type of a source that got no label, with the cause and what to do.

    And one for each label that was given for a type that no source has.
    """
    labelled = {name for label in labels for name in label.split(",")}
    policies, messages = labeller.settings.policies, []
    kinds: dict[str, list[str]] = {}
    for kind in labeller.decisions:
        kinds.setdefault(policies.label(kind) or "", []).append(kind)
    for label in sorted(kinds.keys() - labelled - {""}):
        messages.append(f"no label of type {label}: {_cause(labeller, label, kinds[label])}")
    from_patterns = {pattern.label for pattern in labeller.settings.patterns} - kinds.keys() - labelled
    messages += [f"no label of type {label}: its patterns match nothing" for label in sorted(from_patterns)]
    return [*messages, *_unused_labels(labeller)]


def _unused_labels(labeller: Labeller) -> list[str]:
    """One warning for each label that was given for a type (`--types`, [labels]) that no source has."""
    kinds = {kind for lexicon in labeller.lexicons for kind in lexicon.kinds if kind}
    kinds.update(labeller.kb_types)
    kinds.update(kind for counts in labeller.span_sources.counts.values() for kind in counts.kinds if kind)
    of_patterns = {pattern.label for pattern in labeller.settings.patterns}
    listed = sorted(kinds)
    shown = ", ".join(listed[:MOST_TYPES_SHOWN]) + (", ..." if len(listed) > MOST_TYPES_SHOWN else "")
    messages = []
    for name, label in labeller.settings.policies.labels:
        if any(fnmatchcase(kind, name) for kind in kinds):
            continue
        if any(fnmatchcase(kind, name) for kind in of_patterns):
            way_out = (
                "patterns have the label that the pattern gives ([builtin] labels in a file for --config)"
            )
        else:
            way_out = f"the types are {shown}" if shown else "no source has types"
        messages.append(f"{name}={label} has no effect: no entry has a type that matches {name}; {way_out}")
    return messages


def _cause(labeller: Labeller, label: str, kinds: Sequence[str]) -> str:
    """Why a type has no label, and what to do."""
    refused_matches = labeller.refused_matches
    refused: Counter[str] = Counter()
    for kind in kinds:
        refused.update(dict(refused_matches.refused_by(kind)))
    dropped = {reason: n for (reason, of), n in refused_matches.dropped.items() if of == label}
    entries, live = _entries(labeller, kinds)
    if refused:
        table = f'[types."{kinds[0]}"]'
        ways = []
        if refused.keys() - {PART, "single_word"}:
            ways.append('case = "insensitive"')
        if PART in refused:
            ways.append("whole = false")
        if "single_word" in refused:
            ways.append("min_words = 1 and a case of its own")
        parts = [
            f"{count:,} {REFUSED_WHY[reason]} ({', '.join(_examples(refused_matches, reason, kinds))})"
            for reason, count in refused.most_common()
        ]
        return (
            f"{sum(refused.values()):,} matches were refused: {'; '.join(parts)}. If these are names, set "
            f"{' or '.join(ways)} under {table} in a file for --config"
        )
    if dropped:
        return (
            f"its {sum(dropped.values()):,} matches lost against other names ({', '.join(sorted(dropped))}); "
            "see --ambiguous, or give its dictionary a priority in a file for --config"
        )
    if not live:
        return (
            f"none of its {entries:,} entries can match; the list of entries that can match nothing has the "
            "reasons"
        )
    return (
        f"none of its {live:,} entries is in the text; check that dictionary and text have the same language "
        "and spelling"
    )


def _entries(labeller: Labeller, kinds: Sequence[str]) -> tuple[int, int]:
    """Entries of some types, and how many of them can match."""
    entries = live = 0
    for lexicon in labeller.lexicons:
        numbers = [number for number, kind in enumerate(lexicon.kinds) if kind in kinds]
        these = np.isin(lexicon.arrays["entry_kind"], numbers)
        entries += int(these.sum())
        live += int((lexicon.arrays["entry_reason"][these] == LIVE).sum())
    return entries, live


def _examples(refused_matches: RefusedMatches, reason: str, kinds: Sequence[str]) -> list[str]:
    names = (name for kind in kinds for name in refused_matches.examples_of(reason, EXAMPLES, kind))
    return list(dict.fromkeys(names))[:EXAMPLES]


def decision_lines(decisions: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """For a terminal: types that are matched alike together."""
    groups: dict[tuple[str, bool, int, str], list[str]] = {}
    for kind, about in decisions.items():
        key = about["case"], about["whole"], about["min_words"], about["rule"]
        groups.setdefault(key, []).append(kind)
    if not groups:
        return []
    lines = ["", "How names were matched (--case, or a type's policy in a file for --config, changes it):"]
    for (case, whole, min_words, rule), kinds in groups.items():
        names = ", ".join(kind or "(no type)" for kind in kinds)
        only = ["parts of longer names refused"] if whole else []
        only += [f"names of {min_words} words or more"] if min_words > 1 else []
        lines.append(f"  {names}")
        lines.append(f"    {case}: {'; '.join([CASE_MEANS[case], *only])}")
        if len(kinds) > FEW_TYPES:
            lines.append(f"    because: {RULE_MEANS[rule]}")
        else:
            names_of: dict[str, list[str]] = {}
            for kind in kinds:
                names_of.setdefault(decisions[kind]["reason"], []).append(kind or "(no type)")
            for reason, those in names_of.items():
                which = f"{', '.join(those)}: " if len(names_of) > 1 else ""
                lines.append(f"    because: {which}{reason}")
    return lines


def other_case_rows(others: Mapping[str, Any], most: int = 6) -> tuple[list[str], list[list[str]]]:
    """A table: a row for each policy, a column for each type if there are not too many."""
    counts: Mapping[str, Mapping[str, int]] = others["labels"]
    types = sorted({name for of_case in counts.values() for name in of_case})
    types = types if len(types) <= most else []
    rows = [
        [name, f"{sum(of_case.values()):,}", *(f"{of_case.get(kind, 0):,}" for kind in types)]
        for name, of_case in counts.items()
    ]
    return ["case", "labels", *types], rows


def refused_totals(refused: Iterable[Mapping[str, Any]]) -> list[tuple[int, str, list[str]]]:
    """(matches, reason in words, examples) over all types."""
    totals: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}
    for row in refused:
        totals[row["reason"]] += row["matches"]
        examples.setdefault(row["reason"], []).extend(row["examples"])
    return [
        (count, REFUSED_WHY[reason], list(dict.fromkeys(examples[reason]))[:EXAMPLES])
        for reason, count in totals.items()
    ]
