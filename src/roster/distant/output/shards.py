"""Output written by several processes: each makes a shard of every file for a chunk of the corpus.

Labelling and writing a sentence take longer than reading it and sending it to another process, so the corpus
is read once, in this process, and everything after that is shared.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from roster.corpus.formats import lines
from roster.corpus.formats.textfile import BOM
from roster.corpus.sentence import Sentence, Span
from roster.corpus.tags import Scheme
from roster.distant.labelling.chunk_labeller import ChunkLabeller, Labelled
from roster.distant.labelling.chunks import Chunk, Corpus, Task, sentences_of
from roster.distant.labelling.labeller import Labeller
from roster.distant.labelling.process_pool import ProcessPool
from roster.distant.matching.refused_matches import RefusedMatches
from roster.distant.output.report import Report
from roster.distant.output.target import Target
from roster.errors import DataError
from roster.files import atomic
from roster.progress import bar
from roster.scores import evaluate_sentences

JOINABLE = ("jsonl", "lines", "ck")
"""Formats whose files are the concatenation of their shards."""


@dataclass(frozen=True, slots=True)
class Shard:
    """What one chunk adds to each file, and to the counts."""

    files: tuple[bytes, ...]
    report: Report
    refused: RefusedMatches
    spans: tuple[tuple[Span, ...], ...]
    """The labels of each sentence, if they are to be scored."""


@dataclass(frozen=True)
class ShardWriter:
    """Labels and writes a chunk; worker processes get this object."""

    labeller: ChunkLabeller
    target: Target
    scheme: Scheme
    sources: bool
    scored: bool

    def __call__(self, numbered: tuple[int, Task]) -> Shard:
        """The shard of a chunk, given with the number of its first sentence."""
        first, task = numbered
        report, refused = Report(), RefusedMatches()
        spans: list[tuple[Span, ...]] = []
        with tempfile.TemporaryDirectory(prefix="roster-") as folder:
            here = Target(Path(folder) / self.target.file.name, self.target.format)
            labelled: Iterable[Labelled] = report.follow(self.labeller.label(task, refused))
            if self.scored:
                labelled = list(labelled)
                spans = [one.sentence.spans or () for one in labelled]
            paths = self.outputs(here)
            try:
                here.write_sentences(
                    labelled, self.scheme, sources=self.sources, first=first, distant=self.target.folder
                )
            except DataError as error:
                raise self._of_target(error, paths) from error
            return Shard(tuple(path.read_bytes() for path in paths), report, refused, tuple(spans))

    def _of_target(self, error: DataError, paths: Sequence[Path]) -> DataError:
        """The error with the path of the output, if it has the path of a file of this shard."""
        finals = dict(zip(map(str, paths), self.outputs(self.target), strict=True))
        if error.path not in finals:
            return error
        message = str(error).removeprefix(f"{error.path}: ")
        return DataError(message, path=finals[error.path])

    def outputs(self, target: Target) -> list[Path]:
        """The files that are written for a target of this format."""
        text, sources = target.file, [target.provenance] if self.sources else []
        if target.format != "lines":
            return [text, *sources]
        distant = self.target.folder or text.name.startswith("train")
        return [text, lines.label_file(text, "dist" if distant else "true"), *sources]


def can_be_joined(target: Target) -> bool:
    """Whether the files of a target can be written as shards."""
    if target.format == "lines":
        return target.file.name.endswith(lines.TEXT)
    return target.format in JOINABLE


def write_shards(
    labeller: Labeller,
    corpus: Corpus,
    target: Target,
    scheme: Scheme,
    *,
    sources: bool,
    workers: int,
    check: Callable[[Report], None],
    gold: Iterable[Sentence] | None = None,
) -> Report:
    """Writes the same files as `Target.write`, byte for byte, with several processes.

    Args:
        labeller: prepared; counts the matches that became no label.
        corpus: read once.
        target: file or folder, of a format that `can_be_joined`.
        scheme: tags to write, where the format has tags.
        sources: also write where each label comes from.
        workers: number of processes.
        check: called with the report before the files take their places; may raise.
        gold: the same sentences with true labels; the report then has scores.

    Returns:
        The counts over what was written.

    Raises:
        RosterError: from the corpus, `check`, the scores or a worker process. Nothing is written then.
    """
    report = Report()
    writer = ShardWriter(labeller.chunk_labeller, target, scheme, sources, gold is not None)
    waiting: deque[Chunk] = deque()  # chunks to be scored when their labels come back

    def numbered() -> Iterator[tuple[int, Task]]:
        number = 0
        for task in labeller.tasks(corpus()):
            if gold is not None:
                waiting.append(task.chunk)
            yield number, task
            number += sum(map(len, task.chunk))

    def written(shards: Iterable[Shard]) -> Iterator[Sentence]:
        """Appends the shards to the files; gives the labelled sentences if they are to be scored."""
        for shard in shards:
            for file, content in zip(files, shard.files, strict=True):
                _append(file, content)
            labeller.refused_matches.add(shard.refused)
            progress.update(shard.report.sentences)
            report.add(shard.report)
            if gold is not None:
                for sentence, spans in zip(sentences_of(waiting.popleft()), shard.spans, strict=True):
                    yield sentence.with_spans(spans)
        check(report)

    with ExitStack() as stack:
        files = [stack.enter_context(atomic(path, "wb")) for path in writer.outputs(target)]
        progress = stack.enter_context(bar(description="label", unit="sentence"))
        shards = stack.enter_context(ProcessPool(writer, workers, at_once=bool(labeller.span_sources))).map(
            numbered()
        )
        if gold is None:
            deque(written(shards), maxlen=0)
        else:
            report.scores = evaluate_sentences(written(shards), gold, same_words=True)
    return report


def _append(file: IO[bytes], content: bytes) -> None:
    # A text that begins with a byte order mark gets another one, but only at the top of a file.
    twice = file.tell() and content.startswith((BOM * 2).encode())
    file.write(content.removeprefix(BOM.encode()) if twice else content)
