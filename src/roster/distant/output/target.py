"""Where labels are written: one file of any format, or a folder that `roster train` takes as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from roster.corpus.dataset import PROVENANCE
from roster.corpus.formats import lines
from roster.corpus.io import FORMATS, format_of_name, write
from roster.corpus.layout import TYPES
from roster.corpus.sentence import Sentence
from roster.corpus.tags import Scheme
from roster.distant.labelling.chunk_labeller import Labelled
from roster.distant.output.report import Report, provenance
from roster.errors import RosterError
from roster.files import atomic, refuse_input, write_json, write_text

MARK = "labels.json"
"""The report; a folder that contains it was written by `roster label` and may be written again."""
DEAD = "dead_entries.tsv"
RECORD = "labels.toml"
"""How the labels were made (`record.py`)."""


class Target:
    """A file or a folder to be written; checked before anything is read."""

    def __init__(self, path: str | Path, format: str | None = None, *, inputs: Iterable[str | Path] = ()):
        self.path = Path(path)
        self.folder = _is_folder(self.path)
        self.format = format or ("jsonl" if self.folder else format_of_name(self.path))
        if not FORMATS[self.format].labels:
            raise RosterError(f"{self.path}: {self.format} cannot hold labels; write jsonl, conll or another")
        self.file = self.path / _name(self.format) if self.folder else self.path
        if self.folder and self.path.is_dir():
            others = [f.name for f in self.path.iterdir() if not f.name.startswith(".")]
            if others and MARK not in others:
                raise RosterError(
                    f"{self.path}: the folder has other files in it; name a new one, or a file (train.jsonl)"
                )
        given = list(inputs)
        for written in (self.file, self.provenance, self.report, self.dead, self.record, self.path / TYPES):
            refuse_input(written, given)

    @property
    def provenance(self) -> Path:
        return self.file.with_name(f"{self.file.name}{PROVENANCE}")

    @property
    def report(self) -> Path:
        return beside(self.path, MARK)

    @property
    def dead(self) -> Path:
        return beside(self.path, DEAD)

    @property
    def record(self) -> Path:
        return beside(self.path, RECORD)

    @property
    def labels(self) -> list[Path]:
        """The files that have the words and their labels."""
        if self.format != "lines":
            return [self.file]
        distant = self.folder or self.file.name.startswith("train")
        return [self.file, lines.label_file(self.file, "dist" if distant else "true")]

    def write(self, labelled: Iterable[Labelled], scheme: Scheme = "BIO", *, sources: bool = True) -> None:
        """Writes the sentences and, with `sources`, the provenance of each label in a file beside them."""
        self.write_sentences(labelled, scheme, sources=sources, distant=self.folder)
        self.tidy(sources)

    def write_sentences(
        self,
        labelled: Iterable[Labelled],
        scheme: Scheme,
        *,
        sources: bool,
        first: int = 0,
        distant: bool = False,
    ) -> None:
        """Writes labels and provenance, nothing else.

        Args:
            labelled: the sentences, or those of a part of the corpus.
            scheme: tags to write, where the format has tags.
            sources: also write where each label comes from.
            first: the number of the first sentence in the corpus, from 0.
            distant: a label file beside a text is called distant whatever the name of the text.
        """
        keeps_empty = FORMATS[self.format].keeps_empty
        with ExitStack() as stack:
            file = stack.enter_context(atomic(self.provenance)) if sources else None

            def sentences() -> Iterator[Sentence]:
                number = first
                for one in labelled:
                    if file is not None:
                        for row in provenance(number, one):
                            file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    number += bool(keeps_empty or one.sentence.words)
                    yield one.sentence

            write(
                self.file,
                sentences(),
                self.format,
                scheme,
                labels="dist" if distant else None,
                first=first + 1,
            )

    def tidy(self, sources: bool) -> None:
        """Removes files of an earlier run that this one did not write again."""
        if not sources:
            self.provenance.unlink(missing_ok=True)
        if self.folder:
            self._remove_other_formats()

    def _remove_other_formats(self) -> None:
        """Labels that an earlier run left in another format; a data set has one file to train on."""
        for format in FORMATS:
            old = self.path / _name(format)
            if format == self.format or not old.exists() or old == self.file:
                continue
            beside = [lines.label_file(old, "dist")] if format == "lines" else []
            for path in (old, *beside, old.with_name(f"{old.name}{PROVENANCE}")):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def finish(self, report: Report, dead: Iterable[tuple[str, str, str, int, str]]) -> int:
        """Types, report and the list of entries that can match nothing; how many those are."""
        if self.folder:
            if report.labels:
                write_text(self.path / TYPES, "".join(f"{name}\n" for name in sorted(report.labels)))
            else:
                (self.path / TYPES).unlink(missing_ok=True)
        count = 0
        with atomic(self.dead) as file:
            file.write("surface\ttype\tfile\tline\treason\n")
            for surface, kind, source, line, reason in dead:
                name = " ".join(surface.split())
                file.write(f"{name}\t{kind}\t{source}\t{line}\t{reason}\n")
                count += 1
        if not count:
            self.dead.unlink()
        write_json(self.report, report.as_dict())
        return count


def beside(data: str | Path, name: str) -> Path:
    """The file of this name (`MARK`, `RECORD`, `DEAD`) that belongs to a data set, a folder or a file.

    >>> beside("data", RECORD).as_posix(), beside("train.jsonl", RECORD).as_posix()
    ('data/labels.toml', 'train.jsonl.labels.toml')
    """
    data = Path(data)
    return data / name if _is_folder(data) else data.with_name(f"{data.name}.{name}")


def _is_folder(path: Path) -> bool:
    """Whether a target is a folder, as it is or as its name tells."""
    return path.is_dir() or not path.suffix


def _name(format: str) -> str:
    """The name of the labels of a data set."""
    return f"train{lines.TEXT if format == 'lines' else FORMATS[format].suffixes[0]}"
