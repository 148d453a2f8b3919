"""JSON lines in the shapes that people have."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roster.corpus import Sentence, Span, detect, read, write
from roster.corpus.tokenizer import split
from roster.errors import DataError

TEXT = "Ada Lovelace's pen. It broke."


def put(path: Path, *records: Any) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


@pytest.mark.parametrize(
    "extra",
    [
        {"spans": [{"start": 0, "end": 12, "label": "PER"}]},
        {"spans": [{"start": 0, "end": 13 - 1, "label": "PER", "token_start": 0, "source": "x"}], "meta": {}},
        {"label": [[0, 12, "PER"]]},
        {"labels": [[0, 12, "PER"]]},
        {"entities": [[0, 12, "PER"]]},
        {"entities": [{"id": 4, "start_offset": 0, "end_offset": 12, "label": "PER"}], "relations": []},
    ],
)
def test_spans_of_all_tools(tmp_path: Path, extra: dict[str, Any]) -> None:
    first, second = read(put(tmp_path / "a.jsonl", {"id": 7, "text": TEXT, **extra}))
    assert first.spans is not None
    assert [first.span_text(s) for s in first.spans] == ["Ada Lovelace"]
    assert second.words == ("It", "broke", ".")
    assert (second.spans, second.doc, second.text) == ((), "7", TEXT)


@pytest.mark.parametrize("key", ["tags", "ner_tags"])
def test_tokens(tmp_path: Path, key: str) -> None:
    file = put(tmp_path / "a.json", {"tokens": ["Ada", "x."], key: ["B-PER", "O"]})
    assert detect(file) == "jsonl"
    (sentence,) = read(file)
    assert sentence == Sentence.from_words(["Ada", "x."], [Span(0, 1, "PER")])


def test_tokens_of_prodigy(tmp_path: Path) -> None:
    tokens = [{"start": 0, "end": 2}, {"start": 2, "end": 3}, {"start": 3, "end": 5}]
    spans = [{"start": 3, "end": 5, "label": "X"}]
    (sentence,) = read(put(tmp_path / "a.jsonl", {"text": "ab cd", "tokens": tokens, "spans": spans}))
    assert (sentence.words, sentence.spans) == (("ab", "cd"), (Span(1, 2, "X"),))


def test_no_labels_and_no_words(tmp_path: Path) -> None:
    found = list(
        read(put(tmp_path / "a.jsonl", {"text": "Ada"}, "", {"text": ""}, {"text": " ", "spans": []}))
    )
    assert [(s.words, s.text, s.spans) for s in found] == [
        (("Ada",), "Ada", None),
        ((), "", None),
        ((), " ", ()),
    ]
    write(tmp_path / "b.jsonl", found)
    assert list(read(tmp_path / "b.jsonl")) == found


def test_white_space_at_the_edges_of_a_span_is_no_name(tmp_path: Path) -> None:
    (sentence,) = read(put(tmp_path / "a.jsonl", {"text": "a bc d", "spans": [[1, 5, "X"]]}))
    assert sentence.spans == (Span(1, 2, "X"),)


def test_a_document_is_one_record_with_its_text(tmp_path: Path) -> None:
    text = "  One.\n\n Two…  "
    sentences = [*split(text, "d", []), *split(text, "d", []), *split("Two.", "e", [(0, 3, "N")])]
    write(tmp_path / "a.jsonl", sentences)
    records = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().split("\n")[:-1]]
    assert records[:2] == [{"id": "d", "text": text, "spans": []}] * 2
    assert records[2] == {"id": "e", "text": "Two.", "spans": [{"start": 0, "end": 3, "label": "N"}]}


def test_other_words_than_ours_are_kept(tmp_path: Path) -> None:
    corpus = [Sentence.from_words(["don", "'", "t", "."], []), Sentence.from_words(["A", "b.", "C"], [])]
    write(tmp_path / "a.jsonl", corpus)
    assert list(read(tmp_path / "a.jsonl")) == corpus


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{", "expected one JSON object on the line: .* at character 2"),
        ("[1]", "expected an object with text or tokens, found a list"),
        ("[" * 100_000, "nested too deep"),
        ({"txt": 1}, r"expected text \(and spans\), or tokens \(and tags\), found txt"),
        ({"text": 3}, "expected text to be a string, found 3"),
        ({"text": "a\ud800"}, r"half of a surrogate pair \(U\+D800\) at character 1"),
        ({"text": "abc", "spans": [[0, 9, "X"]]}, "span 0 to 9 is empty or outside a text of 3 characters"),
        ({"text": "abc", "spans": [[2, 1, "X"]]}, "span 2 to 1 is empty"),
        ({"text": "a  b", "spans": [[1, 3, "X"]]}, "span 1 to 3 holds only white space"),
        ({"text": "abc", "spans": [[0, 1]]}, r"spans\[0\]: expected start, end and label"),
        ({"text": "abc", "spans": [[0, "1", "X"]]}, r"spans\[0\]: expected whole numbers"),
        ({"text": "abc", "spans": [[0, True, "X"]]}, r"spans\[0\]: expected whole numbers"),
        ({"text": "abc", "label": [[0, 1, ""]]}, r"label\[0\]: expected a label, found ''"),
        ({"text": "abc", "spans": "x"}, "expected spans to be a list, found a string"),
        ({"text": "abc", "words": [[[0, 9]]]}, "the word 0 to 9 lies outside"),
        ({"text": "abc", "words": 4}, "expected words to hold a list"),
        (
            {"text": "a b", "words": [[[0, 1]], [[2, 3]]], "spans": [[0, 3, "X"]]},
            "goes over the end of a sentence",
        ),
        ({"text": "abc", "words": [[[0, 3]]], "spans": [[0, 1, "X"]]}, "does not begin and end with a word"),
        ({"tokens": "abc"}, "expected tokens to be a list of strings"),
        ({"tokens": ["a", "b"], "tags": ["O"]}, "expected 2 tags, one per word, found 1"),
        ({"tokens": ["a"], "tags": [1]}, "expected a tag such as O or B-PER for word 1, found 1"),
        ({"tokens": ["a"], "tags": "O"}, "expected tags to be a list, found a string"),
        ({"text": "xyz", "tokens": ["a"], "spans": [[0, 1, "X"]]}, "expected a text that holds the tokens"),
    ],
)
def test_broken_records_are_located(tmp_path: Path, record: Any, message: str) -> None:
    with pytest.raises(DataError, match=rf"a\.jsonl, line 2: .*{message}"):
        list(read(put(tmp_path / "a.jsonl", {"text": "fine"}, record)))


def test_a_document_has_labels_everywhere_or_nowhere(tmp_path: Path) -> None:
    one, two = split("One. Two.", "d", [])
    with pytest.raises(DataError, match="document 'd' have labels and others have none"):
        write(tmp_path / "a.jsonl", [one, two.with_spans(None)])


def test_phrases_of_unknown_type(tmp_path: Path) -> None:
    """They are no spans, and come back where they were; no word and no sentence is cut inside one."""
    text = "Ada saw St. Ives-bound ships. It broke."
    record = {
        "text": text,
        "spans": [{"start": 0, "end": 3, "label": "PER"}],
        "unknown": [{"start": 17, "end": 35}, {"start": 8, "end": 16}],
    }
    (one,) = read(put(tmp_path / "a.jsonl", record))
    assert [one.span_text(x) for x in one.spans or ()] == ["Ada"]
    assert [one.span_text(x) for x in one.unknown] == ["St. Ives", "bound ships. It br"]
    write(tmp_path / "b.jsonl", [one])
    again = json.loads((tmp_path / "b.jsonl").read_text())
    assert again["unknown"] == [{"start": 8, "end": 16}, {"start": 17, "end": 35}]
    assert list(read(tmp_path / "b.jsonl")) == [one]
    write(tmp_path / "c.conll", [one])
    assert [s.unknown for s in read(tmp_path / "c.conll")] == [()]
    # Labels without phrases have no such field; other labels leave no phrases behind.
    write(tmp_path / "d.jsonl", [one.with_spans([])])
    assert "unknown" not in json.loads((tmp_path / "d.jsonl").read_text())


@pytest.mark.parametrize(
    ("unknown", "message"),
    [
        ([{"start": 0}], r"unknown\[0\]: expected whole numbers for start and end, found 0 and None"),
        ([[0, 3]], r"unknown\[0\]: expected start and end, found a list"),
        ([{"start": 0, "end": 99}], "outside a text"),
    ],
)
def test_broken_phrases(tmp_path: Path, unknown: Any, message: str) -> None:
    file = put(tmp_path / "a.jsonl", {"text": TEXT, "spans": [], "unknown": unknown})
    with pytest.raises(DataError, match=message):
        list(read(file))


def test_a_field_of_that_name_that_is_no_list(tmp_path: Path) -> None:
    first, _ = read(put(tmp_path / "a.jsonl", {"text": TEXT, "spans": [], "unknown": True}))
    assert first.unknown == ()


def test_sampling_weights(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    one = Sentence.from_words(["Ada", "ran"], [Span(0, 1, "PER")], doc="1")
    write(file, [replace(one, weight=2.5), one])
    assert [s.weight for s in read(file)] == [2.5, 1.0]
    assert "sampling_weight" not in file.read_text().splitlines()[1]


@pytest.mark.parametrize("weight", ["0", "-1", '"2"', "true", "NaN", "Infinity", "[1]"])
def test_a_wrong_sampling_weight(tmp_path: Path, weight: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"text": "Ada", "sampling_weight": {weight}}}\n')
    with pytest.raises(DataError, match=r"line 1: expected sampling_weight to be a number above 0"):
        list(read(tmp_path / "a.jsonl"))


def scored(path: Path, *spans: Any, **record: Any) -> list[tuple[float | None, ...]]:
    file = put(path / "scores.jsonl", {"text": TEXT, "spans": list(spans), **record})
    return [sentence.scores for sentence in read(file, scores=True)]


def test_scores_of_spans(tmp_path: Path) -> None:
    """In the order of the spans, None where there is none; of equal spans the highest counts."""
    ada = {"start": 0, "end": 12, "label": "PER"}
    pen, broke = {"start": 15, "end": 19, "label": "X"}, {"start": 22, "end": 27, "label": "X"}
    assert scored(tmp_path, {**pen, "score": 1}, ada, {**broke, "score": 0.25}) == [(None, 1.0), (0.25,)]
    assert scored(tmp_path, {**ada, "score": 0.5}, {**ada, "end": 13 - 1, "score": 0.7}) == [(0.7, 0.7), ()]
    assert scored(tmp_path, {**pen, "score": 0.5}, sampling_weight=2.0)[0] == (0.5,)
    assert scored(tmp_path, [0, 12, "PER"])[0] == (None,)
    file = put(tmp_path / "a.jsonl", {"text": TEXT, "spans": [{**ada, "score": "high"}]})
    first = next(read(file))
    assert (first.scores, first.with_spans(()).scores) == ((), ())


@pytest.mark.parametrize("score", ["NaN", "Infinity", '"high"', "true"])
def test_scores_that_are_no_numbers(tmp_path: Path, score: str) -> None:
    line = f'{{"text": "Ada", "entities": [{{"start": 0, "end": 3, "label": "PER", "score": {score}}}]}}'
    with pytest.raises(DataError, match=r"a\.jsonl, line 2: entities\[0\]: expected score to be a finite"):
        list(read(put(tmp_path / "a.jsonl", {"text": "Ada"}, line), scores=True))
