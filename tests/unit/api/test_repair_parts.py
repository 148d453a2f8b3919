"""Labels made again, in each format, with the gold splits of the data set before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roster.api.labelling import label_file
from roster.api.repair.parts import Trained, label_again
from roster.corpus.dataset import load_dataset
from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence, Span
from roster.distant.output.record import read_record
from roster.scores import evaluate_sentences

TRUE = [
    Sentence.from_words(["Ada", "lives", "in", "Oslo", "."], [Span(0, 1, "PER"), Span(3, 4, "LOC")]),
    Sentence.from_words(["Bo", "reads", "Acme", "."], [Span(0, 1, "PER"), Span(2, 3, "ORG")]),
]


def before(folder: Path, format: str, output: str) -> Trained:
    (folder / "news.txt").write_text("Ada lives in Oslo .\nBo reads Acme .\n")
    (folder / "names.tsv").write_text("Ada\tPER\nOslo\tLOC\nAcme\tORG\nreads\tORG\n")
    made = label_file(folder / "news.txt", folder / output, folder / "names.tsv", to=format, cache=False)
    if made.target.folder:
        if format == "lines":
            write(folder / output / "dev_text.txt", TRUE, "lines", labels="true")
            write(folder / "true" / "train_text.txt", TRUE, "lines", labels="true")
            true = folder / "true" / "train_label_true.txt"
            true.rename(folder / output / true.name)
        else:
            write(folder / output / "valid.jsonl", TRUE)
            write(folder / output / "test.jsonl", [TRUE[0], Sentence.from_words(["No", "labels"])])
    path = folder / output
    nothing: Any = None  # the run is not used
    return Trained(nothing, load_dataset(path), path, read_record(path))


@pytest.mark.parametrize("format", ["jsonl", "lines", "conll", "parquet"])
def test_a_folder(format: str, tmp_path: Path) -> None:
    now = before(tmp_path, format, "data")
    (tmp_path / "repair.tsv").write_text("add\tBo\tPER\nremove\tAcme\tORG\nremove\treads\tORG\n")
    (tmp_path / "out/data").mkdir(parents=True)
    (tmp_path / "out/data/half").write_text("left by a killed process")
    label_again(now, tmp_path / "repair.tsv", tmp_path / "out/data")
    after = load_dataset(tmp_path / "out/data")
    assert not (tmp_path / "out/data/half").exists()
    assert [s.spans for s in after.train] == [TRUE[0].spans, (Span(0, 1, "PER"),)]
    assert "ORG" in after.types, "which no label has now, but gold sentences have"
    assert [s.spans for s in after.valid] == [s.spans for s in TRUE]
    assert after.test == []
    assert after.has_train_gold == (format == "lines")
    if after.train_gold is not None:
        assert evaluate_sentences(after.train, after.train_gold).recall == 0.75
    # The next round begins with the patch of this one.
    assert {str(c) for c in read_record(tmp_path / "out/data").settings.patch.changes} == {
        "add Bo PER", "remove Acme ORG", "remove reads ORG",
    }  # fmt: skip


def test_a_data_set_of_one_file_becomes_a_folder(tmp_path: Path) -> None:
    now = before(tmp_path, "conll", "news.conll")
    (tmp_path / "repair.tsv").write_text("add\tBo\tPER\n")
    label_again(now, tmp_path / "repair.tsv", tmp_path / "again")
    labels = [len(s.spans or ()) for s in read(tmp_path / "again" / "train.conll")]
    assert labels == [2, 3]
