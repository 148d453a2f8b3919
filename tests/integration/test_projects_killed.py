"""The service of the projects and its commands, killed in the middle: everything goes on from the disk."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import PEOPLE, PLACES, make_sentences
from tests.served import Server

TEXT = "\n".join(make_sentences(60, 1)[0]) + "\n"
NAMES = "".join(f"{name}\tPER\n" for name in PEOPLE) + "".join(f"{name}\tLOC\n" for name in PLACES)
URL = "/api/projects/press"


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[[], Server]]:
    """Starts a service on the same folder; all are killed at the end."""
    servers = []

    def started() -> Server:
        servers.append(
            Server({**environment, "ROSTER_CHECKPOINT_SECONDS": "0"}, "--projects", tmp_path / "projects")
        )
        return servers[-1]

    yield started
    for server in servers:
        server.stop(signal.SIGKILL)


def ask(server: Server, path: str, content: object = None) -> Any:
    status, found = server.ask(URL + path, content)
    assert status < 300, found
    return found


def upload(server: Server, kind: str, name: str, content: str) -> None:
    connection = server.connect()
    headers = {"Content-Type": "application/octet-stream"}
    connection.request("POST", f"{URL}/files/{kind}?filename={name}", content.encode(), headers)
    assert connection.getresponse().status == 201
    connection.close()


def job(server: Server, step: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in ask(server, "")["jobs"] if one["step"] == step)
    return found


def reach(server: Server, step: str, state: str) -> None:
    """Waits until a step has a state."""
    while (now := job(server, step))["state"] != state:
        assert now["state"] in ("queued", "running", "stopping"), now
        time.sleep(0.05)


def at_work(server: Server) -> None:
    """Waits until the training has done some steps."""
    while not ((now := job(server, "train"))["progress"] or {}).get("done"):
        assert now["state"] in ("queued", "running"), now
        time.sleep(0.05)


def process_of(projects: Path) -> int:
    """The number of the training's process, as its events have it."""
    events = (projects / "press" / "jobs" / "train.jsonl").read_text()
    return int(json.loads(events.partition("\n")[0])["pid"])


def test_killed_and_continued(start: Callable[[], Server], backbone: Path, tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    first = start()
    assert first.ask("/api/projects", {"name": "press"})[0] == 201
    upload(first, "texts", "news.txt", TEXT)
    upload(first, "names", "names.tsv", NAMES)
    ask(first, "/jobs/label", {})
    reach(first, "label", "done")
    ask(first, "/jobs/train", {"minutes": 1.0, "backbone": str(backbone)})
    at_work(first)
    os.kill(process_of(projects), signal.SIGKILL)
    reach(first, "train", "stopped")
    assert "killed" in job(first, "train")["error"]

    # The same again goes on; it outlives the service, and the next service watches it.
    ask(first, "/jobs/train", {"minutes": 1.0, "backbone": str(backbone)})
    at_work(first)
    first.stop(signal.SIGKILL)
    second = start()
    assert job(second, "train")["state"] == "running"
    reach(second, "train", "done")
    assert ask(second, "")["best"] == 1

    # Both are killed: nothing runs, and the step can be done again.
    ask(second, "/jobs/audit", {})
    reach(second, "audit", "running")
    second.stop(signal.SIGKILL)
    os.kill(
        json.loads((projects / "press" / "project.json").read_text())["jobs"]["audit"]["pid"], signal.SIGKILL
    )
    third = start()
    reach(third, "audit", "stopped")
    assert third.stop() == 0
