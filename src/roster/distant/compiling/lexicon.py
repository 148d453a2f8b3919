"""A compiled dictionary: Aho-Corasick automata over subtokens, and a table of the entries behind them.

Every distinct subtoken of the names has a number, written as three or four bytes of which only the first is
below 128; a name is the row of its numbers. The automaton (daachorse, a double array) runs over the same
bytes of the text, so it makes a few steps for each word and can only match whole words. Several automata
share the names of a large dictionary: building one takes much more memory than keeping it.

All of it is flat arrays that are mapped from disk, so loading takes a fraction of a second.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from roster.distant.policy.entry_stats import EntryStats
from roster.distant.policy.filters import REASONS
from roster.distant.subtokens import Array, Subtokens, Unicode
from roster.parsing import parse_json

ANY_SHAPE = np.uint32(0xFFFFFFFF)
"""The shape of a word that may have any: the last word of a plural."""


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
    automaton_size: int
    """Names in each automaton but the last."""
    entry_stats: tuple[EntryStats, ...] = ()
    """How the entries of each kind are written."""
    broken: tuple[int, tuple[str, ...]] = (0, ())
    """Lines that were skipped because they could not be read: how many, and what is wrong with the first."""
    patched: tuple[int, ...] = ()
    """Entries that each `remove` and `retype` of the patch changed, in the order of the patch."""
    folder: Path | None = None
    """Where the arrays are mapped from; None if they are in memory."""

    def __reduce__(self) -> tuple[Callable[..., Lexicon], tuple[Any, ...]]:
        """Pickled as its folder, if it has one; otherwise with its arrays and automata."""
        if self.folder is not None:
            return read, (self.folder,)
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["automata"] = tuple(automaton.serialize() for automaton in self.automata)
        return _with_automata, (values,)

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

    def dead(self, sources: Collection[str] | None = None) -> Iterator[tuple[Entry, str]]:
        """The entries, of all sources or of some, that can match nothing, with the reason."""
        dead = self.arrays["entry_reason"] > 0
        if sources is not None:
            numbers = [number for number, name in enumerate(self.sources) if name in sources]
            dead &= np.isin(self.arrays["entry_source"], numbers)
        for i in np.flatnonzero(dead).tolist():
            yield self.entry(i), REASONS[int(self.arrays["entry_reason"][i])]

    def dead_counts(self) -> dict[str, int]:
        counts = np.bincount(self.arrays["entry_reason"], minlength=len(REASONS) + 1)
        return {name: int(counts[reason]) for reason, name in REASONS.items() if counts[reason]}

    @cached_property
    def singles(self) -> int:
        """The first names are those of one subtoken."""
        return int(self.arrays["single"].max(initial=-1)) + 1

    @cached_property
    def code_width(self) -> int:
        return code_width(len(self.arrays["vocabulary"]))

    def numbers(self, subtokens: Subtokens) -> Array:
        """The number of each subtoken, 0 for one that no name has."""
        known, check = self.arrays["vocabulary"], self.arrays["vocabulary_check"]
        if not len(known):
            return np.zeros(len(subtokens.key), np.int32)
        at = np.searchsorted(known, subtokens.key)
        at[at == len(known)] = 0
        same = (known[at] == subtokens.key) & (check[at] == subtokens.check)
        return np.where(same, at + 1, 0).astype(np.int32)

    def codes(self, numbers: Array) -> bytes:
        return encode(numbers, self.code_width).tobytes()


PAIR_BITS = 26


def pair_hash(first: Array, second: Array) -> Array:
    """Where in the table of pairs two neighbouring subtokens have their bit."""
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


def load(folder: Path) -> Lexicon | None:
    """A compiled lexicon; None where there is none, or a damaged one, which is removed."""
    if not folder.is_dir():
        return None
    try:
        return read(folder)
    except (OSError, ValueError, KeyError, TypeError):
        # Moved aside first: another process must not find half of it.
        with suppress(OSError), tempfile.TemporaryDirectory(dir=folder.parent) as aside:
            folder.rename(Path(aside) / "damaged")
        return None


def read(folder: Path, mapped: bool = True) -> Lexicon:
    """A compiled lexicon, mapped from its files or read into memory. Raises OSError or ValueError."""
    import daachorse

    about = parse_json((folder / "lexicon.json").read_text(encoding="utf-8"))
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
        about["automaton_size"],
        tuple(EntryStats(**counts) for counts in about["writing"]),
        (about["broken"][0], tuple(about["broken"][1])),
        tuple(about["patched"]),
        folder if mapped else None,
    )


def _with_automata(values: dict[str, Any]) -> Lexicon:
    import daachorse

    automata = tuple(map(daachorse.DoubleArrayAhoCorasick.deserialize, values["automata"]))
    return Lexicon(**{**values, "automata": automata})
