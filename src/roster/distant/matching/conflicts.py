"""One label for each stretch of words, where sources overlap or disagree.

The rules, in the order in which they are applied. None of them looks at the order in which mentions come in.

1. **Spans.** Mentions of the same stretch of words are one span. Its strength is its length in words, then
   its priority (the highest of its claims; the larger number wins), then its votes: how many different pairs
   of source and kind claim it. A name listed twice in one dictionary under one kind has one vote.

2. **Overlap.** No word is in two of the spans that are taken.

   - `longest`: the longest span first; among equally long ones the one of higher priority, then of more
     votes, then the leftmost. It is taken if it shares no word with a span taken before.
   - `squares` (AutoNER): the set of spans, none sharing a word, with the largest sum of squared lengths;
     among equal sets the larger sum of priorities, then the larger sum of votes. If that is equal too, the
     sets are read from left to right, and at the first span that differs the one that starts further left
     wins, or the longer one where both start at the same word.

   They differ where a long name is caught between two others: of names on the words 1-3, 3-6 and 6-8
   `longest` takes the middle one (4 words), `squares` the outer two (9 + 9 against 16).

3. **Type.** Only the claims of the highest priority on a taken span count, and the type with the most
   votes among them wins. Where several types have the most votes the span is ambiguous:

   - `drop`: it gets no label.
   - `all`: it gets all tied types.
   - `first`: it gets the tied type that comes first in alphabetical order.
   - `document`: it gets the tied type that the unambiguous labels of its document favour. First counted are
     the labels whose words contain the ambiguous name, or equal it, in any case (for `Lund`, `Maria Lund` and
     `LUND`): the type with most of them wins. Types that are still tied then are compared by how many
     unambiguous labels of the whole document have them. If that ends in a tie too, the span gets no label.
     Ambiguous spans never count, not even those that were decided.

   A span that gets no label still keeps the spans that it beat from being taken.

4. **Agreement.** A type that fewer than `agreement` different sources claim on the span, at any priority, is
   no label. The span still keeps those that it beat from being taken.

5. **Phrases of unknown type** (an empty `Mention.label`) take part in 1 and 2 as any other. On a span that
   also has a claim with a type they do not count in 3. A span with nothing else becomes a label without
   types.

Every mention ends either in the evidence of one label or among the dropped, with the reason.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Literal, get_args

from roster.distant.matching.mention import Label, Mention
from roster.errors import ConfigError

Overlap = Literal["longest", "squares"]
Ambiguous = Literal["drop", "all", "first", "document"]

Claims = list[Mention]
"""All mentions of one stretch of words: never empty, all with the same start and end."""

Name = tuple[str, ...]


class Reason(StrEnum):
    """Why a mention did not become a label."""

    OVERLAP = "overlap"
    """A span that shares words with it was taken."""
    UNTYPED = "untyped"
    """It has no type, and another claim on the same words has one."""
    PRIORITY = "priority"
    """A claim of higher priority on the same words has another type."""
    VOTES = "votes"
    """Another type has more votes on the same words."""
    AMBIGUOUS = "ambiguous"
    """Several types have equally many votes, and nothing decides between them."""
    FIRST = "first"
    """Equally many votes; another type comes first in alphabetical order."""
    AGREEMENT = "agreement"
    """Fewer sources claim the decided type than are required."""
    DOCUMENT = "document"
    """Equally many votes; the labels of the document favour another type."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The labels of one sentence from left to right, none sharing a word, and the mentions that lost."""

    labels: list[Label]
    dropped: list[tuple[Mention, Reason]]


def resolve(mentions: Iterable[Mention], overlap: Overlap = "longest") -> tuple[list[Claims], list[Claims]]:
    """The spans of one sentence that are taken, and those that lose against them (rules 1 and 2).

    Both are in order of their start, the longer span first.

    >>> bank = Mention(0, 2, "ORG", "ORG", "firms", "Swiss Bank")
    >>> swiss = Mention(0, 1, "MISC", "MISC", "peoples", "Swiss")
    >>> taken, lost = resolve([swiss, bank])
    >>> taken == [[bank]], lost == [[swiss]]
    (True, True)
    """
    _check("overlap", overlap, get_args(Overlap))
    choose = _squares if overlap == "squares" else _longest
    spans = _spans(mentions)
    taken: list[Claims] = []
    lost: list[Claims] = []
    first = 0
    while first < len(spans):
        # Conflicts are resolved within each cluster of overlapping spans; most clusters are single spans.
        reach, stop = spans[first][0].end, first + 1
        while stop < len(spans) and spans[stop][0].start < reach:
            reach, stop = max(reach, spans[stop][0].end), stop + 1
        if stop == first + 1:
            taken.append(spans[first])
        else:
            cluster = spans[first:stop]
            chosen = choose(cluster)
            for index, claims in enumerate(cluster):
                (taken if index in chosen else lost).append(claims)
        first = stop
    return taken, lost


def tied_types(claims: Sequence[Mention]) -> tuple[str, ...]:
    """The types with the most votes among the claims of the highest priority on one span, sorted (rule 3).

    Several if the span is ambiguous, none if no claim has a type.
    """
    if len(claims) == 1:
        return (claims[0].label,) if claims[0].label else ()
    typed = [c for c in claims if c.label]
    if not typed:
        return ()
    top = max(c.priority for c in typed)
    voters: dict[str, set[tuple[str, str]]] = {}
    for c in typed:
        if c.priority == top:
            voters.setdefault(c.label, set()).add((c.source, c.kind))
    return _most(sorted(voters), {label: len(votes) for label, votes in voters.items()})


def resolve_document(
    sentences: Iterable[tuple[Sequence[str], Iterable[Mention]]],
    *,
    overlap: Overlap = "longest",
    ambiguous: Ambiguous = "drop",
    agreement: int = 1,
) -> list[Resolved]:
    """The labels of the sentences of one document, given as their words and mentions.

    `agreement` is the number of sources that must claim a type on the same words (rule 4).

    >>> person = Mention(0, 1, "PER", "PER", "people", "Lund")
    >>> town = Mention(0, 1, "LOC", "LOC", "towns", "Lund")
    >>> whole = Mention(0, 2, "PER", "PER", "people", "Maria Lund")
    >>> document = [(("Maria", "Lund", "spoke"), [whole]), (("Lund", "smiled"), [person, town])]
    >>> second = resolve_document(document, ambiguous="document")[1]
    >>> second.labels[0].types, [(m.label, reason.value) for m, reason in second.dropped]
    (('PER',), [('LOC', 'document')])
    """
    _check("ambiguous", ambiguous, get_args(Ambiguous))
    resolved_spans = []
    for words, mentions in sentences:
        taken, lost = resolve(mentions, overlap)
        resolved_spans.append((words, [(claims, tied_types(claims)) for claims in taken], lost))
    # All spans of the document are collected before the first ambiguous one is decided.
    document = None
    if ambiguous == "document":
        document = _Document((words, *span) for words, spans, _ in resolved_spans for span in spans)
    results = []
    for words, spans, lost in resolved_spans:
        labels: list[Label] = []
        dropped: list[tuple[Mention, Reason]] = [(c, Reason.OVERLAP) for claims in lost for c in claims]
        for claims, tied in spans:
            types, reason = tied, Reason.AMBIGUOUS
            if len(tied) > 1:
                if document is not None:
                    types, reason = document.decide(_name(words, claims[0]), tied)
                elif ambiguous == "first":
                    types, reason = tied[:1], Reason.FIRST
                elif ambiguous == "drop":
                    types = ()
            agreed = types if agreement == 1 else tuple(t for t in types if _sources(claims, t) >= agreement)
            if agreed or not tied:
                labels.append(_label(claims, agreed))
            if len(claims) > 1:
                dropped += _losers(claims, types, tied, reason)
            if agreed != types:
                dropped += [
                    (c, Reason.AGREEMENT) for c in claims if c.label in types and c.label not in agreed
                ]
        if len(dropped) > 1:
            dropped.sort(key=lambda pair: _reading_order(pair[0]))
        results.append(Resolved(labels, dropped))
    return results


_reading_order = attrgetter("start", "end", "label", "kind", "source", "entry", "line", "priority")


def _check(setting: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ConfigError(f"{setting} = {value!r}: expected one of {', '.join(known)}")


def _spans(mentions: Iterable[Mention]) -> list[Claims]:
    """The mentions of each stretch of words, in order of their start, the longer stretch first."""
    spans: list[Claims] = []
    start = end = -1
    for m in sorted(mentions, key=lambda m: (m.start, -m.end)):
        if m.start == start and m.end == end:
            spans[-1].append(m)
        else:
            start, end = m.start, m.end
            spans.append([m])
    return spans


def _strength(claims: Claims) -> tuple[int, int]:
    """Priority and votes of a span."""
    if len(claims) == 1:
        return claims[0].priority, 1
    return max(c.priority for c in claims), len({(c.source, c.kind) for c in claims})


def _longest(cluster: Sequence[Claims]) -> set[int]:
    """The spans that rule `longest` takes, by index."""
    strengths = [_strength(claims) for claims in cluster]
    lengths = [claims[0].end - claims[0].start for claims in cluster]
    # A sort keeps the order of equals, also in reverse, and the spans come from left to right.
    ranked = sorted(range(len(cluster)), key=lambda i: (lengths[i], *strengths[i]), reverse=True)
    taken: set[int] = set()
    covered: set[int] = set()
    for i in ranked:
        start, end = cluster[i][0].start, cluster[i][0].end
        # No taken span is shorter than this one, so none lies between its first and its last word.
        if start not in covered and end - 1 not in covered:
            taken.add(i)
            covered.update(range(start, end))
    return taken


def _squares(cluster: Sequence[Claims]) -> set[int]:
    """The spans that rule `squares` takes, by index.

    `best[i]` is the worth of the best set among the spans from `i` on: span `i` with the best set that starts
    after its end, or the best set without it. The spans are in order of their start, the longer first, so at
    equal worth the set with span `i` is the one that the rule prefers.
    """
    count = len(cluster)
    starts = [claims[0].start for claims in cluster]
    best = [(0, 0, 0)] * (count + 1)
    after = [0] * count
    takes = [False] * count
    for i in range(count - 1, -1, -1):
        end = cluster[i][0].end
        after[i] = bisect_left(starts, end, lo=i + 1)
        squares, priorities, votes = best[after[i]]
        priority, vote = _strength(cluster[i])
        with_it = (squares + (end - starts[i]) ** 2, priorities + priority, votes + vote)
        takes[i] = with_it >= best[i + 1]
        best[i] = with_it if takes[i] else best[i + 1]
    taken: set[int] = set()
    i = 0
    while i < count:
        if takes[i]:
            taken.add(i)
        i = after[i] if takes[i] else i + 1
    return taken


def _label(claims: Claims, types: tuple[str, ...]) -> Label:
    """The label with its evidence: the claims of its types, the weightiest first."""
    start, end = claims[0].start, claims[0].end
    if len(claims) == 1:
        return Label(start, end, types, (claims[0],))
    evidence = [c for c in claims if c.label in types] if types else claims
    return Label(start, end, types, tuple(sorted(evidence, key=lambda c: (-c.priority, _reading_order(c)))))


def _sources(claims: Claims, label: str) -> int:
    """The number of different sources that claim a type."""
    return len({c.source for c in claims if c.label == label})


def _losers(
    claims: Claims, types: tuple[str, ...], tied: tuple[str, ...], between_tied: Reason
) -> list[tuple[Mention, Reason]]:
    """The claims on a span that have none of `types`, with the reason.

    `between_tied` is the reason for a type that was tied with the decided one.
    """
    if not tied:
        return []
    top = max(c.priority for c in claims if c.label)
    losers: list[tuple[Mention, Reason]] = []
    for c in claims:
        if c.label in types:
            continue
        if not c.label:
            losers.append((c, Reason.UNTYPED))
        elif c.label in tied:
            losers.append((c, between_tied))
        else:
            losers.append((c, Reason.PRIORITY if c.priority < top else Reason.VOTES))
    return losers


def _name(words: Sequence[str], span: Mention) -> Name:
    return tuple(word.casefold() for word in words[span.start : span.end])


def _most(types: Iterable[str], counts: Mapping[str, int]) -> tuple[str, ...]:
    """Those of the types that have the highest count, in the order given."""
    types = tuple(types)
    most = max(counts.get(t, 0) for t in types)
    return tuple(t for t in types if counts.get(t, 0) == most)


class _Document:
    """Counts of the unambiguous labels of a document, for its ambiguous names."""

    def __init__(self, spans: Iterable[tuple[Sequence[str], Claims, tuple[str, ...]]]):
        """Of each span the words of its sentence, its claims and its tied types."""
        spans = [span for span in spans if span[2]]
        self._around: dict[Name, Counter[str]] = {
            _name(words, claims[0]): Counter() for words, claims, tied in spans if len(tied) > 1
        }
        self._all: Counter[str] = Counter()
        if not self._around:
            return
        named = Counter((_name(words, claims[0]), tied[0]) for words, claims, tied in spans if len(tied) == 1)
        lengths = {len(name) for name in self._around}
        for (name, label), count in named.items():
            self._all[label] += count
            # Looking up the parts of each name is linear; comparing it with every ambiguous one is not.
            parts = {name[i : i + n] for n in lengths for i in range(len(name) - n + 1)}
            for part in parts & self._around.keys():
                self._around[part][label] += count

    def decide(self, name: Name, tied: tuple[str, ...]) -> tuple[tuple[str, ...], Reason]:
        """The one type of `tied` that the labels of the document favour, or none."""
        for counts in (self._around[name], self._all):
            tied = _most(tied, counts)
        return (tied, Reason.DOCUMENT) if len(tied) == 1 else ((), Reason.AMBIGUOUS)
