"""What a client sends to the HTTP service."""

from __future__ import annotations

from pathlib import Path

from fuzz.target import Target
from roster.errors import RosterError
from roster.serving.auth import Tokens
from roster.serving.failures import RequestError
from roster.serving.models import named_folders
from roster.serving.schemas import parse
from roster.serving.settings import Limits

BODY = b'{"texts": ["Ada ran.", "Oslo"], "model": "news", "types": ["PER"], "thresholds": {"PER": 0.5}}'


def targets() -> list[Target]:
    """The body of a request, and the header with the token."""
    return [
        Target("request", _request, lambda: [BODY, b'{"text": "Ada"}']),
        Target("authorization", _authorization, lambda: [b"Bearer 0123456789abcdef", b"Basic YTpi"]),
    ]


def _request(data: bytes, folder: Path) -> None:
    limits = Limits(characters=100, texts=4)
    try:
        found = parse(data, limits)
    except RequestError as error:
        assert error.status in (400, 413, 422)
        assert str(error.content()["error"])
        return
    assert sum(map(len, found.all_texts)) <= limits.characters
    for text in found.all_texts:
        text.encode()


def _authorization(data: bytes, folder: Path) -> None:
    text = data.decode("latin-1")
    accepted = Tokens(["0123456789abcdef"]).accept(text)
    scheme, _, given = text.partition(" ")
    assert accepted == (scheme.lower() == "bearer" and given.strip() == "0123456789abcdef")
    try:
        assert all(folder for folder in named_folders([text]).values())
    except RosterError as error:
        assert str(error)
