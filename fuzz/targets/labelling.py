"""What `roster label` reads: dictionaries, patches, settings, classes of knowledge bases, their dumps."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from fuzz.target import BETWEEN, Target, files_of
from fuzz.targets.corpora import sample
from roster.backbone.words import read_vectors
from roster.config import parse_override
from roster.distant.compiling.compiler import compile_lexicon
from roster.distant.compiling.lexicon import Source
from roster.distant.entries import DICTIONARY_FORMATS, detect_dictionary, read_entries
from roster.distant.entries.patch import read_patch
from roster.distant.kb.answers import Answer, TransientError, rows_of
from roster.distant.kb.classes import load_classes
from roster.distant.kb.dumps import Dump
from roster.distant.labels import Labels
from roster.distant.policy.policies import Policies
from roster.distant.settings import load_settings
from roster.errors import DataError
from roster.methods.request import load_request, read_config
from roster.pretraining.documents import read_documents

SETTINGS = b"""[defaults]
case = "exact"
[types.PER]
stop = ["A"]
[labels]
person = "PER"
"LOC*" = ""
[conflicts]
overlap = "longest"
agreement = 1
[kb]
source = "s"
timeout = 5.0
[builtin]
patterns = ["DATE"]
labels = { DATE = "D" }
[[patterns]]
part = "n"
regex = "[0-9]+"
[[patterns]]
name = "a"
label = "A"
regex = '(?&n)/(\\d+)'
group = 1
[[patterns]]
name = "b"
label = "B"
tokens = [{LOWER = "no"}, {SHAPE = "dd", OP = "{1,3}"}, {TEXT = {REGEX = "a+", NOT_IN = ["x"]}}]
[[dictionaries]]
path = "d.tsv"
priority = 2
[[annotations]]
path = "x.jsonl"
least_score = 0.5
[[models]]
model = "m"
kind = "spacy"
"""
TRAINING = b"""method = "roster"
seed = 3
[backbone]
name = "roster-small-en-2"
max_length = 64
[optimiser]
clip = 1.0
[noise_robust]
q = 0.7
[gold]
file = "g.jsonl"
"""
DICTIONARIES: dict[str, bytes] = {
    "tsv": b"Oslo\tLOC\nAda Lovelace\tPER\nNew  York\tLOC\n\xc3\x89lan\tORG\n",
    "autoner": b"LOC\tOslo\nPER,ORG\tAda\n",
    "phrases": b"Oslo\nAda Lovelace\n",
    "csv": b'name,type\n"Oslo, city",LOC\nAda,PER\n',
    "jsonl": b'{"name": "Oslo", "type": "LOC"}\n{"name": "Ada", "type": ["PER", "X"]}\n',
}
PATCH = b"# a patch\nadd\tOslo\tLOC\nremove\tAda\tPER\t3\nretype\tBerg\tPER\tLOC\ndeny\tthe\n"
CLASSES = b"""[types]
PER = ["Q5"]
LOC = { classes = ["ex:City"], exclude = ["Q6256"] }
[prefixes]
ex = "http://example.org/"
"""
ANSWER = b'{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "literal", "value": "a"}}]}}'
TRIPLES = (
    b'<http://a/x> <http://www.w3.org/2000/01/rdf-schema#label> "Oslo"@en .\n'
    b"<http://www.wikidata.org/entity/Q5> <http://www.wikidata.org/prop/direct/P31> "
    b"<http://www.wikidata.org/entity/Q6> .\n"
)
ENTITY = (
    b'[\n{"type":"item","id":"Q42","labels":{"en":{"language":"en","value":"Ada"}},"aliases":{"en":[{"value":'
    b'"A"}]},"claims":{"P31":[{"rank":"normal","mainsnak":{"snaktype":"value","datavalue":{"value":{"id":'
    b'"Q5"},"type":"wikibase-entityid"}}}]}},\n]\n'
)
RAW = b"One.\n\nTwo two.\n"
PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
DUMPS = {"nt": TRIPLES, "ttl": TRIPLES, "rdf": b"<rdf:RDF/>", "json": ENTITY, "nt.gz": gzip.compress(TRIPLES)}


def targets() -> list[Target]:
    """Dictionaries, patches, settings, classes, dumps and answers, word vectors, raw text."""
    every = [*DICTIONARIES.values(), gzip.compress(DICTIONARIES["tsv"])]
    return [
        *(
            Target(f"dictionary-{name}", partial(_entries, name), lambda: every)
            for name in DICTIONARY_FORMATS
        ),
        Target("dictionary-detected", _detected, lambda: every),
        Target("lexicon", _lexicon, lambda: every, 0.1),
        Target("patch", _patch, lambda: [PATCH]),
        Target("labelling-settings", _settings, lambda: [SETTINGS], 0.3),
        Target("labelling", _labelling, lambda: [BETWEEN.join((one, PATCH)) for one in every], 0.05),
        Target("training-settings", _training, lambda: [TRAINING]),
        Target("override", _override, lambda: [b"noise_robust.q=0.5", b"a.b=[1,{x=2}]", b"seed=1"]),
        Target("classes", _classes, lambda: [CLASSES]),
        Target("answers", _answers, lambda: [ANSWER]),
        *(Target(f"dump-{end}", partial(_dump, end), partial(_one, seed)) for end, seed in DUMPS.items()),
        Target("word-vectors", _vectors, lambda: [b"2 3\nAda 0.1 0.2 0.3\nOslo 1e-3 -2 3\n"]),
        Target("documents", _documents, lambda: [RAW, *(pack(RAW) for pack in PACKED.values())]),
    ]


def _one(seed: bytes) -> Sequence[bytes]:
    return [seed]


def _entries(format: str, data: bytes, folder: Path) -> None:
    path = files_of(data, folder, "names.txt")[0]
    broken: list[DataError] = []
    for batch in read_entries(path, format, skip_broken=len(data) % 2 == 0, on_broken=broken.append):
        assert len(batch.surfaces) == len(batch.kinds) == len(batch.lines) > 0
        assert all(name and name == name.strip() for name in batch.surfaces)


def _detected(data: bytes, folder: Path) -> None:
    names = ("a.tsv", "a.csv", "a.jsonl", "a.txt", "a.gz")
    path = files_of(data, folder, names[len(data) % len(names)])[0]
    assert detect_dictionary(path) in DICTIONARY_FORMATS
    for _ in read_entries(path):
        pass


def _lexicon(data: bytes, folder: Path) -> None:
    path = files_of(data, folder, "names.tsv")[0]
    found = compile_lexicon([Source(path, skip_broken=True)], Policies(), folder=folder / "lexicon")
    for i in range(min(10, found.singles)):
        found.entry(i)


def _patch(data: bytes, folder: Path) -> None:
    for change in read_patch(*files_of(data, folder, "a.patch", "b.patch")).changes:
        assert change.name


def _settings(data: bytes, folder: Path) -> None:
    load_settings(files_of(data, folder, "label.toml", "d.tsv")[0])


def _labelling(data: bytes, folder: Path) -> None:
    parts = files_of(data, folder, "names.tsv", "a.patch")
    settings = load_settings(dictionaries=parts[:1], patch=parts[1:], skip_broken=True)
    for _ in Labels(lambda: iter(sample()), settings):
        pass


def _training(data: bytes, folder: Path) -> None:
    path = files_of(data, folder, "train.toml")[0]
    load_request(file=path).config()
    read_config(path)


def _override(data: bytes, folder: Path) -> None:
    text = data.decode("utf-8", "replace")
    parse_override(text)
    load_request(overrides=[text]).config()


def _classes(data: bytes, folder: Path) -> None:
    load_classes(files_of(data, folder, "classes.toml")[0])


def _answers(data: bytes, folder: Path) -> None:
    status, headers, body = 200, {"content-type": "application/sparql-results+json"}, data
    if data[:1] == b"!":
        status, headers = 429, {"retry-after": data[1:40].decode("latin-1")}
    try:
        rows_of(Answer(status, headers, body), "SELECT", datetime(2026, 1, 1, tzinfo=UTC))
    except TransientError:
        return  # tried again by the endpoint


def _dump(end: str, data: bytes, folder: Path) -> None:
    path = files_of(data, folder, f"dump.{end}")[0]
    broken: list[DataError] = []
    for _ in Dump(path, load_classes().vocabulary).quads(broken.append):
        pass


def _vectors(data: bytes, folder: Path) -> None:
    found = read_vectors(files_of(data, folder, "vectors.txt")[0])
    assert len(found.words) == len(found.values)


def _documents(data: bytes, folder: Path) -> None:
    end = next((end for end, pack in PACKED.items() if data[:2] == pack(b"")[:2]), ".txt")
    path = files_of(data, folder, f"raw{end}")[0]
    for one in read_documents([path]):
        assert one
