"""Shards on a Ray cluster of several nodes: what is killed while it works loses nothing and doubles nothing.

One cluster for all tests of this file: a head and two nodes on this machine, each with a core and a small
object store. The last tests end nodes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scaling.nodes import (
    ENVIRONMENT,
    Nodes,
    content,
    finished,
    lost_and_doubled,
    nodes,
    when_finished,
)
from roster.errors import RosterError
from roster.experiments.ray_tasks import RayTasks
from roster.shards.engines.ray import RayEngine

os.environ.update(ENVIRONMENT)  # Ray reads it when it is imported
pytest.importorskip("ray", reason='Ray is not installed: pip install "roster-ner[ray]"')

LINES = 24_000
SHARD_SIZE = "0.004"
SOME = 20
"""Shards that are finished when something is killed; there are hundreds."""


@pytest.fixture(scope="module")
def cluster(environment: dict[str, str]) -> Iterator[Nodes]:
    before = signal.getsignal(signal.SIGTERM)
    with nodes(2, environment) as found:
        yield found
    signal.signal(signal.SIGTERM, before)  # Ray's handler must not reach processes that later tests fork


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines that are all different, so that each record can be found again."""
    path = tmp_path_factory.mktemp("corpus") / "news.txt"
    words = ("Ada", "lives", "in", "Oslo", "and", "Boris", "was", "late", ".")
    path.write_text(
        "".join(f"{i} {' '.join(words[: i % 8])} {words[i % 9]}\n" for i in range(LINES)), encoding="utf-8"
    )
    return path


@pytest.fixture(scope="module")
def expected(text: Path, roster: Any, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What one process without shards writes."""
    out = tmp_path_factory.mktemp("expected") / "news.jsonl"
    assert roster("convert", text, out).code == 0
    return out.read_bytes()


def kill_when_some_are_finished(command: subprocess.Popen[str], out: Path, kill: Callable[[], None]) -> None:
    when_finished(command, out, SOME, kill)
    assert finished(out) < json.loads((out / "shards.json").read_text())["shards"], "it was finished before"


def convert(text: Path, out: Path) -> list[str | Path]:
    return ["convert", text, out, "--to", "jsonl", "--shard-size", SHARD_SIZE]


def check(command: subprocess.Popen[str], out: Path, expected: bytes) -> str:
    _, err = command.communicate()
    assert command.returncode == 0, err
    assert lost_and_doubled(content(out), expected) == (0, 0)
    assert content(out) == expected
    assert json.loads((out / "shards.json").read_text())["finished"]
    assert not list(out.rglob("*.part"))
    return err


def test_labels_and_predictions_are_those_of_one_process(
    cluster: Nodes, text: Path, roster: Any, tmp_path: Path
) -> None:
    few = tmp_path / "few.txt"
    few.write_bytes(b"".join(text.read_bytes().splitlines(keepends=True)[:3000]))
    names = tmp_path / "names.tsv"
    names.write_text("Ada\tPER\nOslo\tLOC\nBoris\tPER\nBoris\tORG\n")
    ours = ["label", few, "--dictionary", names, "--no-cache"]
    assert roster(*ours, "-o", tmp_path / "whole").code == 0
    command = cluster.start(*ours, "-o", tmp_path / "out", "--shard-size", "0.01")
    _, err = command.communicate()
    assert command.returncode == 0, err
    assert content(tmp_path / "out", "train-") == (tmp_path / "whole" / "train.jsonl").read_bytes()


def test_a_killed_worker(cluster: Nodes, text: Path, expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = cluster.start(*convert(text, out))
    kill_when_some_are_finished(command, out, cluster.kill_worker)
    assert "a worker was lost" in check(command, out, expected)


def test_a_killed_driver(cluster: Nodes, text: Path, expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = cluster.start(*convert(text, out))
    kill_when_some_are_finished(command, out, command.kill)
    command.communicate()
    assert command.returncode == -signal.SIGKILL
    kept = {file: file.stat().st_mtime_ns for file in (out / ".shards").iterdir() if file.suffix == ".json"}
    assert len(kept) >= SOME
    err = check(cluster.start(*convert(text, out)), out, expected)
    assert "shards are finished" in err
    # Nothing that was finished was made again.
    assert all(file.stat().st_mtime_ns == when for file, when in kept.items())


def test_a_broken_record_ends_the_command_with_its_place(cluster: Nodes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Ada"}\n' * 99 + "{broken\n")
    command = cluster.start("convert", path, tmp_path / "out", "--to", "conll", "--shard-size", "0.001")
    _, err = command.communicate()
    assert command.returncode == 2
    assert f"{path}, line 100: " in err
    assert "Traceback" not in err


def test_points_of_experiments_are_tasks(
    connected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").touch()
    more = {"a": ["aa", "ab"]}
    items = ["c", "fail", "a", "die once"]
    found = list(RayTasks(connected)(work, items, then=lambda item: more.get(item, []), rank=len))
    assert {item: done.result() for item, done in found if not done.exception()} == {
        item: f"{item} done" for item in ("a", "aa", "ab", "c", "die once")
    }
    (failed,) = [done.exception() for _, done in found if done.exception()]
    assert isinstance(failed, RosterError)
    assert str(failed) == "this cannot be"


@dataclass(frozen=True)
class Deadly:
    """Ends its process at one item."""

    fatal: str

    def open(self) -> Deadly:
        return self

    def __call__(self, item: str) -> str:
        if item == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return item.upper()


@pytest.fixture
def connected(cluster: Nodes) -> Iterator[str]:
    """The address of the cluster, for a connection of this process."""
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    yield cluster.cluster.address
    ray.shutdown()


def test_a_shard_that_ends_every_worker_ends_the_command(connected: str) -> None:
    engine = RayEngine(connected)
    with pytest.raises(RosterError, match="4 workers were lost over the same shard"):
        dict(engine.map(Deadly("c"), list("abcd")))
    assert dict(engine.map(Deadly(""), list("abcd"))) == {"a": "A", "b": "B", "c": "C", "d": "D"}


def work(item: str) -> str:
    """A point that fails, one whose worker is killed the first time, and others."""
    assert Path("here").exists()
    if item == "fail":
        raise RosterError("this cannot be")
    if item == "die once" and not Path("died").exists():
        Path("died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{item} done"


def test_a_killed_node(cluster: Nodes, text: Path, expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = cluster.start(*convert(text, out))
    kill_when_some_are_finished(command, out, cluster.kill_node)
    assert "a worker was lost" in check(command, out, expected)


def test_no_cluster_at_the_address(cluster: Nodes, text: Path, tmp_path: Path) -> None:
    from roster.cluster import connect

    with pytest.raises(RosterError, match="no Ray cluster at nowhere"):
        connect("nowhere")
