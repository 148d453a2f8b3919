"""`roster label` from end to end: formats, options, what lies beside the labels, the same bytes each time."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import roster as package
from roster.corpus.dataset import load_dataset
from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence
from roster.distant.output.target import Target

NAMES = """\
Maria Lund\tPER
Lund\tPER
Lund\tLOC
Acme Corp.\tORG
Oslo\tLOC
Apple\tORG
the\tORG
"""
TEXTS = (
    "Maria Lund of Acme Corp. flew to Oslo .",
    "nobody saw anything there .",
    "She left Apple for Acme Corp ( Oslo ) .",
)
LABELS = [
    [("Maria Lund", "PER"), ("Acme Corp.", "ORG"), ("Oslo", "LOC")],
    [],
    [("Apple", "ORG"), ("Acme Corp", "ORG"), ("Oslo", "LOC")],
]
FORMATS = {
    "lines": "train_text.txt",
    "conll": "x.conll",
    "bond": "x.json",
    "ck": "x.ck",
    "jsonl": "x.jsonl",
    "parquet": "x.parquet",
    "arrow": "x.arrow",
    "docbin": "x.spacy",
}
LABEL: list[Any] = [sys.executable, "-m", "roster.cli.main", "label"]
Run = Callable[..., Any]


@dataclass(frozen=True)
class Output:
    """What a run left."""

    out: str
    err: str
    file: Path

    @property
    def sentences(self) -> list[Sentence]:
        return list(read(self.file))

    @property
    def labels(self) -> list[list[tuple[str, str]]]:
        return [found_in(sentence) for sentence in self.sentences]

    @property
    def found(self) -> list[tuple[str, str]]:
        return [label for labels in self.labels for label in labels]

    @property
    def rows(self) -> list[dict[str, Any]]:
        path = self.file.with_name(f"{self.file.name}.provenance.jsonl")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    @property
    def report(self) -> dict[str, Any]:
        return json.loads(self.file.with_name(f"{self.file.name}.labels.json").read_text(encoding="utf-8"))


def found_in(sentence: Sentence) -> list[tuple[str, str]]:
    return [(sentence.span_text(span), span.label) for span in sentence.spans or ()]


@pytest.fixture
def names(tmp_path: Path) -> Path:
    (tmp_path / "names.tsv").write_text(NAMES, encoding="utf-8")
    return tmp_path / "names.tsv"


@pytest.fixture
def label(roster: Any, tmp_path: Path) -> Run:
    """`label(corpus, *options)` writes `out.jsonl`; a corpus may also be given as lines of text."""

    def run(corpus: Path | str | Sequence[str], *options: str | Path, output: str = "out.jsonl") -> Output:
        if not isinstance(corpus, Path):
            lines = [corpus] if isinstance(corpus, str) else corpus
            corpus = tmp_path / "corpus.txt"
            corpus.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            options = ("--format", "text", *options)
        file = tmp_path / output
        if "--workers" not in options:
            options = (*options, "--workers", "1")
        done = roster("label", corpus, "-o", file, *options, ROSTER_CACHE=str(tmp_path / "cache"))
        assert done.code == 0, done.err
        return Output(done.out, done.err, file)

    return run


# Formats


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_in_and_out(format: str, label: Run, names: Path, tmp_path: Path) -> None:
    """Words come back as they were, with labels; a file or folder is made as the format has it."""
    (tmp_path / "in").mkdir()
    source = tmp_path / "in" / FORMATS[format]
    write(source, [Sentence.from_words(text.split()).with_spans(()) for text in TEXTS], format)
    (tmp_path / "out").mkdir()
    done = label(source, "--dictionary", names, output=f"out/{FORMATS[format]}")
    assert [s.words for s in done.sentences] == [tuple(text.split()) for text in TEXTS]
    assert done.labels == LABELS
    for row in done.rows:
        assert " ".join(done.sentences[row["sentence"]].words[row["start"] : row["end"]]) == row["text"]
    assert [(row["text"], row["types"][0]) for row in done.rows] == done.found


def test_lines_without_labels_and_raw_words(label: Run, names: Path, tmp_path: Path) -> None:
    (tmp_path / "news_text.txt").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    assert label(tmp_path / "news_text.txt", "--format", "lines", "--dictionary", names).labels == LABELS
    write(tmp_path / "x.words", [Sentence.from_words(text.split()) for text in TEXTS], "rawwords")
    assert label(tmp_path / "x.words", "--dictionary", names).labels == LABELS


def test_text_keeps_its_own_characters(label: Run, names: Path) -> None:
    text = "Maria  Lund\tof Acme Corp., in Oslo.  She left."
    done = label(text, "--dictionary", names)
    assert done.found == [("Maria  Lund", "PER"), ("Acme Corp.", "ORG"), ("Oslo", "LOC")]
    record = json.loads(done.file.read_text(encoding="utf-8"))
    assert record["text"] == text
    assert [text[x["start"] : x["end"]] for x in record["spans"]] == ["Maria  Lund", "Acme Corp.", "Oslo"]


def test_a_folder_of_texts(label: Run, names: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / "texts" / f"{number}.txt").write_text(f"{text}\nAnd then some.\n", encoding="utf-8")
    done = label(tmp_path / "texts", "--dictionary", names)
    assert done.found == [label for labels in LABELS for label in labels]


@pytest.mark.parametrize("format", [None, "lines", "conll", "parquet"])
def test_a_folder_is_a_data_set(format: str | None, roster: Any, names: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    options = ("--to", format) if format else ()
    run = (
        "label",
        tmp_path / "corpus.txt",
        "--format",
        "text",
        "--dictionary",
        names,
        "-o",
        tmp_path / "data",
    )
    for _ in range(2):  # the second time into the folder that the first one made
        done = roster(*run, *options, "--workers", "1", "--no-cache")
        assert done.code == 0, done.err
    data = tmp_path / "data"
    dataset = load_dataset(data)
    assert [found_in(sentence) for sentence in dataset.train] == LABELS
    assert (data / "types.txt").read_text() == "LOC\nORG\nPER\n"
    assert dataset.types == ("LOC", "ORG", "PER")
    assert json.loads((data / "labels.json").read_text())["sentences"] == 3
    assert (data / "dead_entries.tsv").read_text().splitlines()[1:] == [
        "the\tORG\tnames.tsv\t7\tonly stop-words"
    ]
    assert f"roster train {data} -o" in done.err


def test_what_label_writes_can_be_trained_on(roster: Any, settings: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text("Ada\tPER\nOslo\tLOC\n", encoding="utf-8")
    (tmp_path / "c.txt").write_text(
        "Mr Ada lives in Oslo .\nit rained in Oslo all day .\n" * 8, encoding="utf-8"
    )
    names, data = tmp_path / "names.tsv", tmp_path / "data"
    options = ("--workers", "1", "--no-cache")
    done = roster("label", tmp_path / "c.txt", "--dictionary", names, "-o", data, *options)
    assert done.code == 0, done.err
    epochs = ("--set", "fine_tune.epochs=1")
    done = roster("train", tmp_path / "data", "-o", tmp_path / "run", "--config",
                  settings["fine-tune"], *epochs)  # fmt: skip
    assert done.code == 0, done.err
    assert json.loads((tmp_path / "run/model/roster.json").read_text())["types"] == ["LOC", "PER"]


def test_a_split_of_a_folder(label: Run, names: Path, write_lines: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "data", ["nothing here ."], ["O O O"])
    write_lines(tmp_path / "data", [TEXTS[0]], None, split="test")
    done = label(tmp_path / "data", "--split", "test", "--dictionary", names)
    assert done.labels == LABELS[:1]


def test_a_type_without_a_label_and_documents_without_a_match(label: Run, tmp_path: Path) -> None:
    (tmp_path / "n.tsv").write_text("Quito\tLOC\nZorro\tFILM\n", encoding="utf-8")
    done = label(TEXTS, "--dictionary", tmp_path / "n.tsv")
    assert done.labels == [[], [], []]
    assert (done.rows, done.report["types"]) == ([], {})
    assert "0 labels in 0 sentences" in done.out
    assert "Next:" not in done.err


# Options


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("BIO", "B-PER I-PER O B-ORG I-ORG O O B-LOC O"),
        ("IO", "I-PER I-PER O I-ORG I-ORG O O I-LOC O"),
        ("IOB1", "I-PER I-PER O I-ORG I-ORG O O I-LOC O"),
        ("BIOES", "B-PER E-PER O B-ORG E-ORG O O S-LOC O"),
    ],
)
def test_schemes(scheme: str, tags: str, label: Run, names: Path) -> None:
    done = label(TEXTS, "--dictionary", names, "--scheme", scheme, output="x.conll")
    first = done.file.read_text(encoding="utf-8").split("\n\n")[1]
    assert first.split() == [x for pair in zip(TEXTS[0].split(), tags.split(), strict=True) for x in pair]
    assert done.labels == LABELS


def test_the_report_as_json(label: Run, names: Path) -> None:
    done = label(TEXTS, "--dictionary", names, "--json")
    assert json.loads(done.out) == done.report
    assert done.report["types"] == {
        "ORG": {"labels": 3, "words": 5},
        "LOC": {"labels": 2, "words": 2},
        "PER": {"labels": 1, "words": 2},
    }
    plain = label(TEXTS, "--dictionary", names)
    assert plain.report == done.report
    assert "type  labels  names  words  most frequent" in plain.out


def test_where_a_label_comes_from(label: Run, names: Path, tmp_path: Path) -> None:
    (tmp_path / "firms.csv").write_text(
        "id,name,type\n1,Acme Corp.,ORG\n2,Acme Corp,ORG.old\n", encoding="utf-8"
    )
    done = label(
        TEXTS, "--dictionary", names, tmp_path / "firms.csv", "--types", "ORG.*=ORG", "--patterns", "ORG"
    )
    acme = [row for row in done.rows if row["text"].startswith("Acme")]
    assert [(row["sentence"], row["start"], row["end"], row["types"]) for row in acme] == [
        (0, 3, 5, ["ORG"]),
        (2, 4, 6, ["ORG"]),
    ]
    listed = [
        {"source": "firms.csv", "entry": "Acme Corp", "kind": "ORG.old", "line": 3},
        {"source": "firms.csv", "entry": "Acme Corp.", "kind": "ORG", "line": 2},
        {"source": "names.tsv", "entry": "Acme Corp.", "kind": "ORG", "line": 4},
    ]
    for row in acme:
        assert sorted((e for e in row["evidence"] if e["source"] != "patterns"), key=str) == sorted(
            listed, key=str
        )
    assert any(e["entry"] == "company" for e in acme[0]["evidence"])
    plain = label(TEXTS, "--dictionary", names, "--no-provenance", output="bare.jsonl")
    assert plain.labels == done.labels
    assert not (tmp_path / "bare.jsonl.provenance.jsonl").exists()
    assert "comes from" not in plain.err


def test_gold_labels_add_scores(label: Run, names: Path, tmp_path: Path) -> None:
    """Five of six labels are right: for the gold labels Apple is a person."""
    true = ["B-PER I-PER O B-ORG I-ORG O O B-LOC O", "O O O O O", "O O B-PER O B-ORG I-ORG O B-LOC O O"]
    text = "\n\n".join(
        "\n".join(f"{w} {t}" for w, t in zip(words.split(), tags.split(), strict=True))
        for words, tags in zip(TEXTS, true, strict=True)
    )
    (tmp_path / "gold.conll").write_text(text + "\n", encoding="utf-8")
    done = label(TEXTS, "--dictionary", names, "--gold", tmp_path / "gold.conll", "--json")
    gold = json.loads(done.out)["gold"]
    assert gold == done.report["gold"]
    assert gold["precision"] == pytest.approx(5 / 6)
    assert gold["recall"] == pytest.approx(5 / 6)
    shown = label(TEXTS, "--dictionary", names, "--gold", tmp_path / "gold.conll")
    assert "Against the gold labels:" in shown.out
    assert "gold" not in label(TEXTS, "--dictionary", names).report


def test_types_become_labels(label: Run, tmp_path: Path) -> None:
    (tmp_path / "n.tsv").write_text(
        "Acme\tORG.firm\nThe Cats\tORG.band\nZorro\tMISC.film\nOslo\tGPE\nPym\tPER\n", encoding="utf-8"
    )
    text = "They told Acme of The Cats , of Zorro , of Oslo and of Pym ."
    options = ("--dictionary", tmp_path / "n.tsv", "--types", "ORG.*=ORG", "MISC.*=", "--types", "GPE=LOC")
    done = label(text, *options, "ORG.band=MUSIC")
    assert done.found == [("Acme", "ORG"), ("The Cats", "MUSIC"), ("Oslo", "LOC"), ("Pym", "PER")]
    assert done.report["dead_entries"] == {"type without a label": 1}
    assert [row["evidence"][0]["kind"] for row in done.rows] == ["ORG.firm", "ORG.band", "GPE", "PER"]


def test_the_first_dictionary_is_right(label: Run, tmp_path: Path) -> None:
    (tmp_path / "people.tsv").write_text("Orme\tPER\n", encoding="utf-8")
    (tmp_path / "towns.tsv").write_text("Orme\tLOC\n", encoding="utf-8")
    files = [tmp_path / "people.tsv", tmp_path / "towns.tsv"]
    text = "They spoke of Orme again ."
    assert label(text, "--dictionary", *files).found == []
    assert label(text, "--dictionary", *files, "--in-order").found == [("Orme", "PER")]
    done = label(text, "--dictionary", *files[::-1], "--in-order")
    assert done.found == [("Orme", "LOC")]
    assert done.report["dropped"] == {"priority": {"PER": 1}}


@pytest.mark.parametrize(
    ("ambiguous", "found"),
    [
        ("drop", [("Maria Lund", "PER")]),
        ("all", [("Maria Lund", "PER"), ("Lund", "LOC,PER"), ("Lund", "LOC,PER")]),
        ("first", [("Maria Lund", "PER"), ("Lund", "LOC"), ("Lund", "LOC")]),
        ("document", [("Maria Lund", "PER"), ("Lund", "PER")]),
    ],
)
def test_ambiguous_names(ambiguous: str, found: list[Any], label: Run, names: Path) -> None:
    texts = ["Maria Lund spoke . Then they saw Lund leave .", "They drove to Lund again ."]
    done = label(texts, "--dictionary", names, "--ambiguous", ambiguous)
    assert done.found == found
    assert done.report["ambiguous"] == [{"name": "Lund", "types": ["LOC", "PER"], "count": 2}]


@pytest.mark.parametrize(
    ("overlap", "found"),
    [("longest", ["North Sea Bay Club"]), ("squares", ["Old North Sea", "Club Of Orme"])],
)
def test_overlaps(overlap: str, found: list[str], label: Run, tmp_path: Path) -> None:
    names = "Old North Sea\tA\nNorth Sea Bay Club\tB\nClub Of Orme\tC\n"
    (tmp_path / "n.tsv").write_text(names, encoding="utf-8")
    text = "they like Old North Sea Bay Club Of Orme a lot"
    done = label(text, "--dictionary", tmp_path / "n.tsv", "--overlap", overlap, "--case", "exact")
    assert [text for text, _ in done.found] == found


@pytest.mark.parametrize(
    ("case", "found"),
    [
        ("smart", ["Apple"]),
        ("exact", ["Apple", "Apple"]),
        ("upper", ["Apple", "APPLE", "Apple"]),
        ("insensitive", ["apple", "Apple", "apple", "APPLE", "Apple", "apple"]),
    ],
)
def test_case(case: str, found: list[str], label: Run, names: Path) -> None:
    """The third document is all in capitals; the last begins with a word that the corpus has mostly small."""
    texts = [
        "we ate an apple",
        "we left Apple for an apple",
        "WE ATE AN APPLE",
        "Apple falls from trees , an apple",
    ]
    done = label(texts, "--dictionary", names, "--case", case)
    assert [text for text, _ in done.found] == found


def test_patterns(label: Run) -> None:
    done = label(
        "On 3 May 2021 they paid $5 million , or 10 % more .",
        "--patterns",
        "DATE",
        "MONEY",
        "--patterns",
        "PERCENT",
    )
    assert done.found == [("3 May 2021", "DATE"), ("$5 million", "MONEY"), ("10 %", "PERCENT")]
    assert {e["source"] for row in done.rows for e in row["evidence"]} == {"patterns"}
    assert all("line" not in e for row in done.rows for e in row["evidence"])


def test_a_config_file(label: Run, tmp_path: Path) -> None:
    """Paths in it lie beside it; options on the command line go over it."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/people.tsv").write_text("Orme\tPER\nRose\tPER\n", encoding="utf-8")
    (tmp_path / "conf/things.tsv").write_text("Orme\tLOC\ngout\tDISEASE\nBolt\tORG.firm\n", encoding="utf-8")
    (tmp_path / "conf/label.toml").write_text(
        """
[defaults]
case = "exact"
[types.DISEASE]
case = "insensitive"
plural = true
[types.PER]
deny = ["rose"]
[types.BAND]
allow = ["The The"]
[labels]
"ORG.*" = "ORG"
[[dictionaries]]
path = "people.tsv"
priority = 1
[[dictionaries]]
path = "things.tsv"
[builtin]
patterns = ["PERCENT"]
[[patterns]]
name = "flight"
label = "FLIGHT"
regex = "[A-Z]{2} ?[0-9]{2,4}"
[[patterns]]
name = "gate"
label = "GATE"
tokens = [{ LOWER = "gate" }, { IS_DIGIT = true }]
""",
        encoding="utf-8",
    )
    text = "Orme had GOUT and gouts , Rose not ; Bolt sold 10 % of The The to ZX 204 at Gate 7 . bolt ."
    config = ("--config", tmp_path / "conf/label.toml")
    done = label(text, *config)
    assert done.found == [
        ("Orme", "PER"),
        ("GOUT", "DISEASE"),
        ("gouts", "DISEASE"),
        ("Bolt", "ORG"),
        ("10 %", "PERCENT"),
        ("The The", "BAND"),
        ("ZX 204", "FLIGHT"),
        ("Gate 7", "GATE"),
    ]
    sources = {row["text"]: row["evidence"][0]["source"] for row in done.rows}
    assert (sources["Orme"], sources["The The"], sources["ZX 204"]) == (
        "people.tsv",
        "allow list",
        "label.toml",
    )
    over = label(text, *config, "--case", "insensitive", "--types", "ORG.*=FIRM")
    assert [x for x in over.found if x[0].lower() == "bolt"] == [("Bolt", "FIRM"), ("bolt", "FIRM")]


def test_phrases_without_a_type(label: Run, tmp_path: Path) -> None:
    """AutoNER's two dictionaries: they keep words from being labelled, and are no label."""
    (tmp_path / "core.txt").write_text(
        "".join(f"LOC\tTown {n}\n" for n in "ABCDEFGHIJ") + "LOC\tGolden Gate\n"
    )
    (tmp_path / "full.txt").write_text("Golden Gate Bridge\nTown A\n", encoding="utf-8")
    done = label(
        "they saw the Golden Gate Bridge in Town A today", "--case", "exact",
        "--dictionary", tmp_path / "core.txt", tmp_path / "full.txt",
    )  # fmt: skip
    assert done.found == [("Town A", "LOC")]
    assert done.report["unknown_phrases"] == 1
    assert done.report["dropped"] == {"overlap": {"LOC": 1}, "untyped": {"(no type)": 1}}
    assert [(row["text"], row["types"]) for row in done.rows] == [
        ("Golden Gate Bridge", []),
        ("Town A", ["LOC"]),
    ]
    assert "1 phrases of unknown type" in done.out
    (record,) = map(json.loads, done.file.read_text(encoding="utf-8").splitlines())
    assert [record["text"][x["start"] : x["end"]] for x in record["unknown"]] == ["Golden Gate Bridge"]


def test_a_patch(label: Run, names: Path, roster: Any, tmp_path: Path) -> None:
    first, second = tmp_path / "one.patch", tmp_path / "two.patch"
    first.write_text("# names\nremove\tMaria Lund\tPER\nretype\tOslo\tLOC\tORG\n", encoding="utf-8")
    second.write_text("add\tBergen\tLOC\t1 label\ndeny\tApple\nremove\tBonn\n", encoding="utf-8")
    texts = [text.replace("anything", "Bergen") for text in TEXTS]
    done = label(texts, "--dictionary", names, "--patch", first, second)
    assert done.labels == [
        [("Acme Corp.", "ORG"), ("Oslo", "ORG")],
        [("Bergen", "LOC")],
        [("Acme Corp", "ORG"), ("Oslo", "ORG")],
    ]
    assert "Patch: entries added: 1, removed: 1, retyped: 1; matches denied: 1" in done.out
    assert "1 of 5 lines of the patch have no effect: two.patch, line 3: remove Bonn" in done.err
    (bergen,) = (row for row in done.rows if row["text"] == "Bergen")
    assert bergen["evidence"] == [{"source": "two.patch", "entry": "Bergen", "kind": "LOC", "line": 1}]
    second.write_text("remove\tOslo\n", encoding="utf-8")
    corpus = tmp_path / "corpus.txt"
    failed = roster(
        "label", corpus, "-o", tmp_path / "x.jsonl", "--dictionary", names, "--patch", first, second
    )
    assert failed.code == 2
    assert f"{second}, line 1: `remove Oslo` contradicts `retype Oslo LOC ORG`" in failed.err
    failed = roster("label", corpus, "-o", first, "--to", "jsonl", "--dictionary", names, "--patch", first)
    assert failed.code == 2
    assert first.read_text(encoding="utf-8").startswith("# names")


def test_a_dictionary_format_that_is_said(label: Run, tmp_path: Path) -> None:
    (tmp_path / "n.txt").write_text("LOC\tOslo\nLOC,PER\tLund\n", encoding="utf-8")
    run = ("they left Oslo again", "--dictionary", tmp_path / "n.txt")
    assert label(*run, "--dictionary-format", "tsv").found == []
    assert label(*run, "--dictionary-format", "autoner").found == [("Oslo", "LOC")]
    assert label(*run).found == [("Oslo", "LOC")]


def test_broken_lines_can_be_passed_over(label: Run, tmp_path: Path) -> None:
    (tmp_path / "n.tsv").write_text("Oslo\tLOC\nhalf a line\n\tPER\nLima\tLOC\n", encoding="utf-8")
    run = ("they left Oslo for Lima", "--dictionary", tmp_path / "n.tsv", "--skip-broken")
    for _ in range(2):  # compiled, and from the cache
        done = label(*run)
        assert done.found == [("Oslo", "LOC"), ("Lima", "LOC")]
        assert done.report["broken_lines"] == 2
        first, second = done.report["first_broken_lines"]
        assert "n.tsv, line 2" in first
        assert "n.tsv, line 3" in second
        assert "2 broken lines" in done.out
        assert first in done.out


def test_scripts_and_spellings(label: Run, tmp_path: Path) -> None:
    rows = ["王小明\tPER", "ليلى حداد\tPER", "Zoë Núñez\tPER", "Griffin\tORG", "Acme\tORG"]
    (tmp_path / "n.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    texts = ["昨天王小明去了北京。", "قالت ليلى حداد إنها سعيدة.", "we met Zoe\u0308 Nu\u0301n\u0303ez there",
             "we left Gri\ufb03n today", "🎉 we love Acme🎉 and 👩\u200d🚀 too"]  # fmt: skip
    done = label(texts, "--dictionary", tmp_path / "n.tsv")
    assert [text for text, _ in done.found] == [
        "王小明", "ليلى حداد", "Zoe\u0308 Nu\u0301n\u0303ez", "Gri\ufb03n", "Acme"
    ]  # fmt: skip
    assert [row["text"] for row in done.rows] == [text for text, _ in done.found]


# The same bytes


def long_corpus(folder: Path) -> tuple[Path, Path]:
    """Two chunks of text, and a dictionary in which names overlap, disagree and come twice."""
    draw = random.Random(7)
    first, last = ("Maria", "Boris", "Clara", "Dmitri"), ("Lund", "Okoro", "Petit", "Sanz")
    rows = {f"{a} {b}\tPER" for a in first for b in last} | {
        f"{b}\t{t}" for b in last for t in ("PER", "LOC")
    }
    rows |= {"Lund\tLOC.town", "Acme Corp.\tORG", "ACME CORP\tORG", "Petit Club\tORG", "the\tORG", "x\tORG"}
    lines = sorted(rows)
    (folder / "n.tsv").write_text("".join(f"{row}\n" for row in lines), encoding="utf-8")
    with (folder / "c.txt").open("w", encoding="utf-8") as file:
        for n in range(1700):
            a, b, c = draw.choice(first), draw.choice(last), draw.choice(last)
            file.write(
                f"{a} {b} met {n} people in {c} . Then {b} joined the {c} Club of Acme Corp. again .\n"
            )
    return folder / "c.txt", folder / "n.tsv"


OUTPUTS = ("out.jsonl", "out.jsonl.labels.json", "out.jsonl.dead_entries.tsv")


def test_the_same_bytes_whatever_the_workers_and_the_order_of_the_dictionary(
    roster: Any, tmp_path: Path
) -> None:
    corpus, names = long_corpus(tmp_path)
    lines = names.read_text(encoding="utf-8").splitlines(keepends=True)
    options = ("--ambiguous", "document", "--types", "LOC.*=LOC", "--patterns", "CARDINAL")
    written: dict[str, list[bytes]] = {name: [] for name in (*OUTPUTS, "out.jsonl.provenance.jsonl")}
    for run, workers in enumerate((1, 2, 3, 2)):
        folder = tmp_path / str(run)
        folder.mkdir()
        random.Random(run).shuffle(lines)
        given = folder / "n.tsv"
        given.write_text("".join(lines) if run == 3 else names.read_text(encoding="utf-8"), encoding="utf-8")
        done = roster("label", corpus, "--dictionary", given, "-o", folder / "out.jsonl", *options,
                      "--workers", str(workers), "--no-cache")  # fmt: skip
        assert done.code == 0, done.err
        for name in written:
            written[name].append((folder / name).read_bytes())
    assert len(set(written["out.jsonl"])) == 1
    assert len(set(written["out.jsonl.labels.json"])) == 1
    assert len(set(written["out.jsonl.provenance.jsonl"][:3])) == 1
    assert len(set(written["out.jsonl.dead_entries.tsv"][:3])) == 1
    # Lines have other numbers in a shuffled dictionary; nothing else differs.
    plain = [_without_lines(content) for content in written["out.jsonl.provenance.jsonl"]]
    assert plain[0] == plain[3]
    assert len(json.loads(written["out.jsonl.labels.json"][0])["types"]) == 4


def _without_lines(content: bytes) -> list[Any]:
    rows = [json.loads(line) for line in content.splitlines()]
    for row in rows:
        for evidence in row["evidence"]:
            evidence.pop("line", None)
    return rows


def test_python_gives_what_the_command_writes(label: Run, tmp_path: Path) -> None:
    corpus, names = long_corpus(tmp_path)
    done = label(corpus, "--dictionary", names, "--ambiguous", "document", "--patterns", "CARDINAL")
    settings: dict[str, Any] = {"builtin": ["CARDINAL"], "conflicts": {"ambiguous": "document"}}
    for source in (corpus, list(read(corpus)), read(corpus)):
        labels = package.label(source, names, **settings)
        assert list(labels) == done.sentences
        assert labels.report.as_dict() == done.report
    labels = package.label(corpus, [str(names)], workers=2, **settings)
    labels.save(Target(tmp_path / "python.jsonl"))
    for name in (*OUTPUTS, "out.jsonl.provenance.jsonl"):
        python = tmp_path / name.replace("out", "python", 1)
        assert python.read_bytes() == (tmp_path / name).read_bytes(), name
    assert labels.score(done.sentences).f1 == package.evaluate(labels, done.file).f1 == 1


# The cache


def cached(folder: Path) -> dict[Path, tuple[int, int]]:
    """Every file of the cache, with what tells that it was written anew."""
    files = [f for f in (folder / "cache").rglob("*") if f.is_file()]
    return {f: (f.stat().st_ino, f.stat().st_mtime_ns) for f in files}


def test_the_second_run_does_not_compile(label: Run, names: Path, tmp_path: Path) -> None:
    """It says nothing of compiling, and each file in the cache is the one that was there."""
    first = label(TEXTS, "--dictionary", names)
    assert "compiling names.tsv" in first.err
    before = cached(tmp_path)
    assert before
    second = label(TEXTS, "--dictionary", names)
    assert "compiling" not in second.err
    assert cached(tmp_path) == before
    assert (second.labels, second.rows, second.report) == (first.labels, first.rows, first.report)
    # That those files are what it works with: with the names in them changed, it finds others.
    (surfaces,) = (tmp_path / "cache").rglob("surfaces.npy")
    surfaces.write_bytes(surfaces.read_bytes().replace(b"Oslo", b"Olso"))
    third = label(TEXTS, "--dictionary", names)
    assert {e["entry"] for row in third.rows for e in row["evidence"]} >= {"Olso"}


@pytest.mark.parametrize(
    "damage", ["truncated", "garbage", "empty", "missing", "no description", "other keys"]
)
def test_a_damaged_cache_is_made_again(damage: str, label: Run, names: Path, tmp_path: Path) -> None:
    first = label(TEXTS, "--dictionary", names)
    (description,) = (tmp_path / "cache").rglob("lexicon.json")
    array = description.with_name("form_entry.npy")
    if damage == "truncated":
        array.write_bytes(array.read_bytes()[:-3])
    elif damage == "missing":
        description.with_name("automaton-0.bin").unlink()
    elif damage == "no description":
        description.unlink()
    else:
        description.write_text(
            {"garbage": "{not json", "empty": "", "other keys": '{"form": "NFKC"}'}[damage]
        )
    again = label(TEXTS, "--dictionary", names)
    assert "compiling names.tsv" in again.err
    assert (again.labels, again.rows, again.report) == (first.labels, first.rows, first.report)
    assert "compiling" not in label(TEXTS, "--dictionary", names).err


@pytest.mark.parametrize("name", ["automaton-0.bin", "form_entry.npy", "vocabulary.npy"])
def test_a_cache_that_was_never_filled(name: str, label: Run, names: Path, tmp_path: Path) -> None:
    """After a loss of power a file can have its size, and only zeros in it."""
    first = label(TEXTS, "--dictionary", names)
    (file,) = (tmp_path / "cache").rglob(name)
    file.write_bytes(bytes(file.stat().st_size))
    again = label(TEXTS, "--dictionary", names)
    assert again.labels == first.labels


def test_another_content_of_the_same_size_and_time_is_noticed(label: Run, tmp_path: Path) -> None:
    names = tmp_path / "names.tsv"
    names.write_text("Oslo\tLOC\n")
    stat = names.stat()
    assert label("from Oslo to Lima .", "--dictionary", names).found == [("Oslo", "LOC")]
    names.write_text("Lima\tLOC\n")
    os.utime(names, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (names.stat().st_size, names.stat().st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)
    assert label("from Oslo to Lima .", "--dictionary", names).found == [("Lima", "LOC")]


def test_other_settings_have_another_cache(label: Run, names: Path) -> None:
    label(TEXTS, "--dictionary", names)
    for options in (("--case", "exact"), ("--types", "ORG=FIRM")):
        done = label(TEXTS, "--dictionary", names, *options)
        again = label(TEXTS, "--dictionary", names, *options)
        assert again.labels == done.labels
        assert "compiling" not in again.err
    assert label(TEXTS, "--dictionary", names, "--types", "ORG=FIRM").report["types"].keys() == {
        "FIRM",
        "LOC",
        "PER",
    }


def test_two_processes_compile_at_once(names: Path, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    command = [*LABEL, tmp_path / "c.txt", "--format", "text",
               "--dictionary", names, "--cache", tmp_path / "cache", "--workers", "1", "-o"]  # fmt: skip
    pipes: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    started = [
        subprocess.Popen([*command, tmp_path / f"{n}.jsonl"], env=environment, **pipes) for n in range(3)
    ]
    for n, process in enumerate(started):
        _, err = process.communicate()
        assert process.returncode == 0, err
        assert [found_in(s) for s in read(tmp_path / f"{n}.jsonl")] == LABELS
    assert len(list((tmp_path / "cache/lexicons").iterdir())) == 1


AT_ONCE = """
import multiprocessing, sys
from pathlib import Path
from roster.distant.compiling.cache import load_lexicons
from roster.distant.compiling.lexicon import Source
from roster.distant.policy.policies import Policies

PROCESSES, ROUNDS = 5, 60
folder = Path(sys.argv[1])
context = multiprocessing.get_context("fork")
barrier = context.Barrier(PROCESSES)

def work(_):
    failed = []
    for n in range(ROUNDS):
        barrier.wait()
        try:
            (found,) = load_lexicons([Source(folder / "names.tsv")], Policies(), folder / f"cache{n}")
            assert len(found) == 7
        except Exception as error:
            failed.append(repr(error))
    return failed

with context.Pool(PROCESSES) as pool:
    failed = [error for errors in pool.map(work, range(PROCESSES), chunksize=1) for error in errors]
print(len(failed), *failed, sep="\\n")
"""


def test_processes_that_fill_one_cache_never_trip_over_each_other(
    names: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """Many rounds from a common start: the moment in which two of them finish is short."""
    command: list[Any] = [sys.executable, "-c", AT_ONCE, tmp_path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0\n", done.stdout[:2000]
    assert not [f for f in tmp_path.rglob("*") if f.name.endswith((".part", ".old"))]


def test_no_cache_leaves_nothing(label: Run, names: Path, tmp_path: Path) -> None:
    done = label(TEXTS, "--dictionary", names, "--no-cache")
    assert done.labels == LABELS
    assert not (tmp_path / "cache").exists()
    assert {f.name for f in tmp_path.iterdir()} == {
        "names.tsv", "corpus.txt", "out.jsonl", "out.jsonl.labels.json", "out.jsonl.provenance.jsonl",
        "out.jsonl.labels.toml",
        "out.jsonl.dead_entries.tsv",
    }  # fmt: skip


def test_a_cache_folder_that_is_given(label: Run, names: Path, tmp_path: Path) -> None:
    label(TEXTS, "--dictionary", names, "--cache", tmp_path / "mine")
    assert list((tmp_path / "mine").rglob("lexicon.json"))
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("place", ["a file", "/proc/nowhere"])
@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_cache_that_cannot_be_written(
    by: str, place: str, roster: Any, names: Path, tmp_path: Path
) -> None:
    """Said with the way out, and before anything is written."""
    (tmp_path / "a file").write_text("mine")
    (tmp_path / "c.txt").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    run = ("label", tmp_path / "c.txt", "--dictionary", names, "--workers", "1", "-o", tmp_path / "out.jsonl")
    cache = tmp_path / place
    if by == "option":
        done = roster(*run, "--cache", cache)
    else:
        done = roster(*run, ROSTER_CACHE=str(cache))
    assert done.code == 2, done.err
    last = done.err.splitlines()[-1]
    assert last.startswith(f"roster: cannot write {cache}"), last
    assert "--no-cache" in last
    assert "Traceback" not in done.err
    assert not list(tmp_path.glob("out*"))
    assert roster(*run, "--no-cache", ROSTER_CACHE=str(cache)).code == 0
    assert (tmp_path / "a file").read_text() == "mine"
