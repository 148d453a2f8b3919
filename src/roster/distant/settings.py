"""The settings of `roster label`: one TOML file, and what the command line adds to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast, get_args

from roster.config import option, read_toml, section
from roster.distant.compiling.compiler import ALLOW_LIST, allow_lists
from roster.distant.compiling.lexicon import Source
from roster.distant.entries.patch import Patch, read_patch
from roster.distant.matching.conflicts import Ambiguous, Overlap
from roster.distant.matching.patterns import Pattern, builtin_patterns, load_patterns
from roster.distant.policy.policies import Policies
from roster.distant.span_sources import (
    Annotations,
    Model,
    annotations_in,
    model_in,
    parse_annotations,
    parse_model,
    with_least_scores,
)
from roster.errors import ConfigError, DataError

RULES = "rules"


@dataclass(frozen=True)
class Conflicts:
    """Rules for sources that overlap or disagree; they are defined in `matching/conflicts.py`."""

    overlap: str = option(
        "longest",
        "longest name first, or AutoNER's largest sum of squared lengths",
        choices=get_args(Overlap),
    )
    ambiguous: str = option(
        "drop",
        "a name with several types: no label, all of them, the first by alphabet, or what the "
        "other labels of the document say",
        choices=get_args(Ambiguous),
    )
    agreement: int = option(1, "different sources that must claim a type on the same words", low=1)


@dataclass(frozen=True)
class Candidates:
    """Which stretches of words are looked up in the knowledge base."""

    by: str = option(
        RULES, "rules: capital letters; else the name or folder of a spaCy pipeline with a tagger"
    )
    nested: bool = option(True, "also ask about the parts of a long candidate")


@dataclass(frozen=True)
class KnowledgeBase:
    source: str = option("", "store folder made by `roster kb build`, or address of a SPARQL endpoint")
    classes: str = option("", "TOML file of types and their classes; `conll` (also the default), `ontonotes`")
    priority: int = option(0, "of its claims, as for dictionaries")
    any_case: bool = option(False, "ask for other cases of a name too: VELL, Vell")
    timeout: float = option(
        75.0, "seconds for one answer of an endpoint; public ones have 60 of their own", low=0.1
    )


@dataclass(frozen=True)
class Settings:
    policies: Policies = field(default_factory=Policies)
    sources: tuple[Source, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    conflicts: Conflicts = field(default_factory=Conflicts)
    candidates: Candidates = field(default_factory=Candidates)
    kb: KnowledgeBase = field(default_factory=KnowledgeBase)
    patch: Patch = field(default_factory=Patch)
    annotations: tuple[Annotations, ...] = ()
    models: tuple[Model, ...] = ()
    file: Path | None = field(default=None, compare=False)
    """The TOML file that they were read from."""

    @property
    def inputs(self) -> list[Path]:
        """The files that are read: the settings, dictionaries, patches and annotations."""
        return [*([self.file] if self.file else []), *(source.path for source in self.sources),
                *(Path(path) for path in self.patch.files),
                *(one.path for one in self.annotations if one.sentences is None)]  # fmt: skip

    @property
    def overlap(self) -> Overlap:
        return cast(Overlap, self.conflicts.overlap)

    @property
    def ambiguous(self) -> Ambiguous:
        return cast(Ambiguous, self.conflicts.ambiguous)

    def checked(self) -> Settings:
        added = self.patch.of("add")
        matched = self.sources or self.patterns or self.kb.source or allow_lists(self.policies) or added
        if not (matched or self.annotations or self.models):
            raise ConfigError(
                "nothing to label with; give a dictionary (--dictionary names.tsv), patterns "
                "(--patterns DATE), a knowledge base (--kb STORE), annotations (--annotations FILE) or a "
                "model (--model NAME)"
            )
        names = [source.name for source in self.sources]
        names += [Path(path).name for path in dict.fromkeys(change.path for change in added)]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ConfigError(
                f"two dictionaries or patches are called {', '.join(sorted(twice))}; labels keep the "
                "name of the file that they come from, so rename one"
            )
        self._check_span_sources(names)
        for change in self.patch.changes:
            if change.given_type and self.policies.kind(change.given_type) is None:
                raise DataError(
                    f"[labels] or --types map {change.given_type} to another label, so no entry can have it; "
                    "give a label of the data set",
                    path=change.path,
                    line=change.line,
                )
        return self

    def _check_span_sources(self, others: Sequence[str]) -> None:
        """Every annotation file and model has a name of its own, which no other source has."""
        taken = {*others, ALLOW_LIST, self.kb.source, *(pattern.source for pattern in self.patterns)} - {""}
        for one in (*self.annotations, *self.models):
            if one.name in taken:
                raise ConfigError(
                    f"two sources are called {one.name}; give one another name (NAME=FILE on the command "
                    "line, or name in a file for --config)"
                )
            taken.add(one.name)


SECTIONS = (
    "defaults",
    "types",
    "labels",
    "conflicts",
    "candidates",
    "kb",
    "dictionaries",
    "patterns",
    "builtin",
    "patch",
    "annotations",
    "models",
)
RECORD = "record"
"""A section that is no setting: `output/record.py` writes it beside the labels."""


def load_settings(
    file: str | Path | None = None,
    *,
    dictionaries: Sequence[str | Path] = (),
    format: str | None = None,
    in_order: bool = False,
    skip_broken: bool = False,
    builtin: Sequence[str] = (),
    policy: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    conflicts: Mapping[str, Any] | None = None,
    candidates: Mapping[str, Any] | None = None,
    kb: Mapping[str, Any] | None = None,
    patch: str | Path | Sequence[str | Path] = (),
    annotations: Sequence[str | Path | Annotations] = (),
    annotations_format: str | None = None,
    models: Sequence[str | Path | Model] = (),
    least_scores: Mapping[str, float] | None = None,
) -> Settings:
    """The settings of a TOML file with those given here on top; all are checked.

    `patch` is a file with changes of the entries (`entries/patch.py`), or several.
    `in_order` gives the dictionaries falling priorities, so that the first one wins.
    `annotations` are files, `NAME=FILE` or complete; `models` are `MODEL`, `NAME=MODEL`, either with `KIND:`
    before the model, or complete (`span_sources.py`). `least_scores` has the least score of each of them by
    name, that of the name "" for all others.
    """
    tree: dict[str, Any] = {} if file is None else read_toml(Path(file))
    where = "" if file is None else f"{file}: "
    for name in tree:
        if name not in (*SECTIONS, RECORD):
            raise ConfigError(f"{where}unknown section [{name}]; the sections are {', '.join(SECTIONS)}")
    folder = Path() if file is None else Path(file).parent
    sources = [_source(table, folder, where) for table in _tables(tree, "dictionaries", where)]
    for place, path in enumerate(dictionaries):
        sources.append(Source(Path(path), format, len(dictionaries) - place if in_order else 0))
    sources = [replace(source, skip_broken=source.skip_broken or skip_broken) for source in sources]
    patterns = _builtin(_table(tree, "builtin", where), builtin, where)
    own = _tables(tree, "patterns", where)
    if own:
        patterns += load_patterns(own, origin=Path(str(file)).name)
    files = [annotations_in(table, folder, where) for table in _tables(tree, "annotations", where)]
    files += [
        one if isinstance(one, Annotations) else parse_annotations(one, annotations_format)
        for one in annotations
    ]
    loaded = [model_in(table, folder, where) for table in _tables(tree, "models", where)]
    loaded += [one if isinstance(one, Model) else parse_model(one) for one in models]
    known = {"", *(one.name for one in (*files, *loaded))}
    if unknown := sorted(set(least_scores or ()) - known):
        raise ConfigError(
            f"a least score is given for {', '.join(unknown)}, which is the name of no annotations and no "
            f"model; these are {', '.join(sorted(known - {''})) or 'none'}"
        )
    return Settings(
        Policies.from_tables(
            {**_table(tree, "defaults", where), **(policy or {})},
            _table(tree, "types", where),
            {**_table(tree, "labels", where), **(labels or {})},
            where,
        ),
        tuple(sources),
        tuple(patterns),
        section(Conflicts, {**_table(tree, "conflicts", where), **(conflicts or {})}, f"{where}[conflicts]"),
        _candidates(_table(tree, "candidates", where), candidates or {}, folder, where),
        _kb({**_table(tree, "kb", where)}, kb or {}, folder, where),
        _patch(
            _table(tree, "patch", where), [patch] if isinstance(patch, str | Path) else patch, folder, where
        ),
        with_least_scores(files, least_scores or {}),
        with_least_scores(loaded, least_scores or {}),
        None if file is None else Path(file),
    ).checked()


def _builtin(table: dict[str, Any], chosen: Sequence[str], where: str) -> list[Pattern]:
    where = f"{where}[builtin]"
    if unknown := set(table) - {"patterns", "labels"}:
        raise ConfigError(f"{where}: unknown {_keys(unknown)}; expected patterns or labels")
    listed, labels = table.get("patterns", []), table.get("labels", {})
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise ConfigError(f'{where}: patterns must be a list such as ["DATE", "TIME"], not {listed!r}')
    if not isinstance(labels, Mapping):
        raise ConfigError(f'{where}: labels must be a table such as {{ PERSON = "PER" }}, not {labels!r}')
    try:
        return builtin_patterns([*listed, *chosen], labels=labels) if listed or chosen else []
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}" if table else str(error)) from None


def _kb(table: dict[str, Any], given: Mapping[str, Any], folder: Path, where: str) -> KnowledgeBase:
    kb = section(KnowledgeBase, table, f"{where}[kb]")
    # Paths in a file are beside the file; those on the command line are where the user is.
    if kb.source and "://" not in kb.source:
        kb = replace(kb, source=str(folder / kb.source))
    if kb.classes.endswith(".toml"):
        kb = replace(kb, classes=str(folder / kb.classes))
    return section(KnowledgeBase, given, "the knowledge base", kb)


def _candidates(table: dict[str, Any], given: Mapping[str, Any], folder: Path, where: str) -> Candidates:
    found = section(Candidates, table, f"{where}[candidates]")
    if found.by != RULES and (folder / found.by).is_dir():
        found = replace(found, by=str(folder / found.by))
    return section(Candidates, given, f"{where}[candidates]", found)


def _patch(table: Mapping[str, Any], given: Sequence[str | Path], folder: Path, where: str) -> Patch:
    if unknown := set(table) - {"files"}:
        raise ConfigError(f"{where}[patch]: unknown {_keys(unknown)}; expected files")
    files = table.get("files", [])
    if not isinstance(files, list) or not all(isinstance(file, str) and file for file in files):
        raise ConfigError(f'{where}[patch]: files must be a list such as ["names.patch"], not {files!r}')
    return read_patch(*(folder / file for file in files), *given)


def _source(table: Mapping[str, Any], folder: Path, where: str) -> Source:
    name = f"{where}[[dictionaries]]"
    if unknown := set(table) - {"path", "format", "priority", "skip_broken"}:
        raise ConfigError(f"{name}: unknown {_keys(unknown)}; expected path, format, priority or skip_broken")
    path, format, priority = table.get("path"), table.get("format"), table.get("priority", 0)
    skip_broken = table.get("skip_broken", False)
    if not isinstance(path, str) or not path:
        raise ConfigError(f'{name}: path must be a text, such as path = "names.tsv"')
    if format is not None and not isinstance(format, str):
        raise ConfigError(f"{name}: format must be a text")
    if not isinstance(priority, int) or isinstance(priority, bool):
        raise ConfigError(f"{name}: priority must be a whole number, not {priority!r}")
    if not isinstance(skip_broken, bool):
        raise ConfigError(f"{name}: skip_broken must be true or false, not {skip_broken!r}")
    return Source(folder / path, format, priority, skip_broken)


def _keys(unknown: set[str]) -> str:
    """
    >>> _keys({"a"}), _keys({"b", "a"})
    ('key a', 'keys a, b')
    """
    return f"key{'s' if len(unknown) > 1 else ''} {', '.join(sorted(unknown))}"


def _table(tree: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    table = tree.get(name, {})
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where}'{name}' must be a section [{name}]")
    return dict(table)


def _tables(tree: Mapping[str, Any], name: str, where: str) -> list[Mapping[str, Any]]:
    tables = tree.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise ConfigError(f"{where}'{name}' must be a list of sections [[{name}]]")
    return tables
