"""Annotations and models as sources of `roster label`: whole commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import roster as package
from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence
from roster.distant.matching.span_mentions import ScoredSpan
from roster.errors import ConfigError, DataError

TEXTS = (
    "Maria Lund of Acme Corp. flew to Oslo. She left.",
    "Nobody saw Quito.",
    "Then Lund met Orme.",
)
NAMES = "Oslo\tLOC\nLund\tLOC\nOrme\tPER\n"
SPANS: list[list[dict[str, Any]]] = [
    [
        {"start": 0, "end": 10, "label": "person", "score": 0.9},
        {"start": 14, "end": 24, "label": "ORG", "score": 0.4},
    ],
    [],
    [{"start": 5, "end": 9, "label": "person", "score": 0.7}],
]
Run = Callable[..., Any]


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder with a corpus, a dictionary and annotations of the corpus with scores."""
    (tmp_path / "news.txt").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    (tmp_path / "names.tsv").write_text(NAMES, encoding="utf-8")
    put(tmp_path / "llm.jsonl", SPANS)
    return tmp_path


def put(file: Path, spans: list[list[dict[str, Any]]], texts: tuple[str, ...] = TEXTS) -> Path:
    rows = ({"text": text, "spans": of} for text, of in zip(texts, spans, strict=True))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture
def label(roster: Any, given: Path) -> Run:
    """`label(*options)` labels the corpus above, into `out.jsonl`; what it left if it is expected to work."""

    def run(*options: str | Path, code: int = 0, output: str = "out.jsonl") -> Any:
        more = () if "--workers" in options else ("--workers", "1")
        done = roster("label", given / "news.txt", "-o", given / output, *options, *more, "--no-cache")
        assert done.code == code, done.err
        return done

    return run


def found(folder: Path, name: str = "out.jsonl") -> list[list[tuple[str, str]]]:
    documents: dict[str, list[tuple[str, str]]] = {}
    for s in read(folder / name):
        documents.setdefault(s.doc, []).extend((s.span_text(x), x.label) for x in s.spans or ())
    return list(documents.values())


def rows(folder: Path, name: str = "out.jsonl") -> list[dict[str, Any]]:
    lines = (folder / f"{name}.provenance.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def report(folder: Path, name: str = "out.jsonl") -> dict[str, Any]:
    return json.loads((folder / f"{name}.labels.json").read_text(encoding="utf-8"))


# Annotations


def test_annotations_beside_a_dictionary(label: Run, given: Path) -> None:
    """`Lund` is a place for the dictionary and a person for the annotations: two votes, so no label."""
    done = label("--dictionary", given / "names.tsv", "--annotations", f"llm={given / 'llm.jsonl'}",
                 "--types", "person=PER", "--least-score", "0.5")  # fmt: skip
    assert found(given) == [[("Maria Lund", "PER"), ("Oslo", "LOC")], [], [("Orme", "PER")]]
    maria, oslo, _ = rows(given)
    assert maria["evidence"] == [{"source": "llm", "entry": "Maria Lund", "kind": "person", "score": 0.9}]
    assert oslo["evidence"] == [{"source": "names.tsv", "entry": "Oslo", "kind": "LOC", "line": 1}]
    facts = report(given)
    assert facts["sources"] == {"llm": 1, "names.tsv": 2}
    assert facts["span_sources"] == [
        {
            "source": "llm", "from": str(given / "llm.jsonl"), "documents": 3, "covered": 3, "spans": 3,
            "scored": 3, "below_least_score": 1, "cut_words": 0, "unwanted": 0,
            "kinds": {"person": 2, "ORG": 1}, "cut_examples": [], "labels": 1,
        }
    ]  # fmt: skip
    assert "llm: 3 spans; 1 labels rest on them" in done.out
    assert "left out: 1 below the least score" in done.out
    assert "llm: no other source has the types ORG; if these are other words for LOC, PER" in done.err


def test_priority_decides_and_a_patch_denies(label: Run, given: Path) -> None:
    (given / "x.patch").write_text("deny\tMaria Lund\n", encoding="utf-8")
    for priority, labels in ((1, "PER"), (-1, "LOC")):
        (given / "label.toml").write_text(
            '[labels]\nperson = "PER"\nORG = ""\n'
            f'[[annotations]]\npath = "llm.jsonl"\npriority = {priority}\n'
        )
        more = ("--dictionary", given / "names.tsv", "--patch", given / "x.patch")
        label("--config", given / "label.toml", *more)
        # Without the longer name, its part is free.
        assert found(given) == [[("Oslo", "LOC")], [], [("Lund", labels), ("Orme", "PER")]]
        assert report(given)["patch"]["deny"] == {"lines": 1, "effective": 1, "matches": 1}
        assert report(given)["span_sources"][0]["unwanted"] == 1


def test_annotations_alone_in_every_format(label: Run, given: Path) -> None:
    labels = [[("Maria Lund", "person"), ("Acme Corp.", "ORG")], [], [("Lund", "person")]]
    sentences = list(read(given / "llm.jsonl"))
    for name in ("x.conll", "x.json", "x.ck", "x.spacy", "x.parquet", "x_text.txt"):
        if name in ("x.spacy", "x.parquet"):
            pytest.importorskip({"x.spacy": "spacy", "x.parquet": "pyarrow"}[name])
        write(given / name, sentences, "lines" if name == "x_text.txt" else None)
        label("--annotations", given / name)
        assert found(given) == labels, name
        assert report(given)["span_sources"][0]["covered"] == 3


def test_a_part_of_the_corpus_and_spans_that_cut_words(label: Run, given: Path) -> None:
    put(given / "part.jsonl", [[{"start": 5, "end": 8, "label": "PER"}]], TEXTS[2:])
    done = label("--annotations", given / "part.jsonl")
    assert found(given) == [[], [], []]
    assert "part.jsonl: 1 of 1 spans begin or end inside a word of the corpus" in done.err
    assert ": Lun" in done.err
    assert "part.jsonl: it has 1 of the 3 documents of the corpus" in done.err


def test_one_and_two_workers_write_the_same(label: Run, given: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"names": given / "names.tsv", "annotations": f"llm={given / 'llm.jsonl'}", "cache": False}
    monkeypatch.setattr("roster.distant.labelling.chunks.CHUNK_WORDS", 4)
    written = []
    for workers in (1, 2):
        for name in ("out.jsonl", "out.conll"):  # in shards, and from this process
            package.label_file(given / "news.txt", given / name, workers=workers, **options)
            written.append([file.read_bytes() for file in sorted(given.glob(f"{name}*"))])
    assert written[:2] == written[2:]
    assert len(written[0]) == 4  # labels, provenance, report, record


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"text": "Other words.", "spans": []}', "document 1 ('Other words .') is not in the corpus"),
        ('{"text": "Nobody saw Quito."}', "document 1 ('Nobody saw Quito .') has no labels"),
        ('{"text": "Nobody.", "spans": [{"start": 0, "end": 99, "label": "X"}]}', "line 1: span 0 to 99"),
        ('{"text": "Nobody saw Quito.", "spans": [{"start": 0, "end": 6, "label": "X", "score": NaN}]}',
         "line 1: spans[0]: expected score to be a finite number, found nan"),
        ("", "it has no words, so no annotations"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("workers", ["1", "2"])
def test_annotations_that_are_refused(label: Run, given: Path, content: str, says: str, workers: str) -> None:
    """One line with the file and the place; nothing is written."""
    (given / "bad.jsonl").write_text(content, encoding="utf-8")
    done = label("--annotations", given / "bad.jsonl", "--workers", workers, code=2)
    assert f"{given / 'bad.jsonl'}" in done.err.splitlines()[-1]
    assert says in done.err.splitlines()[-1]
    assert not list(given.glob("out*"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--annotations", "no.jsonl"), "no.jsonl: no such file"),
        (("--annotations", "llm.jsonl", "--least-score", "high"), "--least-score high: expected X or NAME=X"),
        (("--annotations", "llm.jsonl", "--least-score", "gpt=1"), "a least score is given for gpt"),
        (("--annotations", "llm.jsonl", "llm.jsonl"), "two sources are called llm.jsonl"),
        (("--annotations", "out.jsonl=llm.jsonl", "-o", "llm.jsonl"), "llm.jsonl"),
        ((), "annotations (--annotations FILE) or a model (--model NAME)"),
    ],
)
def test_options_that_are_refused(roster: Any, given: Path, options: tuple[str, ...], says: str) -> None:
    done = roster("label", "news.txt", "-o", "out.jsonl", *options, "--no-cache", "--workers", "1", cwd=given)
    assert done.code == 2, done.err
    assert says in done.err.splitlines()[-1]


def test_unknown_types_of_a_map_are_a_warning(label: Run, given: Path) -> None:
    done = label("--annotations", given / "llm.jsonl", "--types", "person=PER", "place=LOC")
    assert "place=LOC has no effect" in done.err
    assert "the types are ORG, person" in done.err


def test_in_python(given: Path) -> None:
    """Files or labelled sentences by name; an error in a pass has the file."""
    sentences = list(read(given / "llm.jsonl"))
    for source in ({"llm": sentences}, {"llm": given / "llm.jsonl"}, f"llm={given / 'llm.jsonl'}"):
        labels = package.label(list(TEXTS), {"Oslo": "LOC"}, annotations=source)
        assert [[s.span_text(x) for x in s.spans or ()] for s in labels] == [
            ["Maria Lund", "Acme Corp.", "Oslo"], [], [], ["Lund"],
        ]  # fmt: skip
        assert labels.report.sources["llm"] == 3
    with pytest.raises(DataError, match=r"llm\.jsonl: document 1 .* is not in the corpus"):
        list(package.label(["Ada left."], annotations=given / "llm.jsonl"))
    with pytest.raises(DataError, match="llm, item 0: expected a labelled Sentence"):
        package.label(list(TEXTS), annotations={"llm": ["Oslo"]})
    with pytest.raises(ConfigError, match="annotations are a file, several files, or by name"):
        package.label(list(TEXTS), annotations=[sentences])


# Models


@pytest.fixture
def pipeline(given: Path) -> Path:
    """A spaCy pipeline that finds three names by rules."""
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    names = {"Maria Lund": "PERSON", "Quito": "GPE", "Orme": "PERSON"}
    patterns = [{"label": label, "pattern": name} for name, label in names.items()]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)
    nlp.to_disk(given / "rules")
    return given / "rules"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_spacy_pipeline_beside_a_dictionary(label: Run, given: Path, pipeline: Path, workers: str) -> None:
    """`Orme` has the vote of both sources; the type that both agree on is taken."""
    done = label("--dictionary", given / "names.tsv", "--model", pipeline, "--types", "PERSON=PER", "GPE=LOC",
                 "--workers", workers)  # fmt: skip
    assert found(given) == [
        [("Maria Lund", "PER"), ("Oslo", "LOC")], [("Quito", "LOC")], [("Lund", "LOC"), ("Orme", "PER")],
    ]  # fmt: skip
    assert [e["source"] for e in rows(given)[-1]["evidence"]] == ["names.tsv", "rules"]
    assert "rules: 3 spans; 3 labels rest on them" in done.out


def test_a_model_of_ours_and_its_scores(roster: Any, model: Path, tmp_path: Path) -> None:
    """What `roster predict` finds are the labels, with its scores; a least score leaves out lower ones."""
    text = tmp_path / "toy.txt"
    text.write_text("Mr Ada lives in Oslo .\nit rained in Lima all day .\n", encoding="utf-8")
    predicted = list(package.predict(model, text))
    scores = [x["score"] for record in predicted for x in record["spans"]]
    assert len(scores) >= 3
    for options, least in (((), 0), (("--least-score", f"ours={sorted(scores)[1]}"), sorted(scores)[1])):
        done = roster("label", text, "-o", tmp_path / "toy.jsonl", "--model", f"ours={model}", *options,
                      "--no-cache", "--workers", "2")  # fmt: skip
        assert done.code == 0, done.err
        kept = [x for record in predicted for x in record["spans"] if x["score"] >= least]
        assert found(tmp_path, "toy.jsonl") == [
            [(x["text"], x["label"]) for x in record["spans"] if x in kept] for record in predicted
        ]
        given = [row["evidence"][0]["score"] for row in rows(tmp_path, "toy.jsonl")]
        assert given == [x["score"] for x in kept]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("org/name", "there is no model folder org/name"),
        ("no_such_pipeline", "no spaCy pipeline 'no_such_pipeline': install it"),
        ("empty", "empty: the folder is no model"),
        ("gliner:org/name", 'needs the package gliner: pip install "roster-ner[gliner]"'),
    ],
)
def test_models_that_are_refused(label: Run, given: Path, model: str, says: str) -> None:
    (given / "empty").mkdir()
    model = str(given / "empty") if model == "empty" else model
    if model.startswith("gliner") and find_spec("gliner"):
        pytest.skip("the package is installed")
    done = label("--model", model, code=2)
    assert says in done.err.splitlines()[-1]
    assert not list(given.glob("out*"))


def test_functions_and_recognisers_in_python(given: Path, model: Path) -> None:
    """A function gives characters of the text; each pass asks it again, in this process."""
    asked = []

    def capitals(sentences: Sequence[Sentence]) -> list[list[ScoredSpan]]:
        asked.append(len(sentences))
        places = [[place for place in s.offsets if s.text[slice(*place)].isupper()] for s in sentences]
        return [[ScoredSpan(*place, "ACRONYM", 0.5) for place in of] for of in places]

    texts = ["the WHO said so .", "nothing .", "ask NATO ."]
    for workers in (1, 2):
        labels = package.label(texts, {"Oslo": "LOC"}, models={"caps": capitals}, workers=workers)
        assert [[s.span_text(x) for x in s.spans or ()] for s in labels] == [["WHO"], [], ["NATO"]]
        assert labels.report.sources == {"caps": 2}
    assert asked == [3, 3]
    labels = package.label(["Mr Ada lives in Oslo ."], models={"ours": package.load(model, "cpu")})
    assert [s.span_text(x) for s in labels for x in s.spans or ()] == ["Ada", "Oslo"]
    with pytest.raises(DataError, match="bad: expected the spans of 3 sentences, found 0"):
        list(package.label(texts, models={"bad": lambda sentences: []}))
    nan = ScoredSpan(0, 3, "X", float("nan"))
    with pytest.raises(DataError, match="bad: the score of 'the' is nan; expected a finite number"):
        list(package.label(texts, models={"bad": lambda sentences: [[nan] for _ in sentences]}))
    with pytest.raises(ConfigError, match="models are names or folders, or by name a name"):
        package.label(texts, models=[capitals])


def test_labels_on_which_sources_agree(label: Run, given: Path) -> None:
    options = (
        "--dictionary",
        given / "names.tsv",
        "--annotations",
        given / "llm.jsonl",
        "--types",
        "person=LOC",
    )
    done = label(*options, "--agreement", "2")
    assert found(given) == [[], [], [("Lund", "LOC")]]
    assert report(given)["dropped"]["agreement"] == {"LOC": 2, "ORG": 1, "PER": 1}
    assert "fewer sources agree on the type than are required: " in done.out
    assert "must be at least 1, not 0" in label(*options, "--agreement", "0", code=2).err
