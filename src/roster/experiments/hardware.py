"""Description of the machine and of the installed packages, recorded beside every measurement."""

from __future__ import annotations

import os
import platform
import subprocess
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


def gpu() -> str | None:
    """Return the name of the GPU that torch uses, if there is one."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def commit() -> str | None:
    """Return the commit of the checkout that this package runs from, if any."""
    folder = Path(roster.__file__).parent
    command = ["git", "-C", str(folder), "log", "-1", "--format=%h", "--", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
