"""Label Studio's JSON: a list of tasks with `data`, `annotations` and `predictions`.

The labels of a task are the `result` of one annotation: the first one marked as ground truth, else the first
one that is not cancelled, else the first prediction. A task with cancelled annotations only was skipped by
its annotators and is left out; one with neither annotations nor predictions has no labels. Results of other
types than `labels` are not read. Of overlapping spans the longest is kept.

Label Studio counts characters as Python does; where the text that is stored with a span shows that it was
counted in UTF-16, as older versions did, the offsets are converted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from roster.corpus.formats.base import Format, Options
from roster.corpus.formats.tools import (
    KEPT,
    Omitted,
    first_item,
    items_of,
    kept_keys,
    read_records,
    text_field,
    write_items,
)
from roster.corpus.sentence import Sentence

SOURCE, TARGET = "label", "text"
"""Names of the tags `Labels` and `Text` in the labelling interface that written tasks are for."""
VERSION = "roster"


def detect(path: Path) -> bool:
    task = first_item(path)
    return isinstance(task, Mapping) and isinstance(task.get("data"), Mapping)


def read(path: Path, options: Options) -> Iterator[Sentence]:
    return read_records(items_of(path), _base, path, options)


def _base(task: Mapping[str, Any], omitted: Omitted) -> dict[str, Any] | None:
    data = task.get("data")
    if not isinstance(data, Mapping):
        raise ValueError("expected a task with data")
    fields = {name: value for name, value in data.items() if name not in KEPT}
    _, text = text_field(fields, "data")
    found = {"id": task.get("id"), "text": text, **kept_keys(data)}
    annotations, predictions = _listed(task, "annotations"), _listed(task, "predictions")
    valid = [one for one in annotations if not one.get("was_cancelled")]
    if annotations and not valid:
        omitted.add("tasks with cancelled annotations only")
        return None
    omitted.add("further annotations of a task", len(valid) - 1 if valid else 0)
    chosen = next((one for one in valid if one.get("ground_truth")), next(iter(valid or predictions), None))
    return found if chosen is None else {**found, "spans": list(_spans(chosen, text, omitted))}


def _listed(task: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    items = task.get(key) or []
    if not isinstance(items, list) or not all(isinstance(one, Mapping) for one in items):
        raise ValueError(
            f"expected {key} to be a list of objects with result; export as JSON, with all annotations"
        )
    return items


def _spans(annotation: Mapping[str, Any], text: str, omitted: Omitted) -> Iterator[list[Any]]:
    results = annotation.get("result")
    if not isinstance(results, list):
        raise ValueError("expected an annotation with result, a list")
    for number, result in enumerate(results):
        value = result.get("value") if isinstance(result, Mapping) else None
        if not isinstance(value, Mapping) or result.get("type") != "labels":
            omitted.add("results of other types than labels")
            continue
        labels = value.get("labels") or []
        if not labels:
            omitted.add("spans without a label")
        for label in labels:
            try:
                yield [*_place(value, text), label]
            except ValueError as error:
                raise ValueError(f"result[{number}]: {error}") from None


def _place(value: Mapping[str, Any], text: str) -> tuple[int, int]:
    start, end, stored = value.get("start"), value.get("end"), value.get("text")
    if type(start) is not int or type(end) is not int:
        raise ValueError(f"expected whole numbers for start and end, found {start!r} and {end!r}")
    if not isinstance(stored, str) or text.isascii() or text[start:end] == stored:
        return start, end
    units = text.encode("utf-16-le")
    before, inside = units[: 2 * start], units[2 * start : 2 * end]
    if inside == stored.encode("utf-16-le"):
        first = len(before.decode("utf-16-le"))
        return first, first + len(stored)
    return start, end


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    """Labels as predictions, which an annotator confirms; true ones (`--labels true`) as annotations."""
    write_items(path, sentences, partial(_shape, true=options.labels == "true"))


def _shape(record: dict[str, Any], true: bool) -> dict[str, Any]:
    spans = record.pop("spans", None)
    task: dict[str, Any] = {"data": record}
    if spans is None:
        return task
    result = [
        {
            "id": f"span{number}",
            "from_name": SOURCE,
            "to_name": TARGET,
            "type": "labels",
            "value": {
                "start": span["start"],
                "end": span["end"],
                "text": record["text"][span["start"] : span["end"]],
                "labels": [span["label"]],
            },
        }
        for number, span in enumerate(spans, 1)
    ]
    if true:
        return {**task, "annotations": [{"result": result, "was_cancelled": False, "ground_truth": True}]}
    return {**task, "predictions": [{"model_version": VERSION, "result": result}]}


FORMAT = Format(
    "labelstudio",
    "Label Studio's JSON list of tasks",
    (".labelstudio.json",),
    detect,
    read,
    write,
)
