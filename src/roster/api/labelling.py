"""`roster.label` and `roster.label_file`: distant labels for texts in memory or in files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from weakref import finalize

from roster.corpus.io import read
from roster.corpus.sentence import Sentence
from roster.corpus.tags import Scheme
from roster.corpus.texts import sentences_of
from roster.errors import ConfigError, DataError
from roster.log import LOGGER

if TYPE_CHECKING:
    from roster.distant.labels import Labels
    from roster.distant.matching.span_mentions import Annotate
    from roster.distant.output.report import Report
    from roster.distant.output.target import Target
    from roster.distant.settings import Settings


def label(
    corpus: str | Path | Iterable[Any],
    names: Any = (),
    *,
    annotations: Any = None,
    models: Any = None,
    config: Settings | str | Path | None = None,
    format: str | None = None,
    split: str | None = None,
    cache: str | Path | None = None,
    workers: int | None = 1,
    **settings: Any,
) -> Labels:
    """Distant labels from dictionaries, patterns, a knowledge base, annotations and models.

    Args:
        corpus: a file or folder of any format; or texts in memory: a list of strings, `Sentence` objects or
            records with `text` or `tokens`, a pandas Series, a data frame with a column `text`, a Hugging
            Face dataset.
        names: a dictionary file, or several; or names in memory: `{"Oslo": "LOC"}`,
            `{"LOC": ["Oslo", "Bergen"]}`, pairs of name and type, a data frame with a column for each.
        annotations: a file with the sentences of the corpus and spans in them, of any format (also
            `"NAME=FILE"`), or several; or by the name of the source, a file or labelled `Sentence` objects:
            `{"llm": "labels.jsonl"}`.
        models: their predictions on the corpus are sources: a model folder of ours, a spaCy pipeline, a
            token classifier of transformers or GLiNER, as `roster label --model` takes them, or several; or
            by the name of the source such a model, a `Recogniser`, or a function from sentences to spans
            (`roster.distant.matching.span_mentions.Annotate`). Each pass over the labels asks them again.
        config: a TOML file as `roster label --config` takes it, or complete `Settings`.
        format: the format of `corpus`, where it is not recognised.
        split: the split to read where `corpus` is a folder of several.
        cache: a folder that keeps compiled dictionaries for the next time.
        workers: number of processes; None for one on each core.
        settings: those of `roster.distant.settings.load_settings`: `policy={"case": "insensitive"}`,
            `builtin=["DATE"]`, `conflicts={"ambiguous": "document"}`, `kb={"source": "wikidata.store"}`,
            `patch="names.patch"` (a file of changes to the dictionaries, or several),
            `least_scores={"llm": 0.5}` (spans of a source with a lower score give no label).

    Returns:
        The labelled sentences, to iterate over, to give to `train`, or to write with `save("folder")`.
        `report` has the counts after a pass.

    Raises:
        DataError: for a corpus or a dictionary that cannot be read, with the place; in a pass over the
            labels, for annotations that do not correspond to the corpus.
        ConfigError: for settings that are wrong.

    >>> labels = label(["Ada Lovelace was born in London."], {"PER": ["Ada Lovelace"], "LOC": ["London"]})
    >>> [[s.span_text(x) for x in s.spans] for s in labels]
    [['Ada Lovelace', 'London']]
    """
    prepared = _prepare(names, annotations, models, config, settings)
    return _labels(corpus, prepared, format, split, None if cache is None else Path(cache), workers)


@dataclass(frozen=True)
class LabelFiles:
    """The result of `label_file`."""

    report: Report
    target: Target
    """The files that were written."""
    dead_entries: int
    """Number of entries that can match nothing; they are listed in `target.dead`."""


def label_file(
    corpus: str | Path,
    output: str | Path,
    names: Any = (),
    *,
    annotations: Any = None,
    models: Any = None,
    config: Settings | str | Path | None = None,
    format: str | None = None,
    split: str | None = None,
    to: str | None = None,
    scheme: Scheme = "BIO",
    provenance: bool = True,
    gold: str | Path | None = None,
    cache: str | Path | bool = True,
    workers: int | None = None,
    **settings: Any,
) -> LabelFiles:
    """Writes distant labels for a file, their provenance and a report.

    Args:
        corpus: a file or folder of any format.
        output: a folder (for `train`), or a file whose name tells the format.
        names: as for `label`, and so are `annotations`, `models`, `config`, `format`, `split`, `workers`
            and all others.
        to: the format of `output`, where its name does not tell it.
        scheme: tags to write, where the format has tags.
        provenance: also write where each label comes from.
        gold: a file with the same sentences and true labels; adds precision and recall to the report.
        cache: a folder that keeps compiled dictionaries and answers of endpoints; True for `ROSTER_CACHE` or
            the user's cache folder, False for none.

    Raises:
        RosterError: if `output` is one of the files that are read, or cannot be written.
        DataError: for a corpus, a dictionary or annotations that cannot be read, or a corpus that has other
            sentences than `gold` or the annotations. Nothing is written then.
        ConfigError: for settings that are wrong.

    >>> label_file("news.txt", "data", "names.tsv").report.labels  # doctest: +SKIP
    """
    from roster.distant.output.target import Target

    prepared = _prepare(names, annotations, models, config, settings)
    inputs = prepared.settings.inputs
    target = Target(output, to, inputs=[corpus, *([gold] if gold else []), *inputs])
    kept = cache_folder(cache)
    labels = _labels(corpus, prepared, format, split, kept, workers, gold)
    sentences = read(gold, labels="true") if gold else None
    try:
        dead = labels.save(target, scheme, provenance=provenance, gold=sentences)
    except DataError as error:
        # Two files that do not correspond, or a corpus without words: the error has no file yet.
        raise error if error.path else DataError(str(error), path=gold or corpus) from error
    return LabelFiles(labels.report, target, dead)


def cache_folder(cache: str | Path | bool) -> Path | None:
    """The folder of the cache: True is `ROSTER_CACHE` or the user's cache folder, False none."""
    from roster.distant.compiling.cache import default_cache

    if isinstance(cache, bool):
        return default_cache() if cache else None
    return Path(cache)


def processes(workers: int | None) -> int:
    if workers is None:
        return os.cpu_count() or 1
    if workers < 1:
        raise ConfigError(f"workers must be at least 1, not {workers}")
    return workers


@dataclass(frozen=True)
class _Prepared:
    """Checked settings, and what belongs to them that is in memory."""

    settings: Settings
    kept: TemporaryDirectory[str] | None = None
    """The folder in which names in memory were written as a dictionary."""
    functions: Mapping[str, Annotate] = field(default_factory=dict)
    """By name: what annotates for models that are in memory."""

    @property
    def in_memory(self) -> tuple[str, ...]:
        """What was given in memory, in words."""
        annotations = [one.name for one in self.settings.annotations if one.sentences is not None]
        return (
            *(["names"] if self.kept is not None else []),
            *(f"annotations {name}" for name in annotations),
            *(f"model {name}" for name in self.functions),
        )


def _labels(
    corpus: str | Path | Iterable[Any],
    prepared: _Prepared,
    format: str | None,
    split: str | None,
    cache: Path | None,
    workers: int | None,
    gold: str | Path | None = None,
) -> Labels:
    """The labels of a corpus; the corpus is looked for before a model is loaded."""
    from roster.api.span_sources import annotators_of
    from roster.distant.labels import Labels
    from roster.distant.output.record import Origin

    number, inputs = processes(workers), prepared.settings.inputs
    source: Callable[[], Iterable[Sentence]]
    if isinstance(corpus, str | Path):
        path = Path(corpus)
        if isinstance(corpus, str) and " " in corpus and not path.exists():
            raise DataError("no such file; a text to label is given in a list: [text]", path=path)
        inputs.append(path)
        source = lambda: read(path, format, split=split, labels="none")  # noqa: E731
        source()
    else:
        sentences = list(sentences_of(corpus))  # they are gone through twice
        source = lambda: sentences  # noqa: E731
    labels = Labels(
        source,
        prepared.settings,
        cache=cache,
        workers=number,
        annotators=annotators_of(prepared.settings, prepared.functions),
        inputs=inputs,
        origin=Origin(
            Path(corpus) if isinstance(corpus, str | Path) else None,
            format,
            split,
            None if gold is None else Path(gold),
            prepared.in_memory,
        ),
        log=LOGGER.info,
    )
    if prepared.kept is not None:
        finalize(labels, prepared.kept.cleanup)
    return labels


def _prepare(
    names: Any,
    annotations: Any,
    models: Any,
    config: Settings | str | Path | None,
    settings: Mapping[str, Any],
) -> _Prepared:
    """The settings with all arguments in them."""
    from roster.api.span_sources import annotations_of, models_of
    from roster.distant.entries.in_memory import is_in_memory, write_names
    from roster.distant.settings import Settings, load_settings

    if isinstance(names, Iterator):
        names = list(names)
    kept = TemporaryDirectory(prefix="roster-") if is_in_memory(names) else None
    if kept is not None:
        names = write_names(names, Path(kept.name))
    dictionaries = [names] if isinstance(names, str | Path) else list(names)
    for path in dictionaries:
        if isinstance(path, str) and not Path(path).suffix and not Path(path).exists():
            raise DataError(
                "no such file; strings are paths of dictionaries, and names are given with their types: "
                '{"LOC": ["Oslo", "Bergen"]}',
                path=path,
            )
    if not isinstance(config, Settings):
        named, functions = models_of(models)
        files = annotations_of(annotations)
        chosen = load_settings(config, dictionaries=dictionaries, annotations=files, models=named, **settings)
        return _Prepared(chosen, kept, functions)
    if dictionaries or settings or not (annotations is None and models is None):
        raise ConfigError("Settings are complete; put names and all else into them, or give a file")
    return _Prepared(config)
