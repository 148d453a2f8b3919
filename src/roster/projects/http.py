"""What the routes of the projects share: errors of the user as answers, JSON bodies and answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from roster.errors import ConfigError, DataError, RosterError
from roster.projects.project import BusyError, MissingError
from roster.projects.schemas import M, Strict, parsed
from roster.projects.uploads import TooLargeError
from roster.serving.failures import RequestError
from roster.serving.receiving import body_in_time, check_headers
from roster.serving.schemas import ErrorAnswer

BODY, BODY_SECONDS = 2**16, 30.0
"""Bytes of a JSON body, and the time in which it has to arrive."""
STATUS = ((MissingError, 404), (BusyError, 409), (TooLargeError, 413), (DataError, 422), (ConfigError, 422),
          (RosterError, 409))  # fmt: skip
ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorAnswer, "description": text}
    for code, text in {
        400: "The body is not valid JSON in UTF-8.",
        401: "There is no valid token.",
        403: "The request was made by the page of another site.",
        404: "There is no such project, file or result.",
        408: "The body did not arrive in time.",
        409: "Something under way, or the state of the project, does not allow this now.",
        413: "The file is too large.",
        415: "The body has another type.",
        421: "The name in the header Host is not one of this service.",
        422: "A field, a name or a file is wrong.",
    }.items()
}


class ProjectRoute(APIRoute):
    """A route whose errors of the user are answers with a status and a message."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except RosterError as error:
                status = next(code for kind, code in STATUS if isinstance(error, kind))
                raise RequestError(status, str(error)) from None

        return handle


def answer(content: Any, status: int = 200) -> Response:
    """JSON in ASCII, so that a text with half a surrogate pair can be sent."""
    return Response(json.dumps(content), status, media_type="application/json")


async def asked(request: Request, model: type[M]) -> M:
    """The JSON body of a request."""
    check_headers(request)
    return parsed(model, await body_in_time(request, BODY, BODY_SECONDS))


def body_of(model: type[Strict]) -> dict[str, Any]:
    content = {"application/json": {"schema": model.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}
