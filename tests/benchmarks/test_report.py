"""Reports as data and as tables."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.measure import FAILED, MISSING, OK, spread
from benchmarks.report import Report, cell, machine_line, note, table


class Plain(Report):
    def name(self, result: dict[str, Any]) -> str:
        return str(result["who"])

    def text(self) -> str:
        return "\n".join(self.failed())


def report(*results: tuple[str, str]) -> Plain:
    return Plain({"benchmark": "b"}, tuple({"who": who, "status": status} for who, status in results))


def test_data() -> None:
    found = report(("a", OK), ("b", OK))
    assert json.loads(json.dumps(found.as_dict())) == {
        "benchmark": "b",
        "results": [{"who": "a", "status": "ok"}, {"who": "b", "status": "ok"}],
    }
    assert list(found.records()) == [
        {"benchmark": "b", "who": "a", "status": "ok"},
        {"benchmark": "b", "who": "b", "status": "ok"},
    ]


def test_only_what_broke_has_failed() -> None:
    assert report(("a", OK), ("b", FAILED), ("c", MISSING), ("d", FAILED), ("b", FAILED)).failed() == [
        "b",
        "d",
    ]


def test_columns() -> None:
    rows = [(["", "words/s", "x"], ""), (["  ours", "1,200", "2"], ""), (["  spacy"], "missing: no")]
    assert table(rows) == [
        "        words/s  x",
        "  ours    1,200  2",
        "  spacy  missing: no",
    ]
    assert table([(["alone"], "said")]) == ["alone  said"]
    assert table([([], "")]) == [""]


def test_cells() -> None:
    assert cell(None) == "-"
    assert cell(spread([0.0])) == "0"
    assert cell(spread([2**21, 2**22]), 2**20, runs=False) == "3.00"
    assert cell(spread([2**21, 2**22]), 2**20) == "3.00 ±1.00"


def test_notes() -> None:
    assert note({"status": OK, "message": "not said"}) == ""
    assert note({"status": MISSING, "message": "no such thing"}) == "missing: no such thing"


def test_the_line_of_conditions() -> None:
    about = {"cpu": "Some CPU", "cores": 8, "cores_allowed": 2, "python": "3.12"}
    conditions = {"machine": about, "versions": {"roster": "1", "torch": "2"}, "repeat": 1}
    assert (
        machine_line(conditions) == "2 of 8 cores of Some CPU; Python 3.12, roster 1, torch 2; one run each"
    )
    line = machine_line({**conditions, "repeat": 4})
    assert line.endswith("; median of 4 interleaved runs, ± half of max - min")
