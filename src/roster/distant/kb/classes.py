"""Class maps: the classes of each entity type, and the properties of the knowledge base.

A class map is a TOML file; `classes.toml` holds two for Wikidata. Everything but `types` may be left out:

    languages = ["en", "mul"]        # of labels and aliases; "" for text without a language
    instance_of = "wdt:P31"
    subclass_of = "wdt:P279"
    label = "rdfs:label"             # one property or a list, as is alias
    alias = "skos:altLabel"
    exclude = ["Q101352"]            # instances of these have no type

    [prefixes]                       # for names such as ex:City; "" stands for names without a prefix
    "" = "http://www.wikidata.org/entity/"

    [types]
    PER = ["Q5"]
    LOC = { classes = ["Q6256", "<http://example.org/Place>"], exclude = ["Q15632617"] }
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

from roster.config import read_toml
from roster.errors import ConfigError
from roster.parsing import parse_toml

BUNDLED = ("conll", "ontonotes")
WIKIDATA = "http://www.wikidata.org/entity/"
PREFIXES = {
    "": WIKIDATA,
    "wd": WIKIDATA,
    "wdt": "http://www.wikidata.org/prop/direct/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
}
DEFAULTS: dict[str, Any] = {
    # Wikidata moves names that are the same in many languages from "en" to "mul".
    "languages": ["en", "mul"],
    "instance_of": "wdt:P31",
    "subclass_of": "wdt:P279",
    "label": "rdfs:label",
    "alias": "skos:altLabel",
    "exclude": [],
}
KEYS = (*DEFAULTS, "prefixes", "types")

ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]+")
LANGUAGE = re.compile(r"([A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*)?")


def is_iri(text: str) -> bool:
    """Whether a text can be written between < and > in a query; names of blank nodes cannot.

    >>> is_iri("http://www.wikidata.org/entity/Q5"), is_iri("_:b0"), is_iri("http://a/> . <")
    (True, False, False)
    """
    return ABSOLUTE.fullmatch(text) is not None


@dataclass(frozen=True)
class EntityType:
    """A type, the classes whose instances have it, and those whose instances do not (as IRIs)."""

    name: str
    classes: tuple[str, ...]
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class RdfVocabulary:
    """The properties (as IRIs) for classes and names in a knowledge base, and the languages of names."""

    instance_of: str
    subclass_of: str
    label: tuple[str, ...]
    alias: tuple[str, ...]
    languages: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The properties that give an item a name."""
        return (*self.label, *self.alias)


@dataclass(frozen=True)
class ClassMap:
    """Entity types in the order of the file, the vocabulary, and classes whose instances have no type."""

    types: tuple[EntityType, ...]
    vocabulary: RdfVocabulary
    exclude: tuple[str, ...] = ()
    prefixes: tuple[tuple[str, str], ...] = tuple(PREFIXES.items())

    def type_of(self, steps: Mapping[str, int]) -> str | None:
        """The one type of an item, from its classes and all their super-classes.

        `steps` has the number of subclass steps from the item's own classes to each of them. The type with
        the nearest class is chosen, as the most specific; of several at the same distance, the first in the
        file.

        >>> vocabulary = RdfVocabulary("i", "s", ("l",), ("a",), ("en",))
        >>> places = EntityType("LOC", ("place", "museum"))
        >>> m = ClassMap((places, EntityType("ORG", ("firm",), exclude=("shop",))), vocabulary)
        >>> m.type_of({"firm": 1, "place": 2}), m.type_of({"firm": 1, "place": 1})
        ('ORG', 'LOC')
        >>> m.type_of({"shop": 0, "firm": 1, "place": 2}), m.type_of({"shop": 0})
        ('LOC', None)
        """
        if not steps.keys().isdisjoint(self.exclude):
            return None
        near = [
            (min(steps[c] for c in kind.classes if c in steps), place)
            for place, kind in enumerate(self.types)
            if not steps.keys().isdisjoint(kind.classes) and steps.keys().isdisjoint(kind.exclude)
        ]
        return self.types[min(near)[1]].name if near else None

    @property
    def roots(self) -> tuple[str, ...]:
        """Every class that a type names, once, in the order of the file."""
        return tuple(dict.fromkeys(c for kind in self.types for c in kind.classes))

    def short(self, iri: str) -> str:
        """The shortest prefixed form of an IRI, or the IRI itself."""
        known = [
            f"{prefix}:{iri[len(base) :]}" if prefix else iri[len(base) :]
            for prefix, base in self.prefixes
            if iri.startswith(base) and len(iri) > len(base)
        ]
        return min(known, key=len, default=iri)


def load_classes(name: str | PathLike[str] = "conll") -> ClassMap:
    """A bundled class map by its name (conll, ontonotes), or a user's TOML file."""
    if name in BUNDLED:
        text = (resources.files("roster.distant.kb") / "classes.toml").read_text(encoding="utf-8")
        return class_map(parse_toml(text)[str(name)], f"class map {name}")
    tree = read_toml(Path(name), f"class map; give a TOML file, or {' or '.join(BUNDLED)}")
    return class_map(tree, str(Path(name)))


def class_map(tree: Mapping[str, Any], source: str) -> ClassMap:
    """A checked class map from plain values; errors begin with `source` and name the key."""
    _known(tree, KEYS, source, "")
    prefixes = dict(PREFIXES)
    for prefix, base in _table(tree.get("prefixes", {}), source, "prefixes").items():
        if not isinstance(base, str) or not is_iri(base):
            raise ConfigError(f"{source}: 'prefixes.{prefix}' must be a full IRI, not {base!r}")
        prefixes[prefix] = base

    def iris(key: str, value: Any, *, empty: bool = False) -> tuple[str, ...]:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not (names or empty):
            raise ConfigError(f"{source}: '{key}' must be a list of names such as [\"Q5\"], not {value!r}")
        return tuple(dict.fromkeys(_expand(name, prefixes, f"{source}: '{key}'") for name in names))

    def one(key: str) -> str:
        properties = iris(key, tree.get(key, DEFAULTS[key]))
        if len(properties) != 1:
            raise ConfigError(f"{source}: '{key}' must be one property, not {len(properties)}")
        return properties[0]

    types = []
    for name, value in _table(tree.get("types", {}), source, "types").items():
        key = f"types.{name}"
        if not name.strip() or any(c.isspace() for c in name):
            raise ConfigError(f"{source}: '{key}': the name of a type has no spaces and is not empty")
        if not isinstance(value, Mapping):
            types.append(EntityType(name, iris(key, value)))
            continue
        _known(value, ("classes", "exclude"), source, f"{key}.")
        if "classes" not in value:
            raise ConfigError(f"{source}: '{key}.classes' is missing; give a list such as [\"Q5\"]")
        exclude = iris(f"{key}.exclude", value.get("exclude", []), empty=True)
        types.append(EntityType(name, iris(f"{key}.classes", value["classes"]), exclude))
    if not types:
        raise ConfigError(f"{source}: 'types' is empty; give at least one, such as PER = [\"Q5\"]")
    vocabulary = RdfVocabulary(
        one("instance_of"),
        one("subclass_of"),
        iris("label", tree.get("label", DEFAULTS["label"])),
        iris("alias", tree.get("alias", DEFAULTS["alias"]), empty=True),
        _languages(tree.get("languages", DEFAULTS["languages"]), source),
    )
    exclude = iris("exclude", tree.get("exclude", DEFAULTS["exclude"]), empty=True)
    return ClassMap(tuple(types), vocabulary, exclude, tuple(prefixes.items()))


def _expand(name: Any, prefixes: Mapping[str, str], where: str) -> str:
    """`Q5`, `wd:Q5`, `<http://…>` or `http://…` as an IRI."""
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f'{where}: {name!r} is not a name; give for example "Q5" or a full IRI')
    name = name.strip()
    if name.startswith("<") and name.endswith(">"):
        iri = name[1:-1]
    else:
        prefix, colon, rest = name.partition(":")
        if not colon:
            iri = prefixes[""] + name
        elif prefix in prefixes:
            iri = prefixes[prefix] + rest
        elif rest.startswith("//"):
            iri = name
        else:
            raise ConfigError(f"{where}: {name!r} has the prefix {prefix!r}, which is not in [prefixes]")
    if not is_iri(iri):
        raise ConfigError(f"{where}: {name!r} gives {iri!r}, which is not an IRI")
    return iri


def _languages(value: Any, source: str) -> tuple[str, ...]:
    tags = [value] if isinstance(value, str) else value
    if not isinstance(tags, list) or not tags:
        raise ConfigError(f"{source}: 'languages' must be a list such as [\"en\"], not {value!r}")
    for tag in tags:
        if not isinstance(tag, str) or not LANGUAGE.fullmatch(tag):
            raise ConfigError(
                f"{source}: 'languages' has {tag!r}, which is not a language tag such as en or pt-br"
            )
    return tuple(dict.fromkeys(tag.lower() for tag in tags))


def _table(value: Any, source: str, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{source}: '{key}' must be a section, [{key}], not {value!r}")
    return value


def _known(tree: Mapping[str, Any], keys: Collection[str], source: str, where: str) -> None:
    for key in tree:
        if key not in keys:
            raise ConfigError(f"{source}: there is no '{where}{key}'; here are {', '.join(keys)}")
