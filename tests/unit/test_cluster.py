"""Without Ray, one line tells how to install it."""

from __future__ import annotations

import sys

import pytest

from roster.cluster import connect
from roster.errors import RosterError


def test_ray_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    with pytest.raises(RosterError, match=r'needs Ray: pip install "roster-ner\[ray\]"$'):
        connect()
