"""The files of annotation tools, as the tools export them and as we write them."""

from __future__ import annotations

import json
import logging
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.corpus import FORMATS, Sentence, Span, detect, load_dataset, read, write
from roster.corpus.formats.tools import without_overlaps
from roster.corpus.tokenizer import split
from roster.errors import DataError

TEXT = "Ada Lovelace wrote to Babbage.\nIt rained in Turin."
ADA, BABBAGE, TURIN = (0, 12), (22, 29), (44, 49)
SPANS = [(*ADA, "PER"), (*BABBAGE, "PER"), (*TURIN, "LOC")]
FOUND = [("Ada Lovelace", "PER"), ("Babbage", "PER"), ("Turin", "LOC")]


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    return path


def array(path: Path, *records: Any) -> Path:
    path.write_text(json.dumps(records, ensure_ascii=False, indent=2))
    return path


def brat(folder: Path, name: str, text: str, annotations: str | None) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_bytes(text.encode())
    if annotations is not None:
        (folder / f"{name}.ann").write_text(annotations)
    return folder


def names(sentences: Any) -> list[tuple[str, str]]:
    return [(s.span_text(x), x.label) for s in sentences for x in s.spans or ()]


def task(result: Any, **more: Any) -> dict[str, Any]:
    """A task as Label Studio exports it."""
    annotation = {"id": 5, "completed_by": 1, "was_cancelled": False, "ground_truth": False, "lead_time": 9.1}
    return {
        "id": 3,
        "annotations": [{**annotation, "result": result, **more}],
        "drafts": [],
        "predictions": [],
        "data": {"text": TEXT},
        "meta": {},
        "project": 1,
    }


def region(start: int, end: int, *labels: str, text: str = TEXT) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": text[start:end], "labels": list(labels)}
    return {"value": value, "id": "Dx_aB1", "from_name": "label", "to_name": "text", "type": "labels",
            "origin": "manual"}  # fmt: skip


REGIONS = [region(*span) for span in SPANS]
VALUES = [{"start": a, "end": b, "label": label} for a, b, label in SPANS]
SERVER = {"_server_id": "0b1c", "vectors": {}, "metadata": {"year": 1843}, "status": "completed"}


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> Any:
    """The warnings of a reading."""
    caplog.set_level(logging.WARNING, "roster")
    logging.getLogger("roster").addHandler(caplog.handler)
    yield lambda: " | ".join(record.getMessage() for record in caplog.records)
    logging.getLogger("roster").removeHandler(caplog.handler)


# Recognition, and the same three names from the file of every tool.


def test_doccano(tmp_path: Path) -> None:
    labels = [list(span) for span in SPANS]
    offsets = [{"id": i, "label": x, "start_offset": a, "end_offset": b} for i, (a, b, x) in enumerate(SPANS)]
    for record in (
        {"id": 7, "text": TEXT, "label": labels, "Comments": []},
        {"id": 7, "text": TEXT, "labels": labels, "meta": {"source": "letters"}},
        {"id": 7, "text": TEXT, "entities": offsets, "relations": [], "Comments": []},
    ):
        file = lines(tmp_path / "all.jsonl", record, {"id": 8, "text": "Nobody.", "label": []})
        assert detect(file) == "doccano"
        first, second, third = read(file)
        assert names([first, second, third]) == FOUND
        assert (first.doc, first.text, first.char_span((first.spans or ())[0])) == ("7", TEXT, ADA)
        assert third.spans == ()


def test_prodigy(tmp_path: Path, warned: Any) -> None:
    words = [(0, 3), (4, 12), (13, 18), (19, 21), (22, 29), (29, 30), (30, 31), (31, 33), (34, 40), (41, 43),
             (44, 49), (49, 50)]  # fmt: skip
    record = {
        "text": TEXT,
        "_input_hash": -4,
        "_task_hash": 12,
        "tokens": [{"text": TEXT[a:b], "start": a, "end": b, "id": i, "ws": TEXT[b : b + 1] == " "}
                   for i, (a, b) in enumerate(words)],
        "spans": [{"start": a, "end": b, "label": x, "token_start": 0, "token_end": 1} for a, b, x in SPANS],
        "_view_id": "ner_manual",
        "answer": "accept",
    }  # fmt: skip
    rejected, ignored = {**record, "answer": "reject"}, {"text": "?", "answer": "ignore"}
    empty = {"text": "Nobody.", "answer": "accept"}
    file = lines(tmp_path / "ner.jsonl", record, rejected, ignored, rejected, empty)
    assert detect(file) == "prodigy"
    found = list(read(file))
    assert names(found) == FOUND
    assert [s.words for s in found][1:] == [("It", "rained", "in", "Turin", "."), ("Nobody", ".")]
    assert found[2].spans == ()
    assert "2 records with the answer reject (first: line 2); 1 records with the answer ignore" in warned()


def test_labelstudio(tmp_path: Path) -> None:
    file = array(tmp_path / "project-1.json", task(REGIONS))
    assert detect(file) == "labelstudio"
    found = list(read(file))
    assert names(found) == FOUND
    assert [s.doc for s in found] == ["3", "3"]


def test_argilla(tmp_path: Path) -> None:
    empty: dict[str, Any] = {"suggestions": {}, "responses": {}}
    response = {"value": VALUES, "user_id": "u1"}
    nested = {"id": "a", "fields": {"letter": TEXT}, **SERVER}
    suggestion = {"value": VALUES[:1], "score": [0.9], "agent": "m"}
    flat = {
        "id": "a",
        "status": "completed",
        "_server_id": "0b1c",
        "text": TEXT,
        "ner.responses": [VALUES[:1], VALUES],
        "ner.responses.users": ["u1", "u2"],
        "ner.responses.status": ["draft", "submitted"],
        "ner.suggestion": None,
        "ner.suggestion.score": None,
        "ner.suggestion.agent": None,
    }
    columns = {"start": [0, 22, 44], "end": [12, 29, 49], "label": ["PER", "PER", "LOC"]}
    for put, record in (
        (array, {**nested, **empty, "responses": {"ner": [response], "rating": [{"value": 3}]}}),
        (array, {**nested, "suggestions": {"ner": suggestion}, "responses": {"ner": [response]}}),
        (array, {**nested, **empty, "suggestions": {"ner": {"value": VALUES}}}),
        (array, flat),
        (lines, flat),
        (lines, {"text": TEXT, "ner.suggestion": columns}),
    ):
        file = put(tmp_path / "records.json", record)
        assert detect(file) == "argilla"
        assert names(read(file)) == FOUND
    file = array(tmp_path / "records.json", {**nested, **empty})
    assert [s.spans for s in read(file)] == [None, None]


def test_brat(tmp_path: Path, warned: Any) -> None:
    annotations = (
        "T1\tPER 0 12\tAda Lovelace\n"
        "T2\tPER 22 29\tBabbage\n"
        "T3\tLOC 44 49\tTurin\n"
        "T4\tWrite 13 18\twrote\n"
        "T5\tORG 0 3;22 29\tAda Babbage\n"
        "E1\tWrite:T4 Author:T1\n"
        "R1\tKnows Arg1:T1 Arg2:T2\n"
        "*\tEquiv T1 T2\n"
        "A1\tNegation E1\n"
        "N1\tReference T1 Wikipedia:1 Ada\n"
        "#1\tAnnotatorNotes T1\ta note\n\n"
    )
    folder = brat(tmp_path / "corpus", "10", TEXT, annotations)
    brat(folder, "9", "Nobody.\r\nOslo.", "T1 \tLOC 9 13\tOslo\n".replace(" \t", "\t"))
    brat(folder, "sub/1", "Not annotated.", None)
    (folder / "annotation.conf").write_text("[entities]\nPER\n")
    assert detect(folder) == "brat"
    found = list(read(folder))
    assert names(found) == [("Oslo", "LOC"), *FOUND]
    assert [s.doc for s in found] == ["9", "9", "10", "10", "sub/1"]
    assert found[-1].spans is None
    assert "1 discontinuous spans (first: 10.ann, line 5)" in warned()
    assert "2 relations" in warned()
    assert detect(folder / "10.ann") == "brat"
    assert names(read(folder / "10.ann")) == FOUND


def test_what_stays_jsonl(tmp_path: Path) -> None:
    for record in (
        {"text": TEXT},
        {"text": TEXT, "spans": VALUES},
        {"text": TEXT, "spans": VALUES, "label": []},
        {"text": TEXT, "entities": [list(span) for span in SPANS]},
        {"text": TEXT, "label": "positive"},
        {"text": TEXT, "answer": "Ada"},
        {"tokens": ["Ada"], "tags": ["B-PER"]},
    ):
        assert detect(lines(tmp_path / "a.jsonl", record)) == "jsonl"


def test_a_long_first_record_is_recognised(tmp_path: Path) -> None:
    text = "Ada ran. " * 20_000
    assert detect(lines(tmp_path / "a.jsonl", {"text": text, "label": [[0, 3, "PER"]]})) == "doccano"
    assert detect(array(tmp_path / "a.json", {"data": {"text": text}})) == "labelstudio"


# Overlaps, and choices between several annotations.

OVERLAPPING = [(4, 12, "PER"), (0, 12, "PER"), (0, 12, "ORG"), (0, 12, "PER"), (8, 18, "MISC")]


@pytest.mark.parametrize("tool", ["doccano", "prodigy", "labelstudio", "argilla", "brat"])
def test_of_overlapping_spans_the_longest_is_kept(tmp_path: Path, tool: str, warned: Any) -> None:
    values = [{"start": a, "end": b, "label": x} for a, b, x in OVERLAPPING]
    bound = "".join(f"T{i}\t{x} {a} {b}\t{TEXT[a:b]}\n" for i, (a, b, x) in enumerate(OVERLAPPING, 1))
    path = {
        "doccano": lambda: lines(tmp_path / "a.jsonl", {"text": TEXT, "label": OVERLAPPING}),
        "prodigy": lambda: lines(tmp_path / "a.jsonl", {"text": TEXT, "spans": values, "answer": "accept"}),
        "labelstudio": lambda: array(tmp_path / "a.json", task([region(*span) for span in OVERLAPPING])),
        "argilla": lambda: lines(tmp_path / "a.jsonl", {"text": TEXT, "ner.suggestion": values}),
        "brat": lambda: brat(tmp_path / "a", "1", TEXT, bound),
    }[tool]()
    assert detect(path) == tool
    assert names(read(path)) == [("Ada Lovelace", "PER")]
    assert "3 spans that overlap a longer one, which is kept (first: " in warned()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.sampled_from("AB")), max_size=8))
def test_kept_spans_do_not_overlap(items: list[tuple[int, int, str]]) -> None:
    spans = [(start, start + size, label) for start, size, label in items]
    kept = without_overlaps(spans)
    assert kept == sorted(kept)
    assert all(a[1] <= b[0] for a, b in pairwise(kept))
    for start, end, _ in spans:  # whatever is left out meets one that is as long
        assert any(a < end and start < b and b - a >= end - start for a, b, _ in kept)


def test_a_span_inside_a_word_cuts_it(tmp_path: Path) -> None:
    (sentence,) = read(lines(tmp_path / "a.jsonl", {"text": "Osloer ran", "label": [[0, 4, "LOC"]]}))
    assert sentence.words == ("Oslo", "er", "ran")
    file = array(tmp_path / "a.json", {"data": {"text": "Osloer"}, "predictions": [{"result": [
        region(0, 4, "LOC", text="Osloer")]}]})  # fmt: skip
    assert names(read(file)) == [("Oslo", "LOC")]
    tokens = [{"start": 0, "end": 6, "id": 0, "text": "Osloer"}]
    record = {"text": "Osloer", "tokens": tokens, "spans": [{"start": 0, "end": 4, "label": "LOC"}]}
    with pytest.raises(DataError, match=r"line 1: span 0 to 4 does not begin and end with a word"):
        list(read(lines(tmp_path / "a.jsonl", record), "prodigy"))


def test_which_annotation_of_a_task(tmp_path: Path, warned: Any) -> None:
    one, two, three = ([region(*span)] for span in SPANS)
    several = task(one, was_cancelled=True)
    several["annotations"] += [{"result": two}, {"result": three, "was_cancelled": False}]
    assert names(read(array(tmp_path / "a.json", several))) == FOUND[1:2]
    several["annotations"][2]["ground_truth"] = True
    assert names(read(array(tmp_path / "a.json", several))) == FOUND[2:]
    assert "1 further annotations of a task (first: record 1)" in warned()
    skipped = {**task(one, was_cancelled=True), "predictions": [{"result": two}]}
    predicted = {**task([]), "annotations": [], "predictions": [{"model_version": "m", "result": three}]}
    file = array(tmp_path / "a.json", skipped, predicted, {"data": {"text": "New."}}, task([]))
    found = list(read(file))
    assert names(found) == FOUND[2:]
    assert [s.spans for s in found][2:] == [None, (), ()]
    assert "1 tasks with cancelled annotations only" in warned()


def test_other_results_of_labelstudio(tmp_path: Path, warned: Any) -> None:
    choice = {"type": "choices", "value": {"choices": ["news"]}}
    relation = {"type": "relation", "from_id": "a", "to_id": "b", "direction": "right"}
    file = array(tmp_path / "a.json", task([choice, relation, REGIONS[2], region(0, 3)]))
    assert names(read(file)) == FOUND[2:]
    assert "2 results of other types than labels (first: record 1); 1 spans without a label" in warned()


def test_offsets_of_labelstudio_in_utf16(tmp_path: Path) -> None:
    text = "👩‍🚀 Ada met Bo 🦜 in Oslo."
    start = text.index("Oslo")
    right = region(start, start + 4, "LOC", text=text)
    units = len(text[:start].encode("utf-16-le")) // 2
    older = {**right, "value": {**right["value"], "start": units, "end": units + 4}}
    for result in (right, older):
        file = array(tmp_path / "a.json", {"data": {"text": text}, "annotations": [{"result": [result]}]})
        assert names(read(file)) == [("Oslo", "LOC")]


def test_discarded_records_of_argilla(tmp_path: Path, warned: Any) -> None:
    value = {"text": TEXT, "ner.suggestion": VALUES, "ner.responses": [None]}
    discarded = {**value, "ner.responses.status": ["discarded"]}
    draft = {**value, "ner.responses": [[]], "ner.responses.status": ["draft"]}
    file = lines(tmp_path / "a.jsonl", discarded, draft)
    assert names(read(file)) == FOUND
    assert "1 records that are discarded (first: line 1); 1 drafts (first: line 2)" in warned()


# Errors.


@pytest.mark.parametrize(
    ("name", "record", "message"),
    [
        ("doccano", {"text": "abc", "label": ["positive"]}, "found labels of the whole text"),
        ("doccano", {"text": "abc", "label": [[0, 9, "X"]]}, "span 0 to 9 is empty or outside a text of 3"),
        ("doccano", {"text": 3, "label": []}, "expected text to be a string"),
        ("doccano", {"text": "abc", "entities": [{"start_offset": 0}]}, r"entities\[0\]: expected whole num"),
        ("doccano", [1], "expected an object, found list"),
        ("prodigy", {"text": "abc", "answer": "yes"}, "expected answer to be accept, reject, ignore"),
        ("prodigy", {"text": "abc", "spans": [{"start": 0, "end": 1}]}, "expected a label, found None"),
        ("prodigy", {"text": "abc", "tokens": [{"start": 0}]}, "expected tokens to be strings, or objects"),
        ("labelstudio", {"text": "abc"}, "expected a task with data"),
        ("labelstudio", {"data": {"a": "x", "b": "y"}}, "hold the text as text, or as its only string"),
        ("labelstudio", {"data": {"text": "x"}, "annotations": [4]}, "expected annotations to be a list"),
        ("labelstudio", {"data": {"text": "x"}, "annotations": [{}]}, "expected an annotation with result"),
        ("labelstudio", task([region(0, 99, "X")]), "span 0 to 99 is empty or outside a text"),
        ("labelstudio", task([{"type": "labels", "value": {"start": "0", "labels": "X"}}]), r"result\[0\]"),
        ("argilla", {"fields": {"text": 3}, "suggestions": {}}, "expected fields to hold the text"),
        ("argilla", {"fields": {"text": "x"}, "responses": []}, None),
        ("argilla", {"fields": {"text": "x"}, "responses": [1]}, "expected responses and suggestions to be"),
        ("argilla", {"fields": {"text": "x"}, "responses": {"q": [1]}}, "expected a list of responses"),
        ("argilla", {"text": "x", "q.responses": [None], "q.responses.status": []}, None),
        ("argilla", {"text": "x", "a.suggestion": [], "b.suggestion": []}, "question with spans, found a, b"),
        ("argilla", {"text": "abc", "a.suggestion": [{"start": 1, "end": 1, "label": "X"}]}, "is empty"),
    ],
)  # fmt: skip
def test_broken_records_are_located(tmp_path: Path, name: str, record: Any, message: str | None) -> None:
    put, first = (array, "record 2: ") if name in ("labelstudio", "argilla") else (lines, "")
    good = {"labelstudio": {"data": {"text": "fine"}}, "argilla": {"fields": {"text": "fine"}}}
    file = put(tmp_path / "a.json", good.get(name, {"text": "fine"}), record)
    if message is None:
        assert len(list(read(file, name))) == 2
        return
    with pytest.raises(DataError, match=rf"a\.json, line \d+: {first}.*{message}"):
        list(read(file, name))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("T1\tPER 0 3", None),
        ("T1\tPER 0 3\tBo", "expected 'Bo' at 0 3, found 'Ada'; offsets count every character"),
        ("T1\tPER 0 99\tAda", "span 0 to 99 is empty or outside a text of"),
        ("T1\tPER 3 3\t", "is empty"),
        ("T1 PER 0 3 Ada", "expected T1<tab>TYPE START END<tab>TEXT, found 'T1 PER 0 3 Ada'"),
        ("Ada\tPER", "expected an annotation such as T1<tab>PER 0 3<tab>Ada"),
    ],
)
def test_broken_lines_of_brat(tmp_path: Path, line: str, message: str | None) -> None:
    folder = brat(tmp_path / "a", "x", TEXT, f"T9\tLOC 44 49\tTurin\n{line}\n")
    if message is None:
        assert len(names(read(folder))) == 2
        return
    with pytest.raises(DataError, match=rf"x\.ann, line 2: .*{message}"):
        list(read(folder))


# What we write.

PROSE = st.text(st.sampled_from(list("aB. !?'\n\r\t é1-\u3000日。🦜\x85")), max_size=30)
LABEL = st.sampled_from(["PER", "é-1", "X,Y"])


@st.composite
def corpora(draw: st.DrawFn) -> list[Sentence]:
    found: list[Sentence] = []
    for number, text in enumerate(draw(st.lists(PROSE, max_size=4)), 1):
        solid = [i for i, c in enumerate(text) if not c.isspace()]
        spans = None if draw(st.booleans()) else []
        if solid and spans is not None and draw(st.booleans()):
            a, b = sorted((draw(st.sampled_from(solid)), draw(st.sampled_from(solid))))
            spans = [(a, b + 1, draw(LABEL))]
        found += split(text, str(number), spans)
    return found


@pytest.mark.parametrize("name", ["brat", "doccano", "prodigy", "labelstudio", "argilla"])
@settings(max_examples=50)
@given(corpus=corpora())
def test_round_trip(name: str, corpus: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("round") / "a"
    write(path, corpus, name)
    assert list(read(path, name)) == corpus


def test_what_the_tools_import(tmp_path: Path) -> None:
    corpus = split(TEXT, "7", SPANS)
    for name in ("doccano", "prodigy", "labelstudio", "argilla", "brat"):
        write(tmp_path / name, corpus, name)
        assert detect(tmp_path / name) == name
    (record,) = map(json.loads, (tmp_path / "doccano").read_text().splitlines())
    assert record == {"id": "7", "text": TEXT, "label": [list(span) for span in SPANS]}
    (record,) = map(json.loads, (tmp_path / "prodigy").read_text().splitlines())
    assert record["tokens"][1] == {"text": "Lovelace", "start": 4, "end": 12, "id": 1, "ws": True}
    assert record["spans"][0] == {**VALUES[0], "token_start": 0, "token_end": 1}
    assert record["answer"] == "accept"
    (record,) = json.loads((tmp_path / "labelstudio").read_text())
    assert record["data"] == {"id": "7", "text": TEXT}
    value = {"start": 44, "end": 49, "text": "Turin", "labels": ["LOC"]}
    result = {"id": "span3", "from_name": "label", "to_name": "text", "type": "labels", "value": value}
    assert record["predictions"][0]["result"][2] == result
    write(tmp_path / "true", corpus, "labelstudio", labels="true")
    (record,) = json.loads((tmp_path / "true").read_text())
    assert record["annotations"][0]["result"][2] == result
    assert list(read(tmp_path / "true")) == corpus
    (record,) = json.loads((tmp_path / "argilla").read_text())
    assert record["suggestions"] == {"spans": {"value": VALUES, "score": None, "agent": "roster"}}
    assert record["fields"] == {"text": TEXT}
    assert (tmp_path / "brat" / "7.txt").read_text() == TEXT
    assert (tmp_path / "brat" / "7.ann").read_text().splitlines()[2] == "T3\tLOC 44 49\tTurin"


def test_a_span_over_a_line_break_in_brat(tmp_path: Path) -> None:
    corpus = split("Ada \r\n Lovelace ran", "x", [(0, 15, "PER")])
    write(tmp_path / "a.brat", corpus)
    assert (tmp_path / "a.brat" / "x.ann").read_text() == "T1\tPER 0 3;7 15\tAda Lovelace\n"
    assert list(read(tmp_path / "a.brat")) == corpus


@pytest.mark.parametrize(
    ("docs", "files"),
    [
        (["2", "10"], ["10", "2"]),
        (["10", "2"], ["1", "2"]),
        (["a/b.txt", "a/c.txt"], ["a/b", "a/c"]),
        (["../a", "b"], ["1", "2"]),
        (["a", "A"], ["1", "2"]),
        (["", ""], ["1", "2"]),
    ],
)
def test_names_of_files_in_brat(tmp_path: Path, docs: list[str], files: list[str]) -> None:
    pairs = zip("ab", docs, strict=True)
    corpus = [Sentence.from_words([word], [Span(0, 1, "X")], doc) for word, doc in pairs]
    write(tmp_path / "out", corpus, "brat")
    found = [f.relative_to(tmp_path / "out") for f in (tmp_path / "out").rglob("*.txt")]
    assert sorted(f.with_suffix("").as_posix() for f in found) == files
    assert [s.words for s in read(tmp_path / "out")] == [("a",), ("b",)]


def test_brat_does_not_replace_other_files(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "annotation.conf").write_text("[entities]\n")
    with pytest.raises(DataError, match=r"out: is there already, with other files than \.txt and \.ann"):
        write(tmp_path / "out", split(TEXT, "1", SPANS), "brat")
    with pytest.raises(DataError, match="sentence 1: the label 'a b' is empty or holds a space"):
        write(tmp_path / "new", split(TEXT, "1", [(0, 3, "a b")]), "brat")


def test_data_sets(tmp_path: Path) -> None:
    """What `roster train` reads."""
    corpus = split(TEXT, "7", SPANS)
    for name in ("doccano", "prodigy", "labelstudio", "argilla", "brat"):
        folder = tmp_path / name
        folder.mkdir()
        for part in ("train", "dev"):
            write(folder / f"{part}{FORMATS[name].suffixes[0]}", corpus)
        data = load_dataset(folder)
        assert (data.train, data.valid, data.types) == (corpus, corpus, ("LOC", "PER"))
        assert data.parts["train"].format == name
    brat(tmp_path / "plain", "train-1", TEXT, "T1\tPER 0 3\tAda\n")
    brat(tmp_path / "plain", "train-2", TEXT, "")
    assert len(load_dataset(tmp_path / "plain").train) == 4
    assert len(list(read(tmp_path / "brat", split="dev"))) == 2
    with pytest.raises(DataError, match="it has no folder test"):
        list(read(tmp_path / "brat", split="test"))
