"""What the processor offers this process: cores to compute on, and bfloat16 arithmetic of its own.

torch knows which cores the process is bound to and that two hyper-threads are one core, but not the share
of time that a container may have; with a thread for each core of a large machine it would then mostly wait.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

FLAGS = ("flags", "Features")
"""How /proc/cpuinfo begins the line with the instructions it has, on x86 and on ARM."""
BF16 = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""Any of these multiplies bfloat16 faster than float32. Without them it is emulated, which is slower."""


@cache
def multiplies_bf16() -> bool:
    """Whether bfloat16 matrix products are native here. Only known on Linux; False elsewhere."""
    import torch

    if not torch.backends.mkldnn.is_available():
        return False
    try:
        return has_bf16(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return False


def has_bf16(cpuinfo: str) -> bool:
    """
    >>> has_bf16("processor : 0\\nflags : fpu avx512f avx512_bf16\\n"), has_bf16("flags : fpu avx512f\\n")
    (True, False)
    """
    for line in cpuinfo.splitlines():
        name, _, instructions = line.partition(":")
        if name.strip() in FLAGS:
            return not BF16.isdisjoint(instructions.split())
    return False


def cores(processes: int = 1) -> int:
    """How many cores this process may keep busy, as one of so many that work side by side.

    `OMP_NUM_THREADS` has the last word, as it has for torch, where it is the number of each process.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(bound, share_of_time())) // processes)


def limit_threads(processes: int = 1) -> None:
    """Gives torch no more threads than there are cores to run them; what was set lower stays."""
    import torch

    allowed = cores(processes)
    if torch.get_num_threads() > allowed:
        torch.set_num_threads(allowed)


@contextmanager
def single_threads(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Workers with one of torch's threads each; the caller's setting stays as it was."""
    import torch

    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers, "roster", lambda: torch.set_num_threads(1))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def share_of_time(proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> float:
    """How many cores' time the control groups of this process allow: the least on the way to the root."""
    try:
        lines = proc.read_text(encoding="utf-8").splitlines()
    except OSError:
        return math.inf
    found = math.inf
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / controllers if controllers else root
        # Inside a container the path can be that of the host, which is not to be seen: then only the top is.
        place = top / group.strip("/")
        upwards = [place, *place.parents]
        found = min(found, *map(_quota, upwards[: upwards.index(top) + 1]))
    return found


def _quota(folder: Path) -> float:
    """The limit of one control group, of either version; infinite where it sets none."""
    try:
        if (folder / "cpu.max").is_file():
            quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
        else:
            quota, period = (
                (folder / f"cpu.cfs_{name}_us").read_text(encoding="utf-8") for name in ("quota", "period")
            )
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    except (OSError, ValueError):  # no such file, or "max"
        return math.inf
