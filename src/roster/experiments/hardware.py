"""Description of the machine and of the installed packages, recorded beside every measurement."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import roster


def machine() -> dict[str, Any]:
    """Return the processor, its cores, the memory in bytes, the operating system and the Python version.

    >>> sorted(machine())
    ['cores', 'cores_allowed', 'cpu', 'memory', 'python', 'system']
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "cores_allowed": allowed,
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the version of roster and of those `packages` that are installed.

    >>> list(versions(["numpy", "no-such-package"]))
    ['roster', 'numpy']
    """
    installed = {"roster": roster.__version__}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            installed[package] = metadata.version(package)
    return installed


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
