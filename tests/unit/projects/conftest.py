"""A service with projects in this process, and tiny data to take through the whole chain."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest

from roster.projects.project import Projects
from roster.projects.settings import ProjectLimits
from roster.projects.workshop import extension
from roster.serving.app import create_app
from roster.serving.auth import Tokens
from tests.unit.serving.test_app import client_of

COMMAND = [sys.executable, "-m", "roster.cli.observed"]
FILE = {"Content-Type": "application/octet-stream"}
ORIGIN = "http://localhost"


class Api:
    """Requests of the page."""

    def __init__(self, client: httpx.AsyncClient, headers: dict[str, str] | None = None):
        self.client, self.headers = client, {"Host": "localhost", **(headers or {})}

    async def get(self, path: str, status: int = 200) -> Any:
        return self._content(await self.client.get(path, headers=self.headers), status)

    async def post(self, path: str, content: Any = None, status: int = 200) -> Any:
        answer = await self.client.post(
            path, json=content if content is not None else {}, headers=self.headers
        )
        return self._content(answer, status)

    async def delete(self, path: str, status: int = 200) -> Any:
        return self._content(await self.client.delete(path, headers=self.headers), status)

    async def upload(
        self, project: str, kind: str, name: str, content: bytes, status: int = 201, **query: str
    ) -> Any:
        answer = await self.client.post(
            f"/api/projects/{project}/files/{kind}",
            params={"filename": name, **query},
            content=content,
            headers={**self.headers, **FILE},
        )
        return self._content(answer, status)

    async def finished(self, project: str, step: str, state: str = "done") -> Any:
        """Waits until a step has ended, and returns the project."""
        while (found := await self.get(f"/api/projects/{project}"))["active"] is not None:
            await asyncio.sleep(0.1)
        job = next(one for one in found["jobs"] if one["step"] == step)
        assert job["state"] == state, (job, await self.get(f"/api/projects/{project}/log/{step}"))
        return found

    @staticmethod
    def _content(answer: httpx.Response, status: int) -> Any:
        assert answer.status_code == status, (answer.status_code, answer.text)
        kind = answer.headers.get("content-type", "")
        return json.loads(answer.content) if kind.startswith("application/json") else answer.content


Scenario = Callable[[Api], Coroutine[Any, Any, None]]


@pytest.fixture
def serve(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Runs a scenario with a service on `tmp_path / "projects"`; returns the lines of its log."""

    def run(
        scenario: Scenario,
        *,
        limits: ProjectLimits | None = None,
        tokens: list[str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []

        def log(event: str, **fields: Any) -> None:
            lines.append({"event": event, **fields})

        async def main() -> None:
            projects = Projects(tmp_path / "projects", limits)
            added = extension(projects, COMMAND, hosts=frozenset(), device="cpu", log=log)
            app = create_app({}, tokens=Tokens(tokens or []), log=log, extension=added)
            async with client_of(app) as client:
                await asyncio.wait_for(scenario(Api(client, headers)), 120)

        asyncio.run(main())
        return lines

    return run
