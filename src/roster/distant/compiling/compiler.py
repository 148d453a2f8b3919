"""From dictionary files to a lexicon on disk: numbers for subtokens, names once each, automata.

Finished arrays go to disk at once and are freed as soon as possible: two million entries compile in half a
gigabyte.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from roster.distant.compiling.lexicon import (
    ANY_SHAPE,
    Lexicon,
    Source,
    code_width,
    read,
)
from roster.distant.compiling.numbering import (
    coded,
    distinct,
    gathered,
    numbered,
    pair_bits,
    same_names,
    starts_of,
)
from roster.distant.entries import EntryBatch, read_entries
from roster.distant.entries.patch import NO_CHANGES, EntryPatch, Patch
from roster.distant.policy.entry_stats import (
    EntryStats,
    EntryStatsCounter,
    deferred,
    entry_flags,
    filter_again,
)
from roster.distant.policy.filters import LIVE, Filter, filter_names
from roster.distant.policy.policies import Policies
from roster.distant.subtokens import EDGES, Array, Subtokens, Unicode, flat_ranges, to_subtokens
from roster.errors import DataError
from roster.files import atomic_folder, write_json

ENTRY_COLUMNS = {
    "entry_kind": np.uint16,
    "entry_source": np.uint16,
    "entry_line": np.int32,
    "entry_reason": np.uint8,
    "entry_flags": np.uint8,
    "surfaces": np.uint8,
}
MAX_BROKEN = 100
AUTOMATON_SIZE, MAX_AUTOMATA = 400_000, 8
"""Names in one automaton, or more where there would be too many automata. Building one takes several times
the memory of keeping it; each is one more pass over the text."""
ALLOW_LIST = "allow list"


def compile_lexicon(
    sources: Sequence[Source],
    policies: Policies,
    form: Unicode = "NFKC",
    folder: Path | None = None,
    patch: Patch = NO_CHANGES,
) -> Lexicon:
    """Reads the dictionaries and compiles the names whose policy has this normal form, into `folder`."""
    table = _Table(policies, form)
    entries = EntryPatch(patch, policies.label, lambda label: policies.kind(label) or label)
    for source in sources:
        for batch in read_entries(
            source.path, source.format, skip_broken=source.skip_broken, on_broken=table.broken.append
        ):
            table.add(entries.apply(batch), source.name, source.priority)
    for kind, names in allow_lists(policies).items():
        allowed = EntryBatch(list(names), [kind] * len(names), [0] * len(names))
        table.add(entries.apply(allowed), ALLOW_LIST, 0)
    for file, batch in entries.added():
        table.add(batch, file, 0)
    table.patched = entries.entries
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="roster-") as temporary:
            table.write(Path(temporary))
            return read(Path(temporary), mapped=False)
    with atomic_folder(folder, first=True) as part:
        table.write(part)
    return read(folder)


def allow_lists(policies: Policies) -> dict[str, tuple[str, ...]]:
    """Names to add, by type. Those of a pattern of types (`ORG.*`) are left out: their type is not known."""
    return {name: p.allow for name, p in policies.types if p.allow and not any(c in name for c in "*?[")}


class _Table:
    """Columns of entries and forms; `add` appends batches, `write` builds the automata."""

    def __init__(self, policies: Policies, form: Unicode):
        self.policies, self.form = policies, form
        self.kinds: dict[str, int] = {}
        self.filters: list[Filter] = []
        self.sources: dict[str, int] = {}
        self.priorities: list[int] = []
        self.columns: dict[str, list[Array]] = {}
        self.size = 0
        self.broken = _Broken()
        self.entry_stats = EntryStatsCounter(form)
        self.deferred: list[tuple[int, str, int]] = []  # entry, surface, kind
        self.patched: list[int] = []

    def add(self, batch: EntryBatch, source: str, priority: int) -> None:
        if source not in self.sources:
            self.sources[source] = len(self.sources)
            self.priorities.append(priority)
        for name in sorted(set(batch.kinds) - self.kinds.keys()):
            self.kinds[name] = len(self.kinds)
            self.filters.append(Filter(self.policies, name, self.form))
        number = self.kinds
        kind = np.fromiter((number[k] for k in batch.kinds), np.uint16, len(batch.kinds))
        here = np.array([f.here for f in self.filters], bool)[kind]
        if not here.all():  # names of types with another normal form are in another lexicon
            keep = np.flatnonzero(here).tolist()
            batch = EntryBatch(
                [batch.surfaces[i] for i in keep],
                [batch.kinds[i] for i in keep],
                [batch.lines[i] for i in keep],
            )
            kind = kind[keep]
        if not len(kind):
            return
        self._put(
            entry_kind=kind,
            entry_source=np.full(len(kind), self.sources[source], np.uint16),
            entry_line=np.asarray(batch.lines, np.int32),
        )
        blob = [surface.encode() for surface in batch.surfaces]
        self._put(
            surfaces=np.frombuffer(b"".join(blob), np.uint8),
            surface_lengths=np.fromiter(map(len, blob), np.int32, len(blob)),
        )
        subtokens = to_subtokens(batch.surfaces, self.form)
        reason, flags, first, last = filter_names(subtokens, kind, self.filters)
        flags |= entry_flags(subtokens)
        self.entry_stats.add(subtokens, kind, flags, reason)
        self._put(entry_reason=reason, entry_flags=flags)
        for i in deferred(reason, kind, self.filters).tolist():
            self.deferred.append((i + self.size, batch.surfaces[i], int(kind[i])))
        live = np.flatnonzero(reason == LIVE)
        self._put_live(batch.surfaces, subtokens, kind, live, first, last, np.arange(len(kind)) + self.size)
        self.size += len(kind)

    def _put_live(
        self,
        surfaces: Sequence[str],
        subtokens: Subtokens,
        kind: Array,
        live: Array,
        first: Array,
        last: Array,
        entry: Array,
    ) -> None:
        """Adds the forms of those entries that can match."""
        self._put_forms(subtokens, first[live], last[live], entry[live])
        plural = np.array([f.policy.plural for f in self.filters], bool)[kind[live]]
        if plural.any():
            chosen = live[plural]
            more = to_subtokens(
                [plural_of(surfaces[i].rstrip("".join(EDGES))) for i in chosen.tolist()], self.form
            )
            _, _, first, last = filter_names(more, kind[chosen], self.filters)
            self._put_forms(more, first, last, entry[chosen], any_last=True)

    def _put_deferred(self) -> list[EntryStats]:
        """Adds the forms of short names and stop-words of types that keep them, and returns all counts."""
        entry_stats = self.entry_stats.result(len(self.kinds))
        if self.deferred:
            rows, surfaces, kinds = zip(*self.deferred, strict=True)
            entry, kind = np.array(rows), np.array(kinds)
            subtokens = to_subtokens(surfaces, self.form)
            reason, _, first, last = filter_again(subtokens, kind, self.filters, entry_stats)
            (column,) = self.columns["entry_reason"] = [np.concatenate(self.columns["entry_reason"])]
            column[entry] = reason
            live = np.flatnonzero(reason == LIVE)
            self._put_live(surfaces, subtokens, kind, live, first, last, entry)
        return entry_stats

    def _put_forms(
        self, subtokens: Subtokens, first: Array, last: Array, entry: Array, any_last: bool = False
    ) -> None:
        length = last - first
        index, begins = flat_ranges(first, length)
        shape = subtokens.shape[index]
        if any_last:
            shape[begins + length - 1] = ANY_SHAPE
        self._put(
            form_entry=entry.astype(np.int32),
            form_length=length.astype(np.int32),
            key=subtokens.key[index],
            check=subtokens.check[index],
            shape=shape,
        )

    def _put(self, **columns: Array) -> None:
        for name, column in columns.items():
            self.columns.setdefault(name, []).append(column)

    def _take(self, name: str, dtype: Any) -> Array:
        """A column as one array; the arrays it was made of are freed."""
        parts = self.columns.pop(name, [])
        return np.concatenate(parts) if parts else np.zeros(0, dtype)

    def write(self, folder: Path) -> None:
        """Writes the compiled lexicon, arrays first, since building automata needs memory."""
        import daachorse

        entry_stats = self._put_deferred()

        def put(name: str, array: Array) -> None:
            np.save(folder / f"{name}.npy", array)

        for name, dtype in ENTRY_COLUMNS.items():
            put(name, self._take(name, dtype))
        put("surface_starts", starts_of(self._take("surface_lengths", np.int32)))
        numbers, vocabulary, check = numbered(self._take("key", np.uint64), self._take("check", np.uint32))
        put("vocabulary", vocabulary)
        put("vocabulary_check", check)
        length = self._take("form_length", np.int32)
        starts = starts_of(length)
        names, name_of = distinct(vocabulary, numbers, starts)
        by_name = np.argsort(name_of, kind="stable").astype(np.int32)
        name_of = name_of[by_name]
        put("form_entry", self._take("form_entry", np.int32)[by_name])
        put("name_starts", np.searchsorted(name_of, np.arange(len(names) + 1)).astype(np.int32))
        sorted_starts = starts_of(length[by_name])
        put("shape_starts", sorted_starts)
        put("shapes", gathered(self._take("shape", np.uint32), starts, by_name))
        same_names(gathered(numbers, starts, by_name), sorted_starts, name_of)
        # A name of one subtoken needs no automaton, only a place in a table.
        singles = int((length[names] == 1).sum())
        single = np.full(len(vocabulary) + 1, -1, np.int32)
        single[numbers[starts[names[:singles]]]] = np.arange(singles)
        put("single", single)
        put("pairs", pair_bits(numbers, starts, names[singles:]))
        width = code_width(len(vocabulary))
        del name_of, by_name, sorted_starts, length, single, vocabulary, check
        automata = 0
        size = max(AUTOMATON_SIZE, -(-(len(names) - singles) // MAX_AUTOMATA))
        for at in range(singles, len(names), size):
            _release()
            chosen = names[at : at + size]
            automaton = daachorse.DoubleArrayAhoCorasick(coded(numbers, starts, chosen, width))
            (folder / f"automaton-{automata}.bin").write_bytes(automaton.serialize())
            automata += 1
            del automaton
        about = {
            "form": self.form,
            "kinds": list(self.kinds),
            "writing": [asdict(counts) for counts in entry_stats],
            "sources": list(self.sources),
            "priorities": self.priorities,
            "automata": automata,
            "automaton_size": size,
            "broken": [self.broken.count, self.broken.first],
            "patched": self.patched,
            "files": {f.name: f.stat().st_size for f in sorted(folder.iterdir())},
        }
        write_json(folder / "lexicon.json", about)


def _release() -> None:
    """Returns freed memory to the system, where the C library can; building an automaton needs much."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class _Broken:
    """Broken lines: all are counted, the messages of the first few are kept."""

    def __init__(self) -> None:
        self.count, self.first = 0, list[str]()

    def append(self, error: DataError) -> None:
        self.count += 1
        if len(self.first) < MAX_BROKEN:
            self.first.append(str(error))


def plural_of(name: str) -> str:
    """The regular English plural.

    >>> [plural_of(w) for w in ("lung tumour", "biopsy", "abscess", "tray")]
    ['lung tumours', 'biopsies', 'abscesses', 'trays']
    """
    small = name.lower()
    if small.endswith("y") and small[-2:-1] not in ("", *"aeiou"):
        return name[:-1] + "ies"
    return name + ("es" if small.endswith(("s", "x", "z", "ch", "sh")) else "s")
