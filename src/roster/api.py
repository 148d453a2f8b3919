"""What `import roster` offers: the commands as functions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from weakref import finalize

from roster.config import Config
from roster.corpus.dataset import Dataset
from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence, Span
from roster.corpus.texts import sentences_of
from roster.errors import ConfigError
from roster.infer.recogniser import Entity, Recogniser, load
from roster.methods.request import Request, load_request
from roster.scores import Evaluation, evaluate_sentences

if TYPE_CHECKING:
    from roster.distant.labels import Labels
    from roster.infer.parity import Parity

__all__ = [
    "Dataset",
    "Entity",
    "Recogniser",
    "Sentence",
    "Span",
    "evaluate",
    "export",
    "label",
    "load",
    "pretrain",
    "read",
    "train",
    "write",
]

Source = str | Path | Iterable[Sentence]
LOGGER = logging.getLogger("roster")
"""Gets the lines of the log where no function is given for them."""


def label(
    corpus: str | Path | Iterable[Any],
    names: Any = (),
    *,
    config: str | Path | None = None,
    format: str | None = None,
    cache: str | Path | None = None,
    workers: int = 1,
    log: Callable[[str], None] | None = None,
    **settings: Any,
) -> Labels:
    """Distant labels from dictionaries, patterns and a knowledge base.

    Args:
        corpus: a file or folder of any format; or texts in memory: a list of strings, `Sentence` objects or
            records with `text` or `tokens`, a pandas Series, a data frame with a column `text`, a Hugging
            Face dataset.
        names: a dictionary file, or several; or names in memory: `{"Oslo": "LOC"}`,
            `{"LOC": ["Oslo", "Bergen"]}`, pairs of name and type, a data frame with a column for each.
        config: a TOML file as `roster label --config` takes it.
        format: the format of `corpus`, where it is not recognised.
        cache: a folder that keeps compiled dictionaries for the next time.
        workers: processes.
        log: called with each line of the log; by default the lines go to `logging`, as `roster`, level INFO.
        settings: those of `roster.distant.settings.load_settings`: `policy={"case": "insensitive"}`,
            `builtin=["DATE"]`, `conflicts={"ambiguous": "document"}`, `kb={"source": "wikidata.store"}`.

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
    from roster.distant.settings import load_settings

    source: Callable[[], Iterable[Sentence]]
    if isinstance(corpus, str | Path):
        path = corpus
        source = lambda: read(path, format, labels="none")  # noqa: E731
    else:
        sentences = list(sentences_of(corpus))  # they are gone through twice
        source = lambda: sentences  # noqa: E731
    if isinstance(names, Iterator):
        names = list(names)
    kept = TemporaryDirectory(prefix="roster-") if is_in_memory(names) else None
    if kept is not None:
        names = write_names(names, Path(kept.name))
    dictionaries = [names] if isinstance(names, str | Path) else list(names)
    found = Labels(
        source,
        load_settings(config, dictionaries=dictionaries, **settings),
        cache=None if cache is None else Path(cache),
        workers=workers,
        log=log or LOGGER.info,
    )
    if kept is not None:
        finalize(found, kept.cleanup)
    return found


def train(
    dataset: str | Path | Dataset | Iterable[Sentence],
    run: str | Path,
    *,
    method: str | None = None,
    backbone: str | None = None,
    preset: str | None = None,
    minutes: float | None = None,
    gold: str | Path | None = None,
    config: Config | str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    log: Callable[[str], None] | None = None,
) -> Recogniser:
    """Trains, or goes on with an unfinished run, and gives the recogniser that lies in `run/model`.

    What is not given is derived from the data and the encoder.

    Args:
        dataset: a folder or file of any format, a `Dataset`, or labelled sentences, as `label` gives them.
        run: the run folder; an unfinished run in it goes on.
        method: `roster` (default), `fine-tune`, `bond`, `autoner` or `bilstm-crf`.
        backbone: a bundled encoder, a folder, or a name on the Hugging Face hub.
        preset: one of the paper's settings, for reproduction.
        minutes: a time budget; settings are shortened to fit into it.
        gold: a file of a few sentences with true labels, which are learned from as well.
        config: a TOML file of values, or a complete `Config`.
        overrides: single values by name, such as `{"ensemble.models": 3}`.
        log: called with each line of the log; by default the lines go to `logging`, as `roster`, level INFO.

    Raises:
        DataError: for data that cannot be read, or that has no label.
        ConfigError: for settings that are wrong.
        RosterError: where nothing can be learned from the labels.
    """
    if not isinstance(dataset, str | Path | Dataset):
        dataset = Dataset.from_sentences(dataset)
    from roster.methods.train import train as run_training

    if isinstance(config, Config):
        if method or backbone or preset or gold or overrides:
            raise ConfigError(
                "a Config is complete; put method, backbone, gold and overrides into it, or give a file"
            )
        chosen: Config | Request = config
    else:
        extra = dict(overrides or {})
        named = {
            "method": method,
            "backbone.name": backbone,
            "gold.file": None if gold is None else str(gold),
        }
        extra.update({k: v for k, v in named.items() if v is not None})
        chosen = load_request(preset=preset, file=config, overrides=extra)
    run_training(dataset, run, chosen, minutes=minutes, log=log or LOGGER.info)
    static = chosen.config() if isinstance(chosen, Request) else chosen
    return load(run, static.optimiser.device)


def evaluate(
    predicted: Source | Recogniser, gold: Source, *, format: str | None = None, split: str | None = None
) -> Evaluation:
    """Strict entity scores of a recogniser, a model folder, or labelled sentences against gold ones.

    `split` is the split to read where a path is a folder of several, such as a saved DatasetDict.
    """
    truth = list(_sentences(gold, format, split))
    if isinstance(predicted, str | Path) and is_model_folder(predicted):
        predicted = load(predicted)
    if isinstance(predicted, Recogniser):
        return evaluate_sentences((found.sentence for found in predicted.find(truth)), truth)
    return evaluate_sentences(_sentences(predicted, format, split), truth)


def export(
    model: str | Path,
    folder: str | Path,
    *,
    int8: bool = False,
    gold: Source | None = None,
    format: str | None = None,
    log: Callable[[str], None] | None = None,
) -> Parity:
    """Writes a trained model as ONNX to `folder`, which `load` takes; with `int8`, its weights in eight bits.

    Gives how the two compare: on the labelled sentences `gold`, with scores, or on the bundled sample.
    """
    from roster.infer.export import export as write

    truth = None if gold is None else list(_sentences(gold, format))
    return write(model, folder, int8=int8, gold=truth, log=log or LOGGER.info)


def pretrain(
    corpus: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    log: Callable[[str], None] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Makes a backbone from plain text, and gives the last point of its curve.

    `settings` are those that `roster pretrain --print-settings` shows: `start="roberta-base"`,
    `teacher="roberta-base"`, `layers=6`, `minutes=30`.
    """
    from roster.pretraining.pretrain import pretrain as make
    from roster.pretraining.settings import load_settings

    files = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    return make(files, output, load_settings(settings), log=log or LOGGER.info)


def is_model_folder(path: str | Path) -> bool:
    from roster.model.folder import is_model

    return is_model(path) or is_model(Path(path) / "model")


def _sentences(source: Source, format: str | None, split: str | None = None) -> Iterable[Sentence]:
    return read(source, format, split=split) if isinstance(source, str | Path) else source
