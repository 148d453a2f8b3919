"""`roster.train` and `roster.pretrain`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.config import Config
from roster.corpus.dataset import Dataset, load_dataset
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError
from roster.log import LOGGER
from roster.methods.request import Request, load_request

if TYPE_CHECKING:
    from roster.infer.recogniser import Recogniser

Trainable = str | Path | Dataset | Iterable[Sentence]
WARNING = "warning: "
"""Begins the lines of a training's log that are warnings."""
ADVICE = (
    "either most labels of such a type are wrong, or there are too few to learn from: look at its names in "
    "the report of roster label, add names or text, or compare with the method fine-tune"
)


def train(
    dataset: Trainable,
    run: str | Path,
    *,
    format: str | None = None,
    method: str | None = None,
    backbone: str | None = None,
    preset: str | None = None,
    minutes: float | None = None,
    gold: str | Path | None = None,
    config: Config | str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Recogniser:
    """Trains a recogniser, or continues an unfinished training.

    What is not given is derived from the data and the encoder.

    Args:
        dataset: a folder or file of any format, a `Dataset`, or labelled sentences, as `label` returns them.
        run: the run folder. If it holds an unfinished run, training continues from its last checkpoint.
        format: the format of `dataset`, where it is not recognised.
        method: `roster` (default), `fine-tune`, `bond`, `autoner` or `bilstm-crf`.
        backbone: a bundled encoder, a folder, or a name on the Hugging Face hub.
        preset: one of the paper's settings, for reproduction.
        minutes: a time budget; settings are shortened to fit into it.
        gold: a file of a few sentences with true labels, which are learned from as well.
        config: a TOML file of values, or a complete `Config`.
        overrides: single values by name, such as `{"ensemble.models": 3}`.

    Returns:
        The trained recogniser, which is also saved in `run/model`. A report is in `run/report.html`.

    Raises:
        DataError: for data that cannot be read, or that has no label.
        ConfigError: for settings that are wrong.
        RosterError: if nothing can be learned from the labels.

    >>> ner = train(labels, "run", minutes=30)  # doctest: +SKIP
    >>> ner("Ada Lovelace was born in London.")  # doctest: +SKIP
    """
    asked = _asked(method, backbone, preset, minutes, gold, config, overrides)
    data = _dataset(dataset, format)
    from roster.api.reporting import report_after_training
    from roster.infer.recogniser import load
    from roster.methods.quality import estimate_lines
    from roster.methods.train import train as run_training

    def log(line: str) -> None:
        if not line.startswith(WARNING):  # these are for the end
            LOGGER.info(line)

    results = run_training(data, run, asked, minutes=minutes, log=log)
    for line in estimate_lines(results):
        LOGGER.info(line)
    warnings = results.get("warnings", [])
    for warning in warnings:
        LOGGER.warning(warning)
    if warnings:
        LOGGER.info(ADVICE)
    static = asked.config() if isinstance(asked, Request) else asked
    model = load(run, static.optimiser.device)
    report_after_training(run, data, model)
    return model


def effective_config(
    dataset: Trainable | None = None,
    *,
    format: str | None = None,
    method: str | None = None,
    backbone: str | None = None,
    preset: str | None = None,
    minutes: float | None = None,
    gold: str | Path | None = None,
    config: Config | str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Config:
    """The config that `train` would use with the same arguments.

    Args:
        dataset: the data to derive values from; without it, values that are not given are the paper's.
        format: as for `train`, and so are all others.

    Returns:
        All values; `roster.config.to_toml` writes them.

    Raises:
        DataError: for data that cannot be read, or that has no label.
        ConfigError: for settings that are wrong.

    >>> effective_config(method="fine-tune").own["fine_tune"].epochs
    3
    """
    asked = _asked(method, backbone, preset, minutes, gold, config, overrides)
    if isinstance(asked, Config):
        return asked
    if dataset is None or asked.preset is not None:
        return asked.config()
    from roster.methods.defaults import settle
    from roster.methods.facts import facts_of

    return settle(asked, facts_of(asked.config(), _dataset(dataset, format).train), minutes)[0]


def pretrain(
    corpus: str | Path | Sequence[str | Path], output: str | Path, **settings: Any
) -> dict[str, Any]:
    """Makes a backbone from plain text, or continues an unfinished one.

    Args:
        corpus: text files (.gz, .bz2, .xz too) or folders of them.
        output: the folder for the backbone.
        settings: those that `roster pretrain --print-settings` prints: `start="roberta-base"`,
            `teacher="roberta-base"`, `layers=6`, `minutes=30`.

    Returns:
        The last point of the training curve.

    Raises:
        DataError: for text that cannot be read.
        ConfigError: for settings that are wrong.

    >>> pretrain("abstracts.txt.gz", "medical", start="roberta-base")  # doctest: +SKIP
    """
    from roster.pretraining.settings import load_settings

    checked = load_settings(settings)
    from roster.pretraining.pretrain import pretrain as run_pretraining

    files = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    return run_pretraining(files, output, checked, log=LOGGER.info)


def _asked(
    method: str | None,
    backbone: str | None,
    preset: str | None,
    minutes: float | None,
    gold: str | Path | None,
    config: Config | str | Path | None,
    overrides: Mapping[str, Any] | None,
) -> Config | Request:
    """The request, checked before any data is read."""
    asked: Config | Request
    if isinstance(config, Config):
        if method or backbone or preset or gold or overrides:
            raise ConfigError(
                "a Config is complete; put method, backbone, gold and overrides into it, or give a file"
            )
        asked = config
    else:
        named = {
            "method": method,
            "backbone.name": backbone,
            "gold.file": None if gold is None else str(gold),
        }
        values = {**(overrides or {}), **{name: value for name, value in named.items() if value}}
        asked = load_request(preset=preset, file=config, overrides=values)
    if minutes is not None:
        from roster.methods.budget import check_minutes

        check_minutes(minutes, asked)
    return asked


def _dataset(dataset: Trainable, format: str | None) -> Dataset:
    if isinstance(dataset, Dataset):
        return dataset
    return (
        load_dataset(dataset, format) if isinstance(dataset, str | Path) else Dataset.from_sentences(dataset)
    )
