"""Commands of the documentation are parsed by the parsers that users meet; make targets and extras exist."""

from __future__ import annotations

import argparse
import re
import tomllib
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from manual.blocks import Block
from manual.repository import ROOT
from manual.shell import commands


def check_commands(line: str, block: Block, variables: dict[str, str]) -> list[list[str]]:
    """The commands of a logical line, after each of them that we have a parser for was parsed."""
    found = list(commands(line, variables))
    for command in found:
        program, *arguments = command
        where = f"{block.where}: {' '.join(command)}"
        if Path(program).name == "roster":
            from roster.cli.main import parser

            parse(parser(arguments[0] if arguments else None), arguments, where)
        elif command[:3] == ["python", "-m", "benchmarks"]:
            from benchmarks.__main__ import parser as benchmarks_parser

            parse(benchmarks_parser(), arguments[2:], where)
        elif program == "make":
            targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert {*arguments} <= {*targets}, f"no such target: {where}"
        elif program == "pip":
            check_extras(line, block.where)
    return found


def parse(parser: argparse.ArgumentParser, arguments: list[str], where: str) -> None:
    errors, code = StringIO(), None
    with redirect_stderr(errors):
        try:
            parser.parse_args(arguments)
        except SystemExit as end:
            code = end.code
    assert not code, f"{where}\n{errors.getvalue()}"


def check_extras(text: str, where: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, extras in re.findall(r"(roster-ner|\.)\[([\w,-]+)\]", text):
        for extra in extras.split(","):
            assert extra in project["optional-dependencies"], f"{where}: {name} has no extra {extra}"
