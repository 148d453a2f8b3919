"""`roster train`: from a data set to a run folder with a model in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from roster.accelerate.engine import choose_engine, compile_kernels
from roster.backbone.loading import import_code, resolve
from roster.config import BILSTM_CNN, Config, to_toml
from roster.corpus.dataset import Dataset, load_dataset
from roster.corpus.sentence import Sentence
from roster.errors import DataError, DeviceMemoryError, RosterError
from roster.files import file_digest, fingerprint
from roster.methods import registry
from roster.methods.base import Method, Prepared
from roster.methods.budget import check_minutes
from roster.methods.card import model_card
from roster.methods.defaults import derivable, settle
from roster.methods.facts import facts_of
from roster.methods.label_check import compare_with_labels
from roster.methods.request import Request, read_config
from roster.model.folder import is_model, save_model
from roster.model.memory import is_out_of_memory
from roster.model.reading import read_probabilities
from roster.progress import timed
from roster.training.gold import add_gold, gold_fingerprint, read_gold
from roster.training.run import Run
from roster.training.task import Task


def train(
    dataset: str | Path | Dataset,
    run: str | Path,
    asked: Config | Request,
    *,
    minutes: float | None = None,
    report: Mapping[str, Sequence[Sentence]] | None = None,
    curves: Mapping[str, int] | None = None,
    log: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Trains, or goes on with an unfinished run; returns the run's results. The model is in `run/model`.

    A `Config` is complete. Of a `Request` without a preset, what it leaves open is derived from the data
    and the encoder, and shortened to fit into `minutes`. Splits with gold labels (the data set's `valid`
    and `test`, unless `report` gives others) are scored after each stage. They decide nothing. The stages
    of one model that `curves` names are scored at so many steps on their way too; that changes nothing
    either. Gold sentences to learn from are the file `gold.file`.
    """
    static = asked.config() if isinstance(asked, Request) else asked
    method = registry.get(static.method)
    check_minutes(minutes, asked)
    import_code(static.backbone.name)
    with timed("model") as clock:
        if not isinstance(dataset, Dataset):
            dataset = load_dataset(dataset)
        if report is None:
            report = {"valid": dataset.valid, "test": dataset.test}
            report = {
                name: part for name, part in report.items() if part and all(s.spans is not None for s in part)
            }
        gold = read_gold(static.gold, method.types(dataset.types))
        sources = {"data": dataset.fingerprint(), "backbone": backbone_fingerprint(static)}
        if gold:
            sources["gold"] = gold_fingerprint(gold)
        opened = Run.open(run, identity(asked), sources, log)
        opened.curves = curves or {}
        try:
            done = opened.finished("model") and is_model(opened.path / "model")
            if not done:
                _train(opened, asked, minutes, dataset, gold, report)
        except BaseException as error:
            opened.close()
            if is_out_of_memory(error) and not isinstance(error, RosterError):
                raise DeviceMemoryError(
                    f"the device has no memory left ({str(error).splitlines()[0]}); end what else runs "
                    "there, use a smaller backbone.name, or --set optimiser.device=cpu"
                ) from error
            raise
    try:
        if not done:
            opened.finish("model", clock.facts)
        opened.clean()
        return opened.results
    finally:
        opened.close()


def _train(
    run: Run,
    asked: Config | Request,
    minutes: float | None,
    dataset: Dataset,
    gold: Sequence[Sentence],
    report: Mapping[str, Sequence[Sentence]],
) -> None:
    kernels = compile_kernels(asked.config() if isinstance(asked, Request) else asked)
    with timed("data") as reading:
        config, derivation = _config(run, asked, minutes, dataset)
        method = registry.get(config.method)
        sentences, is_gold = add_gold(dataset.train, gold)
        task, prepared = _task(config, method, dataset, sentences, is_gold, report, run, kernels)
    if derivation:
        run.log(derivation)
    run.results.update(prepared.results)
    run.results["data"] = {"path": None if dataset.path is None else str(Path(dataset.path).resolve())}
    if isinstance(asked, Request):
        run.results["asked"] = {**asked.as_dict(), "minutes": minutes}
    for line in prepared.lines:
        run.log(line)
    of_them = f" ({len(gold)} of them gold)" if gold else ""
    run.log(
        f"data: {len(task.sentences)} sentences{of_them}, {task.corpus.n_words} words, "
        f"{task.corpus.encoded.n_windows} windows, types {', '.join(task.types)}; "
        f"{reading.facts['seconds']:.1f} s; device {task.device}, {task.engine.name} engine"
    )
    model = method.train(task, run)
    p = read_probabilities(model, task.corpus).cpu()
    method.check_result(config, compare_with_labels(task, run, model.scheme, p.numpy()))
    run.keep_predictions({**method.kept_predictions(task, run), "final": p.half()})
    card = model_card(config, task.types, dataset, task.sentences, gold, run.results)
    save_model(
        run.path / "model",
        model,
        task.encoder.tokenizer,
        task.types,
        task.encoder.limit,
        to_toml(config),
        card,
    )


def _config(run: Run, asked: Config | Request, minutes: float | None, dataset: Dataset) -> tuple[Config, str]:
    """The effective config, which is settled once in the life of a run, and what it follows from."""

    def settle_now() -> tuple[Config, str]:
        if isinstance(asked, Config) or asked.preset is not None:
            return (asked if isinstance(asked, Config) else asked.config()), ""
        return settle(asked, facts_of(asked.config(), dataset.train), minutes)

    try:
        return run.config(settle_now, read_config)
    except RosterError:
        run.abandon()
        raise


def _task(
    config: Config,
    method: Method,
    dataset: Dataset,
    sentences: Sequence[Sentence],
    is_gold: Sequence[bool],
    report: Mapping[str, Sequence[Sentence]],
    run: Run,
    kernels: Sequence[Future[object]],
) -> tuple[Task, Prepared]:
    """The task; what can be wrong raises an error here, before any training, and leaves no run folder."""
    choose = partial(
        choose_engine,
        config,
        head=method.head,
        together=method.models_together(config),
        log=run.log,
        kernels=kernels,
    )
    try:
        prepared = method.prepare(config, sentences, is_gold)
        types = method.types(dataset.types)
        task = Task.build(config, types, prepared.sentences, report, run.log, is_gold, choose)
        if not run.results:
            method.check_task(task)
        return task, prepared
    except RosterError:
        run.abandon()
        raise


def identity(asked: Config | Request) -> dict[str, Any]:
    """What identifies a request: all values, and which of those that could be derived are given."""
    config = asked.config() if isinstance(asked, Request) else asked
    if isinstance(asked, Config) or asked.preset is not None:
        return config.as_dict()
    return {"config": config.as_dict(), "given": sorted(derivable(config) & set(asked.given))}


def backbone_fingerprint(config: Config) -> str:
    """A folder by what lies in it, a hub name by its name, word vectors by their file."""
    if config.backbone.name == BILSTM_CNN:
        vectors = config.bilstm.word_vectors
        return fingerprint(BILSTM_CNN, _digest(Path(vectors).expanduser()) if vectors else "")
    source = Path(resolve(config.backbone.name))
    if not source.is_dir():
        return fingerprint(config.backbone.name)
    files = sorted(p for p in source.iterdir() if p.suffix in (".json", ".safetensors", ".bin"))
    return fingerprint(*[[p.name, _digest(p)] for p in files])


def _digest(path: Path) -> str:
    try:
        return file_digest(path)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from None
