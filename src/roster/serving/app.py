"""The application: routes, and what stands between them and the models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

import roster
from roster.serving.answers import check_types, results
from roster.serving.auth import Tokens
from roster.serving.batcher import Batcher, SentenceTooLongError
from roster.serving.document import ERRORS, document_of, errors, methods_of, request_body
from roster.serving.envelope import OPEN_PATHS, Envelope, unexpected
from roster.serving.explaining import explain, parameters, parse_query
from roster.serving.extension import Extension
from roster.serving.failures import RequestError, try_later
from roster.serving.guard import Guard
from roster.serving.logs import Log, place_of
from roster.serving.metrics import Metrics
from roster.serving.models import ServedModel, chosen, default_of
from roster.serving.receiving import body_in_time, check_headers, unless_gone
from roster.serving.schemas import (
    ExplainAnswer,
    LimitsAnswer,
    ModelsAnswer,
    PredictAnswer,
    StatusAnswer,
    parse,
    shown,
)
from roster.serving.settings import Limits
from roster.serving.static import static_files, static_routes

PATHS = ("/predict", "/models", "/explain", "/health", "/ready", "/metrics", "/openapi.json")
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Service:
    """The models with their queues, and the requests under way.

    Args:
        models: what is served at first, by name.
        limits: what a request may take.
        log: gets unexpected errors of a model.
        stopping: whether the server has been asked to end.
    """

    def __init__(
        self, models: Mapping[str, ServedModel], limits: Limits, log: Log, stopping: Callable[[], bool]
    ):
        self.models, self.limits, self.stopping, self.log = dict(models), limits, stopping, log
        self.metrics, self.under_way = Metrics(), 0
        self.batchers = {name: self._batcher(name, model) for name, model in models.items()}
        self.metrics.watch(
            lambda: self.under_way, {name: partial(_waiting, one) for name, one in self.batchers.items()}
        )

    def _batcher(self, name: str, model: ServedModel) -> Batcher:
        return Batcher(
            model.find,
            words=self.limits.batch_words,
            sentence_words=self.limits.sentence_words,
            gather_seconds=self.limits.gather_seconds,
            observe=lambda batch: self.metrics.batch(name, batch),
            failed=lambda error: self.log("error", model=name, **place_of(error)),
        )

    async def add(self, name: str, model: ServedModel) -> None:
        """Serves another model, or another one in place of the one of this name, whose requests are still
        answered.

        Args:
            name: what requests call it.
            model: the model.
        """
        before, batcher = self.batchers.get(name), self._batcher(name, model)
        batcher.start()
        self.models[name], self.batchers[name] = model, batcher
        self.metrics.watch(lambda: self.under_way, {name: partial(_waiting, batcher)})
        if before is not None:
            await before.drain()

    async def remove(self, name: str) -> None:
        """Serves a model no longer; its requests are still answered."""
        self.models.pop(name, None)
        if (batcher := self.batchers.pop(name, None)) is not None:
            await batcher.drain()

    @contextmanager
    def place(self) -> Iterator[None]:
        """One of the places for requests under way.

        Raises:
            RequestError: 503; all are taken, or the server is stopping.
        """
        if self.stopping():
            raise try_later("the server is stopping", "stopping")
        if self.under_way >= self.limits.requests:
            message = f"{self.under_way} requests are under way, no more are taken; try again later"
            raise try_later(message, "overload")
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    async def predict(self, request: Request) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            RequestError: the request is wrong, too large or too much.
        """
        begin = asyncio.get_running_loop().time()
        asked = parse(await body_in_time(request, self.limits.body, self.limits.seconds), self.limits)
        name = chosen(asked.model, list(self.models))
        check_types(asked, self.models[name].types)
        texts = asked.all_texts
        characters = sum(map(len, texts))
        request.state.log.update(model=name, texts=len(texts), characters=characters)
        try:
            async with asyncio.timeout_at(begin + self.limits.seconds):
                found = await unless_gone(request, self.batchers[name].submit(texts))
        except TimeoutError:
            message = (
                f"there was no answer within {self.limits.seconds:g} s; try again later or send less text"
            )
            raise try_later(message, "time") from None
        except SentenceTooLongError as error:
            where = "text" if asked.text is not None else f"texts[{error.text}]"
            message = f"{where}: a sentence has {error.words} words; at most {error.most} are allowed"
            raise RequestError(413, f"{message}. A blank line ends a sentence", where) from None
        answers = results(asked, found)
        entities = sum(len(answer["spans"]) for answer in answers)
        request.state.log["entities"] = entities
        self.metrics.predicted(name, len(texts), characters, entities)
        return {"model": name, "results": answers}

    @asynccontextmanager
    async def running(self, app: FastAPI) -> AsyncIterator[None]:
        """Starts the queues, and ends them when the application ends."""
        for batcher in self.batchers.values():
            batcher.start()
        try:
            yield
        finally:
            for batcher in self.batchers.values():
                await batcher.stop()
            for model in self.models.values():
                model.origins.close()


def _waiting(batcher: Batcher) -> int:
    return batcher.waiting


def create_app(
    models: Mapping[str, ServedModel],
    *,
    limits: Limits | None = None,
    tokens: Tokens | None = None,
    log: Log = lambda event, **fields: None,
    stopping: Callable[[], bool] = lambda: False,
    extension: Extension | None = None,
    hosts: Collection[str] | None = None,
) -> Envelope:
    """The ASGI application.

    Args:
        models: what is served, by name; at least one, unless an extension can add them.
        limits: what a request may take.
        tokens: the accepted tokens; without them nothing is asked for.
        log: gets one line a request.
        stopping: whether the server has been asked to end; new requests are then refused.
        extension: further routes and pages.
        hosts: names of this service in the header Host, beside those of this machine; None for any.
    """
    service = Service(models, limits or Limits(), log, stopping)
    # Not FastAPI's pages (`/docs`): their scripts would be loaded from another server.
    app = FastAPI(
        title="RoSTER",
        version=roster.__version__,
        description=DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=partial(_running, service, extension),
    )
    files = static_files()
    if extension is not None:
        files = {**files, **extension.files}
        app.include_router(extension.routes(service))
    pages = [path for path, file in files.items() if file.media_type.startswith("text/html")]
    allowed = methods_of(_add_routes(app, service, tokens or Tokens([]), pages))
    app.router.routes.extend(static_routes(files))

    @app.exception_handler(RequestError)
    async def on_failure(request: Request, failure: RequestError) -> JSONResponse:
        if failure.reason:
            request.state.log["reason"] = failure.reason
            service.metrics.refused(failure.reason)
        return JSONResponse(failure.content(), failure.status, failure.headers)

    @app.exception_handler(HTTPException)
    async def on_http_error(request: Request, error: HTTPException) -> JSONResponse:
        message = f"{error.detail}; the paths are {', '.join(PATHS)}"
        headers = dict(error.headers or {})
        if error.status_code == 405 and (methods := allowed(request.url.path)):
            headers["Allow"] = ", ".join(methods)
        return JSONResponse(RequestError(error.status_code, message).content(), error.status_code, headers)

    @app.exception_handler(RequestValidationError)
    async def on_wrong_parameter(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = shown(".".join(map(str, first["loc"][1:])))  # without `path` or `query`
        return JSONResponse(RequestError(422, f"{where}: {first['msg']}", where).content(), 422)

    @app.exception_handler(Exception)
    async def on_error(request: Request, error: Exception) -> JSONResponse:
        return unexpected(request.state.identifier)  # Starlette raises the error again, and Envelope logs it

    return Envelope(
        Guard(app, hosts, origins=False) if extension is None else Guard(app, extension.hosts),
        [*PATHS, *files],
        [*OPEN_PATHS, *files],
        tokens or Tokens([]),
        service.metrics,
        log,
        None if extension is None else extension.links,
    )


@asynccontextmanager
async def _running(service: Service, extension: Extension | None, app: FastAPI) -> AsyncIterator[None]:
    """The service, and within it the extension."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(service.running(app))
        if extension is not None:
            await stack.enter_async_context(extension.running(service))
        yield


DESCRIPTION = "Finds entities in texts. Errors are JSON objects with `error` (what is wrong) and `where`."


def _add_routes(app: FastAPI, service: Service, tokens: Tokens, pages: Sequence[str]) -> dict[str, Any]:
    """Adds the routes of the service; returns the OpenAPI document of all."""
    body = request_body(service.models, service.limits)

    @app.post("/predict", summary="Find entities", response_model=PredictAnswer,
              responses=errors(*ERRORS), openapi_extra={"requestBody": body})  # fmt: skip
    async def predict(request: Request) -> JSONResponse:
        check_headers(request)
        with service.place():
            return JSONResponse(await service.predict(request))

    @app.get("/models", summary="Models and their types", response_model=ModelsAnswer, responses=errors(401))
    async def models() -> JSONResponse:
        listed = [
            {"name": name, "types": list(model.types), "explains": bool(model.origins.places)}
            for name, model in service.models.items()
        ]
        limits = {name: getattr(service.limits, name) for name in LimitsAnswer.model_fields}
        default = default_of(list(service.models))
        return JSONResponse({"default": default, "models": listed, "limits": limits, "pages": list(pages)})

    @app.get("/explain", summary="Where training labels of a name come from", response_model=ExplainAnswer,
             responses=errors(401, 422, 500, 503),
             openapi_extra={"parameters": parameters(service.models)})  # fmt: skip
    async def origins(request: Request) -> JSONResponse:
        asked = parse_query(request.query_params, service.models)
        request.state.log.update(model=asked.model)
        with service.place():
            return JSONResponse(await explain(asked, service.models[asked.model], service.limits.seconds))

    @app.get("/health", summary="Whether the process answers", response_model=StatusAnswer)
    async def health() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @app.get("/ready", summary="Whether requests are taken", response_model=StatusAnswer,
             responses={503: {"model": StatusAnswer, "description": "No requests are taken."}})  # fmt: skip
    async def ready() -> JSONResponse:
        if service.stopping():
            return JSONResponse({"status": "stopping"}, 503)
        if not all(batcher.alive for batcher in service.batchers.values()):
            return JSONResponse({"status": "failed"}, 503)
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", summary="Metrics for Prometheus", response_class=Response,
             responses={200: {"content": {"text/plain": {}}}, **errors(401)})  # fmt: skip
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type=METRICS_TYPE)

    document = document_of(app, tokens)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> JSONResponse:
        return JSONResponse(document)

    return document
