"""Checks of options that several commands share."""

from __future__ import annotations

import argparse

from roster.errors import ConfigError


def positive(args: argparse.Namespace, *names: str) -> None:
    """Check that options are greater than 0.

    Parameters: the parsed arguments, and the names of attributes whose value is a number, a list of numbers,
    or None for an option that was not given.

    Raises:
        ConfigError: a value is 0 or less.

    >>> positive(argparse.Namespace(repeat=3, limit=None), "repeat", "limit")
    >>> positive(argparse.Namespace(sizes=[1, 0]), "sizes")
    Traceback (most recent call last):
    roster.errors.ConfigError: --sizes must be more than 0, not 0
    """
    for name in names:
        given = getattr(args, name)
        for value in given if isinstance(given, list) else [given]:
            if value is not None and value <= 0:
                raise ConfigError(f"--{name.replace('_', '-')} must be more than 0, not {value:g}")
