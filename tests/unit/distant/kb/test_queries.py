"""Terms in queries: whatever the name, the query finds exactly it."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roster.distant.kb import queries
from roster.distant.kb.classes import is_iri, load_classes

LABEL = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
VOCABULARY = load_classes().vocabulary
# Everything but surrogates, with what matters to SPARQL more often.
text = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\"'\\\n\r\tuU0{}<>@#$")))


@given(text, text)
@example("\\u0041", "A")
@example("\\\\U00000041", "\\A")
@example('"@en . } #', "x\\")
@example("a\x00b", "\x0b\x0c\u2028\ufffe")
def test_a_name_finds_itself_and_nothing_else(name: str, other: str) -> None:
    store = ox.Store()
    for item, label in (("http://x/1", name), ("http://x/2", other)):
        store.add(ox.Quad(ox.NamedNode(item), LABEL, ox.Literal(label, language="en")))
    solutions = list(store.query(queries.items_named([name], VOCABULARY)))
    expected = {"http://x/1"} | ({"http://x/2"} if other == name else set())
    assert {s["item"].value for s in solutions} == expected
    assert {s["name"].value for s in solutions} == {name}


def test_the_text_u_is_the_same_for_engines_that_unescape_first() -> None:
    """Some engines replace \\uXXXX in the whole query before they read its strings."""
    written = queries.literal("\\u0041 \\U0041")
    first = written.replace("\\u0075", "u").replace("\\u0055", "U")
    assert first == '"\\\\u0041 \\\\U0041"'


def test_languages() -> None:
    assert queries.literal("a", "en") == '"a"@en'
    assert queries.literal("a") == '"a"'


@given(st.text())
def test_only_iris_pass(candidate: str) -> None:
    if is_iri(candidate):
        assert queries.iri(candidate) == f"<{candidate}>"
        list(
            ox.Store().query(
                f"SELECT * WHERE {{ <http://a> <http://b> {queries.iri('http://x/' + candidate)} }}"
            )
        )
    else:
        with pytest.raises(ValueError, match="not an IRI"):
            queries.iri(candidate)


@pytest.mark.parametrize("name", ["\ud800", "a\udfffb"])
def test_half_a_pair_is_not_asked(name: str) -> None:
    assert not queries.can_be_asked(name)
    assert queries.can_be_asked("\U0001f600")
