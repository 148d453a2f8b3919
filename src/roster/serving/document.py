"""The OpenAPI document: what is sent to `/predict`, errors, and the methods of each path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import compile_path

from roster.serving.auth import Tokens
from roster.serving.envelope import OPEN_PATHS
from roster.serving.models import ServedModel, default_of, known_names, known_types
from roster.serving.schemas import MOST_NAMES, ErrorAnswer, PredictRequest, request_examples
from roster.serving.settings import Limits

ERRORS = {
    400: "The body is not valid JSON in UTF-8.",
    401: "There is no valid token.",
    408: "The body did not arrive in time.",
    413: "The body or the texts are too large.",
    415: "The body is not JSON.",
    422: "A field is wrong, unknown or missing.",
    500: "An error of the service.",
    503: "Too much is under way, or the service is stopping; try again after the seconds in Retry-After.",
}


def errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Errors of a route, for its description."""
    return {code: {"model": ErrorAnswer, "description": ERRORS[code]} for code in codes}


def request_body(models: Mapping[str, ServedModel], limits: Limits) -> dict[str, Any]:
    """The body of `/predict`, with examples that are answered.

    Args:
        models: what is served, by name.
        limits: what a request may take.
    """
    return {
        "required": True,
        "content": {
            "application/json": {"schema": _schema(models, limits), "examples": _examples(models)},
        },
    }


def _schema(models: Mapping[str, ServedModel], limits: Limits) -> dict[str, Any]:
    """The fields, with the values that these models and limits allow."""
    schema = PredictRequest.model_json_schema()
    fields = schema["properties"]
    string, texts = {"type": "string"}, {"type": "array"}
    schema["oneOf"] = [
        {"required": ["text"], "properties": {"text": string, "texts": {"type": "null"}}},
        {"required": ["texts"], "properties": {"texts": texts, "text": {"type": "null"}}},
    ]
    _string_of(fields["text"])["maxLength"] = limits.characters
    fields["texts"]["anyOf"][0] |= {"minItems": 1, "maxItems": limits.texts}
    if models:  # otherwise projects add them later
        types = known_types(models)
        _string_of(fields["model"])["enum"] = known_names(models)
        fields["types"]["anyOf"][0] |= {"items": {"enum": types}, "maxItems": MOST_NAMES}
        fields["thresholds"]["anyOf"][0]["propertyNames"] = {"enum": types}
        if default_of(list(models)) is None:
            schema["required"] = ["model"]
            fields["model"] = {**fields["model"], "anyOf": [_string_of(fields["model"])]}
    fields["thresholds"]["anyOf"][0]["additionalProperties"] = {"type": "number", "minimum": 0, "maximum": 1}
    return schema


def _string_of(field: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field's strings, where it may be null as well."""
    return next(one for one in field["anyOf"] if one["type"] == "string")


def _examples(models: Mapping[str, ServedModel]) -> dict[str, dict[str, Any]]:
    default = default_of(list(models))
    first = default or next(iter(models), None)
    examples = request_examples(models[first].types if first is not None else ())
    if default is None and models:
        for example in examples.values():
            example["value"]["model"] = first
    return examples


def document_of(app: FastAPI, tokens: Tokens) -> dict[str, Any]:
    """The OpenAPI document; with tokens, the paths that need one are marked."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    if tokens:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, methods in document["paths"].items():
            for operation in methods.values():
                operation["security"] = [] if path in OPEN_PATHS else [{"token": []}]
    return document


def methods_of(document: Mapping[str, Any]) -> Callable[[str], list[str]]:
    """A function from the path of a request to the methods that the document has for it.

    >>> allowed = methods_of({"paths": {"/a/{name}": {"get": {}, "post": {}}, "/a/{name}/b": {"get": {}}}})
    >>> allowed("/a/x"), allowed("/b")
    (['GET', 'POST'], [])
    """
    known = [(compile_path(path)[0], methods) for path, methods in document["paths"].items()]

    def allowed(path: str) -> list[str]:
        return sorted({name.upper() for regex, names in known if regex.match(path) for name in names})

    return allowed
