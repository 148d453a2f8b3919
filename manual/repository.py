"""Which files of the repository are pages of the site, and links between them.

Pages are written for the repository: links are relative to the file. Pages outside `docs/` have another place
in the site, so links to them, and from them, are rewritten.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path

from manual.markdown import outside_code

ROOT = Path(__file__).parents[1]
DOCS = "docs/"
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""Pages outside `docs/`, by their path in the repository, and their place in the site."""
FILES = "repository/"
"""Folder of the site for other files that pages link to."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def place(path: str) -> str:
    """The place of a file of the repository in the site.

    >>> place("README.md"), place("docs/images/audit.png"), place("examples/gazetteer.toml")
    ('index.md', 'images/audit.png', 'repository/examples/gazetteer.toml')
    """
    if path in PAGES:
        return PAGES[path]
    return path.removeprefix(DOCS) if path.startswith(DOCS) else FILES + path


def origin(page: str) -> str:
    """The path in the repository of a page of the site."""
    return next((path for path, at in PAGES.items() if at == page), DOCS + page)


def targets(text: str, path: str) -> list[str]:
    """The files of the repository that a page links to."""
    found: list[str] = []

    def collect(part: str) -> str:
        links = (match[3] for match in LINK.finditer(part) if not _external(match[3]))
        found.extend(posixpath.normpath(posixpath.join(posixpath.dirname(path), link)) for link in links)
        return part

    outside_code(text, collect)
    return found


def with_links_of_site(text: str, path: str) -> str:
    """A page of the repository with its links as they are in the site. A path as its text becomes a title.

    >>> with_links_of_site("[a](docs/formats.md#conll), [b](https://example.org)", "README.md")
    '[a](formats.md#conll), [b](https://example.org)'
    >>> with_links_of_site("[a](../../README.md)", "docs/tutorials/dictionary.md")
    '[a](../index.md)'
    """
    here = posixpath.dirname(place(path))

    def rewritten(match: re.Match[str]) -> str:
        mark, text, link, anchor = match[1], match[2], match[3], match[4] or ""
        if _external(link):
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
        if text.endswith(".md") and target.endswith(text):
            text = title(target)
        return f"{mark}[{text}]({posixpath.relpath(place(target), here or '.')}{anchor})"

    return outside_code(text, lambda part: LINK.sub(rewritten, part))


@cache
def title(path: str) -> str:
    """The first heading of a page.

    >>> title("docs/formats.md")
    'File formats'
    """
    text = (ROOT / path).read_text(encoding="utf-8")
    return next((line[2:] for line in text.splitlines() if line.startswith("# ")), path)


def _external(link: str) -> bool:
    return re.match(r"[a-z]+:", link) is not None
