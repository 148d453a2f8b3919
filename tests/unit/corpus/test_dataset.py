"""Folders and files to train on."""

from __future__ import annotations

from pathlib import Path

import pytest

from roster.corpus import Sentence, Span, load_dataset, write
from roster.errors import DataError

ADA = Sentence.from_words(["Ada", "saw", "Bo"], [Span(0, 1, "PER")])
GOLD = ADA.with_spans([Span(0, 1, "PER"), Span(2, 3, "ORG")])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "train_text.txt", [ADA, Sentence.from_words([], [])], labels="dist")
    write(tmp_path / "train_label_true.txt", [GOLD, Sentence.from_words([], [])])
    write(tmp_path / "valid_text.txt", [GOLD])
    write(tmp_path / "test_text.txt", [GOLD, GOLD])
    (tmp_path / "types.txt").write_text("PER\nORG\n")
    return tmp_path


def test_the_lines_layout(folder: Path) -> None:
    dataset = load_dataset(folder)
    assert dataset.types == ("PER", "ORG")
    assert dataset.train == [ADA]  # a sentence without words teaches nothing
    assert dataset.train_gold == [GOLD]
    assert dataset.valid == [GOLD]
    assert len(dataset.test) == 2


def test_only_some_files(folder: Path) -> None:
    for name in ("train_label_dist.txt", "types.txt", "valid_text.txt"):
        (folder / name).unlink()
    dataset = load_dataset(folder)
    assert dataset.train == dataset.train_gold == [GOLD]
    assert dataset.valid == []
    assert dataset.types == ("ORG", "PER")
    (folder / "train_label_true.txt").rename(folder / "train_label_dist.txt")
    assert load_dataset(folder).train_gold is None


@pytest.mark.parametrize("name", ["conll", "json", "ck", "jsonl", "parquet", "spacy"])
@pytest.mark.parametrize("dev", ["dev", "valid", "validation"])
def test_files_of_any_format(tmp_path: Path, name: str, dev: str) -> None:
    if name == "spacy":
        pytest.importorskip("spacy")
    write(tmp_path / f"train.{name}", [ADA])
    write(tmp_path / f"{dev}.{name}", [GOLD])
    write(tmp_path / f"truth_test.{name}", [GOLD, GOLD])
    dataset = load_dataset(tmp_path)
    spans = [[s.spans for s in part] for part in (dataset.train, dataset.valid, dataset.test)]
    assert spans == [[ADA.spans], [GOLD.spans], [GOLD.spans] * 2]
    assert (dataset.types, dataset.train_gold) == (("PER",), None)


def test_one_file_and_shards(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [ADA])
    assert load_dataset(tmp_path / "a.jsonl").train == [ADA]
    for i in range(2):
        write(tmp_path / f"train-0000{i}-of-00002.jsonl", [ADA])
    assert load_dataset(tmp_path).train == [ADA, ADA]
    write(tmp_path / "train_extra.jsonl", [ADA])
    with pytest.raises(DataError, match=r"several files for train: train-00000.*train_extra\.jsonl"):
        load_dataset(tmp_path)


def test_a_label_that_is_no_type_is_located(folder: Path) -> None:
    (folder / "types.txt").write_text("PER\n")
    dataset = load_dataset(folder)
    with pytest.raises(
        DataError, match=r"test_label_true\.txt, line 1: the label 'ORG' is not in types\.txt, which has PER"
    ):
        _ = dataset.test
    (folder / "types.txt").write_text("LOC\n")
    with pytest.raises(
        DataError, match=r"train_label_dist\.txt, line 1: the label 'PER' is not in types\.txt"
    ):
        load_dataset(folder)
    write(folder / "j" / "train.jsonl", [GOLD.with_spans([]), GOLD])
    (folder / "j" / "types.txt").write_text("PER\n")
    with pytest.raises(DataError, match=r"train\.jsonl: sentence 2: the label 'ORG'"):
        load_dataset(folder / "j")


def test_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        load_dataset(tmp_path / "none")
    with pytest.raises(DataError, match="found no file to train on"):
        load_dataset(tmp_path)
    write(tmp_path / "train.jsonl", [Sentence.from_words([])])
    with pytest.raises(DataError, match=r"train\.jsonl: there is no sentence to train on"):
        load_dataset(tmp_path)
    write(tmp_path / "train.jsonl", [Sentence.from_words(["a"])])
    with pytest.raises(DataError, match=r"train\.jsonl: the sentences have no labels.*roster label"):
        load_dataset(tmp_path)
    (tmp_path / "types.txt").write_text("\n")
    with pytest.raises(DataError, match=r"types\.txt: expected one type per line, found none"):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "Ada Lund\tPER\nOslo\tLOC\n",
        "# by us\n\nsurface\ttype\titem\nOslo\tLOC\tQ585\n\n",
        "PER\tAda Lund\nMISC\tB-52\nLOC\tOslo\n",
        "Oslo\tLOC\r\nAda\tPER",
    ],
)
def test_a_dictionary_is_no_data(tmp_path: Path, content: str) -> None:
    file = tmp_path / "names.tsv"
    file.write_bytes(content.encode())
    with pytest.raises(
        DataError, match=rf"this looks like a dictionary .*: roster label TEXT --dictionary {file} -o DATA"
    ):
        load_dataset(file)
    file.rename(tmp_path / "train.tsv")
    with pytest.raises(DataError, match=r"train\.tsv: this looks like a dictionary"):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "Ada\tB-PER\nLund\tI-PER\n",
        "Ada\tPER\nsaw\tO\nBo\tPER\n",
        "Ada\tPER\n\nBo\tPER\n",  # without prefixes, but sentences
        "Ada PER\nBo PER\n",  # a dictionary has tabs
    ],
)
def test_short_columns_are_no_dictionary(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.tsv").write_text(content)
    assert load_dataset(tmp_path / "a.tsv").types == ("PER",)


def test_a_dictionary_that_is_said_to_be_columns(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("Ada\tPER\nOslo\tLOC\n")
    assert load_dataset(tmp_path / "a.tsv", "conll").types == ("LOC", "PER")


def test_fingerprint_is_of_the_content(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = load_dataset(folder).fingerprint()
    assert load_dataset(folder).fingerprint() == before
    seen = {before}
    (folder / "types.txt").write_text("ORG\nPER\n")
    seen.add(load_dataset(folder).fingerprint())
    write(folder / "train_text.txt", [ADA.with_spans([Span(1, 2, "PER")]), Sentence.from_words([], [])])
    seen.add(load_dataset(folder).fingerprint())
    write(folder / "test_text.txt", [GOLD])
    seen.add(load_dataset(folder).fingerprint())
    assert len(seen) == 4
    one, two = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    write(one / "train.jsonl", [ADA])
    write(two / "train.conll", [ADA])
    assert load_dataset(one).fingerprint() == load_dataset(two).fingerprint()
