"""`roster predict` on a stream: memory that does not grow, and a person at a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

MEGABYTE = 2**20
COMMAND = [sys.executable, "-m", "roster.cli.main"]


def memory(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def test_memory_does_not_grow(model: Path, environment: dict[str, str]) -> None:
    """A megabyte of text, some lines long: after the first parts the process stays as large as it is.

    Its words alone, if they were kept, would take 40 megabytes.
    """
    line = b"Mr Ada lives in Oslo . " * 3 + b"the road to Lima was closed .\n"
    long = b"yesterday Mr Boris said nothing " * 900 + b"\n"
    part = line * 800 + long
    process = subprocess.Popen([*COMMAND, "predict", str(model)], env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL)  # fmt: skip
    assert process.stdin
    sizes = []
    for _ in range(10):
        process.stdin.write(part)  # it waits where the command does not keep up
        process.stdin.flush()
        sizes.append(memory(process.pid))
    process.stdin.close()
    assert process.wait() == 0
    assert 10 * len(part) > MEGABYTE
    assert max(sizes[3:]) < sizes[2] + 16 * MEGABYTE, [size // MEGABYTE for size in sizes]


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_a_person_gets_each_answer_at_once(model: Path, environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*COMMAND, "predict", str(model)], env=environment, stdin=theirs,
                               stdout=subprocess.PIPE)  # fmt: skip
    os.close(theirs)
    assert process.stdout
    for text in ("Mr Ada lives in Oslo .", "it rained in Lima all day ."):
        os.write(ours, text.encode() + b"\n")
        ready, _, _ = select.select([process.stdout], [], [], 60)
        assert ready, "no answer"
        assert json.loads(process.stdout.readline())["text"] == text
    os.write(ours, b"\x04")
    assert process.wait(60) == 0
    os.close(ours)
