"""The files of `tests/nasty`, over everything that reads: an error with a message, or a result that holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.target import attempt
from fuzz.targets import TARGETS

FILES = sorted(Path(__file__).parents[2].joinpath("nasty").iterdir())


@pytest.mark.parametrize("name", TARGETS)
def test_every_reader(name: str, tmp_path: Path) -> None:
    crashes = {file.name: attempt(TARGETS[name], file.read_bytes(), tmp_path) for file in FILES}
    assert {name: crash.trace for name, crash in crashes.items() if crash is not None} == {}


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_are_read(name: str, tmp_path: Path) -> None:
    """A target that refuses its own seeds would test nothing."""
    for seed in TARGETS[name].seeds():
        assert attempt(TARGETS[name], seed, tmp_path) is None


def test_a_crash_is_found(tmp_path: Path) -> None:
    """An exception, a hang and much memory are crashes; an error with a message is none."""
    from fuzz.target import Target
    from roster.errors import RosterError

    def run(data: bytes, folder: Path) -> None:
        (folder / "file").write_bytes(data)
        match data:
            case b"error":
                raise RosterError("a message")
            case b"silent":
                raise RosterError("")
            case b"bug":
                raise KeyError("x")

    target = Target("test", run, list)
    assert attempt(target, b"error", tmp_path) is None
    for data in (b"silent", b"bug"):
        assert attempt(target, data, tmp_path) is not None
    assert not list(tmp_path.iterdir())
