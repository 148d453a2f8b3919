"""Requests and answers of the projects as data; the OpenAPI document is made from these classes."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from roster.projects.names import NAME
from roster.reviewing.answers import Verdict
from roster.serving.failures import RequestError
from roster.serving.schemas import shown

NAMES = f"^{NAME.pattern}$"
"""Names of projects, for the document; `check_name` checks them."""
M = TypeVar("M", bound=BaseModel)
Part = Literal["texts", "names"]
Step = Literal["label", "train", "audit", "review"]
Download = Literal[
    "model.zip",
    "data.zip",
    "report.html",
    "audit.html",
    "audit.jsonl",
    "patch.tsv",
    "gold.jsonl",
    "corrections.tsv",
]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class NewProject(Strict):
    """A project to make."""

    name: str = Field(
        description="1 to 64 letters, digits, - and _; begins with a letter or a digit.",
        json_schema_extra={"pattern": NAMES},
    )


class Options(Strict):
    """The options of a step; those of another step are ignored."""

    patterns: list[str] = Field(
        [], description="label: bundled patterns, such as DATE and MONEY.", max_length=20
    )
    minutes: float | None = Field(None, gt=0, le=10_000, description="train: the time budget; null for none.")
    backbone: str | None = Field(
        None,
        min_length=1,
        max_length=300,
        description="train: an encoder's name or folder; null for the bundled one.",
    )
    gold: bool = Field(
        False, description="train: learn from the reviewed sentences of earlier rounds as well."
    )


class PatchSource(Strict):
    """Where the accepted changes of the dictionaries come from."""

    source: Literal["audit", "review"]


class LinkRequest(Strict):
    """A file to download."""

    file: Download


class AnswerRequest(Strict):
    """The answer to the question `number`, `mention`; `start`, `end` and `label` are the true name, where one
    is needed: words of the sentence, counted from 0."""

    number: int
    mention: int | None
    verdict: Verdict
    start: int | None = None
    end: int | None = None
    label: str | None = Field(None, max_length=1000)
    width: float = Field(0.03, gt=0, lt=1)


class UndoRequest(Strict):
    """Takes the last answer back."""

    width: float = Field(0.03, gt=0, lt=1)


class Nothing(Strict):
    """An empty object."""


class FileAnswer(BaseModel):
    """An uploaded file."""

    number: int
    kind: Literal["texts", "names", "patches"]
    name: str = Field(description="What the client called it.")
    bytes: int
    facts: dict[str, Any] = Field(description="Counts: sentences and words, entries and types, changes.")


class ProgressAnswer(BaseModel):
    """The state of the bar of a command."""

    stage: str | None
    done: float | None
    total: float | None
    unit: str | None
    rate: float | None = Field(description="Units per second.")
    left: float | None = Field(description="Seconds left in this stage.")


class JobAnswer(BaseModel):
    """The last command of a step."""

    step: Step
    state: Literal["queued", "running", "stopping", "done", "failed", "stopped"]
    round: int
    began: float
    ended: float
    error: str
    position: int = Field(description="Jobs before this one in the queue.")
    progress: ProgressAnswer | None
    log: list[str] = Field(description="The last lines of the command.")


class RoundAnswer(BaseModel):
    """A set of labels with a training."""

    number: int
    patterns: list[str]
    training: dict[str, Any]
    labelled: bool
    trained: bool
    reviewed: int = Field(description="Answers of its review.")


class ProjectAnswer(BaseModel):
    """A project."""

    name: str
    created: float
    files: list[FileAnswer]
    rounds: list[RoundAnswer]
    round: int | None = Field(description="The newest round.")
    best: int | None = Field(description="The newest round with a trained model.")
    stale: bool = Field(description="Whether texts or names have changed since they were labelled.")
    jobs: list[JobAnswer]
    active: Step | None = Field(description="The step under way.")
    served: str | None = Field(description="The name of its model in /predict, where it is loaded.")
    version: str = Field(description="Another one whenever results have changed.")


class ProjectSummary(BaseModel):
    """A line of the list of projects."""

    name: str
    created: float
    files: int
    active: Step | None
    trained: bool
    error: str | None


class ProjectsAnswer(BaseModel):
    """All projects, and what a new one can use."""

    projects: list[ProjectSummary]
    encoders: list[str]
    patterns: list[str]
    upload: int = Field(description="The most bytes of an uploaded file.")


class ResultsAnswer(BaseModel):
    """What the steps have found; null for a step that was not done."""

    labels: dict[str, Any] | None
    training: dict[str, Any] | None
    audit: dict[str, Any] | None
    corrections: dict[str, Any] | None


class ReviewAnswer(BaseModel):
    """The next question of a review, and the estimate."""

    question: dict[str, Any] | None
    types: list[str]
    answers: int
    sentences: int
    skipped: int
    population: int
    text_sentences: int
    scores: dict[str, Any] | None
    needed: int = Field(description="Sentences until there is an estimate.")
    fewest: int
    width: float
    left: int | None = Field(description="About so many answers until F1 is known to plus or minus `width`.")
    narrow: bool
    course: list[list[float]] = Field(description="[answers, F1, low, high] after each sentence.")


class ServedAnswer(BaseModel):
    """The name of a model in /predict."""

    model: str


class LinkAnswer(BaseModel):
    """An address that is open for some minutes without a token."""

    url: str


def parsed(model: type[M], body: bytes) -> M:
    """A request from its body.

    Raises:
        RequestError: 422; it has other fields.
    """
    try:
        return model.model_validate_json(body or b"{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = shown(".".join(map(str, first["loc"])))
        status = 400 if first["type"] == "json_invalid" else 422
        raise RequestError(status, f"{where or 'the body'}: {first['msg']}", where or None) from None
