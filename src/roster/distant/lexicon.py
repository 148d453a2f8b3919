"""Dictionaries, compiled: an Aho-Corasick automaton over words, and a table of the entries behind it.

Every distinct piece of the names has a number, written as three or four bytes of which only the first is
below 128; a name is the row of its numbers. The automaton (daachorse, a double array) runs over the same
bytes of the text, so it makes a few steps for each word and can only match whole words. Several automata
share the names of a large dictionary: building one takes much more memory than keeping it.

All of it is flat arrays that are mapped from disk, so loading takes a fraction of a second.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from roster.distant.entries import Batch, read_entries
from roster.distant.pieces import EDGES, MARK, Array, Pieces, Unicode, cut, sequence_hash, stretches
from roster.distant.policy import Policies, Policy
from roster.errors import DataError, RosterError
from roster.files import atomic_folder, fingerprint, write_json

FORMAT = 1  # of the files in the cache; one more whenever they, or what they mean, change
AUTOMATON_SIZE = 400_000
"""Names in one automaton. Building one takes four times the memory of keeping it; each is one more pass."""
MAX_WORDS = 1 << 12
"""A name has fewer words, punctuation included."""
ANY_SHAPE = np.uint32(0xFFFFFFFF)

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

ENTRY_COLUMNS = {
    "entry_kind": np.uint16,
    "entry_source": np.uint16,
    "entry_line": np.int32,
    "entry_reason": np.uint8,
    "entry_flags": np.uint8,
    "surfaces": np.uint8,
}
EDGE_CODES = np.sort(np.array([ord(c) for c in EDGES], np.uint32))
ALLOWED = 1
MAX_BROKEN = 100
ALLOW_LIST = "allow list"


@dataclass(frozen=True, slots=True)
class Source:
    """A dictionary file. Of two claims on the same words, that of the larger priority counts."""

    path: Path
    format: str | None = None
    priority: int = 0
    skip_broken: bool = False

    @property
    def name(self) -> str:
        return self.path.name


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a dictionary."""

    surface: str
    kind: str
    source: str
    line: int


@dataclass(frozen=True)
class Lexicon:
    """What `compile_lexicon` makes; `Matcher` runs it over text."""

    form: Unicode
    kinds: tuple[str, ...]
    sources: tuple[str, ...]
    priorities: tuple[int, ...]
    arrays: dict[str, Array] = field(repr=False)
    automata: tuple[Any, ...] = field(repr=False)
    broken: tuple[int, tuple[str, ...]] = (0, ())
    """Lines that were skipped because they could not be read: how many, and what is wrong with the first."""

    def __len__(self) -> int:
        return len(self.arrays["entry_kind"])

    def entry(self, i: int) -> Entry:
        a = self.arrays
        start, end = a["surface_starts"][i : i + 2].tolist()
        surface = a["surfaces"][start:end].tobytes().decode()
        return Entry(
            surface,
            self.kinds[a["entry_kind"][i]],
            self.sources[a["entry_source"][i]],
            int(a["entry_line"][i]),
        )

    def dead(self) -> Iterator[tuple[Entry, str]]:
        """The entries that can match nothing, with the reason."""
        for i in np.flatnonzero(self.arrays["entry_reason"]).tolist():
            yield self.entry(i), REASONS[int(self.arrays["entry_reason"][i])]

    def dead_counts(self) -> dict[str, int]:
        counts = np.bincount(self.arrays["entry_reason"], minlength=len(REASONS) + 1)
        return {name: int(counts[reason]) for reason, name in REASONS.items() if counts[reason]}

    @cached_property
    def singles(self) -> int:
        """The first names are those of one piece."""
        return int(self.arrays["single"].max(initial=-1)) + 1

    @cached_property
    def code_width(self) -> int:
        return code_width(len(self.arrays["vocabulary"]))

    def numbers(self, pieces: Pieces) -> Array:
        """The number of each piece, 0 for one that no name has."""
        known, check = self.arrays["vocabulary"], self.arrays["vocabulary_check"]
        if not len(known):
            return np.zeros(len(pieces.key), np.int32)
        at = np.searchsorted(known, pieces.key)
        at[at == len(known)] = 0
        same = (known[at] == pieces.key) & (check[at] == pieces.check)
        return np.where(same, at + 1, 0).astype(np.int32)

    def codes(self, numbers: Array) -> bytes:
        return encode(numbers, self.code_width).tobytes()


PAIR_BITS = 26


def pair_hash(first: Array, second: Array) -> Array:
    """Where in the table of pairs two neighbouring pieces have their bit."""
    mixed = (first.astype(np.uint64) << np.uint64(32) | second.astype(np.uint64)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    return mixed >> np.uint64(64 - PAIR_BITS)


def code_width(words: int) -> int:
    """Bytes for a number up to `words`, seven bits in each."""
    return 3 if words < 1 << 21 else 4


def encode(numbers: Array, width: int) -> Array:
    """Numbers as rows of bytes, of which only the first is below 128.

    >>> encode(np.array([1, 300]), 3).tolist()
    [[0, 128, 129], [0, 130, 172]]
    """
    codes = np.empty((len(numbers), width), np.uint8)
    for place in range(width):
        codes[:, place] = (numbers >> (7 * (width - 1 - place)) & 127) | (128 if place else 0)
    return codes


def load_lexicons(
    sources: Sequence[Source],
    policies: Policies,
    cache: Path | None,
    *,
    log: Callable[[str], None] | None = None,
) -> list[Lexicon]:
    """One lexicon for each normal form that the policies ask for, from the cache where it has them."""
    if not sources and not allow_lists(policies):
        return []
    forms = sorted({policy.form for policy in (policies.default, *(p for _, p in policies.types))})
    lexicons = []
    for form in forms:
        if cache is None:
            lexicons.append(compile_lexicon(sources, policies, form))
            continue
        folder = cache / "lexicons" / _key(sources, policies, form)
        found = load(folder)
        if found is None:
            if log:
                log(f"compiling {', '.join(s.name for s in sources)} (kept in {folder} for the next time)")
            _check_writable(folder.parent)
            found = compile_lexicon(sources, policies, form, folder)
        lexicons.append(found)
    return [lexicon for lexicon in lexicons if len(lexicon)] or lexicons[:1]


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RosterError(
            f"cannot write {folder}: {error.strerror}; --cache names another folder, --no-cache does without"
        ) from error


def default_cache() -> Path:
    """`ROSTER_CACHE`, else the user's cache folder."""
    if os.environ.get("ROSTER_CACHE"):
        return Path(os.environ["ROSTER_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roster"


def _key(sources: Sequence[Source], policies: Policies, form: Unicode) -> str:
    contents = []
    for source in sources:
        try:
            with source.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise DataError("no such file", path=source.path) from None
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", path=source.path) from error
        contents.append([source.name, source.format, source.priority, source.skip_broken, digest])
    return fingerprint(FORMAT, version("daachorse"), contents, policies.as_dict(), form)


def compile_lexicon(
    sources: Sequence[Source], policies: Policies, form: Unicode = "NFKC", folder: Path | None = None
) -> Lexicon:
    """Reads the dictionaries and compiles the names whose policy has this normal form, into `folder`."""
    table = _Table(policies, form)
    for source in sources:
        for batch in read_entries(
            source.path, source.format, skip_broken=source.skip_broken, on_broken=table.broken.append
        ):
            table.add(batch, source.name, source.priority)
    for kind, names in allow_lists(policies).items():
        table.add(Batch(list(names), [kind] * len(names), [0] * len(names)), ALLOW_LIST, 0)
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="roster-") as temporary:
            table.write(Path(temporary))
            return _read(Path(temporary), mapped=False)
    with atomic_folder(folder, first=True) as part:
        table.write(part)
    return _read(folder)


def allow_lists(policies: Policies) -> dict[str, tuple[str, ...]]:
    """Names to add, by their type. A pattern of types (`ORG.*`) names none that they could have."""
    return {name: p.allow for name, p in policies.types if p.allow and not any(c in name for c in "*?[")}


class _Table:
    """Grows by batches; `compiled` numbers the pieces and builds the automata."""

    def __init__(self, policies: Policies, form: Unicode):
        self.policies, self.form = policies, form
        self.kinds: dict[str, int] = {}
        self.kind_policies: list[_Filter] = []
        self.sources: dict[str, int] = {}
        self.priorities: list[int] = []
        self.columns: dict[str, list[Array]] = {}
        self.size = 0
        self.broken = _Broken()

    def add(self, batch: Batch, source: str, priority: int) -> None:
        if source not in self.sources:
            self.sources[source] = len(self.sources)
            self.priorities.append(priority)
        for name in sorted(set(batch.kinds) - self.kinds.keys()):
            self.kinds[name] = len(self.kinds)
            self.kind_policies.append(_Filter(self.policies, name, self.form))
        number = self.kinds
        kind = np.fromiter((number[k] for k in batch.kinds), np.uint16, len(batch.kinds))
        here = np.array([f.here for f in self.kind_policies], bool)[kind]
        if not here.all():  # names of types with another normal form are in another lexicon
            keep = np.flatnonzero(here).tolist()
            batch = Batch(
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
        pieces = cut(batch.surfaces, self.form)
        reason, flags, first, last = self._judged(pieces, kind)
        self._put(entry_reason=reason, entry_flags=flags)
        live = np.flatnonzero(reason == LIVE)
        self._put_forms(pieces, first[live], last[live], live + self.size)
        plural = np.array([f.policy.plural for f in self.kind_policies], bool)[kind[live]]
        if plural.any():
            chosen = live[plural]
            more = cut(
                [plural_of(batch.surfaces[i].rstrip("".join(EDGES))) for i in chosen.tolist()], self.form
            )
            _, _, first, last = self._judged(more, kind[chosen])
            self._put_forms(more, first, last, chosen + self.size, any_last=True)
        self.size += len(kind)

    def _judged(self, pieces: Pieces, kind: Array) -> tuple[Array, Array, Array, Array]:
        """For each name: why it is dead (0: it is not), its flags, and its first and last piece + 1."""
        n = len(pieces)
        first, last = pieces.starts[:-1].copy(), pieces.starts[1:].copy()
        owner = pieces.owner
        word = pieces.kind != MARK
        edge = ~word & _among(pieces.first, EDGE_CODES)
        words = np.bincount(owner[word], minlength=n)
        letters = np.bincount(owner[word], pieces.length[word], minlength=n)
        solid = np.flatnonzero(~edge)
        inner_first, inner_last = last.copy(), first.copy()
        np.minimum.at(inner_first, owner[solid], solid)
        np.maximum.at(inner_last, owner[solid], solid + 1)
        reason, flags = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
        stop_count: dict[frozenset[str], Array] = {}
        for number in np.unique(kind).tolist():
            rule = self.kind_policies[number]
            rows = np.flatnonzero(kind == number)
            if rule.policy.edges:
                first[rows], last[rows] = inner_first[rows], inner_last[rows]
            if rule.unwanted:
                reason[rows] = UNWANTED
                continue
            why = reason[rows]
            if rule.stops not in stop_count:
                stop_count[rule.stops] = np.bincount(
                    owner[word & _among(pieces.key, rule.stop_keys)], minlength=n
                )
            why[stop_count[rule.stops][rows] == words[rows]] = STOP_WORD
            why[words[rows] < rule.policy.min_words] = FEW_WORDS
            why[letters[rows] < rule.policy.min_length] = SHORT
            full = np.flatnonzero(last[rows] > first[rows])
            hashes = np.zeros(len(rows), np.uint64)
            if len(rule.allow_keys) or len(rule.deny_keys):
                hashes[full] = sequence_hash(pieces.key, first[rows][full], last[rows][full])
            if len(rule.allow_keys):
                allowed = _among(hashes, rule.allow_keys)
                why[allowed] = LIVE
                flags[rows[allowed]] = ALLOWED
            why[_among(hashes, rule.deny_keys)] = DENIED
            why[words[rows] == 0] = NO_WORD
            why[last[rows] - first[rows] >= MAX_WORDS] = LONG
            reason[rows] = why
        return reason, flags, first, last

    def _put_forms(
        self, pieces: Pieces, first: Array, last: Array, entry: Array, any_last: bool = False
    ) -> None:
        length = last - first
        index, begins = stretches(first, length)
        shape = pieces.shape[index]
        if any_last:
            shape[begins + length - 1] = ANY_SHAPE
        self._put(
            form_entry=entry.astype(np.int32),
            form_length=length.astype(np.int32),
            key=pieces.key[index],
            check=pieces.check[index],
            shape=shape,
        )

    def _put(self, **columns: Array) -> None:
        for name, column in columns.items():
            self.columns.setdefault(name, []).append(column)

    def _take(self, name: str, dtype: Any) -> Array:
        """A column in one piece; what it was made of is let go."""
        parts = self.columns.pop(name, [])
        return np.concatenate(parts) if parts else np.zeros(0, dtype)

    def write(self, folder: Path) -> None:
        """The compiled lexicon. What is finished goes to disk at once, since building automata needs room."""
        import daachorse

        def put(name: str, array: Array) -> None:
            np.save(folder / f"{name}.npy", array)

        for name, dtype in ENTRY_COLUMNS.items():
            put(name, self._take(name, dtype))
        put("surface_starts", _starts(self._take("surface_lengths", np.int32)))
        numbers, vocabulary, check = _numbered(self._take("key", np.uint64), self._take("check", np.uint32))
        put("vocabulary", vocabulary)
        put("vocabulary_check", check)
        length = self._take("form_length", np.int32)
        starts = _starts(length)
        names, name_of = _distinct(vocabulary, numbers, starts)
        by_name = np.argsort(name_of, kind="stable").astype(np.int32)
        name_of = name_of[by_name]
        put("form_entry", self._take("form_entry", np.int32)[by_name])
        put("name_starts", np.searchsorted(name_of, np.arange(len(names) + 1)).astype(np.int32))
        sorted_starts = _starts(length[by_name])
        put("shape_starts", sorted_starts)
        put("shapes", _gathered(self._take("shape", np.uint32), starts, by_name))
        _same_names(_gathered(numbers, starts, by_name), sorted_starts, name_of)
        # A name of one piece needs no automaton, only a place in a table.
        singles = int((length[names] == 1).sum())
        single = np.full(len(vocabulary) + 1, -1, np.int32)
        single[numbers[starts[names[:singles]]]] = np.arange(singles)
        put("single", single)
        put("pairs", _pair_bits(numbers, starts, names[singles:]))
        width = code_width(len(vocabulary))
        del name_of, by_name, sorted_starts, length, single, vocabulary, check
        automata = 0
        for at in range(singles, len(names), AUTOMATON_SIZE):
            _release()
            chosen = names[at : at + AUTOMATON_SIZE]
            automaton = daachorse.DoubleArrayAhoCorasick(_coded(numbers, starts, chosen, width))
            (folder / f"automaton-{automata}.bin").write_bytes(automaton.serialize())
            automata += 1
            del automaton
        about = {
            "form": self.form,
            "kinds": list(self.kinds),
            "sources": list(self.sources),
            "priorities": self.priorities,
            "automata": automata,
            "broken": [self.broken.count, self.broken.first],
            "files": {f.name: f.stat().st_size for f in sorted(folder.iterdir())},
        }
        write_json(folder / "lexicon.json", about)


def _numbered(key: Array, check: Array) -> tuple[Array, Array, Array]:
    """A number from 1 for every piece, and the distinct pieces in the order of their numbers."""
    vocabulary, first, numbers = np.unique(key, return_index=True, return_inverse=True)
    if (check[first][numbers] != check).any():
        raise RuntimeError("two different words have the same hash; change the multipliers in pieces.py")
    return (numbers + 1).astype(np.int32), vocabulary, check[first]


def _distinct(vocabulary: Array, numbers: Array, starts: Array) -> tuple[Array, Array]:
    """One form of each distinct name, and for each form the number of its name.

    Names of one piece come first. Then neighbours in the automaton's table should be neighbours in memory,
    so the order is by the first piece, then the second.
    """
    if len(starts) == 1:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    hashes = sequence_hash(vocabulary[numbers - 1], starts[:-1], starts[1:])
    _, names, name_of = np.unique(hashes, return_index=True, return_inverse=True)
    del hashes
    first = starts[names]
    longer = starts[names + 1] - first > 1
    second = np.where(longer, numbers[np.minimum(first + 1, len(numbers) - 1)], 0)
    order = np.lexsort((second, numbers[first], longer))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return names[order].astype(np.int32), rank[name_of]


def _coded(numbers: Array, starts: Array, forms: Array, width: int) -> list[bytes]:
    """The names of some forms, as the automaton reads them."""
    length = starts[forms + 1] - starts[forms]
    index, begins = stretches(starts[forms], length)
    codes = encode(numbers[index], width).tobytes()
    borders = [*(begins * width).tolist(), len(codes)]
    return [codes[a:b] for a, b in pairwise(borders)]


def _pair_bits(numbers: Array, starts: Array, forms: Array) -> Array:
    """A bit for every two neighbouring pieces of a name, so that most of a text is seen to hold none."""
    bits = np.zeros(1 << PAIR_BITS, bool)
    for at in range(0, len(forms), 1 << 18):
        chosen = forms[at : at + (1 << 18)]
        index, _ = stretches(starts[chosen], starts[chosen + 1] - starts[chosen] - 1)
        bits[pair_hash(numbers[index], numbers[index + 1])] = True
    return np.packbits(bits, bitorder="little")


def _gathered(values: Array, starts: Array, order: Array) -> Array:
    """The stretches of `values` in another order."""
    parts = []
    for at in range(0, len(order), 1 << 18):  # by parts, because the indices take more room than the values
        chosen = order[at : at + (1 << 18)]
        parts.append(values[stretches(starts[chosen], starts[chosen + 1] - starts[chosen])[0]])
    return np.concatenate(parts) if parts else values[:0]


def _same_names(numbers: Array, starts: Array, name_of: Array) -> None:
    """Two forms of one name have the same pieces, not only the same hash."""
    same = np.flatnonzero(name_of[1:] == name_of[:-1])
    length = np.diff(starts)
    equal = bool((length[same] == length[same + 1]).all())
    if equal:
        index, _ = stretches(starts[same], length[same])
        equal = bool((numbers[index] == numbers[index + np.repeat(length[same], length[same])]).all())
    if not equal:
        raise RuntimeError("two different names have the same hash; change the multipliers in pieces.py")


def _release() -> None:
    """Give memory that was freed back to the system, where the C library can; the next step needs much."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _starts(lengths: Array) -> Array:
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


class _Broken:
    """Lines that cannot be read: all are counted, the first few are kept."""

    def __init__(self) -> None:
        self.count, self.first = 0, list[str]()

    def append(self, error: DataError) -> None:
        self.count += 1
        if len(self.first) < MAX_BROKEN:
            self.first.append(str(error))


class _Filter:
    """The policy of one type, ready for arrays."""

    def __init__(self, policies: Policies, kind: str, form: Unicode):
        self.policy: Policy = policies.of(kind)
        self.here = self.policy.form == form
        self.unwanted = policies.label(kind) is None
        self.stops = self.policy.stops
        self.stop_keys = np.sort(cut(sorted(self.stops), form).key)
        self.allow_keys = _name_hashes(self.policy.allow, self.policy)
        self.deny_keys = _name_hashes(self.policy.deny, self.policy)


def _name_hashes(names: Iterable[str], policy: Policy) -> Array:
    pieces = cut(list(names), policy.form)
    hashes = []
    edges = {ord(c) for c in EDGES} if policy.edges else set()
    for first, last in zip(pieces.starts[:-1].tolist(), pieces.starts[1:].tolist(), strict=True):
        while first < last and int(pieces.first[first]) in edges:
            first += 1
        while last > first and int(pieces.first[last - 1]) in edges:
            last -= 1
        if first < last:
            hashes.append(sequence_hash(pieces.key, np.array([first]), np.array([last]))[0])
    return np.sort(np.array(hashes, np.uint64))


def _among(values: Array, known: Array) -> Array:
    """Which values are in the sorted array `known`."""
    if not len(known):
        return np.zeros(len(values), bool)
    at = np.searchsorted(known, values)
    at[at == len(known)] = 0
    return np.asarray(known[at] == values)


def plural_of(name: str) -> str:
    """The regular English plural.

    >>> [plural_of(w) for w in ("lung tumour", "biopsy", "abscess", "tray")]
    ['lung tumours', 'biopsies', 'abscesses', 'trays']
    """
    small = name.lower()
    if small.endswith("y") and small[-2:-1] not in ("", *"aeiou"):
        return name[:-1] + "ies"
    return name + ("es" if small.endswith(("s", "x", "z", "ch", "sh")) else "s")


def load(folder: Path) -> Lexicon | None:
    """A compiled lexicon; None where there is none, or a damaged one, which is removed."""
    if not folder.is_dir():
        return None
    try:
        return _read(folder)
    except (OSError, ValueError, KeyError, TypeError):
        # Moved aside first: another process must not find half of it.
        with suppress(OSError), tempfile.TemporaryDirectory(dir=folder.parent) as aside:
            folder.rename(Path(aside) / "damaged")
        return None


def _read(folder: Path, mapped: bool = True) -> Lexicon:
    import daachorse

    about = json.loads((folder / "lexicon.json").read_text(encoding="utf-8"))
    if any((folder / name).stat().st_size != size for name, size in about["files"].items()):
        raise ValueError("a file has another size than when it was written")
    arrays = {
        name.removesuffix(".npy"): np.asarray(np.load(folder / name, mmap_mode="r" if mapped else None))
        for name in about["files"]
        if name.endswith(".npy")
    }
    automata = tuple(
        daachorse.DoubleArrayAhoCorasick.deserialize((folder / f"automaton-{i}.bin").read_bytes())
        for i in range(about["automata"])
    )
    return Lexicon(
        about["form"],
        tuple(about["kinds"]),
        tuple(about["sources"]),
        tuple(about["priorities"]),
        arrays,
        automata,
        (about["broken"][0], tuple(about["broken"][1])),
    )
