"""Files that clients send: streamed to disk, checked in a thread, then taken by the project."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path

from starlette.requests import ClientDisconnect, Request

from roster.projects.names import display_name
from roster.projects.project import BusyError, File, Kind, Projects
from roster.projects.uploads import stored_suffix, take
from roster.serving.failures import RequestError
from roster.serving.receiving import client_gone

INCOMING = ".incoming"
SILENCE = 60.0
"""Seconds without a byte after which a client is given up."""
AT_ONCE = 2
"""Files that are checked at once."""
TYPE = "application/octet-stream"
"""No form of another site can send it, and no script of another site without asking this service first."""


class Receiver:
    """Takes uploaded files.

    Args:
        projects: where they go.
    """

    def __init__(self, projects: Projects):
        self._projects, self._checking = projects, asyncio.Semaphore(AT_ONCE)
        self._folder = projects.folder / INCOMING
        shutil.rmtree(self._folder, ignore_errors=True)  # of a service that was killed
        self._folder.mkdir()

    async def receive(self, request: Request, project: str, kind: Kind, name: str, type: str | None) -> File:
        """Receives the body of a request as a file of a project.

        Raises:
            RequestError: 413 for a body that is too large, 415 for another type, 408 for a silent client.
            DataError: the file cannot be read.
        """
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if given != TYPE:
            raise RequestError(415, f"expected Content-Type: {TYPE}, not {given[:100] or 'none'}")
        opened = self._projects.open(project)
        if len(opened.state.files) >= self._projects.limits.files:
            raise BusyError(f"the project has {len(opened.state.files)} files; join some of them")
        name = display_name(name)
        part = self._folder / f"{secrets.token_hex(8)}{stored_suffix(kind, name)}"
        try:
            await self._write(request, part)
            return await self.keep(part, project, kind, name, type)
        finally:
            part.unlink(missing_ok=True)

    async def keep(self, part: Path, project: str, kind: Kind, name: str, type: str | None = None) -> File:
        """Checks a file, and moves it into a project."""
        number = self._projects.open(project).reserve()
        check = partial(
            take, kind, part, name, number=number, unpacked=self._projects.limits.unpacked, type=type
        )
        async with self._checking:
            suffix, facts = await asyncio.to_thread(check)
        # Opened again: the state may have changed meanwhile.
        return self._projects.open(project).add(number, kind, name, suffix, part, facts)

    async def _write(self, request: Request, part: Path) -> None:
        limit = self._projects.limits.upload
        too_large = RequestError(
            413, f"the file has more than {limit // 2**20} MiB; split it, or compress it (gzip)"
        )
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > limit:
            raise too_large
        size, parts = 0, request.stream()
        with part.open("wb") as file, suppress(StopAsyncIteration):
            while True:
                try:
                    chunk = await asyncio.wait_for(anext(parts), SILENCE)
                except TimeoutError:
                    raise RequestError(
                        408, f"nothing arrived for {SILENCE:g} s", headers={"Connection": "close"}
                    ) from None
                except ClientDisconnect:
                    raise client_gone() from None
                size += len(chunk)
                if size > limit:
                    raise too_large
                file.write(chunk)
        if size == 0:
            raise RequestError(422, "the file is empty")
