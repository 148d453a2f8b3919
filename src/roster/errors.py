"""Errors that the user can correct; a message has what is wrong, where, and what to do."""

from __future__ import annotations

from json import JSONDecodeError
from os import PathLike


class RosterError(Exception):
    """An error in the input or in an argument. The command line prints it and exits with 2."""


class ConfigError(RosterError):
    """A configuration that cannot be run; the message names the field and what is allowed."""


class DataError(RosterError):
    """A file whose content is not what was expected."""

    def __init__(self, message: str, *, path: str | PathLike[str] | None = None, line: int | None = None):
        self.path = None if path is None else str(path)
        self.line = line
        where = "" if self.path is None else self.path if line is None else f"{self.path}, line {line}"
        super().__init__(f"{where}: {message}" if where else message)


class ModelError(RosterError):
    """A model or backbone folder that cannot be used."""


class RunError(RosterError):
    """A run folder that cannot be continued."""


class DeviceMemoryError(RosterError):
    """A device whose memory is too small even for the smallest step."""


def json_problem(error: JSONDecodeError) -> str:
    """What is wrong with JSON, without the place: Python's message for an open string ends with `at`.

    >>> import json
    >>> try:
    ...     json.loads('{"a')
    ... except json.JSONDecodeError as error:
    ...     json_problem(error)
    'Unterminated string starting'
    """
    return error.msg.removesuffix(" at")
