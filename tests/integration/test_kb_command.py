"""`roster kb`: from a dump to answers, from a store and from a server that serves the same store."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
PEOPLE = 400


def entity(number: int, name: str, aliases: list[str], **claims: str) -> str:
    def statement(target: str) -> dict[str, Any]:
        return {"mainsnak": {"snaktype": "value", "datavalue": {"value": {"id": target}}}, "rank": "normal"}

    return json.dumps(
        {
            "id": f"Q{number}",
            "labels": {"en": {"language": "en", "value": name}},
            "aliases": {"en": [{"language": "en", "value": alias} for alias in aliases]},
            "claims": {p: [statement(target)] for p, target in claims.items()},
        }
    )


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    entities = [
        entity(515, "city", [], P279="Q486972"),
        entity(1, "Vell", ["Old Vell", 'the "Pearl"'], P31="Q515"),
        entity(2, "Vell", [], P31="Q101352"),
        entity(3, "Vell Mills", ["Vell"], P31="Q4830453"),
        *(entity(1000 + n, f"Ann Orr {n}", [f"Orr {n}"], P31="Q5") for n in range(PEOPLE)),
    ]
    path = tmp_path_factory.mktemp("dump") / "dump.json.gz"
    path.write_bytes(gzip.compress(("[\n" + ",\n".join(entities) + "\n]\n").encode()))
    return path


@pytest.fixture(scope="module")
def store(roster: Any, dump: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kb") / "wikidata.kb"
    done = roster("kb", "build", dump, "-o", path)
    assert done.code == 0, done.err
    triples = 2 + 4 + 2 + 3 + PEOPLE * 3
    assert done.out.startswith(f"{path}: {PEOPLE + 4} items, {PEOPLE + 4} labels, ")
    assert f" {PEOPLE + 3} aliases, {triples} triples in " in done.out
    return path


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[str]:
    """Oxigraph's own server, over the very store."""
    here = Path(sys.executable).with_name("oxigraph")
    program = str(here) if here.exists() else shutil.which("oxigraph")
    assert program, "the SPARQL server is missing: pip install oxigraph"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    command = [program, "serve-read-only", "--location", str(store), "--bind", place]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stderr
            assert "Listening" in process.stderr.readline()
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield f"http://{place}/query"
        finally:
            process.kill()


@pytest.fixture(params=["store", "server"])
def source(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


def test_query_names(roster: Any, source: str) -> None:
    done = roster("kb", "query", source, "Vell", 'the "Pearl"', "Nobody")
    assert done.code == 0, done.err
    rows = [line.split() for line in done.out.splitlines()]
    assert rows == [
        ["name", "type", "item", "via"],
        ["Vell", "LOC", "Q1", "label"],
        ["Vell", "-", "Q2", "label"],
        ["Vell", "ORG", "Q3", "alias"],
        ["the", '"Pearl"', "LOC", "Q1", "alias"],
        ["Nobody", "-", "-", "-"],
    ]
    done = roster("kb", "query", source, "VELL", "--json", "--any-case", "--classes", "ontonotes")
    assert json.loads(done.out) == {
        "name": "VELL",
        "items": [
            {"item": f"{WD}Q1", "type": "GPE", "via": "label"},
            {"item": f"{WD}Q2", "type": None, "via": "label"},
            {"item": f"{WD}Q3", "type": "ORG", "via": "alias"},
        ],
    }


def test_query_sparql(roster: Any, source: str) -> None:
    query = f"SELECT ?class ?above WHERE {{ <{WD}Q1> <{WDT}P31> ?class . ?class <{WDT}P279> ?above }}"
    done = roster("kb", "query", source, "--sparql", query)
    assert (done.code, done.out) == (0, f"class\tabove\n{WD}Q515\t{WD}Q486972\n")
    done = roster("kb", "query", source, "--sparql", "-", "--json", stdin=query)
    assert json.loads(done.out) == {"class": f"{WD}Q515", "above": f"{WD}Q486972"}
    done = roster("kb", "query", source, "--sparql", "SELECT nonsense")
    assert done.code == 2
    assert done.err.startswith(f"roster: {source}: ")


def test_extract_does_not_write_onto_its_class_map(roster: Any, source: str, tmp_path: Path) -> None:
    classes = tmp_path / "classes.toml"
    classes.write_text("# my classes\n")
    done = roster("kb", "extract", source, "--classes", classes, "-o", classes)
    assert (done.code, classes.read_text()) == (2, "# my classes\n")
    assert "is an input of this command; choose another output file" in done.err


def test_extract(roster: Any, source: str, tmp_path: Path) -> None:
    done = roster("kb", "extract", source, "-o", tmp_path / "names.tsv.gz", "--page", "150")
    assert done.code == 0, done.err
    assert f"wrote {2 * PEOPLE + 5} names of " in done.err
    header, *lines = gzip.decompress((tmp_path / "names.tsv.gz").read_bytes()).decode().splitlines()
    assert header == "surface\ttype\titem"
    expected = {f"{name} {n}\tPER\tQ{1000 + n}" for n in range(PEOPLE) for name in ("Ann Orr", "Orr")}
    expected |= {
        "Vell\tLOC\tQ1",
        "Old Vell\tLOC\tQ1",
        'the "Pearl"\tLOC\tQ1',
        "Vell\tORG\tQ3",
        "Vell Mills\tORG\tQ3",
    }
    assert len(lines) == len(expected)
    assert set(lines) == expected


def test_extract_goes_on_after_kill_9(roster: Any, source: str, tmp_path: Path) -> None:
    output, work = tmp_path / "names.tsv", tmp_path / "names.tsv.work"
    arguments = ("kb", "extract", source, "-o", output, "--page", "1")
    process = roster.start(*arguments)
    while not work.exists() or work.read_bytes().count(b"#done\n") < 5:
        assert process.running
        time.sleep(0.001)
    assert process.send(signal.SIGKILL).code != 0
    assert not output.exists()
    done = roster(*arguments)
    assert done.code == 0, done.err
    assert " of them from an earlier run to " in done.err
    whole = tmp_path / "whole.tsv"
    assert roster("kb", "extract", source, "-o", whole).code == 0
    assert sorted(output.read_text().splitlines()) == sorted(whole.read_text().splitlines())
    assert not work.exists()


def test_batches_and_cached_answers(roster: Any, server: str, store: Path, tmp_path: Path) -> None:
    """A query of many names in small batches; the same batches again add nothing to the cache."""
    names = [f"Orr {n}" for n in range(0, PEOPLE, 20)]
    known = roster("kb", "query", store, *names, "--json").out
    assert known.count('"PER"') == len(names)
    kept = []
    for batch in ("3", "3", "50"):
        done = roster(
            "kb", "query", server, *names, "--json", "--batch", batch, "--cache", tmp_path / "cache"
        )
        assert (done.code, done.out) == (0, known)
        kept.append(sum(1 for p in (tmp_path / "cache").rglob("*") if p.is_file()))
    assert kept[0] == kept[1] < kept[2]
    done = roster("kb", "query", store, "x", "--batch", "0")
    assert (done.code, done.err) == (2, "roster: batch: at least 1 item, not 0\n")


def test_build_options(roster: Any, tmp_path: Path) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    (tmp_path / "d.nt").write_text(
        f'<{WD}Q1> {label} "Vell"@en .\nnonsense\n'
        f'<{WD}Q1> {label} "Wel"@de .\n<{WD}Q1> <{WDT}P17> <{WD}Q2> .\n'
    )
    done = roster("kb", "build", tmp_path / "d.nt", "-o", tmp_path / "kb")
    assert done.code == 2
    assert done.err.startswith(f"roster: {tmp_path / 'd.nt'}, line 2: ")
    assert not (tmp_path / "kb").exists()
    done = roster("kb", "build", tmp_path / "d.nt", "-o", tmp_path / "kb", "--skip-broken")
    assert (done.code, " 1 triples in " in done.out) == (0, True)
    assert done.err.startswith(f"1 broken lines were skipped, first {tmp_path / 'd.nt'}, line 2: ")
    done = roster("kb", "build", tmp_path / "d.nt", "-o", tmp_path / "kb", "--skip-broken", "--all")
    assert done.code == 2
    assert "--force replaces it" in done.err
    done = roster(
        "kb", "build", tmp_path / "d.nt", "-o", tmp_path / "kb", "--skip-broken", "--all", "--force"
    )
    assert (done.code, " 3 triples in " in done.out) == (0, True)
    (tmp_path / "map.toml").write_text('languages = ["de"]\n[types]\nLOC = ["Q515"]\n')
    arguments = ("--classes", tmp_path / "map.toml", "--skip-broken")
    done = roster("kb", "build", tmp_path / "d.nt", "-o", tmp_path / "de.kb", *arguments)
    assert (done.code, " 1 triples in " in done.out) == (0, True)
    done = roster("kb", "query", tmp_path / "de.kb", "--sparql", "SELECT ?name WHERE { ?item ?by ?name }")
    assert done.out == "name\nWel\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("query", "none.kb", "Vell"),
            "none.kb: no such store; make one with: roster kb build DUMP -o none.kb",
        ),
        (("query", "none.kb"), "roster kb query: give either names or --sparql"),
        (
            ("query", "none.kb", "Vell", "--sparql", "SELECT"),
            "roster kb query: give either names or --sparql",
        ),
        (("extract", ".", "-o", "names.tsv"), ".: not a store"),
        (("build", "none.nt", "-o", "kb"), "none.nt: no such file"),
        (("build", "none.zip", "-o", "kb"), "none.zip: not a format we read"),
        (
            ("build", "none.nt"),
            "the following arguments are required: -o/--output; see roster kb build --help",
        ),
        ((), "the following arguments are required: action; see roster kb --help"),
    ],
)
def test_mistakes(roster: Any, arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = roster("kb", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith(f"roster: {message}")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("action", ["build", "query", "extract"])
def test_help_has_an_example(roster: Any, action: str) -> None:
    done = roster("kb", action, "--help")
    assert done.code == 0
    assert f"Example:\n  roster kb {action} " in done.out


def test_debug_on_either_side(roster: Any) -> None:
    for arguments in (("kb", "--debug", "query", "none", "x"), ("kb", "query", "none", "x", "--debug")):
        done = roster(*arguments)
        assert done.code == 2
        assert "Traceback" in done.err


# Labels from a knowledge base

TEXT = "They left Old Vell for the Vell Mills .\nVELL MILLS CLOSE\nIn Vell nothing moved .\n"


def labels_from(roster: Any, folder: Path, source: str, *options: str) -> list[tuple[str, list[str], str]]:
    (folder / "news.txt").write_text(TEXT)
    done = roster("label", folder / "news.txt", "--kb", source, "-o", folder / "out.jsonl", *options,
                  "--cache", folder / "cache", "--workers", "1")  # fmt: skip
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (folder / "out.jsonl.provenance.jsonl").read_text().splitlines()]
    assert all(evidence["source"] == source for row in rows for evidence in row["evidence"])
    return [(row["text"], row["types"], row["evidence"][0]["entry"]) for row in rows]


def test_label(roster: Any, source: str, tmp_path: Path) -> None:
    """Q1 and Q3 are both called Vell: a place or a firm. The document rule has nothing to go by."""
    expected = [("Old Vell", ["LOC"], f"{WD}Q1"), ("Vell Mills", ["ORG"], f"{WD}Q3")]
    assert labels_from(roster, tmp_path, source) == expected
    assert labels_from(roster, tmp_path, source, "--ambiguous", "all")[2:] == [
        ("Vell", ["LOC", "ORG"], f"{WD}Q1")
    ]
    (tmp_path / "label.toml").write_text('[kb]\nany_case = true\n[labels]\nLOC = ""\n')
    found = labels_from(roster, tmp_path, source, "--config", str(tmp_path / "label.toml"))
    assert [row[:2] for row in found] == [
        ("Vell Mills", ["ORG"]), ("VELL MILLS", ["ORG"]), ("Vell", ["ORG"]),
    ]  # fmt: skip


def test_the_report_has_names_and_not_addresses(roster: Any, source: str, tmp_path: Path) -> None:
    """Of what became a label, and of what did not."""
    (tmp_path / "news.txt").write_text(TEXT)
    done = roster("label", tmp_path / "news.txt", "--kb", source, "-o", tmp_path / "out.jsonl",
                  "--cache", tmp_path / "cache", "--workers", "1")  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads((tmp_path / "out.jsonl.labels.json").read_text())
    assert [(row["entry"], row["label"]) for row in report["top_entries"]] == [
        ("Old Vell", "LOC"),
        ("Vell Mills", "ORG"),
    ]
    assert report["dropped_examples"]["ambiguous"] == ["Vell"]
    assert WD not in done.out
    assert "Old Vell 1" in done.out


def test_a_label_for_a_type_that_the_knowledge_base_has_not(roster: Any, store: Path, tmp_path: Path) -> None:
    (tmp_path / "news.txt").write_text(TEXT)
    done = roster("label", tmp_path / "news.txt", "--kb", store, "-o", tmp_path / "out.jsonl",
                  "--no-cache", "--types", "LOC=TOWN", "XYZ=PLACE", "--workers", "1")  # fmt: skip
    assert done.code == 0, done.err
    (warning,) = [line for line in done.err.splitlines() if line.startswith("warning: ")]
    assert warning.startswith("warning: XYZ=PLACE has no effect: no entry has a type that matches XYZ; the ")
    assert "LOC, " in warning


def test_labels_from_a_class_map_of_ones_own(roster: Any, source: str, tmp_path: Path) -> None:
    (tmp_path / "classes.toml").write_text('[types]\nTOWN = ["Q515"]\n')
    found = labels_from(roster, tmp_path, source, "--classes", str(tmp_path / "classes.toml"))
    assert [row[:2] for row in found] == [("Old Vell", ["TOWN"]), ("Vell", ["TOWN"])]


def test_answers_are_asked_once(roster: Any, server: str, tmp_path: Path) -> None:
    first = labels_from(roster, tmp_path, server)
    before = sorted((tmp_path / "cache" / "sparql").rglob("*"))
    assert before
    assert labels_from(roster, tmp_path, server) == first
    assert sorted((tmp_path / "cache" / "sparql").rglob("*")) == before


def test_a_pipeline_that_is_not_there(roster: Any, store: Path, tmp_path: Path) -> None:
    (tmp_path / "news.txt").write_text(TEXT)
    done = roster("label", tmp_path / "news.txt", "--kb", store, "--candidates", "xx_nothing_sm",
                  "-o", tmp_path / "out.jsonl", "--no-cache")  # fmt: skip
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "python -m spacy download xx_nothing_sm" in done.err
    assert not (tmp_path / "out.jsonl").exists()
