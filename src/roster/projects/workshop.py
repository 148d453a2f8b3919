"""The projects of a service with their queue, open reviews and loaded models: what the routes work with."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from roster.backbone.loading import BUNDLED
from roster.distant.matching.patterns.builtin import builtin_kinds
from roster.errors import RosterError
from roster.projects.jobs import Jobs
from roster.projects.project import BusyError, Kind, MissingError, Projects
from roster.projects.receiving import INCOMING, Receiver
from roster.projects.reviews import Reviews
from roster.serving.app import Service
from roster.serving.extension import Extension
from roster.serving.links import Links
from roster.serving.logs import Log, place_of
from roster.serving.models import load_models
from roster.serving.static import static_files

TICK = 0.25
PAGES = {"/projects": "projects.html"}


class Workshop:
    """Everything that belongs to the projects of a running service.

    Args:
        projects: the projects.
        service: answers with the loaded models.
        command: the beginning of the command line of a job.
        device: where models are loaded.
        log: gets events of jobs.
        links: signs addresses of downloads.
    """

    def __init__(
        self,
        projects: Projects,
        service: Service,
        command: Sequence[str],
        device: str,
        log: Log,
        links: Links,
    ):
        self.projects, self.service, self.device, self.log, self.links = projects, service, device, log, links
        self.jobs = Jobs(projects, command, log)
        self.reviews = Reviews(projects.limits.reviews)
        self.receiver = Receiver(projects)
        self._served: dict[str, tuple[str, int]] = {}
        self._loading = asyncio.Lock()

    def summary(self) -> dict[str, Any]:
        """All projects, and what a new one can use."""
        return {
            "projects": [self._line(name) for name in self.projects.names()],
            "encoders": list(BUNDLED),
            "patterns": list(builtin_kinds()),
            "upload": self.projects.limits.upload,
        }

    def _line(self, name: str) -> dict[str, Any]:
        try:
            project = self.projects.open(name)
        except RosterError as error:
            return {
                "name": name,
                "created": 0,
                "files": 0,
                "active": None,
                "trained": False,
                "error": str(error),
            }
        active = project.active
        return {
            "name": name,
            "created": project.state.created,
            "files": len(project.state.files),
            "active": None if active is None else active.kind,
            "trained": project.best is not None,
            "error": None,
        }

    async def delete(self, name: str) -> None:
        """Removes a project, its open review and its loaded model."""
        project = self.projects.open(name)
        project.check_idle()
        await asyncio.to_thread(self.reviews.close, project.path)
        self.projects.delete(name)
        if name in self._served:
            await self.service.remove(self._served.pop(name)[0])

    async def copy(self, source: Path, project: str, kind: Kind, name: str) -> None:
        """Takes a file of our own as if it had been uploaded."""
        part = self.projects.folder / INCOMING / f"{secrets.token_hex(8)}{source.suffix}"
        shutil.copyfile(source, part)
        try:
            await self.receiver.keep(part, project, kind, name)
        finally:
            part.unlink(missing_ok=True)

    def served_name(self, project: str) -> str | None:
        """The name of the loaded model of a project, if it is the newest."""
        name, number = self._served.get(project, (None, 0))
        return name if name is not None and self.projects.open(project).best == number else None

    async def serve(self, project: str) -> str:
        """Loads the newest model of a project.

        Returns:
            Its name in /predict.

        Raises:
            MissingError: there is none.
            BusyError: too many are loaded.
        """
        async with self._loading:
            opened = self.projects.open(project)
            if (number := opened.best) is None:
                raise MissingError("there is no trained model yet; train first")
            if (known := self.served_name(project)) is not None:
                return known
            if project not in self._served and len(self._served) >= self.projects.limits.models:
                raise BusyError(f"{len(self._served)} models are loaded; restart the service to free them")
            name = self._served[project][0] if project in self._served else self._free_name(project)
            models = await asyncio.to_thread(load_models, {name: opened.run(number)}, self.device)
            await self.service.add(name, models[name])
            self._served[project] = (name, number)
            return name

    def _free_name(self, project: str) -> str:
        """The name of the project, unless a model of the command line has it."""
        name = project
        while name in self.service.models:
            name += "-project"
        return name

    async def run(self) -> None:
        """Runs the jobs until it is cancelled."""
        while True:
            try:
                self.jobs.tick()
            except Exception as error:  # of one project; the others go on
                self.log("error", **place_of(error))
                await asyncio.sleep(1)
            await asyncio.sleep(TICK)


def extension(
    projects: Projects,
    command: Sequence[str],
    *,
    hosts: frozenset[str] | None,
    device: str = "auto",
    log: Callable[..., None] = lambda event, **fields: None,
) -> Extension:
    """The projects as a part of the service.

    Args:
        projects: the projects.
        command: the beginning of a command line; the lock file, the file of events and the arguments of
            `roster` follow.
        hosts: names of the service in the header Host; None for any.
        device: where models are loaded.
        log: gets events of jobs.
    """
    from roster.projects.routes import project_routes

    links, shops = Links(), []

    def routes(service: Service) -> Any:
        shops.append(Workshop(projects, service, command, device, log, links))
        return project_routes(shops[0])

    @asynccontextmanager
    async def running(service: Service) -> AsyncIterator[None]:
        shop = shops[0]
        shop.jobs.recover()
        task = asyncio.create_task(shop.run(), name="jobs")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            shop.jobs.shut_down()
            shop.reviews.close(projects.folder)
            projects.close()

    files = static_files("roster.projects", PAGES)
    return Extension(routes, running, files, links, hosts)
