"""Settings written as TOML are read again as they were, every field of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.distant.compiling.lexicon import Source
from roster.distant.entries.patch import read_patch
from roster.distant.matching.patterns import Pattern, builtin_patterns
from roster.distant.policy.policies import Policies, Policy
from roster.distant.settings import Candidates, Conflicts, KnowledgeBase, Settings, load_settings
from roster.distant.settings_file import as_toml
from roster.distant.span_sources import KINDS, Annotations, Model

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
REGEX = Pattern("flight", "FLIGHT", "FLIGHT", "own.toml", regex="[A-Z]{2} ?([0-9]+)")
TOKENS = Pattern(
    "dose",
    "DOSE",
    "DOSE",
    "own.toml",
    tokens=({"LIKE_NUM": True}, {"LOWER": {"IN": ["mg", 'm"l']}, "OP": "+"}, {"LENGTH": {">=": 2}}),
)


def again(settings: Settings, folder: Path) -> Settings:
    file = folder / "labels.toml"
    file.write_text(as_toml(settings, str), encoding="utf-8")
    return load_settings(file)


def others(f: Any, value: Any) -> Iterator[Any]:
    """Other values that a field may have."""
    if f.metadata and f.metadata["choices"]:
        yield from (one for one in f.metadata["choices"] if one != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 2
    elif isinstance(value, tuple):
        yield ("it's", 'a "b"', "é\x7f\t\\")
    else:
        yield "conll"


def changed(section: Any) -> Iterator[Any]:
    """The section with each of its fields changed, one at a time."""
    for f in fields(section):
        for value in others(f, getattr(section, f.name)):
            yield replace(section, **{f.name: value})


@pytest.fixture
def full(tmp_path: Path) -> Settings:
    """Settings in which nothing is as by default."""
    patch = tmp_path / "some.patch"
    patch.write_text("add\tUlm\tLOC\ndeny\tMay\n")
    model = tmp_path / "tagger"
    model.mkdir()
    return Settings(
        Policies(
            Policy(case="exact", min_length=3, allow=("IT",)),
            (
                ("ORG.*", Policy(case="upper", plural=True)),
                ("LOC", Policy(case="exact", min_length=3, allow=("IT",))),
            ),
            (("MISC.*", ""), ("ORG.*", "ORG")),
        ),
        (Source(tmp_path / "a.tsv", "tsv", 2, True), Source(tmp_path / "b.txt")),
        (*builtin_patterns(["ORDINAL", "MONEY"], labels={"ORDINAL": "RANK"}), REGEX, TOKENS),
        Conflicts("squares", "document", 2),
        Candidates("en_core_web_sm", nested=False),
        KnowledgeBase(str(tmp_path / "store"), str(tmp_path / "classes.toml"), 3, True, 5.5),
        read_patch(patch),
        (
            Annotations(tmp_path / "llm.jsonl", "jsonl", "train", name="llm", priority=1, least_score=0.25),
            Annotations(tmp_path / "x.conll", name="x.conll"),
        ),
        (
            Model(str(model), "spacy", ("a", "b"), 8, "cpu", name="one", priority=-1, least_score=0.5),
            Model("owner/name", "gliner", name="two"),
        ),
    )  # fmt: skip


def test_everything(full: Settings, tmp_path: Path) -> None:
    assert again(full, tmp_path) == full


def test_the_defaults(tmp_path: Path) -> None:
    plain = load_settings(dictionaries=["/lists/names.tsv"])
    assert again(plain, tmp_path) == plain


@pytest.mark.parametrize("section", ["conflicts", "candidates", "kb", "policies"])
def test_each_field_of_a_section(section: str, full: Settings, tmp_path: Path) -> None:
    plain = replace(full, **{section: type(getattr(full, section))()})
    if section == "policies":
        variants = [Policies(policy) for policy in changed(Policy())]
        variants += [Policies(full.policies.default, (("X", one),)) for one in changed(full.policies.default)]
    else:
        variants = list(changed(getattr(plain, section)))
    if section == "kb":
        variants = [replace(one, source="https://kb/sparql") for one in variants]
    for one in variants:
        given = replace(plain, **{section: one})
        assert again(given, tmp_path) == given


@pytest.mark.parametrize("part", ["sources", "patterns", "annotations", "models"])
def test_each_field_of_what_there_are_several_of(part: str, full: Settings, tmp_path: Path) -> None:
    """Fields of all kinds; those in which nothing is changed here have values in `full`."""
    tried = {
        "sources": [{"format": "autoner"}, {"priority": -3}, {"skip_broken": True}],
        "patterns": [
            {"group": 1}, {"ignore_case": True}, {"longest": False}, {"priority": 4}, {"source": "other"},
            {"name": "é"},
        ],
        "annotations": [{"priority": 2}, {"least_score": 1.0}, {"split": "dev"}, {"format": "conll"}],
        "models": [
            *({"kind": kind} for kind in KINDS), {"types": ("é",)}, {"batch_size": 1}, {"device": "cuda"},
        ],
    }  # fmt: skip
    one = {"sources": full.sources[1], "patterns": REGEX, "annotations": full.annotations[1],
           "models": full.models[1]}[part]  # fmt: skip
    for values in tried[part]:
        given = replace(full, **{part: (replace(one, **values),)})  # type: ignore[type-var]
        assert again(given, tmp_path) == given


@given(st.dictionaries(NAMES, NAMES, max_size=4), st.lists(NAMES, max_size=4), NAMES, st.integers(-9, 9))
def test_any_text(
    tmp_path_factory: pytest.TempPathFactory, labels: dict[str, str], words: list[str], name: str, number: int
) -> None:
    given = Settings(
        Policies(Policy(deny=tuple(words)), tuple((kind, Policy(allow=tuple(words))) for kind in labels),
                 tuple(labels.items())),
        (Source(Path("/lists/names.tsv"), None, number),),
        annotations=(Annotations(Path("/a/x.jsonl"), name=f"annotations {name}", least_score=number / 7),),
    )  # fmt: skip
    assert again(given, tmp_path_factory.mktemp("any")) == given


def test_a_pipeline_in_a_folder_lies_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "tagger").mkdir()
    file = tmp_path / "label.toml"
    file.write_text('[candidates]\nby = "tagger"\n[[dictionaries]]\npath = "names.tsv"\n')
    found = load_settings(file)
    assert found.candidates.by == str(tmp_path / "tagger")
    assert again(found, tmp_path).candidates == found.candidates
