"""Two patches as one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from roster.distant.entries.patch import ACTIONS, Change, merged
from roster.distant.entries.patches import followed, overruled
from roster.errors import DataError

TYPES = ("LOC", "ORG", "PER")


def test_a_patch_of_the_result_of_another() -> None:
    """Changes of what the first patch gave become changes of the dictionary; none contradict each other."""
    first = [
        Change("add", "Ada", "PER"),
        Change("add", "Bo", "PER"),
        Change("retype", "Cy", "LOC", "ORG"),
        Change("retype", "Di", "LOC", "ORG"),
        Change("retype", "Ed", "LOC", "ORG"),
        Change("deny", "Fay"),
        Change("remove", "Guy", "LOC"),
    ]
    later = [
        Change("remove", "Ada", "PER"),
        Change("retype", "Bo", "PER", "LOC"),
        Change("remove", "Cy", "ORG"),
        Change("retype", "Di", "ORG", "PER"),
        Change("retype", "Ed", "ORG", "LOC"),
        Change("add", "Fay", "PER"),
        Change("add", "Guy", "LOC"),
    ]
    both = followed(first, later)
    merged(both)
    assert [str(change) for change in both] == [
        "remove Ada PER",
        "retype Bo PER LOC",
        "add Bo LOC",
        "remove Cy LOC",
        "remove Cy ORG",
        "retype Di LOC PER",
        "retype Di ORG PER",
        "retype Ed ORG LOC",
        "add Fay PER",
        "add Guy LOC",
    ]


def test_a_new_type_of_an_added_entry_and_the_removed_one() -> None:
    """The dictionary lists Bo as a place; a patch makes a person of him, and a later one a place again."""
    first = [Change("remove", "Bo", "LOC"), Change("add", "Bo", "PER")]
    both = followed(first, [Change("retype", "Bo", "PER", "LOC")])
    assert "add Bo LOC" in map(str, merged(both).changes)


def changes(action: str, kind: str, new: str) -> Change | None:
    match action:
        case "deny":
            return Change("deny", "Bo")
        case "retype":
            return Change("retype", "Bo", kind, new) if kind and kind != new else None
        case "add":
            return Change("add", "Bo", kind) if kind else None
    return Change("remove", "Bo", kind)


def patch(chosen: Iterable[Change | None]) -> tuple[Change, ...] | None:
    """Those that do not contradict each other make a patch."""
    try:
        return merged(one for one in chosen if one is not None).changes
    except DataError:
        return None


PATCHES = (
    st.lists(
        st.builds(changes, st.sampled_from(ACTIONS), st.sampled_from(("", *TYPES)), st.sampled_from(TYPES)),
        max_size=4,
    )
    .map(patch)
    .filter(lambda found: found is not None)
)


def types_after(dictionary: Iterable[str], patch: Iterable[Change]) -> set[str]:
    """The types that a name has after a patch, by what docs/labelling.md says of each line."""
    found: set[str] = set()
    for kind in dictionary:
        of_it = [c for c in patch if c.type in ("", kind) and c.action in ("remove", "retype")]
        if any(c.action == "remove" for c in of_it):
            continue
        found.add(of_it[0].new_type if of_it else kind)
    return found | {c.type for c in patch if c.action == "add"}


@given(PATCHES, PATCHES)
def test_two_patches_are_always_one(first: tuple[Change, ...], later: tuple[Change, ...]) -> None:
    merged(followed(first, later))  # raises for a contradiction
    merged(overruled(first, later))
    assert followed(first, ()) == [*first]


@given(PATCHES, PATCHES)
def test_the_result_is_that_of_one_after_the_other(
    first: tuple[Change, ...], later: tuple[Change, ...]
) -> None:
    """What one patch can express: no type that leaves the dictionary's entry and is added as well."""
    both, last = followed(first, later), {c.action for c in later}
    if "deny" in last or ("deny" in {c.action for c in first} and last.isdisjoint(("add", "retype"))):
        assert "deny Bo" in map(str, both)
        return
    added = {c.type for c in both if c.action == "add"}
    for dictionary in chain.from_iterable(combinations(TYPES, size) for size in range(len(TYPES) + 1)):
        expected = types_after(types_after(dictionary, first), later)
        retyped = any(types_after(types_after([kind], first), later) - added for kind in added)
        if not retyped:
            assert types_after(dictionary, both) == expected, (dictionary, [*map(str, both)])
