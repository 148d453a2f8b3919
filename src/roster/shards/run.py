"""A command over shards, from the input to a finished folder: what is finished stays, the rest is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import roster
from roster.errors import RosterError, RunError
from roster.files import fingerprint, lock_folder
from roster.log import LOGGER
from roster.progress import bar
from roster.shards.engines.base import Engine
from roster.shards.jobs.base import Counts, Job
from roster.shards.output import Output
from roster.shards.places import files_of, is_local, is_url, local_path
from roster.shards.plan import SHARD_BYTES, CountLines, Plan, Shard, cut, input_files, uncounted, with_lines
from roster.shards.worker import Mark, ShardWork


@dataclass(frozen=True)
class Result:
    """What a command over shards left."""

    shards: int
    made: int
    """Shards that this call made; the others were there."""
    counts: Counts


def make_plan(source: str, engine: Engine, *, format: str | None = None, size: int | None = None) -> Plan:
    """Cuts an input into shards; the lines of texts that are cut are counted by the engine.

    Args:
        source: a file, a folder, a pattern such as `news/*.txt`, or a URL of these.
        engine: counts lines.
        format: of the files, if it is not recognised.
        size: bytes of input in a shard.

    Raises:
        DataError: there is no such file, or files of several formats.
        ConfigError: a format that cannot be cut into shards, or a size of 0 or less.
    """
    name, documents, files = input_files(source, format)
    pieces = cut(name, documents, files, size or SHARD_BYTES)
    todo = uncounted(files, pieces) if name == "text" and not documents else []
    counts = dict(engine.map(CountLines(), todo)) if todo else {}
    return Plan(name, documents, files, with_lines(pieces, counts, files))


def run(
    job: Job,
    source: str,
    plan: Plan,
    output: str,
    engine: Engine,
    *,
    collect: Callable[[Mark], None] | None = None,
) -> Result:
    """Makes all shards that are not there, in any order, and then the totals.

    Args:
        job: what becomes of a shard.
        source: what the plan was made from; looked at again at the end.
        plan: the shards.
        output: a folder, or the URL of one.
        engine: where shards are worked on.
        collect: called with the marker of each shard, in order, when all are there.

    Raises:
        RunError: the folder was made from something else, another process writes into it, or the input
        changed while it was
            read.
        RosterError: from the job; what is finished is kept.
    """
    refuse_output(source, output)
    job.files("")  # a format that cannot be written as shards is reported before anything is
    settings = {**job.settings(), "version": roster.__version__}
    about = {
        "command": job.command,
        "settings": settings,
        "shards": len(plan.shards),
        "input": plan.as_dict(),
    }
    target = Output(output)
    work = ShardWork(job, plan, target, fingerprint(job.command, settings))
    with ExitStack() as stack:
        target.check(about)
        target.folder.make()
        if is_local(output):
            held = lock_folder(local_path(output), f"writing shards of roster {job.command}")
            stack.callback(held.release)
            target.check(about)  # another process may have begun it meanwhile
        target.begin(about)
        todo = _unfinished(work)
        there = len(plan.shards) - len(todo)
        if there:
            LOGGER.info(f"{output}: {there} of {len(plan.shards)} shards are finished")
        progress = stack.enter_context(
            bar(description=job.command, total=len(plan.shards), initial=there, unit="shard")
        )
        for _ in engine.map(work, todo):
            progress.update()
        progress.close()
        if [(one.name, one.size, one.stamp) for one in files_of(source)] != [
            (one.name, one.size, one.stamp) for one in plan.files
        ]:
            raise RunError(
                f"{source} changed while it was read; the same command makes the shards of what changed"
            )
        totals = _totals(_marks(target, plan), collect)
        target.finish(about, totals)
    return Result(len(plan.shards), len(todo), totals)


def _unfinished(work: ShardWork) -> list[Shard]:
    """The shards without a marker of these settings and this input."""
    todo, changed = [], 0
    for shard in work.plan.shards:
        mark = work.output.mark(shard.number)
        if mark is not None and mark["settings"] == work.settings:
            if mark["stamp"] == work.plan.stamp(shard):
                continue
            changed += 1
        todo.append(shard)
    if changed:
        LOGGER.warning(
            f"{work.output.url}: the input of {changed} shards has changed; they are looked at again"
        )
    return todo


def _marks(target: Output, plan: Plan) -> Iterator[Mark]:
    for shard in plan.shards:
        mark = target.mark(shard.number)
        if mark is None:
            raise RunError(
                f"{target.url}: shard {shard.number} has been removed; the same command makes it again"
            )
        yield mark


def _totals(marks: Iterator[Mark], collect: Callable[[Mark], None] | None) -> dict[str, Any]:
    """The sum of what the shards counted, and of their seconds."""
    totals: dict[str, Any] = {}
    for mark in marks:
        if collect is not None:
            collect(mark)
        for name, value in mark["counts"].items():
            if isinstance(value, int):
                totals[name] = totals.get(name, 0) + value
    return totals


def refuse_output(source: str, output: str) -> None:
    """Raises RosterError if shards would be written into the input or beside its files."""
    if is_url(source) != is_url(output):
        return
    inside = output.rstrip("/") == source.rstrip("/") or output.startswith(f"{source.rstrip('/')}/")
    if not is_url(source):
        here, there = local_path(output).resolve(), local_path(source).resolve()
        inside = here == there or there in here.parents
    if inside:
        raise RosterError(f"{output} is, or is in, the input of this command; choose another folder")
