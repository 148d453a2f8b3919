"""The site: links and anchors are right, the reference is complete, nothing is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import markdown
import matplotlib
import pytest
from markdown_it import MarkdownIt

import roster
from manual import figures
from manual.commands import parser_of, subparsers
from manual.docstrings import parse
from manual.functions import GROUPS
from manual.lists import with_four_spaces
from manual.repository import ROOT
from roster.cli.main import COMMANDS
from tests.documentation.pages import markdown_files


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "--site-dir", folder],
                          cwd=ROOT, env=environment, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


class Loaded(HTMLParser):
    """What a browser would load with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.addresses.append(values.get("src") or "")
        elif tag == "link" and values.get("rel") != "canonical":
            self.addresses.append(values.get("href") or "")


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 45
    for page in pages:
        reader = Loaded()
        reader.feed(page.read_text(encoding="utf-8"))
        for address in filter(None, reader.addresses):
            assert not re.match(r"(https?:)?//", address), f"{page.name}: {address}"
            if not address.startswith("data:"):
                root = site if address.startswith("/") else page.parent  # the page of a missing page
                assert (root / address.lstrip("/").partition("?")[0]).exists(), f"{page.name}: {address}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")), (
            style.name
        )


class Structure(HTMLParser):
    """The lists, items, code blocks and headings of a page, in order."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("ul", "ol", "li", "pre", "table", "h1", "h2", "h3"):
            self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("ul", "ol", "li"):
            self.tags.append(f"/{tag}")


@pytest.mark.parametrize("name", markdown_files())
def test_pages_have_the_structure_that_they_have_in_the_repository(name: str) -> None:
    """Python-Markdown reads lists in another way than CommonMark; `manual.lists` makes up for it."""
    text = (ROOT / name).read_text(encoding="utf-8")
    extensions = ["tables", "pymdownx.superfences", "pymdownx.highlight"]
    options = {"pymdownx.highlight": {"use_pygments": False}}
    ours = markdown.markdown(with_four_spaces(text), extensions=extensions, extension_configs=options)
    assert Structure(ours).tags == Structure(MarkdownIt("commonmark").enable("table").render(text)).tags


def test_the_search_has_its_index_as_a_script(site: Path) -> None:
    """Pages that are opened as files cannot read JSON."""
    assert (
        "generalised cross entropy" in (site / "search/search_index.js").read_text(encoding="utf-8").lower()
    )


def test_every_option_of_every_command_has_its_line(site: Path) -> None:
    for name in COMMANDS:
        text = (site / f"reference/commands/{name}.html").read_text(encoding="utf-8")
        for parser in (parser_of(name), *subparsers(parser_of(name)).values()):
            options = [option for action in parser._actions for option in action.option_strings]
            for option in {*options} - {"-h", "--help", "--debug"}:
                assert f"<code>{option}" in text, f"{name} {option}"


def test_every_public_name_is_in_the_reference_with_its_parameters(site: Path) -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(roster.__all__)
    text = (site / "reference/python.html").read_text(encoding="utf-8")
    for name in roster.__all__:
        assert f'id="roster{name.lower()}"' in text or f'id="roster.{name.lower()}"' in text, name
        for parameter in parse(getattr(roster, name)).args:
            assert f"<code>{parameter}</code>" in text, f"{name}: {parameter}"


def test_settings_are_in_the_reference(site: Path) -> None:
    text = (site / "reference/training-settings.html").read_text(encoding="utf-8")
    for part in ("keep_minority", "begin_step", "word_vectors", "exponent: 0 is cross entropy"):
        assert part in text


@pytest.mark.parametrize("name", figures.FIGURES)
def test_figures_are_those_of_the_functions(name: str) -> None:
    shown = (figures.FOLDER / name).read_bytes()
    if f"Matplotlib v{matplotlib.__version__}".encode() not in shown:
        pytest.skip("drawn with another version of matplotlib")
    assert figures.svg(figures.FIGURES[name]) == shown


def test_words_of_the_page_on_the_algorithm_hold() -> None:
    curves = figures.loss_curves()
    for q, (p, loss, weight) in curves.items():
        assert weight == pytest.approx(p**q)
        assert loss[-1] == pytest.approx(0)
    assert pytest.approx(0.2, abs=0.001) == 0.1**0.7
    words, _, _, kept = figures.removal()
    assert [word for word, stays in zip(words, kept, strict=True) if not stays] == [
        "Northgate",
        "Bank",
        "May",
    ]
    p, s = figures.sharpened()["PER four times as frequent"]
    assert s[80] == pytest.approx(0.8, abs=0.005)
