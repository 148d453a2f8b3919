"""What is measured, each in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

BACKBONE, WINDOW = "roster-small-en-2", 256
"""What `untrained` is made of, and sub-words of its windows."""


def untrained(folder: Path) -> Path:
    """The bundled encoder with heads of random weights, as a model folder."""
    import torch

    from roster.backbone.loading import load_encoder, load_tokenizer
    from roster.methods.registry import heads
    from roster.model.folder import save_model

    torch.manual_seed(0)
    types = ("LOC", "ORG", "PER")
    model = heads()["one-head"](load_encoder(BACKBONE), len(types))
    save_model(folder, model, load_tokenizer(BACKBONE), types, WINDOW, "seed = 0\n")
    return folder


def job_of(kind: str, names: str, cache: str, source: str) -> Any:
    """The job of a command: `predict:FOLDER`, `label` or `convert`."""
    command, _, model = kind.partition(":")
    if command == "predict":
        from roster.shards.jobs.predict import Predict

        return Predict(model)
    if command == "label":
        from roster.corpus.io import read
        from roster.distant.labelling.labeller import Labeller
        from roster.distant.settings import load_settings
        from roster.shards.jobs.label import Label

        labeller = Labeller(load_settings(None, dictionaries=[names]), Path(cache))
        labeller.prepare(lambda: read(source))
        return Label(labeller.chunk_labeller, {})
    from roster.shards.jobs.convert import Convert

    return Convert("jsonl")


def shards(
    kind: str, source: str, names: str, cache: str, engine: str, workers: int, size: int
) -> Iterator[dict[str, Any]]:
    """Seconds of a command over shards, once Ray runs and the dictionary is compiled.

    `begin` is the time from there to the first shard, which a process spends on loading; `seconds` the time
    after it, in which all shards but those under way are made; the sums are over the markers of the shards.
    """
    import roster  # noqa: F401
    from roster.shards.output import Output
    from roster.shards.run import make_plan, run

    if engine == "ray":
        from roster.cluster import connect
        from roster.shards.engines.ray import RayEngine

        before = time.perf_counter()
        connect()
        yield {"connect": time.perf_counter() - before}
        chosen: Any = RayEngine(workers=workers)
    else:
        from roster.shards.engines.local import LocalEngine

        chosen = LocalEngine(workers)
    job = job_of(kind, names, cache, source)
    with TemporaryDirectory(prefix="roster-") as folder:
        out = f"{folder}/out"
        before = time.perf_counter()
        plan = make_plan(source, chosen, size=size)
        planned = time.perf_counter()
        run(job, source, plan, out, chosen)
        ended = time.perf_counter()
        marks = [Output(out).mark(shard.number) for shard in plan.shards]
    seconds = [mark["seconds"] for mark in marks if mark]
    yield {
        "plan": planned - before,
        "seconds": ended - planned,
        "shards": len(plan.shards),
        "bytes": plan.size,
        "read": sum(one["read"] for one in seconds),
        "work": sum(one["work"] for one in seconds),
        "longest": max(one["read"] + one["work"] for one in seconds),
        "processor": sum(one["processor"] for one in seconds),
    }
