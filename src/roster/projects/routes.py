"""The HTTP routes of the projects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi import Path as Param
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from roster.corpus.sentence import Span
from roster.distant.entries.patch import read_patch
from roster.projects import schemas as s
from roster.projects.archive import archive
from roster.projects.commands import prepare, review_of
from roster.projects.http import ERRORS, ProjectRoute, answer, asked, body_of
from roster.projects.project import BusyError, MissingError, Project
from roster.projects.reviews import WIDTH, OpenReview
from roster.projects.views import log_of, results_of, view
from roster.projects.workshop import Workshop
from roster.reviewing.folder import is_review
from roster.reviewing.review import CORRECTIONS, GOLD
from roster.serving.failures import RequestError
from roster.serving.links import PARAMETER

PREFIX = "/api/projects"
SANDBOX = (
    "sandbox allow-scripts allow-downloads allow-popups; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""For the pages of a run: they have scripts of their own, and no access to this service."""
MEDIA = {".html": "text/html; charset=utf-8", ".tsv": "text/tab-separated-values; charset=utf-8",
         ".jsonl": "application/x-ndjson; charset=utf-8"}  # fmt: skip
Name = Annotated[str, Param(description="The name of a project.", json_schema_extra={"pattern": s.NAMES})]
FILE_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def project_routes(shop: Workshop) -> APIRouter:
    """All routes of the projects."""
    router = APIRouter(prefix=PREFIX, tags=["projects"], route_class=ProjectRoute, responses=ERRORS)
    _add_projects(router, shop)
    _add_files(router, shop)
    _add_jobs(router, shop)
    _add_review(router, shop)
    _add_downloads(router, shop)
    return router


def _viewed(shop: Workshop, project: Project, status: int = 200) -> Response:
    return answer(view(project, shop.jobs, shop.served_name(project.name)), status)


def _add_projects(router: APIRouter, shop: Workshop) -> None:
    @router.get("", summary="All projects", response_model=s.ProjectsAnswer)
    async def projects() -> Response:
        return answer(shop.summary())

    @router.post("", summary="Make a project", response_model=s.ProjectAnswer, status_code=201,
                 openapi_extra=body_of(s.NewProject))  # fmt: skip
    async def create(request: Request) -> Response:
        return _viewed(shop, shop.projects.create((await asked(request, s.NewProject)).name), 201)

    @router.get("/{name}", summary="A project", response_model=s.ProjectAnswer)
    async def project(name: Name) -> Response:
        return _viewed(shop, shop.projects.open(name))

    @router.delete("/{name}", summary="Remove a project with everything in it", status_code=204)
    async def delete(name: Name) -> Response:
        await shop.delete(name)
        return Response(status_code=204)

    @router.get("/{name}/results", summary="What the steps have found", response_model=s.ResultsAnswer)
    async def results(name: Name) -> Response:
        opened = shop.projects.open(name)
        return answer(await asyncio.to_thread(results_of, opened))


def _add_files(router: APIRouter, shop: Workshop) -> None:
    @router.post("/{name}/files/{file}", summary="Add a file", response_model=s.FileAnswer,
                 status_code=201, openapi_extra=FILE_BODY)  # fmt: skip
    async def add(name: Name, file: s.Part, request: Request, filename: str = "", type: str = "") -> Response:
        label = type.strip() or None
        if label is not None and (
            file != "names" or not label.isprintable() or len(label) > 64 or "," in label
        ):
            raise RequestError(422, "type: the type of a list of names, such as PER", "type")
        added = await shop.receiver.receive(request, name, file, filename, label)
        found = {
            "number": added.number,
            "kind": added.kind,
            "name": added.name,
            "bytes": added.bytes,
            "facts": added.facts,
        }
        return answer(found, 201)

    @router.delete("/{name}/files/{file}", summary="Remove a file", response_model=s.ProjectAnswer)
    async def remove(name: Name, file: int) -> Response:
        project = shop.projects.open(name)
        project.check_idle()
        project.remove(file)
        return _viewed(shop, project)

    @router.post("/{name}/sample", summary="Add the bundled sample", response_model=s.ProjectAnswer,
                 openapi_extra=body_of(s.Nothing))  # fmt: skip
    async def sample(name: Name, request: Request) -> Response:
        await asked(request, s.Nothing)
        with resources.as_file(resources.files("roster") / "sample") as folder:
            await shop.copy(folder / "news.txt", name, "texts", "news.txt (sample)")
            await shop.copy(folder / "dictionary.tsv", name, "names", "dictionary.tsv (sample)")
        return _viewed(shop, shop.projects.open(name))

    @router.post("/{name}/patches", summary="Accept proposed changes of the dictionaries",
                 response_model=s.ProjectAnswer, openapi_extra=body_of(s.PatchSource))  # fmt: skip
    async def accept(name: Name, request: Request) -> Response:
        source = (await asked(request, s.PatchSource)).source
        project = shop.projects.open(name)
        if (number := project.best) is None:
            raise MissingError("there is no trained model yet; train first")
        folder = project.run(number) / "audit" if source == "audit" else review_of(project, number)
        if source == "review":
            await asyncio.to_thread(shop.reviews.close, folder)
        path = folder / ("patch.tsv" if source == "audit" else CORRECTIONS)
        if not path.is_file() or not (proposed := read_patch(path)):
            raise MissingError("no changes are proposed")
        accepted = [project.path / one.path for one in project.files("patches")]
        before = {str(change) for change in read_patch(*accepted).changes}
        if all(str(change) in before for change in proposed.changes):
            raise BusyError("these changes were accepted already")
        read_patch(*accepted, path)  # raises an error where they contradict each other
        await shop.copy(path, name, "patches", f"changes from the {source} of round {number}")
        return _viewed(shop, shop.projects.open(name))


def _add_jobs(router: APIRouter, shop: Workshop) -> None:
    @router.post("/{name}/jobs/{step}", summary="Begin or continue a step", response_model=s.ProjectAnswer,
                 status_code=202, openapi_extra=body_of(s.Options))  # fmt: skip
    async def begin(name: Name, step: s.Step, request: Request) -> Response:
        options = await asked(request, s.Options)
        project = shop.projects.open(name)
        project.check_idle()
        if step == "audit" or (step == "train" and options.gold):
            # Saves what was answered, and waits for an answer under way.
            await asyncio.to_thread(shop.reviews.close, project.path)
            project = shop.projects.open(name)
        shop.jobs.put(project, prepare(project, step, options.model_dump()))
        return _viewed(shop, project, 202)

    @router.post("/{name}/stop", summary="Stop the step under way", response_model=s.ProjectAnswer,
                 openapi_extra=body_of(s.Nothing))  # fmt: skip
    async def stop(name: Name, request: Request) -> Response:
        await asked(request, s.Nothing)
        project = shop.projects.open(name)
        shop.jobs.stop(project)
        return _viewed(shop, project)

    @router.get("/{name}/log/{step}", summary="The last lines of a step's command", response_model=list[str])
    async def log(name: Name, step: s.Step) -> Response:
        return answer(log_of(shop.projects.open(name), step))

    @router.post("/{name}/serve", summary="Serve the newest model", response_model=s.ServedAnswer,
                 openapi_extra=body_of(s.Nothing))  # fmt: skip
    async def serve(name: Name, request: Request) -> Response:
        await asked(request, s.Nothing)
        return answer({"model": await shop.serve(name)})


def _add_review(router: APIRouter, shop: Workshop) -> None:
    async def used(name: str, work: Callable[[OpenReview], Any], width: float) -> Response:
        project = shop.projects.open(name)
        number = project.best
        if number is None or not is_review(review_of(project, number)):
            raise MissingError("there is no review yet; begin one")

        def both(opened: OpenReview) -> dict[str, Any]:
            work(opened)
            return opened.view(width)

        return answer(await asyncio.to_thread(shop.reviews.use, review_of(project, number), both))

    @router.get("/{name}/review", summary="The next question and the estimate", response_model=s.ReviewAnswer)
    async def question(name: Name, width: Annotated[float, Query(gt=0, lt=1)] = WIDTH) -> Response:
        return await used(name, lambda opened: None, width)

    @router.post("/{name}/review", summary="Answer the question", response_model=s.ReviewAnswer,
                 openapi_extra=body_of(s.AnswerRequest))  # fmt: skip
    async def give(name: Name, request: Request) -> Response:
        given = await asked(request, s.AnswerRequest)
        span = None
        if given.start is not None and given.end is not None and given.label is not None:
            span = Span(given.start, given.end, given.label)
        work = partial(
            OpenReview.answer, number=given.number, mention=given.mention, verdict=given.verdict, span=span
        )
        return await used(name, work, given.width)

    @router.post("/{name}/review/undo", summary="Take the last answer back", response_model=s.ReviewAnswer,
                 openapi_extra=body_of(s.UndoRequest))  # fmt: skip
    async def undo(name: Name, request: Request) -> Response:
        return await used(name, OpenReview.undo, (await asked(request, s.UndoRequest)).width)


def _add_downloads(router: APIRouter, shop: Workshop) -> None:
    @router.post("/{name}/links", summary="A link that needs no token", response_model=s.LinkAnswer,
                 openapi_extra=body_of(s.LinkRequest))  # fmt: skip
    async def link(name: Name, request: Request) -> Response:
        file = (await asked(request, s.LinkRequest)).file
        await asyncio.to_thread(_place, shop, name, file)
        path = f"{PREFIX}/{name}/download/{file}"
        return answer({"url": f"{path}?{PARAMETER}={shop.links.ticket(path)}"})

    @router.get("/{name}/download/{file}", summary="Download a file", response_class=Response)
    async def download(name: Name, file: s.Download) -> Response:
        place = await asyncio.to_thread(_place, shop, name, file)
        if file.endswith(".zip"):
            root = f"{name}-{file.removesuffix('.zip')}"
            headers = {"Content-Disposition": f'attachment; filename="{root}.zip"'}
            return StreamingResponse(archive(place, root), media_type="application/zip", headers=headers)
        media = MEDIA[place.suffix]
        if file.endswith(".html"):
            return FileResponse(place, media_type=media, headers={"Content-Security-Policy": SANDBOX})
        return FileResponse(place, media_type=media, filename=f"{name}-{file}")


def _place(shop: Workshop, name: str, file: str) -> Path:
    """Where a file of a project is.

    Raises:
        MissingError: it was not made yet.
    """
    project = shop.projects.open(name)
    now, best = project.round, project.best
    if file in (GOLD, CORRECTIONS) and best is not None:
        shop.reviews.close(review_of(project, best))  # they are written when a review is left
    places: dict[str, Path | None] = {"data.zip": project.data(now.number) if now else None}
    if best is not None:
        run = project.run(best)
        places |= {
            "model.zip": run / "model",
            "report.html": run / "report.html",
            "audit.html": run / "audit" / "audit.html",
            "audit.jsonl": run / "audit" / "audit.jsonl",
            "patch.tsv": run / "audit" / "patch.tsv",
            GOLD: review_of(project, best) / GOLD,
            CORRECTIONS: review_of(project, best) / CORRECTIONS,
        }
    found = places.get(file)
    if found is None or not found.exists():
        raise MissingError(f"there is no {file} yet")
    return found
