"""What each kind of row would change in the dictionaries."""

from __future__ import annotations

from typing import Any

import pytest

from roster.auditing.changes import changes_of, is_default

ENTRY = {"kind": "entry", "entry": "Come", "label": "LOC", "source": "a.tsv", "line": 7}
LABEL = {
    "kind": "label",
    "text": "Come",
    "given": "LOC",
    "sources": [{"source": "a.tsv", "entry": "Come", "line": 7}],
}
KB = [{"source": "wikidata.store", "entry": "Q1", "line": 0}]


@pytest.mark.parametrize(
    ("row", "changes", "default"),
    [
        ({**ENTRY, "verdict": "right"}, [], False),
        ({**ENTRY, "verdict": "wrong"}, ["remove Come LOC"], True),
        ({**ENTRY, "verdict": "wrong", "source": "allow list", "line": 0}, ["remove Come LOC"], True),
        ({**ENTRY, "verdict": "wrong", "line": None}, ["deny Come"], True),
        ({**ENTRY, "verdict": "ambiguous"}, ["remove Come LOC"], False),
        ({**ENTRY, "verdict": "wrong type", "believed": "ORG"}, ["retype Come LOC ORG"], False),
        ({**ENTRY, "verdict": "wrong type", "believed": ""}, [], False),
        ({**ENTRY, "verdict": "part of a longer name", "longer": "Come In"}, ["add Come In LOC"], False),
        (
            {**ENTRY, "verdict": "part of a longer name", "longer": "Come In", "believed": "ORG"},
            ["add Come In ORG"],
            False,
        ),
        ({**ENTRY, "verdict": "part of a longer name"}, [], False),
        ({**ENTRY, "verdict": "wrong", "held_back": True}, ["remove Come LOC"], False),
        ({"kind": "name", "name": "Ballymun", "label": "LOC"}, ["add Ballymun LOC"], True),
        ({"kind": "name", "name": "\0\x07", "label": "LOC"}, [], True),
        ({"kind": "type", "label": "LOC"}, [], False),
        ({**LABEL, "believed": ""}, ["remove Come LOC"], False),
        ({**LABEL, "believed": "ORG"}, ["retype Come LOC ORG"], False),
        ({**LABEL, "believed": "ORG", "believed_text": "Come"}, ["retype Come LOC ORG"], False),
        ({**LABEL, "believed": "ORG", "believed_text": "Come Together"}, ["add Come Together ORG"], False),
        ({**LABEL, "believed": "", "given": "LOC,PER"}, ["remove Come LOC", "remove Come PER"], False),
        ({**LABEL, "believed": "PER", "given": "LOC,PER"}, ["retype Come LOC PER"], False),
        ({**LABEL, "believed": "", "sources": KB}, ["deny Come"], False),
        ({**LABEL, "believed": "ORG", "sources": KB}, [], False),
        ({**LABEL, "believed": "", "sources": LABEL["sources"] * 2}, ["remove Come LOC"], False),
    ],
)
def test_changes(row: dict[str, Any], changes: list[str], default: bool) -> None:
    assert [str(change) for change in changes_of(row)] == changes
    assert is_default(row) == default
