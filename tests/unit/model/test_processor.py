"""Cores and instructions, from invented descriptions of machines and from this one."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
import torch

from roster.model import processor
from roster.model.processor import cores, has_bf16, limit_threads, multiplies_bf16, share_of_time

INTEL = "processor\t: 0\nmodel name\t: A\nflags\t\t: fpu avx512f {} vnni\nbugs\t\t: none\n\nprocessor\t: 1\n"
ARM = "processor\t: 0\nBogoMIPS\t: 100.00\nFeatures\t: fp asimd {} sve\nCPU part\t: 0xd40\n"


@pytest.mark.parametrize("text", [INTEL, ARM])
def test_instructions(text: str) -> None:
    for name in ("avx512_bf16", "amx_bf16", "bf16"):
        assert has_bf16(text.format(name))
    for name in ("", "avx512_vbmi2", "bf16x", "amx_tile", "i8mm"):
        assert not has_bf16(text.format(name))


def test_only_the_line_of_instructions_counts() -> None:
    assert not has_bf16("model name : Fictive bf16 processor\nflags : fpu avx2\n")
    assert not has_bf16("")


def test_this_processor_as_torch_sees_it() -> None:
    if hasattr(torch.cpu, "_is_avx512_bf16_supported") and Path("/proc/cpuinfo").is_file():
        seen = torch.cpu._is_avx512_bf16_supported()
        assert multiplies_bf16() or not seen


def test_no_bf16_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "has_bf16", lambda text: True)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not multiplies_bf16.__wrapped__()


def group(tmp_path: Path, lines: str, files: dict[str, str]) -> float:
    for name, text in files.items():
        path = tmp_path / "fs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "cgroup").write_text(lines)
    return share_of_time(tmp_path / "cgroup", tmp_path / "fs")


@pytest.mark.parametrize(
    ("lines", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
        ("0::/\n", {}, math.inf),
        # The least on the way up counts, and not that of a neighbour.
        (
            "0::/a/b\n",
            {"a/b/cpu.max": "max 100000", "a/cpu.max": "400000 100000", "c/cpu.max": "100000 100000"},
            4.0,
        ),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000", "a/cpu.max": "400000 100000"}, 0.5),
        # In a container the group's own path may not be there.
        ("0::/docker/123\n", {"cpu.max": "200000 100000"}, 2.0),
        ("0::/../x\n", {"cpu.max": "200000 100000"}, 2.0),
        # Version 1, alone or with other controllers; "cpuset" is another matter.
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3.0),
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, math.inf),
        (
            "5:cpuset:/\n4:cpu,cpuacct:/a\n1:name=systemd:/\n",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "250000", "cpu,cpuacct/a/cpu.cfs_period_us": "100000"},
            2.5,
        ),
        ("3:cpuset:/\n", {"cpuset/cpu.max": "100000 100000"}, math.inf),
    ],
)
def test_control_groups(tmp_path: Path, lines: str, files: dict[str, str], expected: float) -> None:
    assert group(tmp_path, lines, files) == expected


def test_no_control_groups(tmp_path: Path) -> None:
    assert share_of_time(tmp_path / "nothing", tmp_path) == math.inf


def test_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    for share, expected in ((math.inf, 8), (2.5, 3), (2.0, 2), (0.1, 1), (64.0, 8)):
        monkeypatch.setattr(processor, "share_of_time", lambda share=share: share)
        assert cores() == expected
    for asked, expected in (("3", 3), ("16", 16), ("4,2", 4), ("0", 8), ("many", 8), ("", 8)):
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        assert cores() == expected


def test_cores_of_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its share of those that are allowed; a number in the environment is that of each process."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    for share, processes, expected in ((math.inf, 2, 8), (4.0, 2, 2), (3.5, 3, 1), (5.0, 2, 2), (2.0, 5, 1)):
        monkeypatch.setattr(processor, "share_of_time", lambda share=share: share)
        assert cores(processes) == expected
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert cores(2) == cores() == 3


def test_threads_are_only_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    try:
        for had, allowed, left in ((4, 2, 2), (1, 2, 1), (2, 2, 2)):
            monkeypatch.setattr(processor, "cores", lambda processes, allowed=allowed: allowed)
            torch.set_num_threads(had)
            limit_threads()
            assert torch.get_num_threads() == left
    finally:
        torch.set_num_threads(before)
