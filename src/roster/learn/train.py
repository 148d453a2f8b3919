"""`roster train`: from a data set to a run folder with a model in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from roster.backbone.loading import import_code, resolve
from roster.config import BILSTM_CNN, Config, Request, to_toml
from roster.corpus.dataset import Dataset, load_dataset
from roster.corpus.sentence import Sentence
from roster.errors import DataError, RosterError
from roster.files import file_digest, fingerprint
from roster.learn.autoner import check_phrases, single_types, train_autoner
from roster.learn.bilstm_crf import train_bilstm_crf
from roster.learn.bond import bond_schedule, train_bond
from roster.learn.budget import check_minutes
from roster.learn.common_words import describe_skipped, skip_common_words
from roster.learn.defaults import facts_of, settle
from roster.learn.fine_tune import train_fine_tune
from roster.learn.gold import add_gold, gold_fingerprint, read_gold
from roster.learn.holdout import TypeCount, count_by_type
from roster.learn.roster import train_roster
from roster.learn.run import Run
from roster.learn.task import Task
from roster.learn.verdict import far_from_labels
from roster.model.decoding import decode, io_classes
from roster.model.folder import is_model, save_model
from roster.model.reading import read_probabilities
from roster.progress import timed

METHODS: dict[str, Callable[[Task, Run], Any]] = {
    "roster": train_roster,
    "fine-tune": train_fine_tune,
    "bond": train_bond,
    "autoner": train_autoner,
    "bilstm-crf": train_bilstm_crf,
}


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
        gold = read_gold(static.gold, task_types(static, dataset))
        sources = {"data": dataset.fingerprint(), "backbone": backbone_fingerprint(static)}
        if gold:
            sources["gold"] = gold_fingerprint(gold)
        opened = Run.open(run, asked, sources, log)
        opened.curves = curves or {}
        try:
            done = opened.finished("model") and is_model(opened.folder / "model")
            if not done:
                _train(opened, asked, minutes, dataset, gold, report)
        except BaseException:
            opened.close()
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
    with timed("data") as reading:
        config, derivation = _config(run, asked, minutes, dataset)
        sentences, is_gold = add_gold(dataset.train, gold)
        skipped: dict[str, int] = {}
        if config.method == "roster" and config.noise_robust.skip_common_words:
            sentences, skipped = skip_common_words(sentences, is_gold)
        task = _task(config, dataset, sentences, is_gold, report, run)
    if derivation:
        run.log(derivation)
    if skipped:
        run.results["skipped_labels"] = skipped
        run.log(describe_skipped(skipped))
    of_them = f" ({len(gold)} of them gold)" if gold else ""
    run.log(
        f"data: {len(task.sentences)} sentences{of_them}, {task.corpus.n_words} words, "
        f"{task.corpus.encoded.n_windows} windows, types {', '.join(task.types)}; "
        f"{reading.facts['seconds']:.1f} s; device {task.device}, {_engines(task)}"
    )
    model = METHODS[config.method](task, run)
    counts = compare_with_labels(task, run, model)
    if config.method == "roster" and config.noise_robust.repair and not any(c.found for c in counts.values()):
        raise RosterError(
            "the model finds no entity in its own training text, though there are labels: nothing can be "
            "learned from them. A larger dictionary or more text gives more of them"
        )
    save_model(
        run.folder / "model", model, task.encoder.tokenizer, task.types, task.encoder.limit, to_toml(config)
    )


def _config(run: Run, asked: Config | Request, minutes: float | None, dataset: Dataset) -> tuple[Config, str]:
    """The effective config, which is settled once in the life of a run, and what it follows from."""

    def settle_now() -> tuple[Config, str]:
        if isinstance(asked, Config) or asked.preset is not None:
            return (asked if isinstance(asked, Config) else asked.config()), ""
        return settle(asked, facts_of(asked, dataset.train), minutes)

    try:
        return run.config(settle_now)
    except RosterError:
        run.abandon()
        raise


def compare_with_labels(task: Task, run: Run, model: Any) -> dict[str, TypeCount]:
    """Notes what the model finds in its own training text, and warns where that is far from the labels."""
    p = read_probabilities(model, task.corpus)
    spans = decode(model.kind, p.cpu().numpy(), map(len, task.sentences), task.types)
    found = [s.with_spans(x) for s, x in zip(task.sentences, spans, strict=True)]
    counts = count_by_type(io_classes(found, task.types), task.mentions, task.starts, task.types)
    run.results["found"] = {name: count.as_dict() for name, count in counts.items()}
    run.results["warnings"] = far_from_labels(counts)
    for warning in run.results["warnings"]:
        run.log(f"warning: {warning}")
    return counts


def _engines(task: Task) -> str:
    """Who trains, in words; that of self-training only where it is another."""
    first, last = task.engine.name, task.self_training_engine.name
    return f"{first} engine" + (f" (self-training: {last})" if last != first else "")


def _task(
    config: Config,
    dataset: Dataset,
    sentences: Sequence[Sentence],
    is_gold: Sequence[bool],
    report: Mapping[str, Sequence[Sentence]],
    run: Run,
) -> Task:
    """What can be wrong is said now, not after hours of training, and leaves no run folder behind."""
    try:
        if config.method == "autoner":
            check_phrases(sentences, config.autoner)
        task = Task.build(config, task_types(config, dataset), sentences, report, run.log, is_gold)
        if config.masked_lm is not None and not run.results:
            task.masked_lm  # noqa: B018
        if config.method == "bond":
            bond_schedule(task)
        return task
    except RosterError:
        run.abandon()
        raise


def task_types(config: Config, dataset: Dataset) -> tuple[str, ...]:
    """The types that a model chooses from; AutoNER alone takes a label of several types apart."""
    return single_types(dataset.types) if config.method == "autoner" else dataset.types


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
