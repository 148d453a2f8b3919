"""How a page of the documentation is run: shell lines by bash, Python in this process, both in one folder."""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from functools import cached_property
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

from manual.blocks import Block, blocks
from manual.repository import PAGES, ROOT
from manual.shell import logical_lines
from tests.documentation.checks import check_commands
from tests.documentation.table import TABLE, Excuses, not_run

SHELL, CONSOLE, PYTHON, SESSION, TOML, JSON = "sh", "console", "python", "pycon", "toml", "json"
SHOWN = {"text", "xml", "nginx", "ini"}
"""Languages of blocks that are neither commands nor Python nor data: diagrams, files of other programs."""
LANGUAGES = {SHELL, CONSOLE, PYTHON, SESSION, TOML, JSON, *SHOWN}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ERROR = "roster: "
"""Begins the output of a command that ends with an error of the user's."""


def markdown_files() -> list[str]:
    """All pages by their path in the repository."""
    return [*PAGES, *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]


def blocks_of(page: str) -> list[Block]:
    return blocks((ROOT / page).read_text(encoding="utf-8"), page)


def page_names() -> list[str]:
    """The pages with blocks."""
    return [name for name in markdown_files() if blocks_of(name)]


class Page:
    """One page, run from top to bottom."""

    def __init__(self, name: str, folder: Path, shims: Path, environment: Mapping[str, str]):
        self.name, self.folder = name, folder
        self.excuses = Excuses(name)
        self.settings = next((one for one in TABLE["page"] if one["path"] == name), {})
        path = os.pathsep.join([str(shims), str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {**environment, "PATH": path, "ROSTER_CACHE": str(folder / ".cache")}
        if "train_on" in self.settings:
            self.environment["TRAIN_ON"] = str(folder / self.settings["train_on"])
        self.variables: dict[str, str] = {}

    @cached_property
    def names(self) -> dict[str, Any]:
        """The names that the Python of the page has: those of `pages.toml`, then those of its blocks."""
        module = sys.modules["page"] = ModuleType("page")  # dataclasses look for it
        exec(self.settings.get("python", ""), vars(module))
        return vars(module)

    def run(self) -> None:
        for line in self.settings.get("shell", []):
            self.bash(line, "pages.toml")
        for block in blocks_of(self.name):
            self.block(block)

    def block(self, block: Block) -> None:
        assert block.language in LANGUAGES, f"{block.where}: needs one of the languages {sorted(LANGUAGES)}"
        if block.language == SHELL:
            for line in logical_lines(block.text):
                self.line(line, block)
        elif block.language == CONSOLE:
            self.console(block)
        elif block.language in SHOWN:
            return
        elif self.excuses.reason(block.text) is not None:
            if block.language == PYTHON:
                compile(block.text, block.where, "exec")
        elif block.language == TOML:
            tomllib.loads(block.text)
        elif block.language == JSON:
            read_json(block.text)
        elif block.language == PYTHON:
            with inside(self.folder), redirect_stderr(StringIO()):
                exec(compile("\n" * (block.line - 1) + block.text, block.page, "exec"), self.names)
        else:
            self.session(block)

    def line(self, line: str, block: Block) -> str | None:
        """Runs a logical line of a shell, unless it is excused (None). Its commands are parsed anyway."""
        found = check_commands(line, block, self.variables)
        if self.excuses.reason(line) is not None or any(not_run(command) for command in found):
            return None
        return self.bash(line, block.where)

    def bash(self, line: str, where: str, code: int = 0) -> str:
        """Standard output and standard error of a line that ends with this exit code."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line.replace(".venv/bin/", "")],
            cwd=self.folder,
            env={**self.environment, **self.variables},
            input=self.settings.get("stdin", ""),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == code, f"{where}: {line}\nexit code {done.returncode}\n{done.stdout}"
        return done.stdout

    def console(self, block: Block) -> None:
        """Lines with `$ ` are commands; what follows is their output, `...` for what is not compared."""
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            line = logical_lines(part)[0]
            want = part[len(line) :].lstrip("\n")
            if want.startswith(ERROR):  # run, whatever the command is: it comes to nothing
                check_commands(line, block, self.variables)
                got: str | None = ERROR + self.bash(line, block.where, code=2).partition(ERROR)[2]
            else:
                got = self.line(line, block)
            if got is not None:
                compare(want, got, f"{block.where}: {line}")

    def session(self, block: Block) -> None:
        parser = doctest.DocTestParser()
        test = parser.get_doctest(block.text, self.names, block.where, block.page, block.line - 1)
        output = StringIO()
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        with inside(self.folder):
            runner.run(test, out=output.write, clear_globs=False)
        self.names.update(test.globs)
        assert not runner.failures, output.getvalue()


def read_json(text: str) -> None:
    """One value, or a value on each line."""
    try:
        json.loads(text)
    except ValueError:
        for line in text.splitlines():
            json.loads(line)


def compare(want: str, got: str, where: str) -> None:
    example, checker = doctest.Example("", want), doctest.OutputChecker()
    if not checker.check_output(want, got, FLAGS):
        raise AssertionError(f"{where}\n{checker.output_difference(example, got, FLAGS)}")


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
