"""Why a name was labelled in training: the entries that gave its labels, and what the audit found on them.

The index is a temporary SQLite database on disk, made when it is first asked for, so the memory that it takes
does not grow with the training text.
"""

from __future__ import annotations

import sqlite3
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roster.corpus.dataset import load_dataset
from roster.corpus.provenance import provenance_file, read_provenance
from roster.errors import ConfigError, RosterError
from roster.model.folder import AUDIT, AUDIT_ROWS
from roster.parsing import parse_json

MOST_ENTRIES = 20
"""Entries of one answer."""
CHUNK = 50_000
"""Different rows that are counted in memory before they go to the database."""
NOTHING = (
    "This model has no training data and no audit beside it, so where its labels come from is not known."
)
MOVED = "The data set of the run is not where it was, so where the labels come from is not known."
BROKEN = (
    "The provenance of the labels, or the audit, cannot be read, so where the labels come from is not known."
)
LATER = "The data set was written after the run: its labels may be others than those of the training."
UNLABELLED = (
    "No label of the training text has this name; if the model finds it, it is by its words and context."
)

TABLES = """
CREATE TABLE label (folded TEXT, name TEXT, entry TEXT, type TEXT, source TEXT, line INTEGER, labels INTEGER,
  PRIMARY KEY (folded, name, entry, type, source, line)) WITHOUT ROWID;
CREATE TABLE verdict (entry TEXT, type TEXT, source TEXT, line INTEGER, verdict TEXT, believed TEXT,
  longer TEXT, confidence REAL, PRIMARY KEY (entry, type, source, line)) WITHOUT ROWID;
CREATE TABLE missing (folded TEXT, name TEXT, type TEXT, count INTEGER, confidence REAL);
CREATE INDEX missing_name ON missing (folded);
"""
COUNT = """
INSERT INTO label VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET labels = labels + excluded.labels
"""
ENTRIES = """
SELECT entry, type, source, line, sum(labels) AS total, verdict, believed, longer, confidence,
  count(*) OVER () AS every
FROM label LEFT JOIN verdict USING (entry, type, source, line)
WHERE folded = :folded AND (:exact IS NULL OR name = :exact OR entry = :exact)
  AND (:type IS NULL OR type = :type)
GROUP BY entry, type, source, line ORDER BY total DESC, entry, type, source, line LIMIT :most
"""
MISSING = """
SELECT name, type, count, confidence FROM missing
WHERE folded = :folded AND (:type IS NULL OR type = :type)
ORDER BY name = :exact DESC, confidence DESC LIMIT 1
"""


@dataclass(frozen=True)
class Places:
    """Where the origins of the labels of a model are.

    Args:
        provenance: the file that `roster label` wrote beside the labels, or None.
        audit: the claims of `roster audit` as data, or None.
        note: what a user should be told of them.
    """

    provenance: Path | None = None
    audit: Path | None = None
    note: str = ""

    def __bool__(self) -> bool:
        return self.provenance is not None or self.audit is not None


def find_places(folder: str | Path, audit: str | Path | None = None) -> Places:
    """The places of a model.

    Args:
        folder: a run folder, or the model folder in one; a model elsewhere has no places of its own.
        audit: a folder of `roster audit`; without it, that in the run folder if there is one.

    Raises:
        ConfigError: `audit` is no such folder.
    """
    if audit is not None and not (Path(audit) / AUDIT_ROWS).is_file():
        raise ConfigError(f"{audit} is no audit: it has no {AUDIT_ROWS}; roster audit RUN makes one")
    run = Path(folder)
    if run.name == "model" and not (run / "results.json").is_file():
        run = run.resolve().parent
    if not (run / "results.json").is_file():
        return Places(None, None if audit is None else Path(audit) / AUDIT_ROWS, NOTHING)
    from roster.training.finished import FinishedRun  # imports torch, which an export must not

    claims = Path(audit if audit is not None else run / AUDIT) / AUDIT_ROWS
    try:
        data = FinishedRun.open(run).data_path
        file = None if data is None else provenance_file(load_dataset(data))
    except RosterError:
        file, note = None, MOVED
    else:
        note = NOTHING
    if file is not None:
        later = file.stat().st_mtime > (run / "results.json").stat().st_mtime
        note = LATER if later else ""
    return Places(file, claims if claims.is_file() else None, note)


class Origins:
    """The index of one model. Its methods may be called from several threads.

    Args:
        places: where the origins are.
    """

    def __init__(self, places: Places):
        self.places, self.note = places, places.note
        self._lock, self._database, self._closed = threading.Lock(), None, False

    _database: sqlite3.Connection | None

    def explain(self, name: str, label: str | None = None) -> dict[str, Any]:
        """Why a name was labelled.

        Args:
            name: the words, as the text has them. If no label has exactly these, case does not count.
            label: only entries of this type.

        Returns:
            `name`; `known`: whether there is an index; `note`; `entries`, those with the most labels first;
            `more`: how many are left out; `missing`: a name that the audit would add, or None.
        """
        name = plain(name)
        nothing = {"entries": [], "more": 0, "missing": None}
        answer: dict[str, Any] = {"name": name, "known": False, "note": self.note or None, **nothing}
        with self._lock:
            if self._database is None and self.places and not self._closed:
                self._database = self._built()
            if self._database is None:
                return {**answer, "note": self.note}
            found = self._entries(name, label)
            missing = self._database.execute(
                MISSING, {"folded": name.casefold(), "exact": name, "type": label}
            ).fetchone()
        keys = ("name", "label", "count", "confidence")
        answer.update(
            known=True,
            entries=[_entry(row) for row in found],
            more=found[0][-1] - len(found) if found else 0,
            missing=dict(zip(keys, missing, strict=True)) if missing else None,
        )
        if not found:
            answer["note"] = UNLABELLED
        elif self.places.provenance is not None:
            answer["note"] = self.note or None
        else:
            answer["note"] = None
        return answer

    def _entries(self, name: str, label: str | None) -> list[tuple[Any, ...]]:
        assert self._database is not None
        for exact in (name, None):
            asked = {"folded": name.casefold(), "exact": exact, "type": label, "most": MOST_ENTRIES}
            if found := self._database.execute(ENTRIES, asked).fetchall():
                return found
        return []

    def _built(self) -> sqlite3.Connection | None:
        # An empty name: a file that SQLite deletes when the connection is closed.
        database = sqlite3.connect("", check_same_thread=False)
        try:
            database.executescript(TABLES)
            for rows in _counted(self._labels()):
                database.executemany(COUNT, rows)
            if self.places.audit is not None:
                self._add_audit(database, self.places.audit)
            database.commit()
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            database.close()
            self.places, self.note = Places(), BROKEN
            return None
        return database

    def _labels(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        """A row for each label, type and entry, by the words of the label and by the name of the entry."""
        if self.places.provenance is None:
            return
        for one in read_provenance(self.places.provenance):
            if self._closed:
                raise ValueError("closed")
            words = plain(one.text)
            for label in one.types:
                for source in dict.fromkeys(one.sources):
                    rest = (source.entry, label, source.source, source.line)
                    yield (words.casefold(), words, *rest)
                    if (listed := plain(source.entry)).casefold() != words.casefold():
                        yield (listed.casefold(), listed, *rest)

    def _add_audit(self, database: sqlite3.Connection, file: Path) -> None:
        alone = self.places.provenance is None
        with file.open(encoding="utf-8") as lines:
            for row in map(parse_json, lines):
                if row["kind"] == "entry":
                    key = (row["entry"], row["label"], row["source"], row["line"])
                    verdict = (row["verdict"], row["believed"], row["longer"], row["confidence"])
                    database.execute(
                        "INSERT OR REPLACE INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*key, *verdict)
                    )
                    if alone:
                        name = plain(row["entry"])
                        database.execute(COUNT, (name.casefold(), name, *key, row["labels"]))
                elif row["kind"] == "name":
                    name = plain(row["name"])
                    values = (name.casefold(), name, row["label"], row["count"], row["confidence"])
                    database.execute("INSERT INTO missing VALUES (?, ?, ?, ?, ?)", values)

    def close(self) -> None:
        """Ends the making of the index, and removes it."""
        self._closed = True
        with self._lock:
            if self._database is not None:
                self._database.close()
            self._database = None


def plain(name: str) -> str:
    """A name on one line, with composed accents.

    >>> plain(" New  York ")
    'New York'
    """
    return " ".join(unicodedata.normalize("NFC", name).split())


def _counted(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Different rows with how often each is there, in parts; a row may be in several of them."""
    counter: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        counter[row] += 1
        if len(counter) >= CHUNK:
            yield [(*one, count) for one, count in counter.items()]
            counter.clear()
    yield [(*one, count) for one, count in counter.items()]


def _entry(row: tuple[Any, ...]) -> Mapping[str, Any]:
    entry, label, source, line, labels, verdict, believed, longer, confidence, _ = row
    audit = {"verdict": verdict, "believed": believed, "longer": longer, "confidence": confidence}
    return {"entry": entry, "label": label, "source": source, "line": line, "labels": labels,
            "audit": None if verdict is None else audit}  # fmt: skip
