"""The reference of the commands, from their parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import cache

from manual.markdown import code, plain, table
from roster.cli.main import COMMANDS, Formatter, parser

HIDDEN = ("help", "debug")


@cache
def parser_of(command: str) -> argparse.ArgumentParser:
    return subparsers(parser(command))[command]


def subparsers(of: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the commands or actions of a parser, by name; none for most commands."""
    found = [action for action in of._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


def pages() -> Iterator[tuple[str, str, str]]:
    """Place, title and text of each page."""
    yield "reference/commands/index.md", "All commands", _overview()
    for name in COMMANDS:
        yield f"reference/commands/{name}.md", f"roster {name}", _page(name)


def _overview() -> str:
    rows = [[f"[`roster {name}`]({name}.md)", plain(summary)] for name, summary in COMMANDS.items()]
    return (
        "# Commands\n\nEvery command has `--help`, and `--debug`, which shows the traceback of an error. The "
        "exit code is 0; 2 "
        "after an error that the user can correct; 1 after one of ours; 130 after Ctrl-C.\n\n"
        + table(["command", "does"], rows)
    )


def _page(name: str) -> str:
    top = parser_of(name)
    text = f"# roster {name}\n\n{_described(top)}"
    for action, sub in subparsers(top).items():
        text += f"\n## roster {name} {action}\n\n{_described(sub)}"
    return text


def _described(sub: argparse.ArgumentParser) -> str:
    """Description, usage, arguments, options and example of one parser."""
    usage = " ".join(_usage(sub).removeprefix("usage: ").split())
    text = f"{plain(sub.description or '').strip()}\n\n```text\n{_wrapped(usage)}\n```\n"
    shown = [action for action in sub._actions if action.dest not in HIDDEN]
    arguments = [a for a in shown if not a.option_strings and not isinstance(a, argparse._SubParsersAction)]
    options = [a for a in shown if a.option_strings]
    if arguments:
        text += "\n" + table(["argument", ""], [[code(_name(a)), _help(a, sub)] for a in arguments])
    if options:
        text += "\n" + table(["option", ""], [[_option(a), _help(a, sub)] for a in options])
    if sub.epilog:
        example = "\n".join(line.strip() for line in sub.epilog.split("\n")[1:])
        text += f"\nExample:\n\n```sh\n{example}\n```\n"
    return text


def _usage(sub: argparse.ArgumentParser) -> str:
    """The usage, whatever the width of the terminal."""

    class Wide(Formatter):
        def __init__(self, prog: str):
            argparse.RawDescriptionHelpFormatter.__init__(self, prog, width=10_000)

    before, sub.formatter_class = sub.formatter_class, Wide
    usage = sub.format_usage()
    sub.formatter_class = before
    return usage


def _wrapped(usage: str, width: int = 78) -> str:
    """Broken between options, never inside one."""
    pieces, depth, piece = [], 0, ""
    for word in usage.split(" "):
        depth += word.count("[") - word.count("]")
        piece = f"{piece} {word}".strip()
        if depth == 0:
            pieces.append(piece)
            piece = ""
    lines = [""]
    for piece in pieces:
        if len(lines[-1]) + len(piece) >= width:
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {piece}" if lines[-1] else piece
    return "\n".join(lines)


def _name(action: argparse.Action) -> str:
    name = action.metavar or action.dest
    return name if isinstance(name, str) else " ".join(name)


def _option(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {_name(action) if action.metavar else action.dest.upper()}"
    if action.nargs in ("+", "*"):
        value += " ..."
    return "<br>".join(
        code(f"{name}{value}") for name in sorted(action.option_strings, key=len, reverse=True)
    )


def _help(action: argparse.Action, sub: argparse.ArgumentParser) -> str:
    text = plain(sub._get_formatter()._expand_help(action)) if action.help else ""
    if action.choices and not all(str(choice) in text for choice in action.choices):
        text += f" ({', '.join(code(str(choice)) for choice in action.choices)})"
    return f"{text} (required)" if action.required and action.option_strings else text
