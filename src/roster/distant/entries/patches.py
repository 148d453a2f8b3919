"""Two patches as one: of the same labels, or one of the labels that the other gave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from roster.distant.entries.patch import Change, contradict, plain


def overruled(changes: Iterable[Change], surer: Sequence[Change]) -> list[Change]:
    """Return both patches of the same labels as one, without changes that a surer one contradicts.

    >>> one, two = Change("add", "May", "PER"), Change("deny", "May")
    >>> [str(change) for change in overruled([one, Change("add", "Oslo", "LOC")], [two])]
    ['add Oslo LOC', 'deny May']
    """
    by_name = _by_name(surer)
    kept = [c for c in changes if not any(contradict(c, other) for other in by_name[plain(c.name)])]
    return [*kept, *surer]


def followed(changes: Iterable[Change], later: Iterable[Change]) -> list[Change]:
    """Return two patches as one, of which the later is of the labels that the earlier gave.

    `roster label` compares the types of a patch with those of the dictionary. So a change of an entry that
    the earlier patch retyped or added becomes a change of what the dictionary has. Where no single patch has
    the same effect, because an entry is both retyped and added with its old type, it is added.

    >>> one = Change("retype", "Bonn", "ORG", "PER")
    >>> [str(change) for change in followed([one], [Change("retype", "Bonn", "PER", "LOC")])]
    ['retype Bonn ORG LOC', 'retype Bonn PER LOC']
    >>> [str(change) for change in followed([Change("add", "May", "PER")], [Change("remove", "May", "PER")])]
    ['remove May PER']
    """
    first, second = _by_name(changes), _by_name(later)
    return [
        change
        for name in dict.fromkeys([*first, *second])
        for change in (_one_after_the_other(first[name], second[name]) if second[name] else first[name])
    ]


def _one_after_the_other(first: Sequence[Change], later: Sequence[Change]) -> Iterator[Change]:
    """The changes of one name, by what becomes of each of its types."""
    name = (*first, *later)[0].name
    added = {kind: None for c in first if c.action == "add" and (kind := _then(c.type, later))}
    added |= {c.type: None for c in later if c.action == "add"}
    actions = {c.action for c in later}
    denied = "deny" in actions or (
        any(c.action == "deny" for c in first) and actions.isdisjoint(("add", "retype"))
    )
    if any(c.action == "remove" and not c.type for c in (*first, *later)):
        yield Change("remove", name)
    else:
        for kind in dict.fromkeys(c.type for c in (*first, *later) if c.action in ("remove", "retype")):
            result = _then(_then(kind, first), later)
            if kind in added and not denied:
                continue
            if not result:
                yield Change("remove", name, kind)
            elif result != kind and not denied:
                yield Change("retype", name, kind, result)
    if denied:
        yield Change("deny", name)
    else:
        yield from (Change("add", name, kind) for kind in added)


def _then(kind: str, changes: Iterable[Change]) -> str:
    """The type of an entry after the changes of its name; empty if it is removed, and then it stays so."""
    result = kind
    for change in changes:
        if kind and change.action == "remove" and change.type in ("", kind):
            return ""
        if kind and change.action == "retype" and change.type == kind:
            result = change.new_type
    return result


def _by_name(changes: Iterable[Change]) -> defaultdict[str, list[Change]]:
    found: defaultdict[str, list[Change]] = defaultdict(list)
    for change in changes:
        found[plain(change.name)].append(change)
    return found
