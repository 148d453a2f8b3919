"""The pure functions of the pages, run in a browser and compared with computations in Python."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from roster.infer.recogniser import Recogniser, load
from tests.served import Server

ALPHABET = [
    "a",
    "b",
    "É",
    "ß",
    "x.",
    "St. ",
    "!",
    "?",
    ". ",
    " ",
    " ",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "😀",
    "𝒜",
    "日",
    "。",
    "ש",
    "9",
    "-",
    "'",
]


def texts(number: int, length: int) -> list[str]:
    draw = random.Random(7)
    return ["".join(draw.choice(ALPHABET) for _ in range(draw.randrange(length))) for _ in range(number)]


def utf16(text: str) -> bytes:
    return text.encode("utf-16-le")


@pytest.fixture(scope="module")
def module(chromium: Any, served: Server) -> Any:
    """Calls a function of a module with JSON: `module("split", "m.pieces", text, 10)`."""
    page = chromium.new_page()
    page.goto(served.first["url"])

    def call(name: str, expression: str, *arguments: Any) -> Any:
        script = (
            f"async (args) => {{ const m = await import('/web/{name}.js'); return ({expression})(...args); }}"
        )
        return page.evaluate(script, list(arguments))

    return call


def test_pieces_have_no_gaps_and_cut_no_character(module: Any) -> None:
    for most in (1, 2, 7, 40):
        listed = texts(60, 200)
        for text, found in zip(
            listed, module("split", "(all, n) => all.map((t) => m.pieces(t, n))", listed, most), strict=True
        ):
            raw = utf16(text)
            assert found[0]["start"] == 0
            assert found[-1]["end"] == len(raw) // 2
            assert all(a["end"] == b["start"] for a, b in pairwise(found))
            parts = [raw[2 * one["start"] : 2 * one["end"]] for one in found]
            if most > 1:
                assert "".join(part.decode("utf-16-le") for part in parts) == text  # no half of a pair
            assert all(len(part) // 2 <= most for part in parts)


def test_pieces_end_where_sentences_do(module: Any) -> None:
    text = "One two.\n\nThree four. Five six seven\neight. Nine"
    found = module("split", "(t) => m.pieces(t, 24).map(({ start, end }) => t.slice(start, end))", text)
    assert found == ["One two.\n\n", "Three four. ", "Five six seven\neight. ", "Nine"]


def test_groups_are_within_the_limits(module: Any) -> None:
    sizes = [random.Random(3).randrange(1, 30) for _ in range(200)]
    pieces, at = [], 0
    for size in sizes:
        pieces.append({"start": at, "end": at + size})
        at += size
    found = module("split", "(p) => m.groups(p, 50, 4)", pieces)
    assert [one for group in found for one in group] == pieces
    assert all(len(group) <= 4 and group[-1]["end"] - group[0]["start"] <= 50 for group in found)
    limits = {"body": 2000, "characters": 500, "sentence_words": 300}
    assert module("split", "m.longestPiece", limits) == min(300, 500, 1000 // 6)


def test_entities_of_pieces_are_those_of_the_whole(module: Any, run: Any) -> None:
    """Where pieces end at blank lines."""
    ner: Recogniser = load(run, "cpu")
    text = "\n\n".join(["Anna Berg went to Paris .", "😀 Carl . Dora saw Oslo !", "the house in Rome"] * 20)
    found = module("split", "(t) => m.pieces(t, 120)", text)
    raw = utf16(text)
    merged = []
    for piece in found:
        part = raw[2 * piece["start"] : 2 * piece["end"]].decode("utf-16-le")
        offset = len(raw[: 2 * piece["start"]].decode("utf-16-le"))
        merged += [(one.text, one.label, one.start + offset) for one in ner(part)]
    assert len(found) > 5
    assert merged == [(one.text, one.label, one.start) for one in ner(text)]


def test_offsets_in_characters(module: Any) -> None:
    for text in texts(30, 80):
        units = len(utf16(text)) // 2
        found = module(
            "spans",
            "(t) => { const f = m.codePoints(t); return [...Array(t.length + 1).keys()].map(f); }",
            text,
        )
        expected = [len(utf16(text)[: 2 * i].decode("utf-16-le", "ignore")) for i in range(units + 1)]
        pairs = {
            i
            for i in range(units + 1)
            if utf16(text)[2 * i - 2 : 2 * i].decode("utf-16-le", "replace") == "\ufffd"
        }
        assert [a for i, a in enumerate(found) if i not in pairs] == [
            a for i, a in enumerate(expected) if i not in pairs
        ]


RANDOM_EDITS = (Path(__file__).parent / "random_edits.js").read_text().partition("\n")[2].strip()


def test_corrections_keep_spans_apart_and_are_undone(module: Any) -> None:
    for seed in range(40):
        assert module("spans", RANDOM_EDITS, seed) == [], seed


def test_more_of_a_model_does_not_overwrite_corrections(module: Any) -> None:
    found = module(
        "spans",
        """() => {
          const found = (start, end) => ({ start, end, label: "A", score: 1 });
          const state = m.put(m.begin([found(10, 14)]), { start: 2, end: 6, label: "B" });
          const { spans } = m.extend(state, [found(4, 8), found(20, 22)]);
          return spans.map(({ start, end, label, by }) => [start, end, label, by]);
        }""",
    )
    assert found == [[2, 6, "B", "person"], [10, 14, "A", "model"], [20, 22, "A", "model"]]


def test_occurrences_are_whole_words(module: Any) -> None:
    text = "Bonn, Bonner, (Bonn) ÉBonn Bonn's 𝒜Bonn Bonn"
    assert module("spans", "(t) => m.occurrences(t, 'Bonn').map(({ start }) => start)", text) == [
        0,
        15,
        27,
        41,
    ]
    assert module("spans", "(t) => m.occurrences(t, '')", text) == []
    assert module("spans", "(t) => m.whole(t, 8, 10)", text) == {"start": 6, "end": 12}
    assert module("spans", "(t) => m.whole(t, 5, 6)", text) is None


def test_words_and_sentences_cover_the_text(module: Any) -> None:
    for text in texts(60, 120):
        size = len(utf16(text)) // 2
        cuts = sorted(random.Random(len(text)).sample(range(size), min(4, size // 4 * 2))) if size > 8 else []
        spans = [{"start": a, "end": b} for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
        found = module("export", "(t, s) => m.sentences(t, s)", text, spans)
        words = [word for sentence in found for word in sentence]
        raw = utf16(text)
        joined = b"".join(raw[2 * a : 2 * b] for a, b in words)
        assert (
            joined.decode("utf-16-le", "surrogatepass").split()
            == ["".join(text.replace("\ufeff", "").split())][: len(words) > 0]
        )
        assert all(a[1] <= b[0] for a, b in pairwise(words))


PATCHES = [
    # text, the model's spans, corrections, lines
    ("Bonn and Bonn", [(0, 4, "A"), (9, 13, "A")], [("drop", 0)], []),  # the name is still there
    ("Bonn and Bonn", [(0, 4, "A"), (9, 13, "A")], [("drop", 0), ("drop", 1)], ["remove Bonn A"]),
    ("New Bonn", [(4, 8, "A")], [("put", 0, 8, "A")], ["add New Bonn A"]),  # the longest name wins
    ("New Bonn", [(0, 8, "A")], [("put", 4, 8, "A")], ["add Bonn A", "remove New Bonn A"]),
    ("Bonn", [(0, 4, "A")], [("put", 0, 4, "B")], ["add Bonn B", "remove Bonn A"]),
    ("Bonn", [(0, 4, "A")], [("put", 0, 4, "B"), ("put", 0, 4, "A")], []),
    ("a\tb\n c", [], [("put", 0, 6, "A")], ["add a b c A"]),
]


@pytest.mark.parametrize(("text", "found", "changes", "lines"), PATCHES)
def test_patches(module: Any, text: str, found: list[Any], changes: list[Any], lines: list[str]) -> None:
    script = """async (text, found, changes) => {
      const s = await import("/web/spans.js");
      let state = s.begin(found.map(([start, end, label]) => ({ start, end, label, score: 1 })));
      for (const [what, a, b, label] of changes) {
        state = what === "put" ? s.put(state, { start: a, end: b, label }) : s.drop(state, found[a][0]);
      }
      return m.patch([{ text, state }]);
    }"""
    patch = module("export", script, text, found, changes)
    kept = [line.split("\t")[:3] for line in patch.splitlines() if not line.startswith("#")]
    assert [" ".join(one) for one in kept] == lines
