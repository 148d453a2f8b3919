"""What is said of memory and of progress."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from typing import Any

import pytest

from roster import progress
from roster.log import log_to_stderr
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
    held = process_memory("VmRSS") - (1 << 20)  # the kernel's two counters differ by some pages
    assert peak_memory()["peak_memory"] >= max(len(block), held)
    assert process_memory("VmNothing") == 0


def test_modules_that_some_systems_lack() -> None:
    """Windows has neither `resource` nor `fcntl`. Everything can be imported there."""
    code = """
import importlib, pkgutil, sys
sys.modules["resource"] = sys.modules["fcntl"] = None
import roster, roster.progress
for module in pkgutil.walk_packages(roster.__path__, "roster."):
    if not module.name.endswith(("__main__", ".kernels")):
        importlib.import_module(module.name)
assert roster.progress.resource is None
roster.progress.process_memory = lambda *names: 0
assert roster.progress.peak_memory() == {}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], **options: Any) -> list[str]:
    """The lines of a loop of 40 steps that takes 40 times as long as `EVERY`."""
    monkeypatch.setattr(progress, "EVERY", 0.005)
    with log_to_stderr():
        for _ in progress.bar(range(40) if options.pop("sized", True) else iter(range(40)), **options):
            time.sleep(0.005)
    text = capsys.readouterr().err
    assert "\r" not in text
    return text.splitlines()


def test_where_there_is_no_terminal_progress_is_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(monkeypatch, capsys, description="member-0")
    assert 1 < len(lines) <= 41
    found = [re.fullmatch(r"member-0: +(\d+) %, (\d+) of 40 batch, .*batch/s, [\d:]+ left", x) for x in lines]
    assert all(found), lines
    done = [int(match[2]) for match in found if match]
    assert done == sorted(done)
    assert all(int(match[1]) == pytest.approx(2.5 * int(match[2]), abs=0.6) for match in found if match)


def test_progress_of_unknown_length(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(monkeypatch, capsys, description="label", unit="sentence", sized=False)
    assert lines
    assert all(re.match(r"label: \d+ sentence \[", line) for line in lines)


def test_what_is_quick_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with log_to_stderr():
        assert list(progress.bar(range(1000), description="label")) == list(range(1000))
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("columns", [0, 100])
def test_on_a_terminal_progress_is_a_bar(columns: int) -> None:
    """Also on one that has no width set, as a container's may be."""
    import fcntl
    import os
    import pty
    import struct
    import termios

    code = """
import time
from roster.progress import bar
with bar(description="label", total=10) as progress:
    time.sleep(0.6)
    progress.update(5)
"""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    assert "label:  50%" in shown
    assert "5/10" in shown


def test_watched_bars() -> None:
    """Every bar begins and ends with a state; nothing is printed."""
    from roster.progress import bar, watched

    states: list[dict[str, object]] = []
    with watched(states.append):
        for _ in bar(range(4), description="read", unit="sentence"):
            pass
        shown = bar(description="train", total=10, initial=4)
        shown.update(6)
        shown.close()
    assert [(one["stage"], one["done"], one["total"]) for one in states if one["done"] in (0, 4, 10)] == [
        ("read", 0, 4), ("read", 4, 4), ("train", 4, 10), ("train", 10, 10),
    ]  # fmt: skip
    assert states[0]["unit"] == "sentence"
