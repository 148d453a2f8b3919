"""Settings of labelling: what a file says, what is put on top of it, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from roster.distant.settings import SECTIONS, Settings, load_settings
from roster.errors import ConfigError

FULL = """\
[defaults]
case = "exact"
min_length = 3
stop_words = ["calendar", "acme"]

[types."ORG.*"]
case = "upper"
allow = ["IT"]

[types.PER]
deny = ["Rose"]
plural = true

[labels]
"ORG.*" = "ORG"
"ORG.band" = "BAND"
"MISC.*" = ""

[conflicts]
overlap = "squares"
ambiguous = "document"

[[dictionaries]]
path = "people.tsv"
priority = 3

[[dictionaries]]
path = "lists/firms.txt"
format = "autoner"

[builtin]
patterns = ["ORDINAL"]
labels = { ORDINAL = "RANK" }

[[patterns]]
name = "flight"
label = "FLIGHT"
regex = "[A-Z]{2} ?[0-9]{2,4}"
priority = 2

[[patterns]]
name = "gate"
label = "GATE"
tokens = [{ LOWER = "gate" }, { IS_DIGIT = true }]
"""


def put(folder: Path, content: str) -> Path:
    file = folder / "label.toml"
    file.write_text(content, encoding="utf-8")
    return file


def refused(folder: Path, content: str, *parts: str) -> None:
    file = put(folder, content)
    with pytest.raises(ConfigError) as caught:
        load_settings(file, dictionaries=["names.tsv"])
    said = str(caught.value)
    assert "\n" not in said
    assert str(file) in said or file.name in said, said
    for part in parts:
        assert part in said, said


def test_a_file_with_everything(tmp_path: Path) -> None:
    found = load_settings(put(tmp_path, FULL))
    assert [(s.path, s.format, s.priority) for s in found.sources] == [
        (tmp_path / "people.tsv", None, 3),
        (tmp_path / "lists/firms.txt", "autoner", 0),
    ]
    policies = found.policies
    assert (policies.default.case, policies.default.min_length) == ("exact", 3)
    assert (policies.of("ORG.band").case, policies.of("ORG.band").min_length) == ("upper", 3)
    assert policies.of("ORG").case == "exact"
    assert (policies.of("PER").deny, policies.of("PER").plural, policies.of("LOC").plural) == (
        ("Rose",),
        True,
        False,
    )
    assert policies.default.stops >= {"acme", "monday", "may"}
    assert "the" not in policies.default.stops
    assert [policies.label(k) for k in ("ORG.shop", "ORG.band", "MISC.film", "LOC", "")] == [
        "ORG",
        "BAND",
        None,
        "LOC",
        "",
    ]
    assert (found.overlap, found.ambiguous) == ("squares", "document")
    assert [(p.name, p.label, p.kind, p.source, p.priority) for p in found.patterns] == [
        ("ordinal", "RANK", "ORDINAL", "patterns", found.patterns[0].priority),
        ("flight", "FLIGHT", "FLIGHT", "label.toml", 2),
        ("gate", "GATE", "GATE", "label.toml", 0),
    ]


def test_without_a_file_the_defaults_hold() -> None:
    found = load_settings(dictionaries=["names.tsv"])
    assert found == Settings(sources=found.sources)
    assert [(s.path, s.format, s.priority) for s in found.sources] == [(Path("names.tsv"), None, 0)]
    assert (found.overlap, found.ambiguous) == ("longest", "drop")
    policy = found.policies.of("anything")
    assert (policy.case, policy.possessive, policy.edges, policy.plural) == ("auto", True, True, False)


def test_what_is_given_goes_over_the_file(tmp_path: Path) -> None:
    found = load_settings(
        put(tmp_path, FULL),
        dictionaries=["more.tsv"],
        builtin=["PERCENT"],
        policy={"case": "insensitive"},
        labels={"ORG.*": "FIRM"},
        conflicts={"ambiguous": "all"},
    )
    assert (found.policies.default.case, found.policies.default.min_length) == ("insensitive", 3)
    assert found.policies.of("ORG.shop").case == "upper"  # what a type says of itself stays
    assert found.policies.label("ORG.shop") == "FIRM"
    assert found.policies.label("ORG.band") == "BAND"
    assert (found.overlap, found.ambiguous) == ("squares", "all")
    assert [s.path for s in found.sources] == [
        tmp_path / "people.tsv",
        tmp_path / "lists/firms.txt",
        Path("more.tsv"),
    ]
    assert {p.kind for p in found.patterns} == {"ORDINAL", "PERCENT", "FLIGHT", "GATE"}


def test_in_order_gives_falling_priorities() -> None:
    found = load_settings(dictionaries=["a.tsv", "b.tsv", "c.tsv"], in_order=True)
    assert [s.priority for s in found.sources] == [3, 2, 1]


def test_the_format_is_that_of_the_dictionaries_given(tmp_path: Path) -> None:
    found = load_settings(put(tmp_path, FULL), dictionaries=["x.txt"], format="phrases")
    assert [s.format for s in found.sources] == [None, "autoner", "phrases"]


def test_paths_of_the_knowledge_base(tmp_path: Path) -> None:
    """Those in a file lie beside it; those given are where the user is."""
    file = put(tmp_path, '[kb]\nsource = "wiki.store"\nclasses = "mine.toml"\npriority = 4\n')
    kb = load_settings(file).kb
    assert (kb.source, kb.classes, kb.priority) == (
        str(tmp_path / "wiki.store"),
        str(tmp_path / "mine.toml"),
        4,
    )
    kb = load_settings(file, kb={"source": "other.store"}).kb
    assert (kb.source, kb.classes) == ("other.store", str(tmp_path / "mine.toml"))
    file = put(tmp_path, '[kb]\nsource = "https://example.org/sparql"\nclasses = "ontonotes"\n')
    kb = load_settings(file).kb
    assert (kb.source, kb.classes) == ("https://example.org/sparql", "ontonotes")


def test_an_allow_list_is_enough_to_label_with(tmp_path: Path) -> None:
    assert load_settings(put(tmp_path, '[types.ORG]\nallow = ["Acme"]\n')).sources == ()


@pytest.mark.parametrize("content", ["", '[defaults]\ncase = "exact"\n', '[types.ORG]\ndeny = ["Acme"]\n'])
def test_nothing_to_label_with(content: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing to label with; give a dictionary"):
        load_settings(put(tmp_path, content))


def test_an_allow_list_for_a_pattern_of_types_is_nothing_to_label_with(tmp_path: Path) -> None:
    """`ORG.*` names no type that its names could have."""
    with pytest.raises(ConfigError, match=r"nothing to label with"):
        load_settings(put(tmp_path, '[types."ORG.*"]\nallow = ["Acme"]\n'))


def test_two_dictionaries_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"two dictionaries or patches are called names\.tsv; .*rename one"):
        load_settings(dictionaries=["a/names.tsv", "b/names.tsv"])
    file = put(tmp_path, '[[dictionaries]]\npath = "names.tsv"\n')
    with pytest.raises(ConfigError, match=r"two dictionaries or patches are called names\.tsv"):
        load_settings(file, dictionaries=["names.tsv"])


def test_labels_for_the_built_in_patterns_that_are_given(tmp_path: Path) -> None:
    file = put(tmp_path, '[builtin]\nlabels = { ORDINAL = "RANK" }\n')
    assert {p.label for p in load_settings(file, builtin=["ORDINAL"]).patterns} == {"RANK"}


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("[policy]\n", ["[policy]", "defaults", "dictionaries"]),
        ("case = 'exact'\n", ["case", "defaults"]),
        ("[defaults]\ncasing = 'exact'\n", ["[defaults]", "casing", "case"]),
        ("[types.PER]\nalow = ['Ada']\n", ["[types.PER]", "alow", "allow"]),
        ("[conflicts]\noverlaps = 'longest'\n", ["[conflicts]", "overlaps"]),
        ("[candidates]\nbye = 'rules'\n", ["[candidates]", "bye"]),
        ("[kb]\nsauce = 'x'\n", ["[kb]", "sauce", "source"]),
        ("[[dictionaries]]\npath = 'a.tsv'\nweight = 3\n", ["[[dictionaries]]", "weight", "priority"]),
        ("[builtin]\npattern = ['DATE']\n", ["[builtin]", "pattern", "patterns"]),
        ("[[patterns]]\nname = 'x'\nlabel = 'X'\nregexp = 'x'\n", ["'x'", "regexp", "regex"]),
    ],
)
def test_unknown_keys(content: str, parts: list[str], tmp_path: Path) -> None:
    refused(tmp_path, content, *parts)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("defaults = 3\n", ["[defaults]"]),
        ("[[defaults]]\ncase = 'exact'\n", ["[defaults]"]),
        ("types = ['PER']\n", ["[types]"]),
        ("[types]\nPER = 'exact'\n", ["[types.PER]"]),
        ("labels = ['PER']\n", ["[labels]"]),
        ("[labels]\nPER = 3\n", ["[labels]", "PER", "3"]),
        ("[labels]\nPER = ['A', 'B']\n", ["[labels]", "PER"]),
        ("[defaults]\ncase = 'Smart'\n", ["case", "smart", "'Smart'"]),
        ("[defaults]\ncase = 1\n", ["case", "1"]),
        ("[defaults]\nmin_length = '3'\n", ["min_length", "whole number"]),
        ("[defaults]\nmin_length = -1\n", ["min_length", "at least 0"]),
        ("[defaults]\nwhole = 'maybe'\n", ["whole", "auto, true, false", "'maybe'"]),
        ("[defaults]\nwhole = 3\n", ["whole", "3"]),
        ("[defaults]\nmin_words = true\n", ["min_words", "whole number"]),
        ("[defaults]\nplural = 'yes'\n", ["plural", "true or false"]),
        ("[defaults]\nstop_words = 'english'\n", ["stop_words", "list"]),
        ("[types.PER]\nallow = 'Ada'\n", ["[types.PER]", "allow", "list"]),
        ("[types.PER]\ndeny = [1]\n", ["[types.PER]", "deny", "list"]),
        ("[defaults]\nunicode = 'NFD'\n", ["unicode", "NFKC", "'NFD'"]),
        ("[conflicts]\noverlap = 'shortest'\n", ["overlap", "longest"]),
        ("[conflicts]\nambiguous = ['drop']\n", ["ambiguous"]),
        ("[candidates]\nnested = 1\n", ["nested", "true or false"]),
        ("[kb]\ntimeout = 0\n", ["timeout", "at least"]),
        ("[kb]\npriority = 1.5\n", ["priority", "whole number"]),
        ("dictionaries = 'names.tsv'\n", ["[[dictionaries]]"]),
        ("[dictionaries]\npath = 'a.tsv'\n", ["[[dictionaries]]"]),
        ("[[dictionaries]]\npriority = 1\n", ["[[dictionaries]]", "path"]),
        ("[[dictionaries]]\npath = 7\n", ["[[dictionaries]]", "path"]),
        ("[[dictionaries]]\npath = ''\n", ["[[dictionaries]]", "path"]),
        ("[[dictionaries]]\npath = 'a.tsv'\npriority = '1'\n", ["priority", "whole number"]),
        ("[[dictionaries]]\npath = 'a.tsv'\npriority = true\n", ["priority", "whole number"]),
        ("[[dictionaries]]\npath = 'a.tsv'\nformat = 1\n", ["format"]),
        ("patterns = 'DATE'\n", ["[[patterns]]"]),
        ("builtin = ['DATE']\n", ["[builtin]"]),
        ("[builtin]\npatterns = 'DATE'\n", ["[builtin]", "patterns", "list"]),
        ("[builtin]\npatterns = 3\n", ["[builtin]", "patterns", "list"]),
        ("[builtin]\npatterns = [3]\n", ["[builtin]", "patterns", "3"]),
        ("[builtin]\npatterns = ['DATE']\nlabels = 'D'\n", ["[builtin]", "labels"]),
        ("[builtin]\npatterns = ['DATE']\nlabels = { DATE = '' }\n", ["DATE"]),
        ("[builtin]\npatterns = ['DAET']\n", ["'DAET'", "DATE"]),
        ("[[patterns]]\nname = 'x'\nlabel = 'X'\nregex = '(?=a)b'\n", ["'x'", "look-ahead", "group"]),
        ("[[patterns]]\nname = 'x'\nlabel = 'X'\nregex = '('\n", ["'x'", "not valid"]),
        ("[[patterns]]\nname = 'x'\nlabel = 'X'\n", ["'x'", "regex", "tokens"]),
        ("[[patterns]]\nname = 'x'\nlabel = 'X'\ntokens = [{LOWR = 'a'}]\n", ["'x'", "LOWR"]),
    ],
)
def test_values_of_the_wrong_kind(content: str, parts: list[str], tmp_path: Path) -> None:
    refused(tmp_path, content, *parts)


def test_a_file_that_is_no_toml(tmp_path: Path) -> None:
    refused(tmp_path, "[defaults\n", "not a TOML file")
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path / 'none.toml'}: no such config file")):
        load_settings(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=re.escape(str(tmp_path))):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"policy": {"case": "loud"}}, "case"),
        ({"policy": {"colour": "red"}}, "colour"),
        ({"conflicts": {"ambiguous": "maybe"}}, "ambiguous"),
        ({"builtin": ["NOTHING"]}, "'NOTHING'"),
        ({"labels": {"PER": None}}, "PER"),
        ({"kb": {"timeout": -1}}, "timeout"),
    ],
)
def test_what_is_given_is_checked_too(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load_settings(dictionaries=["names.tsv"], **given)


def test_every_section_is_known_to_the_file_above() -> None:
    """A new section needs a place in the tests above (annotations and models: test_span_sources.py)."""
    assert set(SECTIONS) == {
        "defaults", "types", "labels", "conflicts", "candidates", "kb", "dictionaries", "patterns", "builtin",
        "patch", "annotations", "models",
    }  # fmt: skip
