"""A patch of the dictionaries: entries to add, to remove and to retype, and words that get no label.

A text file with one change on a line, its columns separated by tabs. More columns are comments, and so are
lines that begin with `#`. TYPE is the label as in the data set.

    add      NAME   TYPE              a new entry
    remove   NAME   TYPE              the entry no longer labels; without TYPE, of whatever type
    retype   NAME   TYPE   NEW TYPE   the entry has another type
    deny     NAME                     these words get no label from any source

Names of `remove` and `retype` are written exactly as in the dictionary, except for white space. Changes are
applied while the dictionaries are read, so the result is that of edited files.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal, get_args

from roster.distant.entries.batch import EntryBatch
from roster.distant.entries.blocks import read_blocks, unpacked
from roster.errors import DataError
from roster.files import write_text

Action = Literal["add", "remove", "retype", "deny"]
ACTIONS: tuple[Action, ...] = get_args(Action)
COLUMNS: dict[Action, tuple[str, ...]] = {
    "add": ("NAME", "TYPE"),
    "remove": ("NAME",),
    "retype": ("NAME", "TYPE", "NEW TYPE"),
    "deny": ("NAME",),
}
"""Columns that must not be empty."""


@dataclass(frozen=True, slots=True)
class Change:
    """A line of a patch. `type` and `new_type` are labels, empty where the action has none."""

    action: Action
    name: str
    type: str = ""
    new_type: str = ""
    path: str = ""
    line: int = 0

    @property
    def file(self) -> str:
        """The name of the patch file, which is the source of what the line adds."""
        return Path(self.path).name

    @property
    def given_type(self) -> str:
        """The type that a name has by this change; empty if it gives none."""
        return {"add": self.type, "retype": self.new_type}.get(self.action, "")

    def __str__(self) -> str:
        """The line as in a patch file, with spaces.

        >>> str(Change("retype", "Oslo", "PER", "LOC"))
        'retype Oslo PER LOC'
        """
        return " ".join(filter(None, (self.action, self.name, self.type, self.new_type)))


@dataclass(frozen=True)
class Patch:
    """The changes of one or more files; no two of them contradict each other, and none is there twice."""

    changes: tuple[Change, ...] = ()

    def of(self, *actions: Action) -> tuple[Change, ...]:
        """The changes with one of these actions."""
        return tuple(change for change in self.changes if change.action in actions)

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the files, each once."""
        return tuple(dict.fromkeys(change.path for change in self.changes))

    def __bool__(self) -> bool:
        return bool(self.changes)


NO_CHANGES = Patch()


def read_patch(*paths: str | PathLike[str]) -> Patch:
    """The changes of some patch files, as one patch.

    Raises:
        DataError: for a line that cannot be read, or that contradicts another, with its file and number.
    """
    return merged(change for path in paths for change in _changes(Path(path)))


def merged(changes: Iterable[Change]) -> Patch:
    """One patch of many changes; what is there twice counts once.

    Raises:
        DataError: for a change that contradicts an earlier one.
    """
    kept: dict[str, list[Change]] = {}
    for change in changes:
        earlier = kept.setdefault(plain(change.name), [])
        for other in earlier:
            if contradict(change, other):
                raise DataError(
                    f"`{change}` contradicts `{other}` ({other.path}, line {other.line}); delete one of them",
                    path=change.path,
                    line=change.line,
                )
        if not any(_what(change) == _what(other) for other in earlier):
            earlier.append(change)
    order = {
        path: place for place, path in enumerate(dict.fromkeys(c.path for of in kept.values() for c in of))
    }
    every = (change for of_name in kept.values() for change in of_name)
    return Patch(tuple(sorted(every, key=lambda change: (order[change.path], change.line))))


def contradict(one: Change, other: Change) -> bool:
    """Whether two changes of the same name cannot both be meant.

    Removing a name of every type and adding it with one is no contradiction: the added entry is left.

    >>> contradict(Change("add", "Oslo", "LOC"), Change("remove", "Oslo", "LOC"))
    True
    >>> contradict(Change("add", "Oslo", "LOC"), Change("remove", "Oslo"))
    False
    """
    first, second = sorted((one, other), key=lambda change: change.action)
    match first.action, second.action:
        case ("add", "deny") | ("deny", "retype"):
            return True
        case ("add", "remove") | ("add", "retype"):
            return first.type == second.type
        case ("remove", "retype"):
            return first.type in ("", second.type)
        case ("retype", "retype"):
            return first.type == second.type and first.new_type != second.new_type
    return False


def plain(name: str) -> str:
    """A name without differences in white space and in how accents are encoded; case stays.

    >>> plain(" New  York ")
    'New York'
    """
    return " ".join(unicodedata.normalize("NFC", name).split())


def write_patch(
    path: str | PathLike[str], rows: Iterable[tuple[Change, Sequence[object]]], head: str = ""
) -> None:
    """Writes changes, each with further columns as comments, below the lines of `head` as comments."""
    lines = [f"# {line}" for line in head.splitlines()]
    lines += [patch_line(change, comments) for change, comments in rows]
    write_text(Path(path), "".join(f"{line}\n" for line in lines))


def patch_line(change: Change, comments: Sequence[object] = ()) -> str:
    """A change as a line of a patch file, with further columns as comments.

    Control characters, which a column cannot hold, become spaces.

    >>> patch_line(Change("remove", "New  York", "LOC"), ["12 labels"])
    'remove\\tNew York\\tLOC\\t12 labels'
    """
    columns: list[object] = [change.action, change.name]
    if change.action != "deny":
        columns.append(change.type)
    if change.action == "retype":
        columns.append(change.new_type)
    return "\t".join(_column(column) for column in (*columns, *comments))


def _column(value: object) -> str:
    text = str(value)
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(c) == "Cc" else c for c in text)
    return " ".join(text.split())


def _what(change: Change) -> tuple[str, str, str]:
    return change.action, change.type, change.new_type


def _changes(path: Path) -> Iterator[Change]:
    def broken(error: DataError) -> None:
        raise error

    with unpacked(path) as file:
        for block in read_blocks(file, path, broken):
            for number, line in block.lines(broken):
                if line.strip() and not line.lstrip().startswith("#"):
                    yield _change(line, path, number)


def _change(line: str, path: Path, number: int) -> Change:
    def error(message: str) -> DataError:
        return DataError(message, path=path, line=number)

    action, *columns = (column.strip() for column in line.split("\t"))
    known = next((name for name in ACTIONS if name == action), None)
    if known is None:
        tabs = "" if columns else "; the columns are separated by tabs"
        raise error(f"unknown action {action[:80]!r}; expected {', '.join(ACTIONS)}{tabs}")
    needed = COLUMNS[known]
    for place, column in enumerate(needed):
        if not "".join(columns[place : place + 1]):
            form = "<TAB>".join((known, *needed))
            raise error(f"the column {column} is empty or missing; expected {form}")
    columns += [""] * 3
    name, kind = columns[0], columns[1] if known != "deny" else ""
    new_kind = columns[2] if known == "retype" else ""
    if known == "retype" and kind == new_kind:
        raise error(f"{name!r} is retyped from {kind} to {kind}; give another type, or delete the line")
    return Change(known, name, kind, new_kind, str(path), number)


class EntryPatch:
    """Removes and retypes entries as they are read, and counts what each change did.

    Args:
        patch: all changes.
        label: from a type as the dictionary writes it to its label, None if it has none.
        kind: the opposite, for the types that the patch gives.
    """

    def __init__(self, patch: Patch, label: Callable[[str], str | None], kind: Callable[[str], str]):
        self.changes = patch.of("remove", "retype")
        self.entries = [0] * len(self.changes)
        """By change: entries that were removed or retyped."""
        self._added = patch.of("add")
        self._label, self._kind = label, kind
        self._of_name: dict[str, list[int]] = {}
        for place, change in enumerate(self.changes):
            self._of_name.setdefault(plain(change.name), []).append(place)

    def apply(self, batch: EntryBatch) -> EntryBatch:
        """The entries of a batch that are left, with the types that they have then."""
        if not self._of_name:
            return batch
        kinds: dict[int, str | None] = {}
        for i, surface in enumerate(batch.surfaces):
            changes = self._of_name.get(plain(surface))
            if changes and (kind := self._new_kind(batch.kinds[i], changes)) != batch.kinds[i]:
                kinds[i] = kind
        return _with_kinds(batch, kinds) if kinds else batch

    def added(self) -> Iterator[tuple[str, EntryBatch]]:
        """The entries that each file adds, with the name of the file."""
        files: dict[str, list[Change]] = {}
        for change in self._added:
            files.setdefault(change.file, []).append(change)
        for file, changes in files.items():
            kinds = [self._kind(change.type) for change in changes]
            yield file, EntryBatch([c.name for c in changes], kinds, [c.line for c in changes])

    def _new_kind(self, kind: str, changes: Sequence[int]) -> str | None:
        """The type of an entry after the changes of its name; None if it is removed."""
        label, result = self._label(kind), kind
        removed = False
        for place in changes:
            change = self.changes[place]
            if change.type not in ("", label):
                continue
            self.entries[place] += 1
            if change.action == "remove":
                removed = True
            else:
                result = self._kind(change.new_type)
        return None if removed else result


def _with_kinds(batch: EntryBatch, kinds: Mapping[int, str | None]) -> EntryBatch:
    """The batch with other types for some entries; those with None are left out."""
    kept = [i for i in range(len(batch)) if kinds.get(i, "") is not None]
    return EntryBatch(
        [batch.surfaces[i] for i in kept],
        [kinds.get(i) or batch.kinds[i] for i in kept],
        [batch.lines[i] for i in kept],
    )
