"""Labels written by several processes: each makes whole parts of the files, which are put together in order.

Reading, labelling and writing a sentence take about equally long, so sharing the labelling is not enough.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from roster.corpus.formats import lines
from roster.corpus.formats.textfile import BOM
from roster.corpus.sentence import Sentence
from roster.corpus.tags import Scheme
from roster.distant.labelling.labeller import Corpus, Labeller, chunks
from roster.distant.labelling.process_pool import Team
from roster.distant.matching.refused_matches import Lost
from roster.distant.output.report import Report
from roster.distant.output.target import Target
from roster.files import atomic
from roster.progress import bar

JOINED = ("jsonl", "lines", "ck")
"""Formats whose files can be put together from parts."""

Numbered = tuple[int, list[list[Sentence]]]


@dataclass(frozen=True, slots=True)
class Part:
    """What one chunk adds to each file, and to the counts."""

    files: tuple[bytes, ...]
    report: Report
    lost: Lost


def can_be_joined(target: Target) -> bool:
    if target.format == "lines":
        return target.file.name.endswith(lines.TEXT)
    return target.format in JOINED


def write_parts(
    labeller: Labeller,
    corpus: Corpus,
    target: Target,
    scheme: Scheme,
    *,
    sources: bool,
    workers: int,
    check: Callable[[Report], None],
) -> Report:
    """The same files as `target.write` makes, byte for byte; gives the report of what went into them.

    `check` sees the report before the files take their places, and may raise.
    """
    report = Report()
    paths = [*_outputs(target, target.file), *([target.provenance] if sources else [])]

    def work(numbered: Numbered) -> Part:
        return _part(labeller, target, scheme, sources, *numbered)

    def items() -> Iterator[Numbered]:
        number = 0
        for chunk in chunks(corpus()):
            yield number, chunk
            number += sum(map(len, chunk))

    with ExitStack() as stack:
        files = [stack.enter_context(atomic(path, "wb")) for path in paths]
        progress = stack.enter_context(bar(description="label", unit="sentence"))
        for part in stack.enter_context(Team(work, items, workers)):
            for file, content in zip(files, part.files, strict=True):
                # A text that begins with a byte order mark gets another one, but only at the top of a file.
                twice = file.tell() and content.startswith((BOM * 2).encode())
                file.write(content.removeprefix(BOM.encode()) if twice else content)
            labeller.lost.add(part.lost)
            progress.update(part.report.sentences)
            report.add(part.report)
        check(report)
    return report


def _outputs(target: Target, text: Path) -> list[Path]:
    """The files that the format makes of `text`."""
    if target.format != "lines":
        return [text]
    return [
        text,
        lines.label_file(text, "dist" if target.folder or text.name.startswith("train") else "true"),
    ]


def _part(
    labeller: Labeller,
    target: Target,
    scheme: Scheme,
    sources: bool,
    number: int,
    chunk: list[list[Sentence]],
) -> Part:
    report, lost = Report(), Lost()
    with tempfile.TemporaryDirectory(prefix="roster-") as folder:
        here = Target(Path(folder) / target.file.name, target.format)
        labelled = report.follow(labeller.chunk(chunk, lost))
        here.write_sentences(labelled, scheme, sources=sources, first=number, distant=target.folder)
        made = [*_outputs(target, here.file), *([here.provenance] if sources else [])]
        return Part(tuple(path.read_bytes() for path in made), report, lost)
