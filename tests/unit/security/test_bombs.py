"""Small files that would become very large, or very deep."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from roster import unpacking
from roster.backbone.words import read_vectors
from roster.corpus import io as formats
from roster.distant.entries import read_entries
from roster.distant.entries.patch import read_patch
from roster.distant.kb.classes import load_classes
from roster.distant.kb.dumps import Dump
from roster.distant.matching.patterns.table import load_patterns
from roster.errors import ConfigError, DataError
from roster.pretraining.documents import read_documents
from roster.unpacking import unpacked

PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
SIZE = 3_000_000
BOMB = "unpacks to more than 200 times its size"


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first bytes are free; a test should not need as many of them as a user."""
    monkeypatch.setattr(unpacking, "FREE", 1 << 20)


def triples(path: Path) -> Any:
    return list(Dump(path, load_classes().vocabulary).quads(broken))


def broken(error: DataError) -> None:
    raise error


READERS: list[tuple[str, Callable[[Path], Any], bytes]] = [
    ("names.tsv.gz", lambda path: list(read_entries(path, "tsv", skip_broken=True)), b"\0"),
    ("names.patch.gz", read_patch, b"# a comment\n"),
    ("vectors.gz", read_vectors, b"0"),
    ("raw.gz", lambda path: list(read_documents([path])), b"a "),
    ("raw.bz2", lambda path: list(read_documents([path])), b"a "),
    ("raw.xz", lambda path: list(read_documents([path])), b"a "),
    ("dump.nt.gz", triples, b"# a comment\n"),
    ("dump.ttl.bz2", triples, b"# a comment\n"),
    ("dump.json.gz", triples, b"\n"),
]


@pytest.mark.parametrize(("name", "read", "content"), READERS, ids=[name for name, *_ in READERS])
def test_compressed_files(name: str, read: Callable[[Path], Any], content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(PACK[path.suffix](content * (SIZE // len(content))))
    assert path.stat().st_size < SIZE / 200
    with pytest.raises(DataError, match=BOMB):
        read(path)


@pytest.mark.parametrize("kind", PACK)
def test_other_files_are_unpacked(kind: str) -> None:
    """Text that is compressed to a tenth, beyond what is free; through a pipe, which cannot seek."""
    words = random.Random(1)
    content = b"".join(b"%d\tPER\n" % words.randrange(10**6) for _ in range(200_000))
    packed = PACK[kind](content)
    raw = io.BytesIO(packed)
    raw.seekable = lambda: False  # type: ignore[method-assign]
    assert len(packed) * 200 > len(content) > 1 << 20
    assert unpacked(raw, kind, Path("names")).read() == content


def test_a_docbin(tmp_path: Path) -> None:
    path = tmp_path / "a.spacy"
    path.write_bytes(zlib.compress(b"\0" * SIZE))
    with pytest.raises(DataError, match=BOMB):
        list(formats.read(path))


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"text": ["a" * SIZE]}), path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < SIZE / 200
    with pytest.raises(DataError, match=BOMB):
        list(formats.read(path))
    pa.parquet.write_table(pa.table({"tokens": [["a"] * 5000]}), path)
    assert len(next(formats.read(path))) == 5000


def ontology(entities: str, label: str = "&a;", after: str = "") -> bytes:
    return f"""<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY rdfs "http://www.w3.org/2000/01/rdf-schema#"> {entities}]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="&rdfs;">
<rdf:Description rdf:about="http://a/b"><s:label>{label}</s:label></rdf:Description>{after}
</rdf:RDF>""".encode()


def test_entities_of_xml(tmp_path: Path) -> None:
    """Those of ontologies are expanded; those that grow are refused before."""
    path = tmp_path / "a.owl"
    path.write_bytes(ontology('<!ENTITY a "Oslo">'))
    with closing(Dump(path, load_classes().vocabulary, keep_all=True).quads(broken)) as found:
        assert "Oslo" in str(next(found))
    grows = '<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(12)
    )
    for content in (
        ontology(grows, "&m;"),
        ontology('<!ENTITY q "]">' + grows, "&m;"),
        ontology('<!-- <!ENTITY q "> -->' + grows, "&m;"),
        ontology(f'<!ENTITY a "{"a" * 2000}">', "&a;" * 1000),
        ontology('<!ENTITY a "b">', "a" * 70_000, '<!DOCTYPE r [<!ENTITY z "zz">]>'),
        b" " * 70_000 + ontology(grows, "&m;"),
        b" " * ((1 << 16) - 4 - 22) + ontology(grows, "&m;"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"entity of the document type|expected (one|the) document type"):
            triples(path)


def test_entities_of_xml_in_other_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret words")
    path = tmp_path / "a.rdf"
    path.write_bytes(ontology(f'<!ENTITY a SYSTEM "{(tmp_path / "secret").as_uri()}">'))
    found = []
    with pytest.raises(DataError) as caught:
        found += triples(path)
    assert "secret words" not in f"{caught.value} {found}"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"tokens": [{"LOWER": "a", "OP": "{1,999999999}"}]}, "counts to 1000 at most"),
        ({"tokens": [{"LOWER": "a", "OP": "{%s}" % ("9" * 5000)}]}, "counts to 1000 at most"),
        ({"tokens": [{"LOWER": "a", "OP": "{900}"}] * 5}, "more than 1000 words"),
        ({"regex": "((((a{1000}){1000}){1000}){1000})"}, "repetition|too large"),
        ({"regex": "(a)\\1"}, "back references do not exist"),
    ],
)  # fmt: skip
def test_patterns(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_patterns([{"name": "n", "label": "L", **table}], origin="label.toml")
