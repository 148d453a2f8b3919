"""Help is quick and complete."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import roster as package
from roster.cli.main import COMMANDS

HEAVY = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "ray", "fsspec")


def test_help_lists_every_command(roster: Any) -> None:
    done = roster.cold("--help")
    assert done.code == 0
    assert not done.err
    for name, summary in COMMANDS.items():
        assert f"    {name} " in done.out
        assert " ".join(summary.split()) in " ".join(done.out.split())
    assert roster.cold().out == done.out


def test_version(roster: Any) -> None:
    assert roster.cold("--version").out == f"roster {package.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"], ["predict", "--help"],
                                       ["train", "--print-config"]])  # fmt: skip
def test_nothing_heavy_is_imported(arguments: list[str], environment: dict[str, str]) -> None:
    code = f"""
import contextlib, io, sys
from roster.cli.main import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main({arguments!r})
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert found.stdout == "[]\n", found.stderr


def test_help_is_quick(roster: Any, cpu_of_torch: float) -> None:
    assert roster.cpu_seconds("--help") < 0.5 * cpu_of_torch


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, roster: Any) -> None:
    done = roster.cold(command, "--help")
    assert done.code == 0
    assert f"usage: roster {command}" in done.out
    assert "Example:\n" in done.out
    assert f"roster {command}" in done.out.split("Example:\n")[1]


def test_no_option_of_train_is_without_its_words(roster: Any) -> None:
    """Every line of the printed config has its documentation above it."""
    lines = roster.cold("train", "--print-config").out.splitlines()
    options = [i for i, line in enumerate(lines) if " = " in line and not line.startswith("#")]
    assert len(options) > 30
    assert all(lines[i - 1].startswith("# ") for i in options)
