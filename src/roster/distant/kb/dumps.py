"""Dumps of a knowledge base, read as a stream of triples: RDF in its usual formats, and Wikidata's JSON.

Of an RDF dump only the facts that a look-up needs are kept, unless `keep_all` is set. Wikidata's JSON gives
the same triples as its "truthy" RDF: the statements of preferred rank, or else those of normal rank.
"""

from __future__ import annotations

import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, BinaryIO

from roster.corpus.formats.textfile import opened
from roster.distant.kb.classes import PREFIXES, WIKIDATA, RdfVocabulary
from roster.distant.kb.xml_entities import checked_xml
from roster.errors import DataError, RosterError
from roster.parsing import parse_json
from roster.unpacking import unpacked

RDF = {".nt": "nt", ".ttl": "ttl", ".nq": "nq", ".trig": "trig", ".rdf": "rdf", ".owl": "rdf", ".xml": "rdf"}
JSON = (".json", ".jsonl", ".ndjson")
LINES = ("nt", "nq")
PACKED = (".gz", ".bz2")
FORMATS = f"{', '.join([*RDF, *JSON])}, each plain or {' or '.join(PACKED)}"
MAX_LINE = 1 << 28
"""Bytes of a line of JSON. Wikidata's longest entities have some 4 MB; a longer line is not one entity."""
BLOCK = 1 << 18
ITEM = re.compile(r"Q[1-9]\d*")
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"

Report = Callable[[DataError], None]
Advance = Callable[[int], object]


def oxigraph() -> Any:
    try:
        import pyoxigraph
    except ImportError as error:
        raise RosterError(
            'a knowledge base on disk needs pyoxigraph: pip install "roster-ner[kb]"'
        ) from error
    return pyoxigraph


class Dump:
    """One file of a dump; its name determines the format."""

    def __init__(self, path: str | PathLike[str], vocabulary: RdfVocabulary, *, keep_all: bool = False):
        self.path = Path(path)
        self._vocabulary, self._keep_all = vocabulary, keep_all
        name = self.path.name.lower()
        self._packed = next((end for end in PACKED if name.endswith(end)), "")
        self._kind = Path(name.removesuffix(self._packed)).suffix
        if self._kind not in (*RDF, *JSON):
            raise DataError(f"not a format we read; the name must end in one of {FORMATS}", path=self.path)
        with opened(self.path) as file:  # so that an unreadable file fails before another is read
            self.size = file.seek(0, io.SEEK_END)

    def quads(self, report: Report, advance: Advance = lambda mib: None) -> Iterator[Any]:
        """Triples (as quads of the default graph); broken ones go to `report`, which may raise.

        `advance` is called with the number of MiB read since the last call.
        """
        read = self._json if self._kind in JSON else self._rdf
        with opened(self.path) as raw, self._failures():
            yield from read(self._unpacked(raw, advance), report)

    def _unpacked(self, raw: BinaryIO, advance: Advance) -> IO[bytes]:
        counted = io.BufferedReader(_Counted(raw, advance), 1 << 20)
        return unpacked(counted, self._packed, self.path) if self._packed else counted

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
            raise DataError(f"the compressed file is cut or damaged: {error}", path=self.path) from error
        except OSError as error:
            if self._packed and error.errno is None:  # raised by bz2 for the same reason
                raise DataError(f"the compressed file is cut or damaged: {error}", path=self.path) from error
            raise

    def _rdf(self, file: IO[bytes], report: Report) -> Iterator[Any]:
        ox = oxigraph()
        needed = self._needed(ox)
        read = self._lines if RDF[self._kind] in LINES else self._statements
        for quad in read(file, report):
            if self._keep_all or needed(quad):
                yield ox.Quad(quad.subject, quad.predicate, quad.object)

    def _lines(self, file: IO[bytes], report: Report) -> Iterator[Any]:
        """One statement a line. After a broken line, parsing resumes at the next one: the parser itself would
        search for the end of an open quotation mark, and skip valid lines."""
        ox = oxigraph()
        form, before = ox.RdfFormat.from_extension(RDF[self._kind]), 0
        while block := file.read(BLOCK):
            if not block.endswith(b"\n"):
                block += file.readline(MAX_LINE)
            while block:
                try:
                    yield from ox.parse(block, format=form)
                    break
                except SyntaxError as error:
                    line = error.lineno or 1
                    report(DataError(_reason(error), path=self.path, line=before + line))
                    before += line
                    rest = block.split(b"\n", line)
                    block = rest[line] if len(rest) > line else b""  # the parser also counts carriage returns
            before += block.count(b"\n")

    def _statements(self, file: IO[bytes], report: Report) -> Iterator[Any]:
        """Statements over several lines; the parser finds the next statement after an error."""
        ox = oxigraph()
        if RDF[self._kind] == "rdf":
            file = checked_xml(file, self.path)
        parser, last = ox.parse(file, format=ox.RdfFormat.from_extension(RDF[self._kind])), None
        while True:
            try:
                yield from parser
                return
            except SyntaxError as error:
                broken = DataError(_reason(error), path=self.path, line=error.lineno)
                if RDF[self._kind] == "rdf":  # XML: nothing after the error can be trusted
                    raise broken from error
                if error.lineno != last:  # the parser may report the same line twice
                    report(broken)
                last = error.lineno

    def _needed(self, ox: Any) -> Callable[[Any], bool]:
        vocabulary = self._vocabulary
        names, relations = set(vocabulary.names), {vocabulary.instance_of, vocabulary.subclass_of}
        languages = {language or None for language in vocabulary.languages}

        def needed(quad: Any) -> bool:
            predicate, value = quad.predicate.value, quad.object
            if predicate in names:
                return isinstance(value, ox.Literal) and (
                    value.language in languages
                    and (value.language is not None or value.datatype.value == XSD_STRING)
                )
            # A blank node as a class has no identity.
            return predicate in relations and isinstance(value, ox.NamedNode)

        return needed

    def _json(self, file: IO[bytes], report: Report) -> Iterator[Any]:
        """One entity a line, with or without the brackets and commas of an array."""
        ox = oxigraph()
        vocabulary = self._vocabulary
        relations = [
            (iri.removeprefix(PREFIXES["wdt"]), ox.NamedNode(iri))
            for iri in (vocabulary.instance_of, vocabulary.subclass_of)
            if iri.startswith(PREFIXES["wdt"])
        ]
        label, alias = ox.NamedNode(PREFIXES["rdfs"] + "label"), ox.NamedNode(PREFIXES["skos"] + "altLabel")
        number = 0
        while line := file.readline(MAX_LINE):
            number += 1
            line = line.strip().removesuffix(b",")
            if line in (b"", b"[", b"]"):
                continue
            try:
                if len(line) >= MAX_LINE - 2:
                    raise DataError(f"more than {MAX_LINE >> 20} MiB in one line; expected one entity a line",
                                    path=self.path, line=number)  # fmt: skip
                entity = parse_json(line)
                if not ITEM.fullmatch(entity["id"]):
                    continue  # a property or a lexeme
                item = ox.NamedNode(WIKIDATA + entity["id"])
                quads = [
                    ox.Quad(item, relation, ox.NamedNode(WIKIDATA + value))
                    for p, relation in relations
                    for value in _truthy(entity.get("claims") or {}, p)
                ]
                # Empty objects are written as empty arrays.
                labels, aliases = entity.get("labels") or {}, entity.get("aliases") or {}
                for language in vocabulary.languages:
                    tag = {"language": language} if language else {}
                    if language in labels:
                        quads.append(ox.Quad(item, label, ox.Literal(labels[language]["value"], **tag)))
                    for other in aliases.get(language, ()):
                        quads.append(ox.Quad(item, alias, ox.Literal(other["value"], **tag)))
            except ValueError as error:  # JSON, UTF-8, half of a surrogate pair, an invalid identifier
                report(DataError(f"not an entity of Wikidata: {error}", path=self.path, line=number))
            except (KeyError, TypeError, AttributeError) as error:
                what = f"{type(error).__name__} {error}"
                report(DataError(f"not an entity of Wikidata: {what}", path=self.path, line=number))
            else:
                yield from quads


def _reason(error: SyntaxError) -> str:
    """The message of the parser without the position, which the caller adds."""
    return re.sub(r"^Parser error .*?: ", "", error.msg) or "syntax error"


def _truthy(claims: dict[str, Any], p: str) -> list[str]:
    """The items that statements of the best rank point to; a deprecated statement never counts."""
    ranked: dict[str, list[str]] = {"preferred": [], "normal": [], "deprecated": []}
    best = "normal"
    for claim in claims.get(p, ()):
        rank, snak = claim.get("rank", "normal"), claim["mainsnak"]
        if rank == "preferred":  # also one with an unknown value: it replaces the normal ones
            best = rank
        if snak["snaktype"] == "value":
            value = snak["datavalue"]["value"]
            name = value["id"] if "id" in value else f"Q{value['numeric-id']}"
            if not ITEM.fullmatch(name):
                raise ValueError(f"{p} points to {name!r}, which is not an item")
            ranked[rank].append(name)
    return ranked[best]


class _Counted(io.RawIOBase):
    """A file that reports how much of it was read, in whole MiB."""

    def __init__(self, raw: BinaryIO, advance: Advance):
        self._raw, self._advance, self._read = raw, advance, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._raw.read(len(buffer))
        buffer[: len(data)] = data
        before, self._read = self._read, self._read + len(data)
        self._advance((self._read >> 20) - (before >> 20))
        return len(data)
