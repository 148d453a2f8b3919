"""The store on disk: whole or not there, read by many, and honest about what is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roster.distant.kb.classes import load_classes
from roster.distant.kb.store import MARK, Built, Store, build
from roster.errors import DataError, RosterError

CLASSES = load_classes()
WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
LABEL, ALIAS = "http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#altLabel"
NT = f"""\
<{WD}Q1> <{LABEL}> "Vell"@en .
<{WD}Q1> <{ALIAS}> "Vellum"@en .
<{WD}Q1> <{WDT}P31> <{WD}Q515> .
<{WD}Q2> <{LABEL}> "Ann Orr"@en .
<{WD}Q2> <{WDT}P17> <{WD}Q1> .
"""
ALL = "SELECT * WHERE { ?s ?p ?o }"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.nt"
    path.write_text(NT)
    return path


def listing(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_build_and_ask(dump: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "Q3", "labels": {"en": {"language": "en", "value": "Lake Ull"}}}))
    built = build([dump, more], tmp_path / "kb", CLASSES)
    assert built == Built(3, 3, 1, 5, 0, "", built.seconds)
    assert 0 < built.seconds < 60
    store = Store(tmp_path / "kb")
    assert store.name == str(tmp_path / "kb")
    assert len(list(store.select(ALL))) == 5
    names = store.select(f"SELECT ?n WHERE {{ ?s <{LABEL}> ?n }}")
    assert {row["n"] for row in names} == {"Vell", "Ann Orr", "Lake Ull"}
    assert json.loads((tmp_path / "kb" / MARK).read_text())["triples"] == 5
    assert listing(tmp_path) == ["dump.nt", "kb", "more.jsonl"]


def test_keep_all(dump: Path, tmp_path: Path) -> None:
    assert build([dump], tmp_path / "kb", CLASSES, keep_all=True).triples == 5
    assert build([dump, dump], tmp_path / "kb2", CLASSES).triples == 4


def test_values(tmp_path: Path) -> None:
    (tmp_path / "d.ttl").write_text('<http://a> <http://p> "x\\ty"@en , 5 , <http://b> , [] .')
    build([tmp_path / "d.ttl"], tmp_path / "kb", CLASSES, keep_all=True)
    rows = list(Store(tmp_path / "kb").select("SELECT ?o ?none WHERE { ?s ?p ?o }"))
    values = sorted(row.pop("o") for row in rows)
    assert values[:-1] == ["5", values[1], "http://b"]
    assert values[1].startswith("_:")
    assert values[-1] == "x\ty"
    assert rows == [{}] * 4


def test_a_broken_dump_leaves_nothing(dump: Path, tmp_path: Path) -> None:
    dump.write_text(NT + "nonsense\n")
    with pytest.raises(DataError, match=r"dump\.nt, line 6: "):
        build([dump], tmp_path / "kb", CLASSES)
    assert listing(tmp_path) == ["dump.nt"]
    built = build([dump], tmp_path / "kb", CLASSES, skip_broken=True)
    assert (built.triples, built.broken) == (4, 1)
    assert built.first_broken.startswith(f"{dump}, line 6: ")


def test_a_dump_without_anything_to_keep(dump: Path, tmp_path: Path) -> None:
    dump.write_text(f'<{WD}Q1> <{LABEL}> "Wel"@de .\n')
    with pytest.raises(DataError, match=r"nothing in there that the class map asks about; check its prop"):
        build([dump], tmp_path / "kb", CLASSES)
    assert listing(tmp_path) == ["dump.nt"]


def test_what_is_there_stays(dump: Path, tmp_path: Path) -> None:
    build([dump], tmp_path / "kb", CLASSES)
    with pytest.raises(RosterError, match=r"kb is there already; --force replaces it"):
        build([dump], tmp_path / "kb", CLASSES)
    dump.write_text(NT.replace("Vell", "Veld"))
    build([dump], tmp_path / "kb", CLASSES, force=True)
    found = {row["o"] for row in Store(tmp_path / "kb").select(ALL)}
    assert {"Veld", "Veldum"} <= found
    for path in (tmp_path / "mine", tmp_path / "mine.txt"):
        if path.suffix:
            path.write_text("precious")
        else:
            path.mkdir()
            (path / "precious").write_text("")
        with pytest.raises(RosterError, match="is there and is not a store of ours"):
            build([dump], path, CLASSES, force=True)
    assert listing(tmp_path / "mine") == ["precious"]
    assert (tmp_path / "mine.txt").read_text() == "precious"


def test_a_failed_replacement_leaves_the_old_store(dump: Path, tmp_path: Path) -> None:
    build([dump], tmp_path / "kb", CLASSES)
    dump.write_text(NT + "nonsense\n")
    with pytest.raises(DataError):
        build([dump], tmp_path / "kb", CLASSES, force=True)
    assert len(list(Store(tmp_path / "kb").select(ALL))) == 4


BUILD = """
import sys
from roster.distant.kb.classes import load_classes
from roster.distant.kb.store import build
build([sys.argv[1]], sys.argv[2], load_classes())
"""


def test_a_killed_build_leaves_no_store(tmp_path: Path) -> None:
    dump, store = tmp_path / "dump.nt", tmp_path / "kb"
    dump.write_text(NT * 200_000)
    process = subprocess.Popen([sys.executable, "-c", BUILD, str(dump), str(store)])
    while not list(tmp_path.glob(".kb.*.part/CURRENT")):
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not store.exists()
    dump.write_text(NT)
    build([dump], store, CLASSES)
    assert len(list(Store(store).select(ALL))) == 4


READ = """
import sys
from roster.distant.kb.store import Store
store = Store(sys.argv[1])
print(len(list(store.select("SELECT * WHERE { ?s ?p ?o }"))), flush=True)
sys.stdin.read()
"""


def test_many_processes_read_at_once(dump: Path, tmp_path: Path) -> None:
    build([dump], tmp_path / "kb", CLASSES)
    command = [sys.executable, "-c", READ, str(tmp_path / "kb")]
    readers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
    assert [reader.stdout.readline() for reader in readers if reader.stdout] == [b"4\n"] * 3
    assert len(list(Store(tmp_path / "kb").select(ALL))) == 4
    for reader in readers:
        reader.communicate()
        assert reader.returncode == 0


def test_not_a_store(dump: Path, tmp_path: Path) -> None:
    with pytest.raises(RosterError, match=r"none: no such store; make one with: roster kb build DUMP -o"):
        Store(tmp_path / "none")
    for path in (tmp_path, dump):
        with pytest.raises(RosterError, match=r"not a store; make one with: roster kb build"):
            Store(path)
    build([dump], tmp_path / "kb", CLASSES)
    for manifest in (tmp_path / "kb").glob("MANIFEST-*"):
        manifest.write_bytes(b"damaged")
    with pytest.raises(RosterError, match=r"kb: the store cannot be opened: .*; build it again"):
        Store(tmp_path / "kb")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * WHERE {", "kb: not SPARQL: error at 1:17"),
        ("ASK { ?s ?p ?o }", "kb: only SELECT queries are answered"),
        ("DESCRIBE <http://a>", "kb: only SELECT queries are answered"),
        ("SELECT * WHERE { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", "kb: the query failed"),
    ],
)
def test_bad_queries(query: str, message: str, dump: Path, tmp_path: Path) -> None:
    build([dump], tmp_path / "kb", CLASSES)
    with pytest.raises(RosterError, match=message) as caught:
        list(Store(tmp_path / "kb").select(query))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_without_pyoxigraph(dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build([dump], tmp_path / "kb", CLASSES)
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(RosterError, match=r'pip install "roster-ner\[kb\]"'):
        Store(tmp_path / "kb")
    with pytest.raises(RosterError, match=r'pip install "roster-ner\[kb\]"'):
        build([dump], tmp_path / "kb2", CLASSES)


def test_a_full_disk(dump: Path, tmp_path: Path) -> None:
    """Files may not grow over 100 kB: the store meets the error where it would meet a full disk."""
    dump.write_text("".join(f'<{WD}Q{n}> <{LABEL}> "Name {n}"@en .\n' for n in range(50_000)))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
    command = [sys.executable, "-c", limit + BUILD, str(dump), str(tmp_path / "kb")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "RosterError: cannot write" in done.stderr.splitlines()[-1]
    assert "File too large" in done.stderr.splitlines()[-1]
    assert listing(tmp_path) == ["dump.nt"]
