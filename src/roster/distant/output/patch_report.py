"""What the changes of a patch did, and which of them did nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from roster.distant.entries.patch import ACTIONS, Change
from roster.distant.labelling.labeller import Labeller

SHOWN = 5
COUNTED = {"add": "entries", "remove": "entries", "retype": "entries", "deny": "matches"}
NO_ENTRY = "no dictionary has this entry"
NO_MATCH = "no match has these words"
DONE = {"add": "added", "remove": "removed", "retype": "retyped"}


def patch_as_data(labeller: Labeller) -> dict[str, Any]:
    """For each action: lines, those with an effect, entries or matches changed; and the lines without one."""
    counts, why = _counts(labeller)
    data: dict[str, Any] = {}
    for action in ACTIONS:
        changes = labeller.settings.patch.of(action)
        data[action] = {
            "lines": len(changes),
            "effective": sum(counts[change] > 0 for change in changes),
            COUNTED[action]: sum(counts[change] for change in changes),
        }
    data["without_effect"] = [
        {
            "file": change.file,
            "line": change.line,
            "action": change.action,
            "name": change.name,
            "type": change.type,
            "why": why[change],
        }
        for change in labeller.settings.patch.changes
        if not counts[change]
    ]
    return data


def patch_warnings(labeller: Labeller, data: Mapping[str, Any]) -> list[str]:
    """A warning for the lines without effect, and for each type that only the patch has."""
    messages = []
    if idle := data["without_effect"]:
        shown = "; ".join(
            f"{row['file']}, line {row['line']}: {row['action']} {row['name']} ({row['why']})"
            for row in idle[:SHOWN]
        )
        more = f"; and {len(idle) - SHOWN:,} more, in the report (labels.json)" if len(idle) > SHOWN else ""
        lines = sum(data[action]["lines"] for action in ACTIONS)
        messages.append(f"{len(idle):,} of {lines:,} lines of the patch have no effect: {shown}{more}")
    return messages + _new_types(labeller)


def patch_lines(data: Mapping[str, Any]) -> list[str]:
    """For a terminal: one line."""
    entries = [f"{DONE[action]}: {data[action]['entries']:,}" for action in DONE if data[action]["lines"]]
    parts = [f"entries {', '.join(entries)}"] if entries else []
    if data["deny"]["lines"]:
        parts.append(f"matches denied: {data['deny']['matches']:,}")
    return ["", f"Patch: {'; '.join(parts)}"]


def _counts(labeller: Labeller) -> tuple[Counter[Change], dict[Change, str]]:
    """What each change did, as a number of entries or matches; and why it did nothing."""
    patch, counts = labeller.settings.patch, Counter[Change]()
    for change, entries in zip(patch.of("remove", "retype"), _patched(labeller), strict=True):
        counts[change] = entries
    for number, change in enumerate(patch.of("deny")):
        counts[change] = labeller.refused_matches.denied[number]
    why = dict.fromkeys(patch.of("remove", "retype"), NO_ENTRY) | dict.fromkeys(patch.of("deny"), NO_MATCH)
    added = patch.of("add")
    dead = {
        (entry.source, entry.line): reason
        for lexicon in labeller.lexicons
        for entry, reason in lexicon.dead({change.file for change in added})
    }
    for change in added:
        reason = dead.get((change.file, change.line), "")
        counts[change], why[change] = int(not reason), f"can match nothing: {reason}"
    return counts, why


def _patched(labeller: Labeller) -> tuple[int, ...]:
    """Entries that each `remove` and `retype` changed; every lexicon has read all entries."""
    changes = len(labeller.settings.patch.of("remove", "retype"))
    return labeller.lexicons[0].patched if labeller.lexicons else (0,) * changes


def _new_types(labeller: Labeller) -> list[str]:
    """A warning for each type that all its entries have from the patch: it may be a mistyped one."""
    settings, changes = labeller.settings, labeller.settings.patch.of("add", "retype")
    if not (settings.sources or settings.patterns or settings.kb.source or labeller.span_sources):
        return []
    counts, _ = _counts(labeller)
    from_patch: Counter[str] = Counter()
    for change in changes:
        from_patch[change.given_type] += counts[change] if change.action == "retype" else 1
    of_type: Counter[str] = Counter()
    for lexicon in labeller.lexicons:
        entries = np.bincount(lexicon.arrays["entry_kind"], minlength=len(lexicon.kinds)).tolist()
        for kind, count in zip(lexicon.kinds, entries, strict=True):
            of_type[settings.policies.label(kind) or ""] += count
    others = {pattern.label for pattern in settings.patterns}
    others |= {settings.policies.label(kind) or "" for kind in labeller.kb_types}
    others |= labeller.span_sources.labels
    first = {change.given_type: change for change in reversed(changes)}
    return [
        f"{first[name].file}, line {first[name].line}: no other source has the type {name}; if it is "
        "mistyped, correct the patch"
        for name, count in sorted(from_patch.items())
        if count and of_type[name] <= count and name not in others
    ]
