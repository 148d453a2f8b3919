from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roster.distant.kb.cache import AnswerCache
from roster.errors import ConfigError, RosterError

shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@shared_folder
@given(st.binary(), st.lists(st.text(), min_size=1, max_size=3))
def test_gives_back_what_was_put(tmp_path: Path, body: bytes, asked: list[str]) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(body, *asked)
    assert cache.get(*asked) == body
    assert AnswerCache(tmp_path).get(*asked) == body
    assert cache.get(*asked, "more") is None


def test_does_not_mix_up_the_parts_of_a_question(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(b"1", "ab", "c")
    assert cache.get("a", "bc") is None
    assert cache.get("abc") is None


@settings(parent=shared_folder, max_examples=200)
@given(st.integers(0, 10**6), st.integers(0, 255))
def test_no_damage_is_served(tmp_path: Path, place: int, change: int) -> None:
    """Any byte changed or any end cut off: the answer as it was, or none and the file set aside."""
    said: list[str] = []
    cache = AnswerCache(tmp_path, log=said.append)
    cache.put(b'{"an": "answer"}' * 9, "q")
    path = cache.path("q")
    whole = bytearray(path.read_bytes())
    place %= len(whole)
    if change:
        whole[place] ^= change
    else:
        del whole[place:]
    path.write_bytes(whole)
    found = cache.get("q")
    if found is None:
        assert not path.exists()
        assert path.with_suffix(".damaged").read_bytes() == whole
        assert len(said) == 1
        assert "set aside" in said[0]
    else:  # a bit of the gzip header that does not matter, such as its time
        assert found == b'{"an": "answer"}' * 9
        assert place < 10


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"[]\nbody", mtime=0), gzip.compress(b'{"asked": ["q"]}\nbody', mtime=0)],
    ids=["empty", "no gzip", "no object", "no time"],  # a packed content has the time in it
)
def test_what_is_no_entry_is_set_aside(tmp_path: Path, content: bytes) -> None:
    cache = AnswerCache(tmp_path)
    cache.path("q").write_bytes(content)
    assert cache.get("q") is None
    assert [file.suffix for file in tmp_path.iterdir()] == [".damaged"]


def test_an_answer_to_another_question_is_not_served(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(b"1", "this")
    os.replace(cache.path("this"), cache.path("that"))
    assert cache.get("that") is None


def test_age(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(b"1", "q")
    head = json.loads(gzip.decompress(cache.path("q").read_bytes()).split(b"\n")[0])
    head["fetched"] -= 100
    cache.path("q").write_bytes(gzip.compress(json.dumps(head).encode() + b"\n1"))
    assert AnswerCache(tmp_path, max_age=99).get("q") is None
    assert AnswerCache(tmp_path, max_age=110).get("q") == b"1"
    assert AnswerCache(tmp_path).get("q") == b"1"


def test_the_folder_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(ConfigError, match="is a file; give a folder"):
        AnswerCache(tmp_path / "cache")


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    cache.path("q").mkdir()
    with pytest.raises(RosterError, match=r"cannot read .*\.gz: Is a directory"):
        cache.get("q")
    with pytest.raises(RosterError, match=r"cannot write .*\.gz: Is a directory"):
        cache.put(b"1", "q")
