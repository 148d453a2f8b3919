"""Entities as tables: a pandas data frame, and columns for `Dataset.map` and polars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from roster.corpus.texts import TEXT_COLUMN
from roster.errors import DataError, RosterError

if TYPE_CHECKING:
    from roster.infer.recogniser import Entity, Recogniser

COLUMNS = {"text": "str", "label": "str", "start": "int64", "end": "int64", "score": "float64"}
"""Columns of a frame after `doc`, and their types."""
ENTITIES = "entities"
"""The column that `batch` adds."""


def frame(ner: Recogniser, texts: Any) -> Any:
    """One row for each entity. See `Recogniser.frame`."""
    try:
        import pandas as pd
    except ImportError as error:
        raise RosterError("data frames need pandas: pip install pandas") from error
    found, numbers, count = list[Any](), list[int](), 0
    for number, entities in enumerate(ner.pipe(texts)):
        found += entities
        numbers += [number] * len(entities)
        count += 1
    index = texts.index if isinstance(texts, pd.Series | pd.DataFrame) else pd.RangeIndex(count)
    columns = {
        name: pd.Series([getattr(one, name) for one in found], dtype=kind) for name, kind in COLUMNS.items()
    }
    return pd.DataFrame({"doc": index.take(numbers), **columns})


def batch(ner: Recogniser, columns: Mapping[str, Any], column: str = TEXT_COLUMN) -> dict[str, Any]:
    """The column `entities` for some rows, or for one. See `Recogniser.batch`."""
    if column not in columns:
        names = ", ".join(map(str, columns)) or "nothing"
        raise DataError(f"expected a column {column!r}, found {names}; name it: "
                        "data.map(lambda rows: ner.batch(rows, 'body'), batched=True)")  # fmt: skip
    texts = columns[column]
    if isinstance(texts, str):
        return {ENTITIES: _records(ner(texts))}
    return {ENTITIES: [_records(entities) for entities in ner.pipe(texts)]}


def features(data: Any) -> Any:
    """The features of a data set with the column `entities`. See `Recogniser.features`."""
    try:
        from datasets import Features, Value
    except ImportError as error:
        raise RosterError("this needs the library datasets: pip install datasets") from error
    kinds = {"str": "string"}
    entity = {name: Value(kinds.get(kind, kind)) for name, kind in COLUMNS.items()}
    return Features({**data.features, ENTITIES: [entity]})


def _records(entities: Iterable[Entity]) -> list[dict[str, Any]]:
    return [entity.as_dict() for entity in entities]
