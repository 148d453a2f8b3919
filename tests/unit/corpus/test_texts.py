"""What `roster.label` takes as texts, of whatever library, and what it refuses."""

from __future__ import annotations

from typing import Any

import datasets
import numpy as np
import pandas
import pytest

from roster.corpus.sentence import Sentence, Span
from roster.corpus.texts import sentences_of
from roster.errors import DataError

TEXTS = ["Ada ran. Bob won.", "", "Carl slept."]
WORDS = [("Ada", "ran", "."), ("Bob", "won", "."), (), ("Carl", "slept", ".")]


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        iter,
        np.array,
        pandas.Series,
        lambda texts: pandas.DataFrame({"id": range(3), "text": texts}),
        lambda texts: pandas.DataFrame({"id": range(3), "body": texts})["body"],
        lambda texts: datasets.Dataset.from_dict({"text": texts, "label": [0, 1, 0]}),
        lambda texts: datasets.Dataset.from_dict({"text": texts})["text"],
    ],
)
def test_texts_of_every_kind(make: Any) -> None:
    found = list(sentences_of(make(TEXTS)))
    assert [s.words for s in found] == WORDS
    assert [s.doc for s in found] == ["0", "0", "1", "2"]
    assert [s.text for s in found] == [TEXTS[0], *TEXTS]
    assert all(s.spans is None for s in found)


def test_sentences_and_tokens() -> None:
    own = Sentence.from_words(["Ada", "ran"], [Span(0, 1, "PER")])
    rows = datasets.Dataset.from_dict({"tokens": [["Bob", "won"]], "ner_tags": [[1, 0]]})
    assert list(sentences_of([own])) == [own]
    (row,) = sentences_of(rows)
    assert (row.words, row.spans) == (("Bob", "won"), None)  # its labels are not ours to take


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("Ada ran.", "not a single string"),
        (None, "not None"),
        ({"text": "Ada ran."}, "not a dict"),
        (["Ada ran.", None], "text 1 is None"),
        (pandas.Series(["Ada ran.", float("nan")]), "text 1 is NaN"),
        (["Ada", b"ran"], "text 1 is a bytes"),
        (pandas.Series(["Ada", pandas.NA], dtype=object), "text 1 is a NAType"),
        (["\ud800"], "text 0 is not valid Unicode"),
        ([{"body": "Ada ran."}], "record 0: expected text"),
        ([{"tokens": "Ada ran."}], "record 0: expected tokens to be a list"),
        (pandas.DataFrame({"id": [1], "body": ["Ada ran."]}), r"this one has id, body.*frame\['body'\]"),
    ],
)
def test_what_is_no_text(items: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(sentences_of(items))
