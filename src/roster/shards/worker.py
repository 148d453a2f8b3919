"""What is done with one shard, in whatever process: fetch, work, publish, mark."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roster.files import file_digest
from roster.shards.content import fetch
from roster.shards.jobs.base import Job, Write
from roster.shards.output import Output
from roster.shards.plan import Plan, Shard

Mark = dict[str, Any]
"""What is kept of a finished shard; JSON can hold it."""


@dataclass(frozen=True)
class ShardWork:
    """A job over the shards of a plan; engines send it to their processes.

    Args:
        settings: fingerprint of the job's settings.
    """

    job: Job
    plan: Plan
    output: Output
    settings: str

    def open(self) -> Callable[[Shard], int]:
        return _Opened(self, self.job.open())


@dataclass(frozen=True)
class _Opened:
    work: ShardWork
    write: Write

    def __call__(self, shard: Shard) -> int:
        """Makes a shard, unless its content is what the files that are there were made from; its number.

        The files of a shard are the same whoever makes them, and the marker comes last. So it does not matter
        where a process ends, nor whether two make the same shard.
        """
        work, began, processor = self.work, time.perf_counter(), time.process_time()
        with tempfile.TemporaryDirectory(prefix="roster-shard-") as temporary:
            given, made = Path(temporary) / "in", Path(temporary) / "out"
            given.mkdir()
            made.mkdir()
            content = fetch(work.plan, shard, given)
            read = time.perf_counter() - began
            mark = work.output.mark(shard.number)
            if mark and mark["settings"] == work.settings and mark["content"] == content.digest:
                mark = {**mark, "stamp": work.plan.stamp(shard)}
                work.output.set_mark(shard.number, mark)
                return shard.number
            name = f"{shard.number:05}-of-{len(work.plan.shards):05}"
            counts = self.write(content, made, name)
            worked = time.perf_counter() - began - read
            files = {one: made / one for one in work.job.files(name)}
            for one, path in files.items():
                work.output.folder.publish(path, one)
            mark = {
                "settings": work.settings,
                "stamp": work.plan.stamp(shard),
                "content": content.digest,
                "files": {one: path.stat().st_size for one, path in files.items()},
                "sha256": {one: file_digest(path) for one, path in files.items()},
                "seconds": {
                    "read": round(read, 4),
                    "work": round(worked, 4),
                    "processor": round(time.process_time() - processor, 4),
                },
                "counts": counts,
            }
            work.output.set_mark(shard.number, mark)
            return shard.number
