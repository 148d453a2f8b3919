"""How a page of the documentation is run: its shell lines by bash, its Python in this process, both in a scratch folder.

`roster` in a shell line is a small program that hands its arguments to the fork of a warm process. What the
lines have in place of what is only here (tiny encoders, short trainings) is in `pages.toml`, and so is what cannot run.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from functools import cached_property
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

from manual.blocks import Block, blocks
from manual.repository import PAGES, ROOT
from manual.shell import commands, logical_lines
from tests.integration.conftest import Roster

TABLE = tomllib.loads((Path(__file__).parent / "pages.toml").read_text(encoding="utf-8"))
SHELL, OUTPUT, PYTHON, SESSION = "sh", "console", "python", "pycon"
DATA = {"json", "toml"}
SHOWN = {"text", "xml", "nginx", "ini", "js"}
"""Languages of blocks that are neither commands, nor Python, nor data: diagrams, files of other programs."""

SHIM = """\
#!{python} -SE
import json, os, socket, sys
stdin = sys.stdin.read()
with socket.socket(socket.AF_UNIX) as link:
    link.connect({address!r})
    job = {{"arguments": sys.argv[1:], "cwd": os.getcwd(), "stdin": stdin, "cache": os.environ["ROSTER_CACHE"],
       "train_on": os.environ.get("TRAIN_ON")}}
    link.sendall(json.dumps(job).encode() + b"\\n")
    done = json.loads(link.makefile().readline())
sys.stdout.write(done["out"]); sys.stdout.flush()
sys.stderr.write(done["err"]); sys.stderr.flush()
sys.exit(done["code"])
"""


def page_names() -> list[str]:
    """The pages with blocks, by their path in the repository."""
    found = [*PAGES, *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]
    return [name for name in found if blocks_of(name)]


def blocks_of(page: str) -> list[Block]:
    return blocks((ROOT / page).read_text(encoding="utf-8"), page)


class Excuses:
    """What is not run, each with a reason; counts which ones are used."""

    def __init__(self, page: str):
        self.entries = [one for one in TABLE["excuse"] if re.fullmatch(one["page"], page)]
        self.used: Counter[str] = Counter()

    def reason(self, text: str) -> str | None:
        for one in self.entries:
            if one["has"] in text:
                self.used[one["has"]] += 1
                return str(one["reason"])
        return None

    def unused(self) -> list[str]:
        return [one["has"] for one in self.entries if not self.used[one["has"]]]


def with_test_arguments(arguments: list[str], given: Mapping[str, str]) -> list[str]:
    """The arguments of `roster ...` with what `pages.toml` replaces in them and adds to them."""
    for shown, name in TABLE["replace"].items():
        arguments = [given.get(name, name) if part == shown else part for part in arguments]
    method = arguments[arguments.index("--method") + 1] if "--method" in arguments else "roster"
    key = f"train {method}" if arguments[0] == "train" else arguments[0]
    added = TABLE["add"].get(key, [])
    if {"--print-config", "--preset"} & {*arguments}:
        return arguments
    if "--backbone" in arguments:  # one of its own, such as bilstm-cnn
        at = added.index("--backbone") if "--backbone" in added else len(added)
        added = added[:at] + added[at + 2 :]
    return [arguments[0], *(given.get(part, part) for part in added), *arguments[1:]]


@contextmanager
def shim(roster: Roster, given: Mapping[str, str]) -> Iterator[Path]:
    """A folder with the program `roster`."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            job = json.loads(self.rfile.readline())
            with lock:
                arguments = with_test_arguments(job["arguments"], given)
                if job["train_on"] and arguments[0] == "train":
                    arguments = [
                        job["train_on"] if part == job["arguments"][1] else part for part in arguments
                    ]
                done = roster(*arguments, stdin=job["stdin"], cwd=job["cwd"], ROSTER_CACHE=job["cache"])
            self.wfile.write(
                json.dumps({"code": done.code, "out": done.out, "err": done.err}).encode() + b"\n"
            )

    lock = threading.Lock()
    folder = Path(
        tempfile.mkdtemp(prefix="roster-")
    )  # short: the address of a socket has at most 104 characters
    server = socketserver.ThreadingUnixStreamServer(str(folder / "socket"), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = folder / "roster"
    program.write_text(SHIM.format(python=sys.executable, address=str(folder / "socket")))
    program.chmod(0o755)
    yield folder
    server.shutdown()
    server.server_close()
    shutil.rmtree(folder)


class Page:
    """One page, run from top to bottom."""

    def __init__(
        self, name: str, folder: Path, shims: Path, environment: dict[str, str], given: Mapping[str, str]
    ):
        self.name, self.folder, self.given = name, folder, given
        self.environment = {**environment, "PATH": f"{shims}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                            "ROSTER_CACHE": str(folder / ".cache")}  # fmt: skip
        self.excuses = Excuses(name)
        self.settings = next((one for one in TABLE["page"] if one["path"] == name), {})
        if "train_on" in self.settings:
            self.environment["TRAIN_ON"] = str(folder / self.settings["train_on"])
        self.variables: dict[str, str] = {}

    @cached_property
    def names(self) -> dict[str, Any]:
        """The names that the Python of the page has: those of its blocks, and those of `pages.toml` before."""
        module = sys.modules["page"] = ModuleType("page")  # dataclasses look for it
        exec(self.settings.get("python", ""), vars(module))
        return vars(module)

    def run(self) -> None:
        for setup in self.settings.get("shell", []):
            self.bash(setup, "pages.toml")
        for block in blocks_of(self.name):
            self.block(block)

    def block(self, block: Block) -> None:
        known = {SHELL, OUTPUT, PYTHON, SESSION, *DATA, *SHOWN}
        assert block.language in known, (
            f"{block.where}: a block needs one of the languages {', '.join(sorted(known))}"
        )
        if block.language == SHELL:
            for line in logical_lines(block.text):
                self.line(line, block)
        elif block.language == OUTPUT:
            self.console(block)
        elif block.language in DATA:
            self.data(block)
        elif block.language in (PYTHON, SESSION):
            self.python(block)

    def line(self, line: str, block: Block) -> str | None:
        """Runs a logical line of a shell, unless it is excused (None); every command of it is parsed in any case."""
        found = check_commands(line, block, self.variables)
        if self.excuses.reason(line) is not None or any(not_run(command) for command in found):
            return None
        return self.bash(line, block.where)

    def bash(self, line: str, where: str, code: int = 0) -> str:
        script = line.replace(".venv/bin/", "")
        done = subprocess.run(["bash", "-o", "pipefail", "-c", script], cwd=self.folder, env={**self.environment, **self.variables},
                              input=self.settings.get("stdin", ""), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
        assert done.returncode == code, f"{where}: {line}\nexit code {done.returncode}\n{done.stdout}"
        return done.stdout

    def console(self, block: Block) -> None:
        """Lines with `$ ` are commands; what follows is their output, `...` for what is not compared."""
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            (line, *_) = logical_lines(part)
            want = part[len(line) :].lstrip("\n")
            if want.startswith("roster: "):  # an error, which the command ends with whatever it is
                check_commands(line, block, self.variables)
                got: str | None = "roster: " + self.bash(line, block.where, code=2).partition("roster: ")[2]
            else:
                got = self.line(line, block)
            if got is not None:
                compare(want, got, f"{block.where}: {line}")

    def data(self, block: Block) -> None:
        if self.excuses.reason(block.text) is not None:
            return
        if block.language == "toml":
            tomllib.loads(block.text)
            return
        try:
            json.loads(block.text)
        except ValueError:  # JSON lines
            for line in block.text.splitlines():
                json.loads(line)

    def python(self, block: Block) -> None:
        source = block.text
        name = f"<{block.where}>"
        if block.language == PYTHON:
            code = compile("\n" * (block.line - 1) + source, name, "exec")
            if self.excuses.reason(source) is None:
                with inside(self.folder), redirect_stderr(StringIO()):
                    exec(code, self.names)
            return
        test = doctest.DocTestParser().get_doctest(source, self.names, block.where, name, block.line - 1)
        if self.excuses.reason(source) is None:
            with inside(self.folder):
                output = StringIO()
                runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
                runner.run(test, out=output.write, clear_globs=False)
                self.names.update(test.globs)
            assert not runner.failures, output.getvalue()


def compare(want: str, got: str, where: str) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    example = doctest.Example("", want)
    checker = doctest.OutputChecker()
    if not checker.check_output(want, got, flags):
        raise AssertionError(f"{where}\n{checker.output_difference(example, got, flags)}")


def not_run(command: list[str]) -> str | None:
    """The reason why a command is nowhere run, if it is one of those."""
    line = " ".join(command) + " "
    return next((reason for begin, reason in TABLE["not_run"].items() if line.startswith(f"{begin} ")), None)


def check_commands(line: str, block: Block, variables: dict[str, str]) -> list[list[str]]:
    """Parses each command that we have a parser for; make targets and extras of the package must exist."""
    found = list(commands(line, variables))
    for command in found:
        program, *arguments = command
        if Path(program).name == "roster":
            check_roster(arguments, block.where)
        elif command[:3] == ["python", "-m", "benchmarks"]:
            from benchmarks.__main__ import parser

            parse(parser(), arguments[2:], f"{block.where}: {line}")
        elif program == "make":
            targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert {*arguments} <= {*targets}, f"{block.where}: no such target: {line}"
        elif program == "pip":
            check_extras(line, block.where)
    return found


def check_roster(arguments: list[str], where: str) -> None:
    from roster.cli.main import parser

    parse(parser(arguments[0] if arguments else None), arguments, f"{where}: roster {' '.join(arguments)}")


def parse(parser: Any, arguments: list[str], where: str) -> None:
    errors = StringIO()
    try:
        with redirect_stderr(errors):
            parser.parse_args(arguments)
    except SystemExit as end:
        assert end.code in (0, None), f"{where}\n{errors.getvalue()}"


def check_extras(text: str, where: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, extras in re.findall(r"(roster-ner|\.)\[([\w,-]+)\]", text):
        for extra in extras.split(","):
            assert extra in project["optional-dependencies"], f"{where}: {name} has no extra {extra}"


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
