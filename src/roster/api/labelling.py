"""`roster.label`: distant labels for texts in memory or in files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from weakref import finalize

from roster.corpus.io import read
from roster.corpus.sentence import Sentence
from roster.corpus.texts import sentences_of
from roster.errors import ConfigError, DataError
from roster.log import LOGGER

if TYPE_CHECKING:
    from roster.distant.labels import Labels
    from roster.distant.settings import Settings


def label(
    corpus: str | Path | Iterable[Any],
    names: Any = (),
    *,
    config: Settings | str | Path | None = None,
    format: str | None = None,
    split: str | None = None,
    cache: str | Path | None = None,
    workers: int = 1,
    **settings: Any,
) -> Labels:
    """Distant labels from dictionaries, patterns and a knowledge base.

    Args:
        corpus: a file or folder of any format; or texts in memory: a list of strings, `Sentence` objects or
            records with `text` or `tokens`, a pandas Series, a data frame with a column `text`, a Hugging
            Face dataset.
        names: a dictionary file, or several; or names in memory: `{"Oslo": "LOC"}`,
            `{"LOC": ["Oslo", "Bergen"]}`, pairs of name and type, a data frame with a column for each.
        config: a TOML file as `roster label --config` takes it, or complete `Settings`.
        format: the format of `corpus`, where it is not recognised.
        split: the split to read where `corpus` is a folder of several.
        cache: a folder that keeps compiled dictionaries for the next time.
        workers: processes.
        settings: those of `roster.distant.settings.load_settings`: `policy={"case": "insensitive"}`,
            `builtin=["DATE"]`, `conflicts={"ambiguous": "document"}`, `kb={"source": "wikidata.store"}`,
            `patch="names.patch"` (a file of changes to the dictionaries, or several).

    Returns:
        The labelled sentences, to iterate over, to give to `train`, or to write with `save("folder")`.
        `report` has the counts after a pass.

    Raises:
        DataError: for a corpus or a dictionary that cannot be read, with the place.
        ConfigError: for settings that are wrong.

    >>> labels = label(["Ada Lovelace was born in London."], {"PER": ["Ada Lovelace"], "LOC": ["London"]})
    >>> [[s.span_text(x) for x in s.spans] for s in labels]
    [['Ada Lovelace', 'London']]
    """
    from roster.distant.entries.in_memory import is_in_memory, write_names
    from roster.distant.labels import Labels
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
    if isinstance(config, Settings):
        if dictionaries or settings:
            raise ConfigError("Settings are complete; put names and all else into them, or give a file")
        chosen = config
    else:
        chosen = load_settings(config, dictionaries=dictionaries, **settings)
    inputs = [source.path for source in chosen.sources] + [Path(path) for path in chosen.patch.files]
    if isinstance(config, str | Path):
        inputs.append(Path(config))
    source: Callable[[], Iterable[Sentence]]
    if isinstance(corpus, str | Path):
        path = Path(corpus)
        if isinstance(corpus, str) and " " in corpus and not path.exists():
            raise DataError("no such file; a text to label is given in a list: [text]", path=path)
        inputs.append(path)
        source = lambda: read(path, format, split=split, labels="none")  # noqa: E731
    else:
        sentences = list(sentences_of(corpus))  # they are gone through twice
        source = lambda: sentences  # noqa: E731
    labels = Labels(
        source,
        chosen,
        cache=None if cache is None else Path(cache),
        workers=workers,
        inputs=inputs,
        log=LOGGER.info,
    )
    if kept is not None:
        finalize(labels, kept.cleanup)
    return labels
