"""Shell lines of the documentation, taken apart as far as a check of their commands needs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from string import Template

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
REDIRECTS = (">", ">>", "<", "2>", "&>", ">&")


def logical_lines(text: str) -> list[str]:
    """Lines joined where a quotation, a here-document or a backslash continues them, without mere comments.

    >>> logical_lines("# all\\nroster train x \\\\\\n  -o y\\n\\necho 'a\\nb'")
    ['roster train x \\\\\\n  -o y', "echo 'a\\nb'"]
    >>> logical_lines("cat > f <<'END'\\nit's\\nEND\\nls")
    ["cat > f <<'END'\\nit's\\nEND", 'ls']
    """
    found, line, end = [], "", None
    for one in text.splitlines():
        line = f"{line}\n{one}" if line else one
        if end is None and (here := re.search(r"<<'?(\w+)'?\s*$", line)):
            end = here[1]
            continue
        if end is not None:
            if one != end:
                continue
            end = None
        elif one.endswith("\\") or _open_quote(line):
            continue
        if line.strip() and not line.lstrip().startswith("#"):
            found.append(line)
        line = ""
    return [*found, line] if line else found


def _open_quote(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return True
    return False


def commands(line: str, variables: dict[str, str]) -> Iterator[list[str]]:
    """The commands of a logical line as lists of arguments; assignments go to `variables`.

    >>> v = {}
    >>> list(commands('B="-o x"', v)), v
    ([], {'B': '-o x'})
    >>> list(commands("echo a | roster train d $B && ls > f", v))
    [['echo', 'a'], ['roster', 'train', 'd', '-o', 'x'], ['ls']]
    """
    line = re.sub(r"\s*<<'?\w+'?\s*\n.*", "", line, flags=re.DOTALL).replace("\\\n", " ")
    line = Template(line).safe_substitute(variables)
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    command: list[str] = []
    skip = False
    for token in [*lexer, ";"]:
        if skip:
            skip = False
        elif token in REDIRECTS:
            skip = True
            if command and command[-1].isdigit() and token in (">", ">&"):
                command.pop()
        elif re.fullmatch(r"[|&;]+", token):
            if command:
                yield command
            command = []
        elif not command and ASSIGNMENT.match(token):
            name, _, value = token.partition("=")
            variables[name] = value
        else:
            command.append(token)
