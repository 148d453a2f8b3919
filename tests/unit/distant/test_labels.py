"""Labelling from end to end: how often the corpus is read, and worker processes of both start methods."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence
from roster.distant.kb.classes import load_classes
from roster.distant.kb.store import build
from roster.distant.labels import Labels
from roster.distant.output.target import Target
from roster.distant.settings import Settings, load_settings
from roster.errors import DataError

COUNT = 60
METHODS = [method for method in ("fork", "spawn") if method in multiprocessing.get_all_start_methods()]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("roster.distant.labelling.chunks.CHUNK_WORDS", 40)
    rows = [f"Ada Pym left Oslo with 12 of {n} friends ." for n in range(COUNT)]
    (tmp_path / "corpus.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path / "corpus.txt"


@pytest.fixture
def everything(tmp_path: Path) -> Settings:
    """A dictionary, patterns and a knowledge base."""
    pytest.importorskip("pyoxigraph")
    item, label = "<http://www.wikidata.org/entity/Q1>", "<http://www.w3.org/2000/01/rdf-schema#label>"
    direct, human = "<http://www.wikidata.org/prop/direct/P31>", "<http://www.wikidata.org/entity/Q5>"
    (tmp_path / "one.nt").write_text(f'{item} {label} "Ada Pym"@en .\n{item} {direct} {human} .\n')
    build([tmp_path / "one.nt"], tmp_path / "store", load_classes("conll"))
    (tmp_path / "names.tsv").write_text("Oslo\tLOC\nPym\tORG\nAda Pym\tPER\n", encoding="utf-8")
    return load_settings(
        dictionaries=[tmp_path / "names.tsv"],
        builtin=["CARDINAL"],
        policy={"plural": True},
        kb={"source": str(tmp_path / "store")},
    )


class Counted:
    """The sentences of a file; `reads` has for each pass the number of sentences that were read."""

    def __init__(self, path: Path):
        self.path, self.reads = path, list[int]()

    def __call__(self) -> Iterator[Sentence]:
        return self._sentences(read(self.path))

    def _sentences(self, sentences: Iterator[Sentence]) -> Iterator[Sentence]:
        number = len(self.reads)
        self.reads.append(0)
        for sentence in sentences:
            self.reads[number] += 1
            yield sentence


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["data", "x.jsonl", "x.conll"])
def test_the_corpus_is_read_once_to_count_and_once_to_write(
    name: str, workers: int, scored: bool, corpus: Path, everything: Settings, tmp_path: Path
) -> None:
    gold = tmp_path / "gold.jsonl"
    write(gold, (sentence.with_spans([]) for sentence in read(corpus)))
    counted, counted_gold = Counted(corpus), Counted(gold)
    labels = Labels(counted, everything, workers=workers)
    labels.save(tmp_path / "out" / name, gold=counted_gold() if scored else None)
    assert counted.reads == [COUNT, COUNT]
    assert counted_gold.reads == ([COUNT] if scored else [])
    assert labels.report.labels == {"PER": COUNT, "LOC": COUNT, "CARDINAL": 2 * COUNT}
    assert (labels.report.scores is not None) == scored


def test_counting_reads_no_more_than_it_needs(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roster.distant.labelling.first_pass.COMMON_WORDS_SAMPLE", 50)
    (tmp_path / "names.tsv").write_text("Oslo\tLOC\n", encoding="utf-8")
    counted = Counted(corpus)
    labels = Labels(counted, load_settings(dictionaries=[tmp_path / "names.tsv"]))
    assert counted.reads[0] < COUNT / 2
    labels.save(tmp_path / "x.jsonl")
    assert counted.reads[1:] == [COUNT]
    counted.reads.clear()
    Labels(counted, load_settings(builtin=["CARDINAL"])).save(tmp_path / "y.jsonl")
    assert counted.reads == [COUNT]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["data", "x.conll"])
def test_gold_labels_of_another_text(
    name: str, workers: int, corpus: Path, everything: Settings, tmp_path: Path
) -> None:
    """Found out while the output is written, which is then not kept."""
    gold = [sentence.with_spans([]) for sentence in read(corpus)][:-1]
    labels = Labels(lambda: read(corpus), everything, workers=workers)
    with pytest.raises(DataError, match="the predictions go on after text 59"):
        labels.save(tmp_path / "out" / name, gold=gold)
    assert not [file for file in (tmp_path / "out").rglob("*") if file.is_file()]


def outputs(folder: Path, save: Callable[[Path], Any]) -> dict[str, bytes]:
    save(folder / "x.jsonl")
    save(folder / "x_text.txt")
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_start_methods_change_nothing(
    method: str,
    cached: bool,
    corpus: Path,
    everything: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`spawn` is what Windows and macOS have: everything that a worker needs is pickled."""
    monkeypatch.setattr("roster.distant.labelling.process_pool.START_METHOD", method)
    cache = tmp_path / "cache" if cached else None
    made = [
        outputs(
            tmp_path / str(workers),
            Labels(lambda: read(corpus), everything, cache=cache, workers=workers).save,
        )
        for workers in (1, 2)
    ]
    assert made[0] == made[1]
    assert b"Ada Pym" in made[0]["x.jsonl"]


@pytest.mark.parametrize("method", METHODS)
def test_an_error_in_a_worker_leaves_no_output(
    method: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A type that the format cannot hold is found by the worker that writes it; the message is the same."""
    monkeypatch.setattr("roster.distant.labelling.process_pool.START_METHOD", method)
    (tmp_path / "names.tsv").write_text("surface\ttype\nBergen\tnot a tag\n", encoding="utf-8")
    rows = corpus.read_text(encoding="utf-8").splitlines()
    rows[40] = "Ada Pym left Bergen ."
    corpus.write_text("\n".join(rows) + "\n", encoding="utf-8")
    said = []
    for workers in (1, 2):
        labels = Labels(
            lambda: read(corpus), load_settings(dictionaries=[tmp_path / "names.tsv"]), workers=workers
        )
        with pytest.raises(DataError) as caught:
            labels.save(Target(tmp_path / "out" / "x_text.txt"))
        said.append(str(caught.value))
        assert not list((tmp_path / "out").iterdir())
    assert said[0] == said[1]
    assert "x_label_true.txt: sentence 41: the tag 'B-not a tag'" in said[0]
