"""Every block of the documentation is run, or parsed, or excused with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from manual.blocks import Block
from manual.commands import parser_of, subparsers
from manual.repository import ROOT
from roster.cli.main import COMMANDS
from tests.documentation.checks import check_extras
from tests.documentation.pages import Page, blocks_of, compare, markdown_files, page_names
from tests.documentation.table import TABLE


@pytest.mark.parametrize("name", page_names())
def test_page(name: str, page: Callable[[str], Page]) -> None:
    opened = page(name)
    opened.run()
    assert not opened.excuses.unused(), f"{name}: these excuses of pages.toml excuse nothing"


def test_no_settings_for_pages_that_are_not_there() -> None:
    names = page_names()
    assert {one["path"] for one in TABLE["page"]} <= {*names}
    for one in TABLE["excuse"]:
        assert any(re.fullmatch(one["page"], name) for name in names), one
        assert one["reason"]


def test_every_command_that_is_not_run_is_on_a_page() -> None:
    lines = [line for name in page_names() for block in blocks_of(name) if block.language in ("sh", "console")
             for line in block.text.removeprefix("$ ").splitlines()]  # fmt: skip
    for begin, reason in TABLE["not_run"].items():
        assert reason
        assert any(re.search(rf"(^|[|;&] ){re.escape(begin)}\b", line.strip()) for line in lines), begin


def command_mentions(text: str) -> list[str]:
    return re.findall(r"(?<!`)`roster ([a-z]+[^`]*)`(?!`)", text)


@pytest.mark.parametrize("name", markdown_files())
def test_commands_in_the_text_have_the_options_that_they_are_given(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    check_extras(text, name)
    if name in TABLE["history"]:
        return
    for mention in command_mentions(text):
        command, *arguments = mention.split()
        assert command in COMMANDS, f"{name}: roster {mention}"
        parsers = [parser_of(command), *subparsers(parser_of(command)).values()]
        known = {
            option for parser in parsers for action in parser._actions for option in action.option_strings
        }
        for option in (part.partition("=")[0] for part in arguments if re.match(r"--?[a-z]", part)):
            assert option in known, f"{name}: roster {mention}: no option {option}"


@pytest.mark.parametrize(
    ("language", "text", "message"),
    [
        ("", "roster train", "needs one of the languages"),
        ("sh", "roster train data --no-such-option 3", "no-such-option"),
        ("sh", "roster lable news.txt", "invalid choice"),
        ("sh", "cat missing.txt", "exit code 1"),
        ("sh", "make nothing", "no such target"),
        ("sh", 'pip install "roster-ner[cake]"', "no extra cake"),
        ("console", "$ echo a\nb\n", "Expected"),
        ("python", "import roster\nroster.lable([])", "no attribute 'lable'"),
        ("pycon", ">>> 1 + 1\n3\n", "Expected"),
        ("json", '{"a": }', "Expecting value"),
        ("toml", "a = ", "Invalid value"),
    ],
)
def test_a_block_that_is_wrong_fails(
    language: str, text: str, message: str, page: Callable[[str], Page]
) -> None:
    with pytest.raises(Exception, match=message):
        page("wrong.md").block(Block("wrong.md", 1, language, text + "\n"))


def test_output_is_compared_but_for_dots() -> None:
    compare("a ... c\n", "a b  c\n", "")
    with pytest.raises(AssertionError):
        compare("a ... c\n", "a b d\n", "")


def test_no_page_is_forgotten() -> None:
    assert "README.md" in page_names()
    assert sum(len(blocks_of(name)) for name in page_names()) > 60
