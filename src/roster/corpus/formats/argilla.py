"""Argilla's records with a span question: a JSON list (`records.to_json`), or JSON lines of flat rows
(`records.to_datasets().to_json`).

The labels of a record are its first response that is submitted (or whose state is not exported), else its
suggestion. A record whose responses are all discarded is left out; drafts are not read. The text is the field
`text`, or the only one. Of overlapping spans the longest is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from roster.corpus.formats.base import Format, Options
from roster.corpus.formats.textfile import head
from roster.corpus.formats.tools import (
    KEPT,
    Omitted,
    first_item,
    first_line,
    items_of,
    kept_keys,
    lines_of,
    read_records,
    text_field,
    tool_of,
    write_items,
)
from roster.corpus.sentence import Sentence

QUESTION = "spans"
"""Name of the span question that written records are for; any name is read."""
AGENT = "roster"
RESPONSES, SUGGESTION = ".responses", ".suggestion"
Answers = dict[str, tuple[list[tuple[Any, Any]], Any]]
"""For each question (state and value of each response) and the value of the suggestion."""


def detect(path: Path) -> bool:
    return tool_of(first_line(path)) == "argilla" or tool_of(first_item(path)) == "argilla"


def read(path: Path, options: Options) -> Iterator[Sentence]:
    is_list = next((line for line in head(path) if line.strip()), "").lstrip().startswith("[")
    questions: set[str] = set()
    found = items_of(path) if is_list else lines_of(path)
    return read_records(found, partial(_base, questions=questions), path, options)


def _base(record: Mapping[str, Any], omitted: Omitted, questions: set[str]) -> dict[str, Any] | None:
    nested = isinstance(record.get("fields"), Mapping)
    answers = _nested(record) if nested else _flat(record)
    fields = record["fields"] if nested else _fields(record)
    _, text = text_field(fields, "fields" if nested else "the record")
    found = {"text": text, **kept_keys(record)}
    answers = {name: answer for name, answer in answers.items() if _has_spans(answer)}
    questions.update(answers)
    if len(questions) > 1:
        raise ValueError(
            f"expected one question with spans, found {', '.join(sorted(questions))}; export one of them"
        )
    for responses, suggestion in answers.values():
        submitted = [value for state, value in responses if state in (None, "submitted")]
        if not submitted and any(state == "discarded" for state, _ in responses):
            omitted.add("records that are discarded")
            return None
        omitted.add("drafts", sum(state == "draft" for state, _ in responses))
        omitted.add("further responses to a record", len(submitted) - 1 if submitted else 0)
        spans = submitted[0] if submitted else suggestion
        return found if spans is None else {**found, "spans": spans}
    return found


def _nested(record: Mapping[str, Any]) -> Answers:
    responses, suggestions = record.get("responses") or {}, record.get("suggestions") or {}
    if not isinstance(responses, Mapping) or not isinstance(suggestions, Mapping):
        raise ValueError("expected responses and suggestions to be objects, with a question as each key")
    answers: Answers = {}
    for name in dict.fromkeys([*suggestions, *responses]):
        given = responses.get(name) or []
        suggestion = suggestions.get(name) or {}
        if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in [*given, suggestion]):
            raise ValueError(f"expected a list of responses and a suggestion, each with value, for {name}")
        states = [(one.get("status"), one.get("value")) for one in given]
        answers[name] = (states, suggestion.get("value"))
    return answers


def _flat(record: Mapping[str, Any]) -> Answers:
    answers: Answers = {}
    for key in record:
        name = key.removesuffix(RESPONSES).removesuffix(SUGGESTION)
        if name == key or name in answers:
            continue
        values = record.get(name + RESPONSES) or []
        states = record.get(name + RESPONSES + ".status") or [None] * len(values)
        if not isinstance(values, list) or not isinstance(states, list) or len(values) != len(states):
            raise ValueError(f"expected a list of responses and as many states for the question {name}")
        answers[name] = (list(zip(states, values, strict=True)), record.get(name + SUGGESTION))
    return answers


def _fields(record: Mapping[str, Any]) -> dict[str, Any]:
    others = ("status", "_server_id", *KEPT)
    return {name: value for name, value in record.items() if name not in others and "." not in name}


def _has_spans(answer: tuple[list[tuple[Any, Any]], Any]) -> bool:
    """Whether the values are lists of spans, as opposed to ratings, texts and labels of the whole text."""
    responses, suggestion = answer
    values = [value for value in (*(value for _, value in responses), suggestion) if value is not None]
    return all(_is_spans(value) for value in values) and (
        bool(values) or any(state == "discarded" for state, _ in responses)
    )


def _is_spans(value: Any) -> bool:
    if isinstance(value, Mapping):  # a list of structures as `datasets` stores it
        return {"start", "end", "label"} <= set(value)
    return isinstance(value, list) and all(isinstance(one, Mapping) and "start" in one for one in value)


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    """Labels as suggestions, because a response belongs to a user of the server."""
    write_items(path, sentences, _shape)


def _shape(record: dict[str, Any]) -> dict[str, Any]:
    text, spans = record.pop("text"), record.pop("spans", None)
    suggestions = {} if spans is None else {QUESTION: {"value": spans, "score": None, "agent": AGENT}}
    return {**record, "fields": {"text": text}, "metadata": {}, "suggestions": suggestions, "responses": {}}


FORMAT = Format("argilla", "Argilla's records with a span question", (".argilla.json",), detect, read, write)
