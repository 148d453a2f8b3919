"""The files of the web pages, in memory: pages at their own paths, everything else at `/web/FILE`.

The files of the folder `web` are listed when the service starts. A request is looked up in that list, so no
path leads to another file. They hold nothing secret, and are answered without a token.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Content types by suffix; a file with another suffix is not served."""
PAGES = {"/": "index.html"}
"""The path of each page; the page must be in the folder."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Scripts and styles from this service only, none inside a page, and no requests to other servers."""


@dataclass(frozen=True)
class StaticFile:
    """A file that does not change while the service runs."""

    content: bytes
    media_type: str
    tag: str

    def answer(self, request: Request) -> Response:
        """The file, or 304 if the client has it."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
        known = request.headers.get("if-none-match", "")
        if self.tag in [one.strip().removeprefix("W/") for one in known.split(",")]:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers=headers, media_type=self.media_type)


def static_files(package: str = "roster.serving", pages: Mapping[str, str] = PAGES) -> dict[str, StaticFile]:
    """The files of the pages in the folder `web` of a package, by path.

    Args:
        package: the package.
        pages: by path, the file of each page.

    >>> files = static_files()
    >>> files["/"].media_type, files["/web/dom.js"].media_type
    ('text/html; charset=utf-8', 'text/javascript; charset=utf-8')
    """
    files = {}
    paths = {name: path for path, name in pages.items()}
    for file in resources.files(package).joinpath("web").iterdir():
        suffix = "." + file.name.rpartition(".")[2]
        if suffix in TYPES:
            content = file.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            path = paths.get(file.name, f"/web/{file.name}")
            files[path] = StaticFile(content, TYPES[suffix], tag)
    return dict(sorted(files.items()))


def static_routes(files: Mapping[str, StaticFile]) -> list[Route]:
    """A route for each file, for GET and HEAD."""
    return [Route(path, file.answer, methods=["GET"]) for path, file in files.items()]
