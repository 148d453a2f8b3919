"""`roster.predict_shards`, `label_shards` and `convert_shards`: large inputs, shard by shard, here or on a
Ray cluster."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.api.labelling import cache_folder, processes
from roster.corpus.formats.base import Labels
from roster.corpus.tags import Scheme
from roster.errors import ConfigError, DataError
from roster.files import file_digest, fingerprint
from roster.log import LOGGER
from roster.shards.engines.base import Engine
from roster.shards.places import Folder
from roster.shards.run import Result, make_plan, run

if TYPE_CHECKING:
    from roster.distant.output.report import Report
    from roster.distant.settings import Settings

MIB = 1 << 20


def engine_of(name: str, address: str | None = None, *, workers: int = 1, gpu: bool = False) -> Engine:
    """The engine of a name.

    Args:
        name: `local`, this machine, or `ray`.
        address: of a Ray cluster, `HOST:PORT` or `auto`; without one, Ray is started on this machine.
        workers: number of processes of `local`.
        gpu: whether Ray's workers have a GPU each, where there are some.

    Raises:
        ConfigError: there is no such engine, or `local` was given an address.
    """
    if name == "ray":
        from roster.shards.engines.ray import RayEngine

        return RayEngine(address, gpu)
    if name != "local":
        raise ConfigError(f"unknown engine {name!r}; known are local, ray")
    if address is not None:
        raise ConfigError("--address is of a Ray cluster; add --engine ray")
    from roster.shards.engines.local import LocalEngine

    return LocalEngine(workers)


def predict_shards(
    model: str | Path,
    source: str | Path,
    output: str | Path,
    *,
    format: str | None = None,
    to: str | None = None,
    device: str = "auto",
    engine: str = "local",
    address: str | None = None,
    shard_size: float | None = None,
) -> Result:
    """Finds entities in files of any number and size, and writes a folder with a file for each shard.

    The same call goes on where it was interrupted; what was finished is not made again.

    Args:
        model: a model folder or a run folder; with Ray, one that all nodes can read.
        source: a file, a folder, a pattern (`news/*.txt`), or a URL of these that fsspec opens.
        output: the folder for the shards, or a URL of one.
        format: the format of the files, where it is not recognised.
        to: the format to write, JSON lines by default.
        device: `auto`, `cpu` or `cuda`.
        engine: `local` or `ray`.
        address: of the Ray cluster; without one, Ray is started on this machine.
        shard_size: MiB of input in a shard.

    Returns:
        The number of shards, and the counts over all of them.

    Raises:
        RosterError: for a model, data or an output that cannot be used; what is finished is kept.

    >>> predict_shards("run", "news/*.txt", "entities", engine="ray")  # doctest: +SKIP
    """
    from roster.shards.jobs.predict import Predict

    chosen = engine_of(engine, address, gpu=device != "cpu")
    job = Predict(str(model if "://" in str(model) else Path(model).resolve()), to or "jsonl", device)
    job.settings()  # a missing model is reported before anything is read
    plan = make_plan(_absolute(source), chosen, format=format, size=_bytes(shard_size))
    return run(job, _absolute(source), plan, _absolute(output), chosen)


def convert_shards(
    source: str | Path,
    output: str | Path,
    *,
    format: str | None = None,
    to: str = "jsonl",
    scheme: Scheme = "BIO",
    labels: Labels | None = None,
    engine: str = "local",
    address: str | None = None,
    shard_size: float | None = None,
) -> Result:
    """Changes the format of files of any number and size; arguments as for `predict_shards` and `convert`.

    Raises:
        RosterError: for data or an output that cannot be used; what is finished is kept.

    >>> convert_shards("s3://bucket/news", "s3://bucket/news-parquet", to="parquet")  # doctest: +SKIP
    """
    from roster.shards.jobs.convert import Convert

    chosen = engine_of(engine, address)
    plan = make_plan(_absolute(source), chosen, format=format, size=_bytes(shard_size))
    return run(Convert(to, scheme, labels), _absolute(source), plan, _absolute(output), chosen)


def label_shards(
    corpus: str | Path,
    output: str | Path,
    *,
    config: Settings,
    format: str | None = None,
    to: str | None = None,
    scheme: Scheme = "BIO",
    provenance: bool = True,
    cache: str | Path | bool = True,
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
    shard_size: float | None = None,
) -> Report:
    """Distant labels for files of any number and size; the folder is a data set for `train`.

    What depends on the whole corpus is decided first, as in one process: policies and common words from its
    first 500,000 words, candidates for a knowledge base from all shards.

    Args:
        corpus: as `source` of `predict_shards`; the other arguments are those of `label_file` and
        `predict_shards`.
        output: a folder for shards, types and the report.

    Returns:
        The report over all shards.

    Raises:
        ConfigError: for annotations and models, which cannot be read by shards.
        RosterError: for data or an output that cannot be used; what is finished is kept.

    >>> label_shards("news/*.txt", "data", config=settings, engine="ray")  # doctest: +SKIP
    """
    from roster.distant.labelling.labeller import Labeller
    from roster.distant.output.policy_report import labels_by_case
    from roster.distant.output.report import Report, dead_entries
    from roster.distant.output.target import Target
    from roster.shards.jobs.candidates import all_candidates, sentences_of_plan
    from roster.shards.jobs.label import Label, counted
    from roster.shards.worker import Mark

    if config.annotations or config.models:
        raise ConfigError(
            "annotations and models are read side by side with the corpus, in its order, which shards do not "
            "have; label without --engine"
        )
    chosen = engine_of(engine, address, workers=processes(workers))
    source = _absolute(corpus)
    plan = make_plan(source, chosen, format=format, size=_bytes(shard_size))
    labeller = Labeller(config, cache_folder(cache), log=LOGGER.info)
    candidates = all_candidates(plan, config.candidates, chosen) if config.kb.source else None
    labeller.prepare(lambda: sentences_of_plan(plan), candidates)
    prepared = labeller.chunk_labeller
    if address is not None:  # other machines do not have the cache of this one
        prepared = replace(prepared, dictionaries=prepared.dictionaries.for_other_machines())
    job = Label(prepared, _made_from(labeller), to or "jsonl", scheme, provenance)
    report = Report()
    labeller.reset_counts()

    def collect(mark: Mark) -> None:
        part, refused = counted(mark["counts"])
        report.add(part)
        labeller.refused_matches.add(refused)

    run(job, source, plan, _absolute(output), chosen, collect=collect)
    if not report.words:
        raise DataError("there is no word in the corpus, so nothing to label")
    report.finish(labeller, labels_by_case(labeller))
    with tempfile.TemporaryDirectory(prefix="roster-") as folder:
        target = Target(Path(folder) / "data", job.to)
        target.path.mkdir()
        target.finish(report, dead_entries(labeller))
        for file in target.path.iterdir():
            Folder(_absolute(output)).publish(file, file.name)
    return report


def _made_from(labeller: Any) -> dict[str, Any]:
    """What labels depend on besides the shard: files, settings, and what the first pass decided."""
    from roster.distant.output.policy_report import decisions_as_data

    settings = labeller.settings
    matcher, kb = labeller.chunk_labeller.dictionaries, labeller.chunk_labeller.kb
    common = [bytes(one) for one in matcher.common or ()]
    return {
        "dictionaries": [file_digest(Path(path)) for path in settings.inputs],
        "rules": fingerprint(repr(settings)),
        "decisions_of_the_first_pass": fingerprint(
            decisions_as_data(labeller.decisions, settings.policies), *common
        ),
        "knowledge_base": fingerprint(sorted(kb.items.items())) if kb is not None else None,
    }


def _bytes(mib: float | None) -> int | None:
    if mib is not None and not mib > 0:
        raise ConfigError(f"--shard-size must be more than 0, not {mib:g}")
    return None if mib is None else max(1, int(mib * MIB))


def _absolute(path: str | Path) -> str:
    """A path that means the same in another process; a URL as it is."""
    return str(path) if "://" in str(path) else str(Path(path).absolute())
