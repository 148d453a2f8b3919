"""A Ray cluster of several nodes on this machine, whose processes can be killed, and what is compared
afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # the loopback address, as roster.cluster has it
    "RAY_AUTH_MODE": "disabled",
}
NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80_000_000, "node_ip_address": "127.0.0.1"}
COMMAND = [sys.executable, "-m", "roster.cli.main"]


class Nodes:
    """The nodes of a cluster, and commands that use them.

    Args:
        cluster: of `ray.cluster_utils`.
        environment: of the commands.
    """

    def __init__(self, cluster: Any, environment: Mapping[str, str]):
        self.cluster, self.environment = cluster, {**environment, **ENVIRONMENT}

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """`roster ... --engine ray` on this cluster."""
        address = ["--engine", "ray", "--address", self.cluster.address]
        return subprocess.Popen(
            [*COMMAND, *map(str, arguments), *address],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def add(self) -> None:
        self.cluster.add_node(**NODE)

    def workers(self) -> list[int]:
        """The processes that work on shards, of all nodes."""
        raylets = {_raylet(node) for node in self.cluster.list_all_nodes()}
        return [
            pid
            for pid, (parent, name) in processes().items()
            if parent in raylets and name.startswith("ray::_Worker")
        ]

    def kill_worker(self) -> None:
        os.kill(self.workers()[0], signal.SIGKILL)

    def kill_node(self) -> None:
        """Ends all processes of a node that has a worker, other than the head."""
        table, workers = processes(), set(self.workers())
        for node in self.cluster.worker_nodes:
            raylet = _raylet(node)
            ours = [pid for pid, (parent, _) in table.items() if parent == raylet]
            if workers & set(ours):
                for pid in (raylet, *ours):
                    os.kill(pid, signal.SIGKILL)
                self.cluster.worker_nodes.discard(node)
                return
        raise RuntimeError("no node has a worker")


def _raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


@contextmanager
def nodes(number: int, environment: Mapping[str, str]) -> Iterator[Nodes]:
    """A head and so many other nodes, each with one core and a small object store, on the loopback
    address."""
    names = (*ENVIRONMENT, "PYTHONPATH")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({**ENVIRONMENT, "PYTHONPATH": environment.get("PYTHONPATH", "")})
    try:
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        try:
            for _ in range(number):
                cluster.add_node(**NODE)
            yield Nodes(cluster, environment)
        finally:
            cluster.shutdown()
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def processes() -> dict[int, tuple[int, str]]:
    """By process: its parent, and its command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rpartition(")")[2].split()
                name = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            found[int(entry.name)] = int(status[1]), name
    return found


def content(folder: Path, begin: str = "part-") -> bytes:
    """All parts of a folder of shards, in order."""
    files = sorted(f for f in folder.iterdir() if f.name.startswith(begin) and "provenance" not in f.name)
    return b"".join(file.read_bytes() for file in files)


def lost_and_doubled(found: bytes, expected: bytes) -> tuple[int, int]:
    """Records that are missing, and records that are there too often.

    >>> lost_and_doubled(b"a\\nb\\nb\\n", b"a\\nb\\nc\\n")
    (1, 1)
    """
    have, want = Counter(found.splitlines()), Counter(expected.splitlines())
    return (want - have).total(), (have - want).total()


def finished(out: Path) -> int:
    """The number of shards that are finished."""
    marks = out / ".shards"
    return sum(not one.name.startswith(".") for one in marks.iterdir()) if marks.exists() else 0


def when_finished(command: subprocess.Popen[str], out: Path, some: int, do: Callable[[], None]) -> None:
    """Does something when so many shards of a command are finished.

    Raises:
        RuntimeError: the command ended before.
    """
    while finished(out) < some:
        if command.poll() is not None:
            raise RuntimeError(f"the command ended early: {command.communicate()[1]}")
        time.sleep(0.01)
    do()
