"""Class maps: what a file may say, what is wrong with it, and which type wins."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.distant.kb.classes import BUNDLED, PREFIXES, ClassMap, EntityType, RdfVocabulary, load_classes
from roster.errors import ConfigError

WD = PREFIXES["wd"]
VOCABULARY = RdfVocabulary("i", "s", ("l",), ("a",), ("en",))


def written(folder: Path, text: str) -> Path:
    path = folder / "map.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("conll", "PER LOC ORG MISC"),
        ("ontonotes", "PERSON NORP GPE FAC LOC ORG PRODUCT EVENT WORK_OF_ART LAW LANGUAGE"),
    ],
)
def test_bundled(name: str, types: str) -> None:
    classes = load_classes(name)
    assert [kind.name for kind in classes.types] == types.split()
    named = [*classes.roots, *classes.exclude, *(c for kind in classes.types for c in kind.exclude)]
    assert all(re.fullmatch(re.escape(WD) + r"Q[1-9]\d*", c) for c in named)
    # A class under two types would always go to the first: a slip of the hand.
    assert len(classes.roots) == sum(len(kind.classes) for kind in classes.types)
    assert classes.vocabulary.instance_of == "http://www.wikidata.org/prop/direct/P31"
    assert classes.vocabulary.languages == ("en", "mul")
    assert name in BUNDLED


def test_another_knowledge_base(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        languages = ["DE", ""]
        instance_of = "rdf:type"
        subclass_of = "rdfs:subClassOf"
        label = ["rdfs:label", "foaf:name"]
        alias = []
        exclude = ["Nothing"]
        [prefixes]
        "" = "http://example.org/"
        foaf = "http://xmlns.com/foaf/0.1/"
        [types]
        PER = ["Person", "foaf:Person", "Person"]
        LOC = { classes = ["<http://other.example/Place>", "https://third.example/a#b"], exclude = ["Moon"] }
        """,
    )
    classes = load_classes(path)
    assert classes.types == (
        EntityType("PER", ("http://example.org/Person", "http://xmlns.com/foaf/0.1/Person")),
        EntityType(
            "LOC",
            ("http://other.example/Place", "https://third.example/a#b"),
            ("http://example.org/Moon",),
        ),
    )
    assert classes.exclude == ("http://example.org/Nothing",)
    assert classes.vocabulary == RdfVocabulary(
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
        "http://www.w3.org/2000/01/rdf-schema#subClassOf",
        ("http://www.w3.org/2000/01/rdf-schema#label", "http://xmlns.com/foaf/0.1/name"),
        (),
        ("de", ""),
    )
    assert classes.short("http://example.org/Person") == "Person"
    assert classes.short("http://xmlns.com/foaf/0.1/Person") == "foaf:Person"
    assert classes.short("http://nowhere.example/x") == "http://nowhere.example/x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"'types' is empty"),
        ("[types]\nPER = []", r"'types\.PER' must be a list"),
        ("[types]\nPER = 5", r"'types\.PER' must be a list .* not 5"),
        ("[types]\nPER = [5]", r"'types\.PER': 5 is not a name"),
        (
            "[types]\nPER = ['ex:A']",
            r"'types\.PER': 'ex:A' has the prefix 'ex', which is not in \[prefixes\]",
        ),
        ("[types]\nPER = ['Q5> <x']", r"'types\.PER': 'Q5> <x' gives .* not an IRI"),
        (
            "[types]\nPER = { klasses = ['Q5'] }",
            r"there is no 'types\.PER\.klasses'; here are classes, exclude",
        ),
        ("[types]\nPER = { exclude = ['Q5'] }", r"'types\.PER\.classes' is missing"),
        ("[types]\n'A B' = ['Q5']", r"'types\.A B': the name of a type has no spaces"),
        ("types = 3", r"'types' must be a section"),
        ("tipes = 3", r"there is no 'tipes'; here are languages, instance_of"),
        ("instance_of = ['a', 'b']\n[types]\nA = ['Q5']", r"'instance_of' must be one property, not 2"),
        ("label = []\n[types]\nA = ['Q5']", r"'label' must be a list"),
        ("languages = []\n[types]\nA = ['Q5']", r"'languages' must be a list"),
        ("languages = ['e n']\n[types]\nA = ['Q5']", r"'languages' has 'e n', which is not a language tag"),
        ("[prefixes]\nex = 'nothing'\n[types]\nA = ['Q5']", r"'prefixes\.ex' must be a full IRI"),
        ("[types", r"not a TOML file"),
    ],
)
def test_mistakes_name_the_file_and_the_key(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as caught:
        load_classes(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_no_such_map(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such class map; give a TOML file, or conll or ontonotes"):
        load_classes(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="Is a directory"):
        load_classes(tmp_path)


names = st.sampled_from("abcdefgh")
types = st.lists(
    st.tuples(st.lists(names, min_size=1), st.lists(names, max_size=2)), min_size=1, max_size=4
).map(lambda all: tuple(EntityType(f"T{n}", tuple(c), tuple(e)) for n, (c, e) in enumerate(all)))


@given(types, st.lists(names, max_size=1), st.dictionaries(names, st.integers(0, 5)))
def test_the_nearest_type_wins_and_then_the_first(
    kinds: tuple[EntityType, ...], exclude: list[str], steps: dict[str, int]
) -> None:
    found = ClassMap(kinds, VOCABULARY, tuple(exclude)).type_of(steps)
    expected = None
    if not any(c in steps for c in exclude):
        for distance in range(6):
            for kind in kinds:
                fits = any(steps.get(c) == distance for c in kind.classes)
                if expected is None and fits and not any(c in steps for c in kind.exclude):
                    expected = kind.name
    assert found == expected
