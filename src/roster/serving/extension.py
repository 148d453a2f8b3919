"""What another part of the package adds to the service: routes, files, and work beside the requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import APIRouter

from roster.serving.links import Links
from roster.serving.static import StaticFile

if TYPE_CHECKING:
    from roster.serving.app import Service


@dataclass(frozen=True)
class Extension:
    """Added to the application by `create_app`.

    Args:
        routes: makes the routes, for the service with its models.
        running: entered when the service has started, and left before it ends.
        files: files of pages, by path; answered without a token.
        links: makes addresses that are answered without the header of a token.
        hosts: names of this service in the header Host; None for any.
    """

    routes: Callable[[Service], APIRouter]
    running: Callable[[Service], AbstractAsyncContextManager[None]]
    files: Mapping[str, StaticFile] = field(default_factory=dict)
    links: Links = field(default_factory=Links)
    hosts: frozenset[str] | None = None
