"""The interface of a job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from roster.corpus.io import FORMATS
from roster.errors import ConfigError
from roster.shards.content import Content
from roster.shards.plan import SEVERAL_FILES

Counts = dict[str, Any]
"""What is added up over all shards: numbers, JSON can hold them."""

Write = Callable[[Content, Path, str], Counts]
"""Writes the files of a shard into a folder, given the name of the shard, such as 00000-of-00012."""


class Job(Protocol):
    """A command over shards; it is sent to the workers."""

    @property
    def command(self) -> str:
        """The name of the command."""

    def settings(self) -> dict[str, Any]:
        """All that the output depends on besides the input; JSON can hold it."""

    def files(self, name: str) -> list[str]:
        """The names of the files of a shard of this name."""

    def open(self) -> Write:
        """Loads what is needed, once in each worker."""


def suffix(format: str) -> str:
    """The suffix of a part.

    Raises:
        ConfigError: a corpus of this format is more than one file.
    """
    if format in SEVERAL_FILES:
        raise ConfigError(
            f"shards cannot be written as {format}, which is several files or a folder; take jsonl"
        )
    return FORMATS[format].suffixes[0]
