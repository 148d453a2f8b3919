"""All queries, in SPARQL 1.1 that endpoints and the embedded store support.

All are joins from a list of known terms (`VALUES`), which engines evaluate by index look-ups: the time
depends on the list, not on the size of the knowledge base. Class trees are traversed level by level, not with
`P279*`, which some engines evaluate for the whole tree and others refuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from roster.distant.kb.classes import RdfVocabulary, is_iri

ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


def literal(text: str, language: str = "") -> str:
    r"""A string, as SPARQL writes it.

    >>> print(literal('the "A\\B"', "en"))
    "the \"A\\B\""@en
    """
    written = text.translate(ESCAPES)
    # SPARQL also has \u0041 anywhere in a query. Engines differ in whether they look for it before or after
    # they read \\ as one backslash; with the u itself written as \u0075 both readings are the same.
    written = written.replace("\\\\u", "\\\\\\u0075").replace("\\\\U", "\\\\\\u0055")
    return f'"{written}"@{language}' if language else f'"{written}"'


def iri(text: str) -> str:
    if not is_iri(text):
        raise ValueError(f"not an IRI: {text!r}")
    return f"<{text}>"


def can_be_asked(name: str) -> bool:
    """False for half of a surrogate pair, which cannot be encoded in a query."""
    return not any("\ud800" <= c <= "\udfff" for c in name)


def items_named(names: Sequence[str], vocabulary: RdfVocabulary) -> str:
    """?item with the ?name, by the property ?via, and its ?class where it has one."""
    # Pairs, not two lists: Oxigraph looks up only pairs in its index (200 names: 10 ms, as lists seconds).
    pairs = " ".join(
        f"({iri(via)} {literal(name, language)})"
        for name in names
        for language in vocabulary.languages
        for via in vocabulary.names
    )
    return (
        f"SELECT ?name ?via ?item ?class WHERE {{ VALUES (?via ?name) {{ {pairs} }} ?item ?via ?name . "
        f"OPTIONAL {{ ?item {iri(vocabulary.instance_of)} ?class }} }}"
    )


def parents(classes: Sequence[str], vocabulary: RdfVocabulary) -> str:
    """?class with each direct super-class ?parent."""
    return _related("?class ?parent", "?class", classes, f"?class {iri(vocabulary.subclass_of)} ?parent")


def children(classes: Sequence[str], vocabulary: RdfVocabulary) -> str:
    """?parent with each direct sub-class ?class."""
    return _related("?class ?parent", "?parent", classes, f"?class {iri(vocabulary.subclass_of)} ?parent")


def counts(classes: Sequence[str], vocabulary: RdfVocabulary) -> str:
    """?class with the ?count of its direct instances, where there are any."""
    chosen = _related("?class (COUNT(?item) AS ?count)", "?class", classes, _instance(vocabulary))
    return f"{chosen} GROUP BY ?class"


def members(classes: Sequence[str], vocabulary: RdfVocabulary) -> str:
    """?item that is a direct instance of one of the classes."""
    return _related("?item", "?class", classes, _instance(vocabulary))


def members_page(class_: str, vocabulary: RdfVocabulary, *, limit: int, offset: int) -> str:
    """A part of the direct instances of one class, in the order in which the knowledge base holds them.

    Without ORDER BY: a single pattern is read from an index, in a fixed order. Sorting a class for every page
    exceeds time limits (250,000 items in Oxigraph: 15 s sorted, 0.3 s for the last page unsorted).
    """
    pattern = f"?item {iri(vocabulary.instance_of)} {iri(class_)}"
    return f"SELECT ?item WHERE {{ {pattern} }} LIMIT {limit} OFFSET {offset}"


def classes_of(items: Sequence[str], vocabulary: RdfVocabulary) -> str:
    """?item with each ?class it is a direct instance of."""
    return _related("?item ?class", "?item", items, _instance(vocabulary))


def names_of(items: Sequence[str], vocabulary: RdfVocabulary) -> str:
    """?item with each ?name it has in our languages."""
    languages = ", ".join(literal(language) for language in vocabulary.languages)
    paths = "|".join(iri(via) for via in vocabulary.names)
    pattern = f"?item {paths} ?name FILTER(LCASE(LANG(?name)) IN ({languages}))"
    return _related("?item ?name", "?item", items, pattern)


def _instance(vocabulary: RdfVocabulary) -> str:
    return f"?item {iri(vocabulary.instance_of)} ?class"


def _related(variables: str, known: str, terms: Iterable[str], pattern: str) -> str:
    values = " ".join(iri(term) for term in terms)
    return f"SELECT {variables} WHERE {{ VALUES {known} {{ {values} }} {pattern} }}"
