"""The record of how a data set was labelled: `labels.toml`, beside the report.

It has all settings, so `roster label --config` reads it, and a section `[record]` with the corpus, the
options of input and output, and digests of all files. Paths are relative to the file, so that a folder with
text, dictionaries and data sets can be moved as a whole; those that have only the root folder in common with
it are absolute.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import roster
from roster.config import read_toml
from roster.corpus.tags import Scheme
from roster.distant.output.target import RECORD as FILE
from roster.distant.output.target import Target, beside
from roster.distant.settings import RECORD, Settings, load_settings
from roster.distant.settings_file import Place, as_toml
from roster.errors import ConfigError, DataError
from roster.files import file_digest, fingerprint, write_text
from roster.toml import toml_key, toml_value

HEAD = """\
# How roster label made these labels, with the values of all settings. roster label CORPUS --config FILE reads
# it. Paths are relative to this file.

"""
FILES = ("corpus", "gold")
TEXTS = ("format", "split", "to", "scheme")


@dataclass(frozen=True)
class Origin:
    """What labels are made from, besides their settings."""

    corpus: Path | None
    """None: it was in memory."""
    format: str | None = None
    split: str | None = None
    gold: Path | None = None
    in_memory: tuple[str, ...] = ()
    """What else was in memory, in words, such as `names`."""


@dataclass(frozen=True)
class Record:
    """A record that can be followed: everything was in files."""

    path: Path
    settings: Settings
    corpus: Path
    to: str
    scheme: Scheme = "BIO"
    provenance: bool = True
    format: str | None = None
    split: str | None = None
    gold: Path | None = None
    inputs: Mapping[Path, str] | None = None
    """Digests of the files when they were read."""
    labels: Mapping[Path, str] | None = None
    """Digests of the labels when they were written."""

    def check_unchanged(self) -> None:
        """Raise DataError if an input has other content now, or the labels were changed by hand."""
        for path, before in (self.inputs or {}).items():
            if (now := digest(path)) != before:
                what = "was changed" if now else "is missing, or moved,"
                raise DataError(
                    f"{what} since {self.path.parent} was labelled with it; label and train again, as an "
                    "audit is of the labels that this file gave",
                    path=path,
                )
        for path, before in (self.labels or {}).items():
            if digest(path) != before:
                raise DataError(
                    "was changed after roster label wrote it, and new labels would lose that; put "
                    "what was changed into a patch (--patch) or a file of annotations (--annotations), label "
                    "and train again",
                    path=path,
                )


def write_record(
    target: Target, settings: Settings, origin: Origin | None, scheme: Scheme, *, provenance: bool
) -> None:
    """Write the record of the labels of a target; without an origin, remove that of an earlier labelling."""
    if origin is None:
        target.record.unlink(missing_ok=True)
        return
    place = _place_from(target.record.parent)
    values: dict[str, Any] = {
        "version": roster.__version__,
        "corpus": None if origin.corpus is None else place(origin.corpus),
        "format": origin.format,
        "split": origin.split,
        "gold": None if origin.gold is None else place(origin.gold),
        "to": target.format,
        "scheme": scheme,
        "provenance": provenance,
        "in_memory": [*(["the corpus"] if origin.corpus is None else []), *origin.in_memory],
    }
    read = {place(path): found for path in _inputs(settings, origin) if (found := digest(path))}
    made = {place(path): digest(path) for path in target.labels}
    lines = [HEAD + as_toml(settings, place), f"[{RECORD}]"]
    lines += [f"{name} = {toml_value(value)}" for name, value in values.items() if value is not None]
    for name, digests in (("inputs", read), ("labels", made)):
        lines += ["", f"[{RECORD}.{name}]", *(f"{toml_key(p)} = {toml_value(d)}" for p, d in digests.items())]
    text = "\n".join(lines) + "\n"
    write_text(target.record, text.encode(errors="replace").decode())  # a path that is not UTF-8 is lost


def read_record(data: str | Path) -> Record:
    """The record of a data set, a folder or a file.

    Raises:
        DataError: there is none, or something was in memory and so is not in it.
        ConfigError: it is damaged.
    """
    file = beside(data, FILE)
    if not file.is_file():
        raise DataError(
            f"no record of how it was labelled ({file.name}); label again from "
            "files, with this version of roster label, and train on that",
            path=data,
        )
    tree = read_toml(file)
    table = tree.get(RECORD)
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: the section [{RECORD}] is missing; label again")
    if in_memory := table.get("in_memory"):
        raise DataError(
            f"{', '.join(map(str, in_memory))} of this data set came from memory and cannot be read "
            "again; write them to files, label from those, and train on that",
            path=data,
        )
    texts = {name: _text(table, name, file) for name in TEXTS}
    files = {name: None if (one := _text(table, name, file)) is None else file.parent / one for name in FILES}
    if files["corpus"] is None or texts["to"] is None:
        raise ConfigError(f"{file}: [{RECORD}] needs corpus and to; label again")
    return Record(
        file,
        load_settings(file),
        files["corpus"],
        texts["to"],
        cast(Scheme, texts["scheme"] or "BIO"),
        bool(table.get("provenance", True)),
        texts["format"],
        texts["split"],
        files["gold"],
        _digests(table, "inputs", file),
        _digests(table, "labels", file),
    )


def digest(path: Path) -> str:
    """A hash of the content of a file, or of all files in a folder; empty if there is none."""
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
        return fingerprint([[p.relative_to(path).as_posix(), file_digest(p)] for p in files])
    return file_digest(path) if path.is_file() else ""


def _inputs(settings: Settings, origin: Origin) -> Iterator[Path]:
    """The files whose content decides the labels. Knowledge bases and models are not among them: they are
    large, or on other machines."""
    if origin.corpus is not None:
        yield origin.corpus
    yield from (source.path for source in settings.sources)
    yield from map(Path, settings.patch.files)
    yield from (one.path for one in settings.annotations if one.sentences is None)
    if settings.kb.source and settings.kb.classes.endswith(".toml"):
        yield Path(settings.kb.classes)


def _place_from(folder: Path) -> Place:
    base = folder.resolve()

    def place(path: str | Path) -> str:
        given = Path.cwd() / path
        full = given.parent.resolve() / given.name if given.name not in ("", "..") else given.resolve()
        try:
            common = Path(os.path.commonpath((full, base)))
        except ValueError:  # another drive
            return str(full)
        return str(full) if common == common.parent else Path(os.path.relpath(full, base)).as_posix()

    return place


def _text(table: Mapping[str, Any], name: str, file: Path) -> str | None:
    value = table.get(name)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{file}: [{RECORD}] {name} must be a text, not {value!r}")
    return value


def _digests(table: Mapping[str, Any], name: str, file: Path) -> dict[Path, str]:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{file}: [{RECORD}.{name}] must be a table of paths and digests")
    return {file.parent / path: str(value) for path, value in found.items()}
