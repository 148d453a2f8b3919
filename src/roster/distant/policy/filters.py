"""Which entries of a dictionary can match at all under the policy of their type, for many at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from roster.distant.policy.policies import STOP_WORDS, Policies, Policy
from roster.distant.subtokens import EDGES, MARK, Array, Subtokens, Unicode, sequence_hash, to_subtokens

MAX_WORDS = 1 << 12
"""A name has fewer words, punctuation included."""

LIVE, UNWANTED, DENIED, NO_WORD, SHORT, FEW_WORDS, STOP_WORD, LONG = range(8)
REASONS = {
    UNWANTED: "type without a label",
    DENIED: "on the deny list",
    NO_WORD: "no letter or digit",
    SHORT: "shorter than min_length",
    FEW_WORDS: "fewer words than min_words",
    STOP_WORD: "only stop-words",
    LONG: "too many words for a name",
}
"""Why an entry can match nothing under the policy of its type."""

EDGE_CODES = np.sort(np.array([ord(c) for c in EDGES], np.uint32))
ALLOWED = 1
"""Flag of an entry that is on the allow list of its type; the other flags are in `entry_stats`."""


class Filter:
    """The policy of one type as arrays of hashes."""

    def __init__(self, policies: Policies, kind: str, form: Unicode):
        self.policy: Policy = policies.of(kind)
        self.here = self.policy.form == form
        self.unwanted = policies.label(kind) is None
        self.stops = self.policy.stops
        self.shortest = self.policy.shortest
        self.stop_keys = np.sort(to_subtokens(sorted(self.stops), form).key)
        self._form = form
        self.allow_keys = _name_hashes(self.policy.allow, self.policy)
        self.deny_keys = _name_hashes(self.policy.deny, self.policy)

    def keep_short(self) -> None:
        """Names of any length match from now on."""
        self.shortest = 1

    def keep_stop_words(self) -> None:
        """Stop-words match from now on, except those that the settings name one by one."""
        self.stops = frozenset(word for word in self.policy.stop_words if word not in STOP_WORDS)
        self.stop_keys = np.sort(to_subtokens(sorted(self.stops), self._form).key)


def _name_hashes(names: Iterable[str], policy: Policy) -> Array:
    subtokens = to_subtokens(list(names), policy.form)
    hashes = []
    edges = {ord(c) for c in EDGES} if policy.edges else set()
    for first, last in zip(subtokens.starts[:-1].tolist(), subtokens.starts[1:].tolist(), strict=True):
        while first < last and int(subtokens.first[first]) in edges:
            first += 1
        while last > first and int(subtokens.first[last - 1]) in edges:
            last -= 1
        if first < last:
            hashes.append(sequence_hash(subtokens.key, np.array([first]), np.array([last]))[0])
    return np.sort(np.array(hashes, np.uint64))


def _among(values: Array, known: Array) -> Array:
    """Which values are in the sorted array `known`."""
    if not len(known):
        return np.zeros(len(values), bool)
    at = np.searchsorted(known, values)
    at[at == len(known)] = 0
    return np.asarray(known[at] == values)


def filter_names(
    subtokens: Subtokens, kind: Array, filters: Sequence[Filter]
) -> tuple[Array, Array, Array, Array]:
    """For each name: why it is dead (0: it is not), its flags, and its first and last subtoken + 1."""
    n = len(subtokens)
    first, last = subtokens.starts[:-1].copy(), subtokens.starts[1:].copy()
    owner = subtokens.owner
    word = subtokens.kind != MARK
    edge = ~word & _among(subtokens.first, EDGE_CODES)
    words = np.bincount(owner[word], minlength=n)
    letters = np.bincount(owner[word], subtokens.length[word], minlength=n)
    solid = np.flatnonzero(~edge)
    inner_first, inner_last = last.copy(), first.copy()
    np.minimum.at(inner_first, owner[solid], solid)
    np.maximum.at(inner_last, owner[solid], solid + 1)
    reason, flags = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    stop_count: dict[frozenset[str], Array] = {}
    for number in np.unique(kind).tolist():
        rule = filters[number]
        rows = np.flatnonzero(kind == number)
        if rule.policy.edges:
            first[rows], last[rows] = inner_first[rows], inner_last[rows]
        if rule.unwanted:
            reason[rows] = UNWANTED
            continue
        why = reason[rows]
        if rule.stops not in stop_count:
            stop_count[rule.stops] = np.bincount(
                owner[word & _among(subtokens.key, rule.stop_keys)], minlength=n
            )
        why[stop_count[rule.stops][rows] == words[rows]] = STOP_WORD
        why[words[rows] < rule.policy.min_words] = FEW_WORDS
        why[letters[rows] < rule.shortest] = SHORT
        full = np.flatnonzero(last[rows] > first[rows])
        hashes = np.zeros(len(rows), np.uint64)
        if len(rule.allow_keys) or len(rule.deny_keys):
            hashes[full] = sequence_hash(subtokens.key, first[rows][full], last[rows][full])
        if len(rule.allow_keys):
            allowed = _among(hashes, rule.allow_keys)
            why[allowed] = LIVE
            flags[rows[allowed]] = ALLOWED
        why[_among(hashes, rule.deny_keys)] = DENIED
        why[words[rows] == 0] = NO_WORD
        why[last[rows] - first[rows] >= MAX_WORDS] = LONG
        reason[rows] = why
    return reason, flags, first, last
