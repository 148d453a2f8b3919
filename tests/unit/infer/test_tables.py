"""Data frames and data sets in, tables of entities out; with the real pandas, datasets and polars."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pytest

from roster.errors import DataError, RosterError
from roster.infer.recogniser import Entities, Recogniser, load

TEXTS = ["Anna went to Paris .", "the house .", "Carl and Dora saw Oslo ."]
FOUND = [(0, "Anna", "PER", 0, 4), (0, "Paris", "LOC", 13, 18), (2, "Carl", "PER", 0, 4),
         (2, "Dora", "PER", 9, 13), (2, "Oslo", "LOC", 18, 22)]  # fmt: skip
COLUMNS = ["doc", "text", "label", "start", "end", "score"]


@pytest.fixture(scope="module")
def ner(trained: Path) -> Recogniser:
    return load(trained, "cpu")


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return list(frame[COLUMNS[:-1]].itertuples(index=False, name=None))


@pytest.mark.parametrize("make", [list, tuple, iter, lambda texts: pd.Series(texts).to_numpy()])
def test_a_frame_of_texts(ner: Recogniser, make: Any) -> None:
    frame = ner.frame(make(TEXTS))
    assert list(frame.columns) == COLUMNS
    assert rows(frame) == FOUND
    assert frame["score"].between(0.5, 1).all()
    assert list(map(str, frame.dtypes))[3:] == ["int64", "int64", "float64"]


def test_the_index_of_a_series_is_kept(ner: Recogniser) -> None:
    series = pd.Series(TEXTS, index=["x", "y", "z"])
    names = dict(enumerate(series.index))
    expected = [(names[row[0]], *row[1:]) for row in FOUND]
    assert rows(ner.frame(series)) == expected
    whole = pd.DataFrame({"text": TEXTS, "year": [1, 2, 3]}, index=series.index)
    found = ner.frame(whole)
    assert rows(found) == expected
    joined = found.merge(whole["year"], left_on="doc", right_index=True)
    assert list(joined["year"]) == [1, 1, 3, 3, 3]
    assert list(ner.frame(series[["z"]])["doc"]) == ["z"] * 3


def test_a_frame_without_entities_has_the_same_types(ner: Recogniser) -> None:
    empty, full = ner.frame(["the house ."]), ner.frame(TEXTS)
    assert (len(empty), list(empty.columns)) == (0, COLUMNS)
    assert list(empty.dtypes) == list(full.dtypes)
    assert list(ner.frame([]).columns) == COLUMNS
    with pytest.raises(DataError, match="text 1 is NaN"):
        ner.frame(pd.Series(["Anna", float("nan")]))


def test_frames_need_pandas(ner: Recogniser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(RosterError, match="pip install pandas"):
        ner.frame(TEXTS)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(RosterError, match="pip install datasets"):
        ner.features(None)


def found_in(column: Any) -> list[tuple[Any, ...]]:
    return [
        (number, *(entity[key] for key in ("text", "label", "start", "end")))
        for number, entities in enumerate(column)
        for entity in entities
    ]


@pytest.mark.parametrize("options", [{"batched": True}, {"batched": True, "batch_size": 1}, {}])
def test_mapping_a_data_set(ner: Recogniser, options: dict[str, Any]) -> None:
    data = datasets.Dataset.from_dict({"text": TEXTS, "id": [5, 6, 7]})
    mapped = data.map(ner, features=ner.features(data), load_from_cache_file=False, **options)
    assert mapped.column_names == ["text", "id", "entities"]
    assert found_in(mapped["entities"]) == FOUND
    streamed = data.to_iterable_dataset().map(ner, **options)
    assert found_in(row["entities"] for row in streamed) == FOUND


def test_first_rows_without_entities(ner: Recogniser) -> None:
    """Without features the type of an empty list is not known when it is written."""
    data = datasets.Dataset.from_dict({"text": ["the house ."] * 3 + TEXTS})
    options = {"batched": True, "batch_size": 2, "writer_batch_size": 2, "load_from_cache_file": False}
    mapped = data.map(ner, features=ner.features(data), **options)
    assert found_in(mapped["entities"][3:]) == FOUND


def test_another_column(ner: Recogniser) -> None:
    data = datasets.Dataset.from_dict({"body": TEXTS})
    mapped = data.map(lambda some: ner.batch(some, "body"), batched=True)
    assert found_in(mapped["entities"]) == FOUND
    assert found_in([ner.batch({"body": TEXTS[0]}, "body")["entities"]]) == FOUND[:2]
    with pytest.raises(DataError, match=r"expected a column 'text', found body; name it: .*'body'"):
        ner({"body": TEXTS})
    with pytest.raises(DataError, match="text 1 is None"):
        ner({"text": ["Anna", None]})


def test_polars(ner: Recogniser) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"text": TEXTS, "year": [1, 2, 3]})
    assert rows(ner.frame(frame["text"])) == FOUND
    assert rows(ner.frame(frame)) == FOUND
    entity = {"text": pl.String, "label": pl.String, "start": pl.Int64, "end": pl.Int64, "score": pl.Float64}
    kind = pl.List(pl.Struct(entity))
    found = pl.col("text").map_batches(
        lambda texts: pl.Series(ner.batch({"text": texts})["entities"], dtype=kind), return_dtype=kind
    )
    mapped = frame.lazy().with_columns(entities=found).collect()
    assert found_in(mapped["entities"].to_list()) == FOUND
    names = mapped.explode("entities").drop_nulls().unnest("entities", separator="_")["entities_text"]
    assert names.to_list() == [row[1] for row in FOUND]


def test_results_are_lists_that_notebooks_show(ner: Recogniser) -> None:
    text = "Anna saw <script>alert(1)</script> Paris"
    found = ner(text)
    assert isinstance(found, list)
    assert isinstance(pickle.loads(pickle.dumps(found)), Entities)
    assert pickle.loads(pickle.dumps(found)) == found
    html = found._repr_html_()
    assert "<script" not in html
    assert "script" in html
    assert html.count("<mark") == len(found) > 0
    (first, _) = ner.pipe(["Anna ran . Carl went .", "Oslo"])
    assert first.text == "Anna ran . Carl went ."
