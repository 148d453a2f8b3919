"""Requests and answers of `/predict` as data; the OpenAPI document is made from these classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, from_json

from roster.serving.failures import RequestError
from roster.serving.settings import Limits

SHOWN = 100
"""Characters of a client's own words that a message repeats."""
MOST_NAMES = 1000
"""Types that a request may name in `types`, and in `thresholds`."""


class PredictRequest(BaseModel):
    """Texts, and which of the entities in them are wanted."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    text: str | None = Field(None, description="One text. Give either this or `texts`.")
    texts: list[str] | None = Field(None, description="Several texts.")
    model: str | None = Field(None, description="Name of the model; not needed where there is one model.")
    threshold: float = Field(0.0, ge=0, le=1, description="Only entities with at least this score.")
    thresholds: dict[str, float] | None = Field(
        None, description="The threshold of single types, in place of `threshold`."
    )
    types: list[str] | None = Field(None, description="Only entities of these types.")
    offsets: Literal["characters", "utf16"] = Field(
        "characters", description="Unit of `start` and `end`: Unicode code points, or UTF-16 code units."
    )

    @property
    def all_texts(self) -> Sequence[str]:
        """The texts, one or several."""
        return [self.text] if self.text is not None else self.texts or []


class EntityAnswer(BaseModel):
    """One entity."""

    text: str = Field(description="The words of the entity, as in the text.")
    label: str = Field(description="Its type.")
    start: int = Field(description="Offset of its first character.")
    end: int = Field(description="Offset after its last character.")
    score: float = Field(description="Mean probability of its words, or calibrated probability; 0 to 1.")


class TextAnswer(BaseModel):
    """The entities of one text, in order."""

    spans: list[EntityAnswer]


class PredictAnswer(BaseModel):
    """One result for each text, in the order of the request."""

    model: str
    results: list[TextAnswer]


class ModelAnswer(BaseModel):
    """A model and the types of its entities."""

    name: str
    types: list[str]
    explains: bool = Field(description="Whether `/explain` has the origins of its training labels.")


class LimitsAnswer(BaseModel):
    """What one request may take."""

    body: int = Field(description="Bytes of the body.")
    characters: int = Field(description="Characters of all texts.")
    texts: int = Field(description="Texts.")
    sentence_words: int = Field(description="Words of one sentence.")
    seconds: float = Field(description="Seconds from the arrival to the answer.")


class ModelsAnswer(BaseModel):
    """All models. `default` is the name of the one that is used if a request names none, or null."""

    default: str | None
    models: list[ModelAnswer]
    limits: LimitsAnswer
    pages: list[str] = Field(description="The paths of the web pages.")


class VerdictAnswer(BaseModel):
    """What the audit found on an entry of a dictionary."""

    verdict: str = Field(
        description="`right`, `wrong`, `wrong type`, `part of a longer name` or `ambiguous`."
    )
    believed: str = Field(description="The type that is believed instead, or empty.")
    longer: str = Field(description="The longer name that is believed instead, or empty.")
    confidence: float


class EntryAnswer(BaseModel):
    """An entry that gave labels of the training text."""

    entry: str
    label: str
    source: str = Field(description="The file of the dictionary, or another source; empty: not known.")
    line: int = Field(description="The line in the file; 0: not known.")
    labels: int = Field(description="How many labels it gave.")
    audit: VerdictAnswer | None


class MissingAnswer(BaseModel):
    """A name that the audit would add to the dictionary."""

    name: str
    label: str
    count: int = Field(description="How often it is in the training text without a label.")
    confidence: float


class ExplainAnswer(BaseModel):
    """Where the training labels of a name come from."""

    model: str
    name: str
    known: bool = Field(description="Whether the origins of the labels of this model are known.")
    note: str | None
    entries: list[EntryAnswer]
    more: int = Field(description="How many entries are left out.")
    missing: MissingAnswer | None


class StatusAnswer(BaseModel):
    """The state of the service: `ok`, `ready`, `stopping` or `failed`."""

    status: str


class ErrorAnswer(BaseModel):
    """What is wrong with a request, and the field that it concerns, or null."""

    error: str
    where: str | None


def parse(body: bytes, limits: Limits) -> PredictRequest:
    """A request from its body.

    Args:
        body: the bytes that were received.
        limits: the limits on texts and characters.

    Returns:
        The request; its strings are valid Unicode and its numbers finite.

    Raises:
        RequestError: 400 for what is no JSON, 422 for wrong fields, 413 for too much text.

    >>> parse(b'{"text": "Anna"}', Limits()).all_texts
    ['Anna']
    >>> parse(b'{"texts": ["Anna", 1]}', Limits())
    Traceback (most recent call last):
    roster.serving.failures.RequestError: texts[1]: Input should be a valid string
    """
    if not body.strip():
        raise RequestError(400, 'the body is empty; send a JSON object such as {"text": "Anna is in Oslo."}')
    _check_sizes(body, limits)
    try:
        request = PredictRequest.model_validate_json(body)
    except ValidationError as error:
        raise _failure(error.errors(include_url=False, include_context=False, include_input=False)) from None
    if (request.text is None) == (request.texts is None):
        raise RequestError(422, "give either text (a string) or texts (a list of strings)", "texts")
    _check_amount(request, limits)
    for label, threshold in (request.thresholds or {}).items():
        if not 0 <= threshold <= 1:
            where = _place(("thresholds", label))
            raise RequestError(422, f"{where}: a threshold is from 0 to 1, not {threshold:g}", where)
    return request


def _check_sizes(body: bytes, limits: Limits) -> None:
    """Checks that a body is a JSON object of known fields without overlong lists.

    Validation collects all errors. A body of two megabytes can hold a million, which took five seconds and
    900 MB of memory; parsing alone takes 50 ms.
    """
    try:
        found = from_json(body)
    except ValueError as error:
        raise RequestError(400, f"the body is not valid JSON in UTF-8: {error}") from None
    if not isinstance(found, dict):
        raise RequestError(422, "the body: Input should be an object")
    for name in found:
        if name not in PredictRequest.model_fields:
            known = ", ".join(PredictRequest.model_fields)
            raise RequestError(422, f"{shown(name)}: unknown field; known are {known}", shown(name))
    texts = found.get("texts")
    if isinstance(texts, list) and len(texts) > limits.texts:
        message = f"texts: {len(texts)} texts; at most {limits.texts} are allowed in a request"
        raise RequestError(413, message, "texts")
    for name in ("types", "thresholds"):
        given = found.get(name)
        if isinstance(given, list | dict) and len(given) > MOST_NAMES:
            raise RequestError(422, f"{name}: {len(given)} types; at most {MOST_NAMES} are allowed", name)


def _check_amount(request: PredictRequest, limits: Limits) -> None:
    texts = request.all_texts
    if not texts:
        raise RequestError(422, "texts: the list is empty; give at least one text", "texts")
    if (total := sum(map(len, texts))) > limits.characters:
        where = "texts" if request.text is None else "text"
        message = f"{where}: {total} characters; at most {limits.characters} are allowed in a request"
        raise RequestError(413, message, where)


def _failure(errors: Sequence[ErrorDetails]) -> RequestError:
    first = errors[0]
    where = _place(first["loc"])
    more = f" ({len(errors) - 1} more errors)" if len(errors) > 1 else ""
    return RequestError(422, f"{where}: {first['msg']}{more}", where)


def _place(location: Sequence[int | str]) -> str:
    """
    >>> _place(("texts", 3)), _place(("thresholds", "PER"))
    ('texts[3]', 'thresholds.PER')
    """
    place = ""
    for part in location:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else part
    return shown(place)


def shown(words: str) -> str:
    """A client's own words, shortened, for a message.

    >>> shown("x" * 200)[-3:]
    'xx…'
    """
    return words if len(words) <= SHOWN else words[: SHOWN - 1] + "…"


def request_examples(types: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Examples of requests for a model of these types, for the OpenAPI document; all of them are answered.

    >>> request_examples(["PER"])["one text"]["value"]
    {'text': 'Marta Lindqvist left Northgate Bank.'}
    """
    one, other = "Marta Lindqvist left Northgate Bank.", "She lives in Lagos."
    examples: dict[str, Any] = {
        "one text": {"text": one},
        "several texts": {"texts": [one, other], "threshold": 0.5},
        "offsets for JavaScript": {"text": one, "offsets": "utf16"},
    }
    if types:
        examples["some types"] = {"text": one, "types": [types[0]], "thresholds": {types[0]: 0.8}}
    return {name: {"summary": name, "value": value} for name, value in examples.items()}
