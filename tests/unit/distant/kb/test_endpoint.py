"""Settings and small parts. What the endpoint does on the wire is in `tests/integration/sparql`."""

from __future__ import annotations

import random
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.distant.kb.endpoint import Endpoint, address, backoff
from roster.errors import ConfigError, RosterError

URL = "http://127.0.0.1:9/sparql"


@given(st.integers(0, 10_000), st.floats(0, 1e6), st.integers())
def test_back_off_doubles_up_to_the_most(attempt: int, most: float, seed: int) -> None:
    full = min(most, 2.0 ** min(attempt, 100))
    assert full / 2 <= backoff(attempt, most, random.Random(seed)) <= full


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://example.org/sparql", "http://example.org/sparql"),
        ("https://ada:secret@example.org/q?default-graph-uri=a", "https://example.org/q?default-graph-uri=a"),
        ("https://ada@[::1]:8080/", "https://[::1]:8080/"),
    ],
)
def test_a_password_is_not_shown(url: str, name: str) -> None:
    assert address(url) == name
    assert Endpoint(url).name == name


@pytest.mark.parametrize(
    "url", ["", "store", "ftp://example.org", "http://", "http://h:port/", "http://[::1"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ConfigError, match="not the address of an endpoint"):
        Endpoint(url)


def test_an_address_that_only_the_http_library_refuses() -> None:
    with pytest.raises(ConfigError, match="not an address"):
        Endpoint("http://exam\tple.org:80/\x7f").select("SELECT")


@pytest.mark.parametrize(
    "setting",
    [
        {"timeout": 0},
        {"timeout": float("nan")},
        {"retries": -1},
        {"max_wait": -0.5},
        {"interval": -1},
        {"max_bytes": 0},
        {"max_age": -1},
        {"user_agent": "Zoë"},
        {"user_agent": "a\r\nX-Other: b"},
        {"user_agent": " "},
    ],
)
def test_settings_out_of_range_are_named(setting: dict[str, Any]) -> None:
    (name,) = setting
    with pytest.raises(ConfigError, match=f"^{name}: "):
        Endpoint(URL, **setting)


def test_the_cache_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="give a folder"):
        Endpoint(URL, cache=tmp_path / "file")


def test_half_a_surrogate_pair_in_a_query() -> None:
    with pytest.raises(RosterError, match=r"half of a surrogate pair \(U\+D83D\)"):
        Endpoint(URL).select('SELECT ?x { ?x ?y "\ud83d" }')


def test_without_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(RosterError, match=r'pip install "roster-ner\[kb\]"'):
        Endpoint(URL).select("SELECT")


def test_closing_what_was_never_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """No client is made for it, and it can be closed twice."""
    monkeypatch.setitem(sys.modules, "httpx", None)
    before = threading.active_count()
    endpoint = Endpoint(URL)
    endpoint.close()
    endpoint.close()
    assert threading.active_count() == before
    with pytest.raises(RosterError, match="needs httpx"):  # which a request would need
        endpoint.select("SELECT")
