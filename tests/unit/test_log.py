"""Messages go to the logger `roster`; nothing is printed before somebody asks for it."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from typing import Any

import pytest

import roster
from roster.log import LOGGER, log_to_stderr


@pytest.fixture(autouse=True)
def as_before() -> Any:
    handlers, level = LOGGER.handlers[:], LOGGER.level
    yield
    LOGGER.handlers[:] = handlers
    LOGGER.setLevel(level)


def test_nothing_is_printed_before_it_is_asked_for() -> None:
    code = """
import logging, roster
roster.label(["Ada ran."], {"Ada": "PER"})
logging.getLogger("roster").warning("not shown")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_show_log(capsys: pytest.CaptureFixture[str]) -> None:
    roster.show_log()
    roster.show_log()  # the second call adds no second handler
    LOGGER.info("reading")
    LOGGER.warning("no label for ORG")
    LOGGER.debug("a detail")
    assert capsys.readouterr().err == "reading\nwarning: no label for ORG\n"


def test_the_standard_way() -> None:
    stream = io.StringIO()
    root, handler = logging.getLogger(), logging.StreamHandler(stream)
    root.addHandler(handler)
    try:
        LOGGER.setLevel(logging.INFO)
        LOGGER.info("reading")
    finally:
        root.removeHandler(handler)
    assert stream.getvalue() == "reading\n"


def test_the_command_line_leaves_the_logger_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    with log_to_stderr():
        LOGGER.info("shown")
    LOGGER.info("not shown")
    assert capsys.readouterr().err == "shown\n"


def test_on_a_terminal_lines_stand_above_the_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    from roster.progress import bar

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with log_to_stderr(), bar(description="label", total=10) as progress:
        progress.update(5)
        progress.refresh()
        LOGGER.info("a message")
    text = terminal.getvalue()
    before, _ = text.split("a message\n")
    assert "label:  50%" in before
    assert before.endswith(("\r", "\n"))
