"""BOND's JSON lists, streamed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roster.corpus import Sentence, Span, detect, read, write
from roster.corpus.formats import jsonarray
from roster.errors import DataError


def put(folder: Path, text: str) -> Path:
    (folder / "tag_to_id.json").write_text('{"O": 0, "B-PER": 1, "I-PER": 2}')
    (folder / "train.json").write_text(text, encoding="utf-8")
    return folder / "train.json"


def test_tags_as_numbers_or_names(tmp_path: Path) -> None:
    file = put(
        tmp_path, '[{"str_words": ["A", "B"], "tags": [1, 2]},\n {"str_words": ["A"], "tags": ["B-PER"]}]'
    )
    assert detect(file) == "bond"
    assert [s.spans for s in read(file)] == [(Span(0, 2, "PER"),), (Span(0, 1, "PER"),)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[\n{"str_words": ["A", "B"], "tags": [1]}]',
            r"train\.json, line 2: record 1: expected 2 tags.* found 1",
        ),
        ('[{"str_words": ["A"], "tags": [9]}]', "line 1: record 1: the tag 9 is not in tag_to_id.json"),
        ('[{"str_words": ["A"], "tags": [0]},\n{"words": 1}]', "line 2: record 2: expected str_words"),
        ('[{"str_words": ["A"], "tags": [0]}\n{"str_words": []}]', r"line 2: expected a comma or \], found"),
        ('[{"str_words": ["A"], "tags": [0]},\n', "line 2: expected a JSON list, found the end"),
        ('[{"str_words": ["A"],\n "tags": [0}]', "line 2: broken JSON"),
        ('[{"str_words": ["A"], "tags": [0]}]\nx', "line 2: expected nothing more, found 'x'"),
        ('{"str_words": []}', "line 1: expected a JSON list"),
        ('[{"str_words": ["A\\ud800"], "tags": [0]}]', "record 1: half of a surrogate pair"),
        ('[{"str_words": ["A"], "tags": "O"}]', "record 1: expected tags, a list"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_broken_records_are_located(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read(put(tmp_path, text), "bond"))


def test_numbers_need_names(tmp_path: Path) -> None:
    file = put(tmp_path, '[{"str_words": ["A"], "tags": [0]}]')
    (tmp_path / "tag_to_id.json").unlink()
    with pytest.raises(DataError, match=r"expected their names in .*tag_to_id\.json"):
        list(read(file))


@pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
def test_records_may_be_cut_anywhere(tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonarray, "CHUNK", chunk)
    file = put(
        tmp_path, '\ufeff [ {"str_words": ["é日👩"], "tags": [1]} , {"str_words": ["]"], "tags": [0]}\n]\n '
    )
    assert [s.words for s in read(file, "bond")] == [("é日👩",), ("]",)]
    assert list(read(put(tmp_path, " [ ] "), "bond")) == []


def test_numbers_stay_those_of_the_folder(tmp_path: Path) -> None:
    put(tmp_path, "[]")
    write(tmp_path / "dev.json", [Sentence.from_words(["a", "b"], [Span(0, 1, "LOC"), Span(1, 2, "PER")])])
    assert json.loads((tmp_path / "tag_to_id.json").read_text()) == {
        "O": 0,
        "B-PER": 1,
        "I-PER": 2,
        "B-LOC": 3,
    }
    assert json.loads((tmp_path / "dev.json").read_text()) == [{"str_words": ["a", "b"], "tags": [3, 1]}]
