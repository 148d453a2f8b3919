"""The report says what a count by hand says, in an order that nothing but the counts decides."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence, Span
from roster.corpus.tokenizer import split
from roster.distant.labelling.chunk_labeller import Labelled
from roster.distant.labels import Labels
from roster.distant.matching.conflicts import Reason
from roster.distant.matching.mention import Label, Mention
from roster.distant.output.policy_report import REFUSED_WHY
from roster.distant.output.report import WHY, Report, provenance
from roster.distant.settings import load_settings


def labelled(words: int, *labels: tuple[int, int, str, Sequence[tuple[str, str]]]) -> Labelled:
    """Labels as (start, end, types, [(source, entry)])."""
    made = [
        Label(
            a,
            b,
            tuple(filter(None, types.split(","))),
            tuple(Mention(a, b, types.split(",")[0], types, source, entry) for source, entry in evidence),
        )
        for a, b, types, evidence in labels
    ]
    spans = [Span(x.start, x.end, ",".join(x.types)) for x in made if x.types]
    return Labelled(Sentence.from_words([f"w{i}" for i in range(words)], spans), tuple(made))


def test_counts() -> None:
    report = Report()
    rows = [
        labelled(5, (0, 2, "PER", [("a", "Ada Lund"), ("b", "ADA LUND")]), (3, 4, "LOC", [("a", "Oslo")])),
        labelled(4, (1, 3, "LOC,PER", [("a", "Lund")]), (3, 4, "", [("full", "x")])),
        labelled(3, (0, 1, "LOC", [("a", "Oslo"), ("a", "Oslo")])),
        labelled(0),
    ]
    assert list(report.follow(rows)) == rows
    found = report.as_dict()
    assert (found["sentences"], found["words"], found["labelled_sentences"]) == (3, 12, 3)
    assert (found["covered_words"], found["unknown_phrases"]) == (6, 1)
    assert list(found["types"].items()) == [
        ("LOC", {"labels": 2, "words": 2}),
        ("LOC,PER", {"labels": 1, "words": 2}),
        ("PER", {"labels": 1, "words": 2}),
    ]
    assert list(found["sources"].items()) == [("a", 4), ("b", 1)]
    assert [(x["entry"], x["label"], x["count"]) for x in found["top_entries"]] == [
        ("Oslo", "LOC", 2),
        ("Ada Lund", "PER", 1),
        ("Lund", "LOC,PER", 1),
    ]


def test_items_of_a_knowledge_base_are_shown_by_name() -> None:
    item = Mention(0, 1, "LOC", "LOC", "wikidata.kb", "http://www.wikidata.org/entity/Q585", name="Oslo")
    sentence = Sentence.from_words(["Oslo"], [Span(0, 1, "LOC")])
    one = Labelled(sentence, (Label(0, 1, ("LOC",), (item,)),))
    report = Report()
    for _ in report.follow([one]):
        pass
    assert report.as_dict()["top_entries"] == [{"entry": "Oslo", "label": "LOC", "count": 1}]
    assert report.text().endswith("  Oslo 1")
    assert provenance(0, one)[0]["evidence"][0]["entry"] == item.entry


@st.composite
def sentences(draw: st.DrawFn) -> Labelled:
    words = draw(st.integers(0, 8))
    borders = sorted(draw(st.sets(st.integers(0, words), max_size=6)))
    labels = []
    for a, b in zip(borders[::2], borders[1::2], strict=False):
        types = draw(st.sampled_from(["PER", "LOC", "LOC,PER", ""]))
        evidence = draw(
            st.lists(st.tuples(st.sampled_from("st"), st.sampled_from("xyz")), min_size=1, max_size=3)
        )
        labels.append((a, b, types, evidence))
    return labelled(words, *labels)


@given(st.lists(sentences(), max_size=8))
def test_counts_against_a_count_of_all(rows: list[Labelled]) -> None:
    report = Report()
    for _ in report.follow(rows):
        pass
    typed = [(one, x) for one in rows for x in one.labels if x.types]
    assert report.words == sum(len(one.sentence.words) for one in rows)
    assert report.sentences == sum(one.sentence.words != () for one in rows)
    assert report.labelled_sentences == len({id(one) for one, _ in typed})
    covered = {
        (i, w) for i, one in enumerate(rows) for x in one.labels if x.types for w in range(x.start, x.end)
    }
    assert report.covered == len(covered)
    assert report.labels == Counter(",".join(x.types) for _, x in typed)
    assert report.sources == Counter(s for _, x in typed for s in {m.source for m in x.evidence})
    assert report.unknown == sum(not x.types for one in rows for x in one.labels)
    counts = [(-e["count"], e["entry"], e["label"]) for e in report.as_dict()["top_entries"]]
    assert counts == sorted(counts)


@given(st.permutations([sentence for n in range(3) for sentence in (
    labelled(3, (0, 1, "A", [("s", "x")])), labelled(3, (0, 1, "B", [("t", "y")])), labelled(2 + n)
)]))  # fmt: skip
def test_the_order_of_sentences_does_not_matter(rows: list[Labelled]) -> None:
    written = set()
    for order in (rows, rows[::-1]):
        report = Report()
        for _ in report.follow(order):
            pass
        written.add((json.dumps(report.as_dict()), report.text()))
    assert len(written) == 1


def test_every_reason_has_words() -> None:
    assert set(WHY) == {reason.value for reason in Reason}


def labels_of(folder: Path, names: str, *texts: str, **options: Any) -> Labels:
    (folder / "names.tsv").write_text(names, encoding="utf-8")
    corpus = [s for n, text in enumerate(texts) for s in split(text, str(n))]
    labels = Labels(lambda: corpus, load_settings(dictionaries=[folder / "names.tsv"], **options))
    for _ in labels:
        pass
    return labels


def test_what_was_lost(tmp_path: Path) -> None:
    names = "Lund\tPER\nLund\tLOC\nMaria Lund\tPER\nthe\tORG\nX\tORG\n!\tORG\nApple\tORG\nFargo\tFILM\n"
    labels = labels_of(
        tmp_path,
        names,
        "Maria Lund went to Lund. We ate an apple and one more apple.",
        "They drove to Lund.",
        labels={"FILM": ""},
    )
    found = labels.report.as_dict()
    json.dumps(found)
    assert found["entries"] == 8
    assert found["dead_entries"] == {
        "type without a label": 1,
        "no letter or digit": 1,
        "shorter than min_length": 1,
        "only stop-words": 1,
    }
    assert found["dropped"] == {"ambiguous": {"LOC": 2, "PER": 2}}
    assert found["ambiguous"] == [{"name": "Lund", "types": ["LOC", "PER"], "count": 2}]
    assert found["refused"] == [
        {"reason": "lower_case", "type": "ORG", "matches": 2, "examples": ["Apple"]},
        {"reason": "part_of_longer", "type": "LOC", "matches": 1, "examples": ["Lund"]},
        {"reason": "part_of_longer", "type": "PER", "matches": 1, "examples": ["Lund"]},
    ]
    assert found["dropped_examples"] == {"ambiguous": ["Lund"]}
    text = labels.report.text()
    assert "Lund (LOC or PER) 2" in text
    assert "Of 8 entries, 4 can match nothing:" in text
    for count, why, name in (
        (4, WHY["ambiguous"], "Lund"),
        (2, REFUSED_WHY["lower_case"], "Apple"),
        (2, REFUSED_WHY["part_of_longer"], "Lund"),
    ):
        assert f"{count}  {why}: {name}\n" in text


def test_equal_counts_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Whatever the order in which the corpus has them."""
    names = "Apple\tZ\nRose\tA\n"
    texts = ("We ate an apple there", "We saw a rose there")
    written = {
        json.dumps(labels_of(tmp_path, names, *order).report.as_dict()) for order in (texts, texts[::-1])
    }
    assert len(written) == 1
    refused = json.loads(written.pop())["refused"]
    assert [(row["type"], row["matches"]) for row in refused] == [("A", 1), ("Z", 1)]


def test_each_pass_counts_anew(tmp_path: Path) -> None:
    labels = labels_of(tmp_path, "Lund\tPER\nLund\tLOC\nOslo\tLOC\n", "From Lund they went to Oslo.")
    first = labels.report.as_dict()
    for _ in labels:
        pass
    assert labels.report.as_dict() == first
    assert first["dropped"] == {"ambiguous": {"LOC": 1, "PER": 1}}


def test_a_corpus_without_a_match(tmp_path: Path) -> None:
    report = labels_of(tmp_path, "Oslo\tLOC\n", "nothing here .").report
    assert report.as_dict()["types"] == {}
    assert "0 labels" in report.text()
    assert "0 words in 0 sentences" in Report().text()
    assert Report().as_dict()["words"] == 0


def test_labels_for_types_that_no_source_has(tmp_path: Path) -> None:
    names = "Oslo\tLOC.town\nAda\tPER\n"
    labels = {"XYZ": "PLACE", "LOC.*": "LOC", "MISC.*": "", "DATE": "WHEN", "PER": "PER"}
    report = labels_of(
        tmp_path, names, "Then Ada saw Oslo on 3 May 1999 .", labels=labels, builtin=["DATE"]
    ).report
    assert report.warnings == [
        "XYZ=PLACE has no effect: no entry has a type that matches XYZ; the types are LOC.town, PER",
        "MISC.*= has no effect: no entry has a type that matches MISC.*; the types are LOC.town, PER",
        "DATE=WHEN has no effect: no entry has a type that matches DATE; patterns have the label that the "
        "pattern gives ([builtin] labels in a file for --config)",
    ]
    assert report.as_dict()["warnings"] == report.warnings


def test_provenance_of_a_label_with_all_there_is_to_say() -> None:
    mention = Mention(1, 3, "LOC", "LOC.town", "towns.tsv", "Bad Orme", 7, 2)
    pattern = Mention(1, 3, "LOC", "LOC", "patterns", "town")
    one = Labelled(Sentence.from_words(["in", "Bad", "Orme"]), (Label(1, 3, ("LOC",), (mention, pattern)),))
    assert provenance(4, one) == [
        {
            "sentence": 4,
            "start": 1,
            "end": 3,
            "text": "Bad Orme",
            "types": ["LOC"],
            "evidence": [
                {"source": "towns.tsv", "entry": "Bad Orme", "kind": "LOC.town", "line": 7, "priority": 2},
                {"source": "patterns", "entry": "town", "kind": "LOC"},
            ],
        }
    ]


@pytest.mark.parametrize("text", ["他见了王小明。", "She met  王小明  there."])
def test_provenance_quotes_the_text_itself(text: str) -> None:
    """Not the words with spaces between them: a script without spaces has none."""
    (sentence,) = split(text)
    start = sentence.words.index("王")
    labels = (
        Label(start, start + 3, ("PER",), (Mention(start, start + 3, "PER", "PER", "n", "王小明", 1),)),
    )
    assert provenance(0, Labelled(sentence, labels))[0]["text"] == "王小明"
