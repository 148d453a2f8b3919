"""What is said of memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

from roster.progress import peak_memory, process_memory

CHILD = "from roster.progress import peak_memory; print(peak_memory()['peak_memory'])"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_peak_is_of_this_program_alone() -> None:
    """A child of a process that holds much begins with what it holds itself."""
    code = (
        f"x = bytearray(300 << 20)\nimport subprocess, sys\nsubprocess.run([sys.executable, '-c', {CHILD!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 2**20 < int(done.stdout) < 200 << 20


def test_the_peak_is_at_least_what_is_held_now() -> None:
    block = bytearray(64 << 20)
    assert peak_memory()["peak_memory"] >= max(len(block), process_memory("VmRSS"))
    assert process_memory("VmNothing") == 0
