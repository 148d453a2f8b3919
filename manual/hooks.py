"""The events of MkDocs: pages from outside `docs/`, generated pages, links and formulas."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # MkDocs imports this file by its path

from mkdocs.structure.files import File, Files

from manual import commands, functions, settings
from manual.formulas import with_mathml
from manual.lists import with_four_spaces
from manual.repository import DOCS, PAGES, ROOT, origin, place, targets, with_links_of_site

LOG = logging.getLogger("mkdocs.hooks.manual")
GENERATED = "reference/"


def on_files(files: Files, *, config: Any) -> Files:
    """Adds the pages outside `docs/`, the reference, and the other files that pages link to."""
    sources = {path: ROOT / path for path in PAGES}
    sources |= {DOCS + file.src_uri: Path(str(file.abs_src_path)) for file in files.documentation_pages()}
    linked = {target for path, file in sources.items() for target in targets(file.read_text("utf-8"), path)}
    for path in PAGES:
        files.append(File.generated(config, place(path), content=sources[path].read_text("utf-8")))
    for path in sorted(linked):
        if path not in sources and not (path.startswith(DOCS) and files.get_file_from_path(place(path))):
            if not (ROOT / path).is_file():
                continue  # MkDocs warns of the link
            files.append(File.generated(config, place(path), abs_src_path=str(ROOT / path)))
    for module in (commands, functions, settings):
        for at, title, text in module.pages():
            files.append(File.generated(config, at, content=f"---\ntitle: {title}\n---\n\n{text}"))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    at = page.file.src_uri
    if page.parent is None:  # alone in its part of the navigation
        page.meta.setdefault("hide", ["navigation"])
    if at.startswith(GENERATED):
        return markdown
    return with_four_spaces(with_mathml(with_links_of_site(markdown, origin(at))))
