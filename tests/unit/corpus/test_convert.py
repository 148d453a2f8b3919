"""`roster convert`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from roster.cli import convert
from roster.cli.main import main
from roster.corpus import FORMATS, Sentence, Span, read, write
from roster.corpus.tokenizer import split
from roster.errors import DataError
from roster.log import log_to_stderr


def run(*words: object) -> int:
    parser = argparse.ArgumentParser()
    convert.add_arguments(parser)
    with log_to_stderr():
        return convert.run(parser.parse_args([str(word) for word in words]))


def test_between_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = [Sentence.from_words(["Ada", "L", "x"], [Span(0, 2, "PER")])] * 3
    write(tmp_path / "a.conll", corpus)
    assert run(tmp_path / "a.conll", tmp_path / "b.tsv", "--scheme", "BIOES") == 0
    assert (tmp_path / "b.tsv").read_text().startswith("Ada B-PER\nL E-PER\nx O\n\n")
    assert capsys.readouterr() == ("", f"wrote 3 sentences to {tmp_path / 'b.tsv'}\n")
    assert run(tmp_path / "b.tsv", tmp_path / "train_text.txt", "--labels", "true") == 0
    assert run(tmp_path, tmp_path / "c", "--from", "lines", "--split", "train", "--to", "jsonl") == 0
    assert list(read(tmp_path / "c", "jsonl")) == corpus


@pytest.mark.parametrize("tool", ["doccano", "labelstudio", "prodigy", "brat", "argilla"])
def test_files_of_annotation_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str], tool: str) -> None:
    """There and back, recognised, and scored against the labels they come from."""
    corpus = split("Ada ran. Bo saw her in Oslo.", "1", [(0, 3, "PER"), (9, 11, "PER"), (23, 27, "LOC")])
    write(tmp_path / "a.jsonl", corpus)
    assert run(tmp_path / "a.jsonl", tmp_path / "out", "--to", tool) == 0
    assert run(tmp_path / "out", tmp_path / "b.jsonl") == 0
    assert list(read(tmp_path / "b.jsonl")) == corpus
    assert main(["evaluate", str(tmp_path / "out"), str(tmp_path / "a.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["f1"] == 1


def test_a_broken_source_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text("Ada B-PER\n\nx\n")
    with pytest.raises(DataError, match=r"a\.conll, line 3"):
        run(tmp_path / "a.conll", tmp_path / "b.jsonl")
    assert [f.name for f in tmp_path.iterdir()] == ["a.conll"]


def test_help_lists_the_formats(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["convert", "--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in FORMATS)
    assert convert.EXAMPLE in shown
