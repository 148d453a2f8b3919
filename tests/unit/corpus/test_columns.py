"""Parquet and saved Hugging Face datasets."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from roster.corpus import Sentence, Span, detect, load_dataset, read, write
from roster.errors import DataError, RosterError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NAMES = {"_type": "ClassLabel", "names": ["O", "B-PER", "I-PER"]}
ROWS = [{"tokens": ["Ada", "L", "x"], "ner_tags": [1, 2, 0]}, {"tokens": [], "ner_tags": []}]


def table(rows: list[dict[str, Any]], features: dict[str, Any] | None = None) -> Any:
    found = pa.Table.from_pylist(rows)
    if features:
        found = found.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    return found


def save(folder: Path, rows: list[dict[str, Any]], features: dict[str, Any], stream: bool = True) -> None:
    folder.mkdir(parents=True)
    data = table(rows)
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    for i in range(2):
        with make(str(folder / f"data-{i}.arrow"), data.schema) as out:
            out.write_table(data)
    (folder / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": f"data-{i}.arrow"} for i in (0, 1)]})
    )
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))


@pytest.mark.parametrize("kind", ["Sequence", "List"])
def test_names_of_classes_come_from_the_features(tmp_path: Path, kind: str) -> None:
    pq.write_table(table(ROWS, {"ner_tags": {"feature": NAMES, "_type": kind}}), tmp_path / "a.parquet")
    assert [s.spans for s in read(tmp_path / "a.parquet")] == [(Span(0, 2, "PER"),), ()]


def test_numbers_without_names_are_refused(tmp_path: Path) -> None:
    pq.write_table(table(ROWS), tmp_path / "a.parquet")
    with pytest.raises(
        DataError, match=r"a\.parquet: row 1: expected a tag such as O or B-PER for word 1, found 1"
    ):
        list(read(tmp_path / "a.parquet"))
    bad = [ROWS[0], {"tokens": ["a"], "ner_tags": [3]}]
    pq.write_table(table(bad, {"ner_tags": {"feature": NAMES}}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="row 2: expected a label number from 0 to 2, found 3"):
        list(read(tmp_path / "a.parquet"))


def test_text_and_spans(tmp_path: Path) -> None:
    spans = {"start": [0], "end": [3], "label": [1]}
    features = {"spans": {"feature": {"label": {"_type": "ClassLabel", "names": ["ORG", "PER"]}}}}
    rows = [{"text": "Ada's pen. Yes.", "spans": spans}]
    pq.write_table(table(rows, features), tmp_path / "a.parquet")
    first, second = read(tmp_path / "a.parquet")
    assert (first.words[0], first.spans, second.spans) == ("Ada", (Span(0, 1, "PER"),), ())
    rows = [{"text": "Ada's pen.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}]
    pq.write_table(table(rows), tmp_path / "b.parquet")
    assert [s.spans for s in read(tmp_path / "b.parquet")] == [(Span(0, 1, "PER"),)]


@pytest.mark.parametrize("stream", [True, False])
def test_saved_folders_and_splits(tmp_path: Path, stream: bool) -> None:
    features = {"ner_tags": {"feature": NAMES, "_type": "Sequence"}}
    for split in ("train", "validation"):
        save(tmp_path / "d" / split, ROWS, features, stream)
    (tmp_path / "d" / "dataset_dict.json").write_text('{"splits": ["train", "validation"]}')
    assert detect(tmp_path / "d") == detect(tmp_path / "d" / "train") == "arrow"
    assert len(list(read(tmp_path / "d" / "train"))) == 4
    assert len(list(read(tmp_path / "d", split="train"))) == 4
    with pytest.raises(DataError, match="it has the splits train, validation; say which one with --split"):
        list(read(tmp_path / "d"))
    dataset = load_dataset(tmp_path / "d")
    assert (len(dataset.train), len(dataset.valid), dataset.test, dataset.types) == (2, 2, [], ("PER",))
    assert len(load_dataset(tmp_path / "d" / "train").train) == 2


def test_what_is_written_looks_like_save_to_disk(tmp_path: Path) -> None:
    write(tmp_path / "d", [Sentence.from_words(["Ada"], [Span(0, 1, "PER")])], "arrow")
    state = json.loads((tmp_path / "d" / "state.json").read_text())
    assert [item["filename"] for item in state["_data_files"]] == ["data-00000-of-00001.arrow"]
    with pa.memory_map(str(tmp_path / "d" / "data-00000-of-00001.arrow")) as file:
        rows = pa.ipc.open_stream(file).read_all().to_pylist()
    assert rows == [{"id": "", "text": "Ada", "tokens": ["Ada"], "ner_tags": ["B-PER"]}]
    assert list(json.loads((tmp_path / "d" / "dataset_info.json").read_text())["features"]) == list(rows[0])


def test_a_folder_that_is_no_dataset_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("years of work")
    with pytest.raises(DataError, match="no saved dataset; choose another folder"):
        write(tmp_path, [Sentence.from_words(["a"], [])], "arrow")
    assert (tmp_path / "thesis.doc").read_text() == "years of work"


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_broken_files(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, [Sentence.from_words(["Ada"] * 1000, [])] * 10)
    whole = (tmp_path / name).read_bytes()
    for broken in (b"", b"nonsense", whole[: len(whole) // 2]):
        (tmp_path / name).write_bytes(broken)
        with pytest.raises(DataError, match=f"{name}: cannot be read"):
            list(read(tmp_path / name))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_without_pyarrow(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RosterError, match=r'pip install "roster-ner\[arrow\]"'):
        list(read(tmp_path / name))
    with pytest.raises(RosterError, match=r'pip install "roster-ner\[arrow\]"'):
        write(tmp_path / name, [])
