"""The route `/explain`: its parameters, checked, and its answer from the origins of a model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from roster.serving.failures import RequestError, try_later
from roster.serving.models import ServedModel, chosen, default_of, known_names, known_types
from roster.serving.schemas import shown

LONGEST_NAME = 1000
"""Characters of a name that is asked for."""
KNOWN = ("name", "model", "label")


@dataclass(frozen=True)
class Asked:
    """What a request asks for; `model` is the name of a model, `label` one of its types or None."""

    name: str
    model: str
    label: str | None


def parse_query(query: QueryParams, models: Mapping[str, ServedModel]) -> Asked:
    """The parameters of a request.

    Raises:
        RequestError: 422 for one that is unknown, missing, given twice or wrong.
    """
    for key, _ in query.multi_items():
        if key not in KNOWN:
            raise RequestError(
                422, f"{shown(key)}: unknown parameter; known are {', '.join(KNOWN)}", shown(key)
            )
        if len(query.getlist(key)) > 1:
            raise RequestError(422, f"{key}: given more than once", key)
    name = query.get("name", "")
    if not name.strip():
        raise RequestError(422, "name: give the words of an entity, as in /explain?name=Oslo", "name")
    if len(name) > LONGEST_NAME:
        raise RequestError(422, f"name: {len(name)} characters; at most {LONGEST_NAME} are allowed", "name")
    model, label = chosen(query.get("model"), list(models)), query.get("label")
    if label is not None and label not in models[model].types:
        known = ", ".join(models[model].types)
        raise RequestError(422, f"label: unknown type {shown(label)!r}; the model has {known}", "label")
    return Asked(name, model, label)


def parameters(models: Mapping[str, ServedModel]) -> list[dict[str, Any]]:
    """The parameters, for the OpenAPI document."""
    default = default_of(list(models))
    name = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "pattern": r"\S"}
    return [
        _parameter("name", name, "The words of an entity.", required=True),
        _parameter("model", _one_of(known_names(models)), "Name of the model.", required=default is None),
        _parameter(
            "label", _one_of(known_types(models)), "Only entries of this type, which the model must have."
        ),
    ]


def _one_of(values: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)} if values else {"type": "string"}


def _parameter(
    name: str, schema: dict[str, Any], description: str, *, required: bool = False
) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "description": description, "schema": schema}


async def explain(asked: Asked, model: ServedModel, seconds: float) -> dict[str, Any]:
    """The answer to a request. The first one of a model makes its index, in a thread.

    Raises:
        RequestError: 503; the index is not ready within the time limit. Its making goes on.
    """
    work = asyncio.create_task(asyncio.to_thread(model.origins.explain, asked.name, asked.label))
    done, _ = await asyncio.wait({work}, timeout=seconds)
    if not done:
        raise try_later(
            f"the index of the training labels was not ready within {seconds:g} s; try again later", "time"
        )
    return {"model": asked.model, **work.result()}
