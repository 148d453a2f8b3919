"""The audit of labels whose errors are known: what the members think decides what is claimed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.api import labelling
from roster.auditing.audit import PAGE, PATCH, ROWS, Audit
from roster.auditing.changes import changes_of, is_default
from roster.auditing.evidence import Evidence, read_sources
from roster.auditing.measure import AgainstGold, area
from roster.auditing.opinions import Opinions
from roster.auditing.patch import SURE, UNSURE, patch, proposals
from roster.auditing.quality import TRUE_OUTSIDE, Estimate
from roster.auditing.summary import summary
from roster.corpus.dataset import load_dataset
from roster.corpus.provenance import Source
from roster.corpus.sentence import Sentence, Span
from roster.distant.entries.patch import read_patch
from roster.errors import DataError

TYPES = ("PER", "LOC")
NO, PER, LOC = 0, 1, 2


def sentence(text: str, *spans: tuple[int, int, str]) -> Sentence:
    return Sentence.from_words(text.split(), [Span(*one) for one in spans])


SENTENCES = [
    sentence("Ada met Rome", (0, 1, "PER"), (2, 3, "LOC")),  # right, right
    sentence("in New York City .", (1, 3, "LOC")),  # a part of New York City
    sentence("The end", (0, 1, "PER")),  # no name
    sentence("to Georgia", (1, 2, "PER")),  # a place
    sentence("near Oslo and Oslo"),  # two names that no label names
]
TRUE = [PER, NO, LOC, NO, LOC, LOC, LOC, NO, NO, NO, NO, LOC, NO, LOC, NO, LOC]


def certain(classes: list[int], sure: float = 0.9) -> np.ndarray:
    p = np.full((len(classes), 3), (1 - sure) / 2, np.float16)
    p[np.arange(len(classes)), classes] = sure
    return p


def evidence(
    members: list[np.ndarray] | None = None,
    held_out: list[int] | None = None,
    removed: np.ndarray | None = None,
    sources: dict[tuple[int, int, int], tuple[Source, ...]] | None = None,
) -> Evidence:
    opinions = Opinions(
        members or [certain(TRUE), certain(TRUE)], np.array(held_out or [-1] * len(TRUE)), removed
    )
    return Evidence(SENTENCES, TYPES, opinions, sources or {})


def test_what_is_wrong_and_what_is_believed_instead() -> None:
    rows = [row for row in Audit(evidence()).rows() if row["kind"] == "label"]
    told = {row["text"]: (row["given"], row["believed"], row.get("believed_text")) for row in rows}
    assert told == {
        "New York": ("LOC", "LOC", "New York City"),
        "The": ("PER", "", None),
        "Georgia": ("PER", "LOC", None),
    }
    place = next(row for row in rows if row["text"] == "Georgia")
    assert (place["sentence"], place["start"], place["end"]) == (3, 1, 2)
    assert (place["left"], place["right"]) == ("to ", "")
    assert [row["confidence"] for row in rows] == sorted((row["confidence"] for row in rows), reverse=True)


def test_the_member_that_did_not_learn_a_name_is_named_apart() -> None:
    """Of Georgia the first member says PER, as it learned; the second, which did not, LOC."""
    learned, blind = certain(TRUE), certain(TRUE)
    learned[11] = certain([PER])[0]
    found = Audit(evidence([learned, blind], [1 if i == 11 else -1 for i in range(len(TRUE))]))
    (row,) = [row for row in found.rows() if row["kind"] == "label" and row["text"] == "Georgia"]
    assert row["held_out"] == pytest.approx((0.05 - 0.9 + 1) / 2 * 0.95, abs=1e-3)
    assert row["members"] == pytest.approx(0.5 * 0.95, abs=1e-3)
    assert "held_out" not in next(row for row in found.rows() if row.get("text") == "The")


def test_removals_count_for_members_that_learned_the_label() -> None:
    removed = np.zeros((2, len(TRUE)), np.int16)
    removed[0, 8], removed[1, 8] = 4, 2
    removed[1, 11] = 4
    opinions = evidence(held_out=[1 if i == 11 else -1 for i in range(len(TRUE))], removed=removed).opinions
    assert opinions.doubts()[8] == pytest.approx(3 / 4)
    assert opinions.doubts()[11] == 0  # the second member had not learned it
    assert not evidence().opinions.doubts().any()


def test_entries_have_a_verdict_and_their_line() -> None:
    georgia, new_york = Source("names.tsv", "Georgia", 7), Source("names.tsv", "New York", 2)
    sources = {(3, 1, 2): (georgia,), (1, 1, 3): (new_york,)}
    rows = [row for row in Audit(evidence(sources=sources)).rows() if row["kind"] == "entry"]
    told = {row["entry"]: (row["verdict"], row["believed"], row["longer"], row["line"]) for row in rows}
    assert told == {
        "Ada": ("right", "", "", 0),
        "Rome": ("right", "", "", 0),
        "New York": ("part of a longer name", "LOC", "New York City", 2),
        "The": ("wrong", "", "", 0),
        "Georgia": ("wrong type", "LOC", "", 7),
    }


def test_an_entry_that_is_right_here_and_wrong_there_is_ambiguous() -> None:
    sentences = [sentence("Georgia ran", (0, 1, "PER")), sentence("to Georgia", (1, 2, "PER"))]
    opinions = Opinions([certain([PER, NO, NO, LOC])], np.full(4, -1))
    (entry,) = Audit(Evidence(sentences, TYPES, opinions, {})).entries
    assert (entry.verdict, entry.labels) == ("ambiguous", 2)


def test_names_without_a_label() -> None:
    (name,) = Audit(evidence()).names
    assert (name.name, name.label, name.count) == ("Oslo", "LOC", 2)
    assert name.occurrences == 2
    assert name.confidence == pytest.approx(2 * (0.9 - 0.05 + 1) / 2 * 0.95**2 / 2.5, abs=0.05)
    (row,) = [row for row in Audit(evidence()).rows() if row["kind"] == "name"]
    assert row["examples"][0] == ("near ", "Oslo", " and Oslo")


def test_precision_is_a_share_of_exact_labels_and_recall_counts_what_is_not_found() -> None:
    found = {one.label: one for one in Audit(evidence()).types}
    assert found["PER"].precision is not None
    assert found["PER"].precision.value == pytest.approx(1 / 3)
    assert found["LOC"].recall is not None
    beside = 4  # New York City, Georgia, Oslo, Oslo; of the two labels the members find one
    assert found["LOC"].recall.value == pytest.approx(1 / (1 + TRUE_OUTSIDE * beside / 0.5))
    told = found["LOC"].recall.as_dict()
    assert 0 <= told["low"] < told["value"] < told["high"] <= 1


def test_bounds_are_wider_for_few_labels() -> None:
    few, many = Estimate(0.5, 0.1, 10), Estimate(0.5, 0.1, 10_000)
    assert few.bounds[0] < many.bounds[0] < 0.5 < many.bounds[1] < few.bounds[1]
    assert Estimate(0.5, 0.1).bounds == pytest.approx((0.5 - 1.96 * 1.2533 * 0.1, 0.5 + 1.96 * 1.2533 * 0.1))


def test_a_type_without_labels_and_predictions_has_no_estimate() -> None:
    opinions = Opinions([certain([NO, NO])], np.full(2, -1))
    found = Audit(Evidence([sentence("The end")], TYPES, opinions, {})).types
    assert [(one.precision, one.recall) for one in found] == [(None, None)] * 2


def row(name: str, confidence: float, **more: Any) -> dict[str, Any]:
    return {"kind": "name", "name": name, "label": "LOC", "count": 9, "confidence": confidence, **more}


def test_the_patch_has_what_is_sure_and_the_rest_as_comments(tmp_path: Path) -> None:
    wrong = {
        "kind": "entry",
        "entry": "The",
        "label": "PER",
        "source": "a.tsv",
        "line": 3,
        "verdict": "wrong",
        "labels": 4,
        "wrong": 3.6,
    }
    rows = [
        row("Oslo", SURE),
        row("unsure", UNSURE - 0.01),
        {**wrong, "confidence": SURE - 0.01},
        row("a\tb", 1.0),
        {**wrong, "entry": "Oslo", "label": "LOC", "confidence": SURE + 0.1},
    ]
    lines = "".join(patch(proposals(rows))).splitlines()
    assert [line for line in lines if "\t" in line] == [
        "add\ta b\tLOC\tfound 9 times",
        "remove\tOslo\tLOC\t4 of 4 labels believed wrong",
        "# add\tOslo\tLOC\tfound 9 times",  # a surer change says otherwise
        "# remove\tThe\tPER\t4 of 4 labels believed wrong",
    ]
    file = tmp_path / "patch.tsv"
    file.write_text("".join(patch(proposals(rows))))
    assert [str(change) for change in read_patch(file).changes] == ["add a b LOC", "remove Oslo LOC"]


def test_another_type_and_a_longer_name_are_for_a_person_to_decide() -> None:
    entry = {"kind": "entry", "source": "a.tsv", "line": 3, "labels": 9, "wrong": 9.0, "confidence": 1.0}
    rows = [
        {**entry, "entry": "Come", "label": "LOC", "verdict": "wrong"},
        {**entry, "entry": "May", "label": "PER", "verdict": "wrong type", "believed": "LOC"},
        {**entry, "entry": "Rome", "label": "LOC", "verdict": "part of a longer name", "longer": "AS Rome"},
        row("Oslo", 1.0),
    ]
    lines = "".join(patch(proposals(rows))).splitlines()
    assert [line.split("\t")[0] for line in lines if "\t" in line] == ["# add", "add", "remove", "# retype"]


def test_a_run_that_learned_nothing_changes_nothing(tmp_path: Path) -> None:
    nothing = certain([NO] * len(TRUE))
    found = Audit(evidence([nothing, nothing]))
    assert found.judged.wrong.tolist()
    assert not found.proposals
    assert "find only 0 % of the labels" in found.reason
    assert "find only 0 % of the labels" in summary(found)
    found.save(tmp_path)
    told = (tmp_path / PATCH).read_text()
    assert "# No changes: the members find only 0 %" in told
    assert not read_patch(tmp_path / PATCH).changes
    assert "No changes are proposed" in (tmp_path / PAGE).read_text()
    rows = [json.loads(line) for line in (tmp_path / ROWS).read_text().splitlines()]
    entries = [row for row in rows if row["kind"] in ("entry", "name")]
    assert entries
    assert not any(map(is_default, entries))


def test_a_run_that_only_memorised_changes_nothing() -> None:
    """Each member finds what it was taught, and nothing of what it was not."""
    places = [(0, 1, PER), (2, 3, LOC), (4, 6, LOC), (8, 9, PER), (11, 12, PER)]
    learned, held_out, members = [NO] * len(TRUE), [-1] * len(TRUE), []
    for number, (start, end, label) in enumerate(places):
        learned[start:end], held_out[start:end] = [label] * (end - start), [number % 2] * (end - start)
    for member in (0, 1):
        kept = [NO if held_out[i] == member else c for i, c in enumerate(learned)]
        members.append(certain(kept))
    found = Audit(evidence(members, held_out))
    assert found.evidence.learned == 1
    assert "were not taught" in found.reason


def test_files_and_summary(tmp_path: Path) -> None:
    found = Audit(evidence())
    found.save(tmp_path / "audit")
    rows = [json.loads(line) for line in (tmp_path / "audit" / ROWS).read_text().splitlines()]
    assert {row["kind"] for row in rows} == {"type", "label", "entry", "name"}
    assert "add\tOslo\tLOC\tfound 2 times" in (tmp_path / "audit" / PATCH).read_text()
    assert "New York City" in (tmp_path / "audit" / PAGE).read_text()
    told = summary(found)
    assert "3 of 5 labels are believed wrong" in told
    assert "New York [LOC]" in told
    assert "Oslo [LOC]" in told


def test_control_characters_do_not_reach_the_terminal() -> None:
    sentences = [sentence("\x1b[2J ran", (0, 1, "PER"))]
    told = summary(Audit(Evidence(sentences, TYPES, Opinions([certain([NO, NO])], np.full(2, -1)), {})))
    assert "\x1b" not in told


def against_gold() -> AgainstGold:
    gold = [
        SENTENCES[0],
        sentence("in New York City .", (1, 4, "LOC")),
        sentence("The end"),
        SENTENCES[3],  # the members are wrong about Georgia
        sentence("near Oslo and Oslo", (1, 2, "LOC"), (3, 4, "LOC")),
    ]
    return AgainstGold(Audit(evidence()), gold)


def test_claims_beside_gold_labels() -> None:
    found = {one.name: one for one in against_gold().rankings()}
    labels = found["labels"]
    assert sorted(labels.true.tolist()) == [False, True, True]
    assert labels.chance == pytest.approx(2 / 5)
    assert labels.precision(2) is not None
    assert labels.precision(100) is None
    assert found["entries"].true.sum() == 2
    assert found["names"].true.tolist() == [True]
    types = {row["label"]: row for row in against_gold().types()}
    assert types["PER"]["true_precision"] == pytest.approx(2 / 3)
    assert types["LOC"]["true_recall"] == pytest.approx(1 / 4)
    assert "Precision of the claims" in against_gold().text()


def test_gold_of_other_sentences_is_refused() -> None:
    with pytest.raises(DataError, match="not the sentences"):
        AgainstGold(Audit(evidence()), [sentence("other words")])


def test_claims_on_sentences_without_gold_labels_are_not_counted() -> None:
    found = AgainstGold(Audit(evidence()), [SENTENCES[4], sentence("The end")])
    told = {one.name: one for one in found.rankings()}
    assert told["labels"].true.tolist() == [True]
    assert told["labels"].chance == 1
    assert told["entries"].true.tolist() == [True]
    assert told["names"].true.tolist() == [False]
    assert {row["label"]: row["true_precision"] for row in found.types()} == {"PER": 0, "LOC": None}
    assert "2 of 5 sentences" in found.text()


def test_a_name_whose_words_stand_elsewhere_without_it_is_less_sure() -> None:
    """`Oslo` is a name in two sentences; in the third, in other case, no member finds it."""
    more = [*SENTENCES, sentence("the OSLO file")]
    p = certain([*TRUE, NO, NO, NO])
    (name,) = Audit(Evidence(more, TYPES, Opinions([p, p], np.full(len(p), -1)), {})).names
    assert (name.count, name.occurrences) == (2, 3)
    assert name.agreed == pytest.approx(2 / 3)
    found = Audit(Evidence(more, TYPES, Opinions([p, p], np.full(len(p), -1)), {}))
    assert "found 2 of 3 times" in {one.why for one in found.proposals}
    one_member = certain([*TRUE[:13], NO, NO, NO, NO, NO, NO])
    (name,) = Audit(Evidence(more, TYPES, Opinions([p, p, one_member], np.full(len(p), -1)), {})).names
    assert name.agreed == 0


def test_a_verdict_on_an_entry_is_as_sure_as_the_member_that_doubts_it_most() -> None:
    entry = next(e for e in Audit(evidence()).entries if e.source.entry == "The")
    assert (entry.verdict, entry.agreed, entry.occurrences) == ("wrong", 1, 1)
    assert entry.confidence == pytest.approx(1 / 1.5)
    learned = certain([PER if i == 8 else c for i, c in enumerate(TRUE)])
    found = Audit(evidence([*[certain(TRUE, 0.98)] * 4, learned]))
    entry = next(e for e in found.entries if e.source.entry == "The")
    assert (entry.verdict, entry.confidence) == ("wrong", 0)


def test_labels_of_an_entry_that_is_doubted_elsewhere_come_first() -> None:
    """The same certainty; the other labels of the one entry are doubted too, those of the other are not."""
    sentences = [sentence(f"{name} x", (0, 1, "PER")) for name in ["May"] * 3 + ["Ada"] * 3]
    p = certain([NO, NO, NO, NO, NO, NO, PER, NO, PER, NO, NO, NO])
    found = Audit(Evidence(sentences, TYPES, Opinions([p], np.full(12, -1)), {}))
    assert found.judged.wrong.tolist() == [0, 1, 2, 5]
    assert len(set(found.judged.certainty[found.judged.wrong].tolist())) == 1


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.3, 0.5, 0.9]), st.booleans()), min_size=2, max_size=20))
def test_area_is_the_share_of_pairs_in_order(scored: list[tuple[float, bool]]) -> None:
    score, good = (np.array(x) for x in zip(*scored, strict=True))
    pairs = [(a > b) + 0.5 * (a == b) for a in score[good] for b in score[~good]]
    found = area(score, good)
    assert (found is None) == (not pairs)
    if found is not None:
        assert found == pytest.approx(sum(pairs) / len(pairs))


def test_sources_are_counted_with_the_empty_sentences_of_the_file(tmp_path: Path) -> None:
    """`roster label` keeps empty lines and counts them; a data set has no sentence for them."""
    texts = ["Ada ran", "", "", "in Rome"]
    spans = [[{"start": 0, "end": 3, "label": "PER"}], [], [], [{"start": 3, "end": 7, "label": "LOC"}]]
    lines = [json.dumps({"text": t, "spans": s}) for t, s in zip(texts, spans, strict=True)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines) + "\n")
    told = [(0, 0, 1, "Ada", 5), (3, 1, 2, "Rome", 8)]
    provenance = [
        {"sentence": n, "start": a, "end": b, "evidence": [{"source": "n.tsv", "entry": name, "line": line}]}
        for n, a, b, name, line in told
    ]
    file = tmp_path / "train.jsonl.provenance.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in provenance))
    found = read_sources(load_dataset(tmp_path))
    assert found == {(0, 0, 1): (Source("n.tsv", "Ada", 5),), (1, 1, 2): (Source("n.tsv", "Rome", 8),)}


def test_names_that_a_file_cannot_tell_apart_do_not_contradict_each_other(tmp_path: Path) -> None:
    wrong = {"kind": "entry", "entry": "Os\x08lo", "label": "LOC", "source": "a.tsv", "line": 3}
    wrong |= {"verdict": "wrong", "labels": 9, "wrong": 9.0, "confidence": 0.9}
    file = tmp_path / "patch.tsv"
    file.write_text("".join(patch(proposals([row("Os lo", 0.95), wrong]))))
    assert [str(change) for change in read_patch(file).changes] == ["add Os lo LOC"]


def test_notebooks_show_a_short_table() -> None:
    """Names of the text and of the dictionary are escaped."""
    bad = "<script>alert(1)</script>"
    sentences = [sentence(f"in {bad} .", (1, 2, "LOC")), sentence(f"near {bad} and {bad}")]
    true = [NO, NO, NO, NO, PER, NO, PER]
    opinions = Opinions([certain(true), certain(true)], np.array([-1] * len(true)), None)
    html = Audit(Evidence(sentences, TYPES, opinions, {}))._repr_html_()
    assert "1 of 1 labels are believed wrong" in html
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt; [LOC]</td><td>no name</td>" in html
    assert "&lt;/script&gt; [PER]</td><td>2 times</td>" in html
    assert "<script" not in html


def test_annotations_are_a_source_without_a_line(tmp_path: Path) -> None:
    """`roster label` notes the name of the source and the words, no line; a wrong one can only be denied."""
    text = [Sentence.from_words(["Maria", "Lund", "left", "Oslo"], [Span(0, 2, "PER")])]
    labels = labelling.label(text, {"LOC": ["Oslo"]}, annotations={"llm": text})
    labels.save(tmp_path / "data")
    found = read_sources(load_dataset(tmp_path / "data"))
    assert found[0, 0, 2] == (Source("llm", "Maria Lund", 0),)
    assert found[0, 3, 4][0].line == 1
    row = {"kind": "entry", "verdict": "wrong", "label": "PER", **found[0, 0, 2][0].as_dict()}
    assert [str(change) for change in changes_of(row)] == ["deny Maria Lund"]
