"""Sentences on lines, tags beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from roster.corpus import Sentence, Span, detect, read, write
from roster.errors import DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train_text.txt").write_text("Ada saw Bo\n\nBo left\n")
    (tmp_path / "train_label_dist.txt").write_text("B-PER O O\n\nO O\n")
    (tmp_path / "train_label_true.txt").write_text("B-PER O B-PER\n\nB-PER O\n")
    return tmp_path


def test_labels_are_chosen(folder: Path) -> None:
    def labels(**options: str) -> list[int]:
        return [len(s.spans or ()) for s in read(folder / "train_text.txt", **options)]  # type: ignore[arg-type]

    assert labels() == [1, 0, 0] == labels(labels="dist")
    assert labels(labels="true") == [2, 0, 1]
    (folder / "train_label_dist.txt").unlink()
    assert labels() == [2, 0, 1]
    (folder / "train_label_true.txt").unlink()
    assert [s.spans for s in read(folder / "train_text.txt", "lines")] == [None, None, None]
    with pytest.raises(DataError, match=r"train_label_dist\.txt: no such file"):
        labels(format="lines", labels="dist")


def test_a_folder_has_splits(folder: Path) -> None:
    assert detect(folder) == "lines"
    assert len(list(read(folder))) == 3
    with pytest.raises(DataError, match=r"test_text\.txt: no such file"):
        list(read(folder, split="test"))


def test_a_label_file_alone(folder: Path) -> None:
    first = next(read(folder / "train_label_true.txt"))
    assert first.words == ("Ada", "saw", "Bo")
    (folder / "train_text.txt").unlink()
    first = next(read(folder / "train_label_true.txt"))
    assert first.words == ("_", "_", "_")
    assert first.spans == (Span(0, 1, "PER"), Span(2, 3, "PER"))
    (folder / "predictions.txt").write_text("B-PER O O\n")
    assert detect(folder / "predictions.txt") == "lines"
    assert [s.spans for s in read(folder / "predictions.txt")] == [(Span(0, 1, "PER"),)]


def test_a_text_without_a_pair_is_plain_text(tmp_path: Path) -> None:
    (tmp_path / "my_text.txt").write_text("Ada saw Bo.\n")
    assert detect(tmp_path / "my_text.txt") == "text"


def test_words_are_separated_by_spaces_only(tmp_path: Path) -> None:
    (tmp_path / "a_text.txt").write_text(" Ada\xa0B  saw\u2028x \n", encoding="utf-8")
    (tmp_path / "a_label_true.txt").write_text("B-PER O\n")
    (sentence,) = read(tmp_path / "a_text.txt")
    assert sentence.words == ("Ada\xa0B", "saw\u2028x")
    assert [sentence.text[a:b] for a, b in sentence.offsets] == list(sentence.words)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("B-PER O\n\nO O\n", r"label_dist\.txt, line 1: expected 3 tags, one per word, found 2"),
        ("B-PER O O\n\nO O O\n", r"label_dist\.txt, line 3: expected 2 tags, one per word, found 3"),
        ("B-PER O O\n", r"label_dist\.txt, line 3: expected the tags of line 3 of .*train_text\.txt"),
        ("B-PER O O\n\nO O\n\nO\n", r"label_dist\.txt, line 5: expected no more tags"),
    ],
)
def test_files_that_do_not_fit(folder: Path, labels: str, message: str) -> None:
    (folder / "train_label_dist.txt").write_text(labels)
    with pytest.raises(DataError, match=message):
        list(read(folder / "train_text.txt"))


def test_blank_lines_at_the_end_do_not_matter(folder: Path) -> None:
    (folder / "train_label_dist.txt").write_text("B-PER O O\n\nO O\n\n\n")
    assert len(list(read(folder / "train_text.txt"))) == 3


def test_a_wrong_scheme_is_located(folder: Path) -> None:
    (folder / "train_label_dist.txt").write_text("B-PER O O\n\nO I-PER\n")
    assert [len(s.spans or ()) for s in read(folder / "train_text.txt")] == [1, 0, 1]
    with pytest.raises(DataError, match=r"line 3: 'I-PER' \(word 2\) is not what the scheme BIO"):
        list(read(folder / "train_text.txt", scheme="BIO"))


def test_which_files_are_written(tmp_path: Path) -> None:
    corpus = [Sentence.from_words(["Ada"], [Span(0, 1, "PER")])]
    write(tmp_path / "train_text.txt", corpus)
    write(tmp_path / "test_text.txt", corpus)
    write(tmp_path / "dev_text.txt", corpus, labels="dist")
    write(tmp_path / "raw_text.txt", [s.with_spans(None) for s in corpus])
    write(tmp_path / "only_label_true.txt", corpus)
    pairs = {"train_text", "train_label_dist", "test_text", "test_label_true", "dev_text", "dev_label_dist"}
    assert {f.stem for f in tmp_path.iterdir()} == pairs | {"raw_text", "only_label_true"}
    with pytest.raises(DataError, match=r"must end in _text\.txt"):
        write(tmp_path / "a.txt", corpus, "lines")


def test_labels_everywhere_or_nowhere(tmp_path: Path) -> None:
    some, none = Sentence.from_words(["a"], []), Sentence.from_words(["a"])
    for corpus in ([some, none], [none, some]):
        with pytest.raises(DataError, match="sentence 2 has"):
            write(tmp_path / "train_text.txt", corpus)
    with pytest.raises(DataError, match="sentence 1 has no labels"):
        write(tmp_path / "x_label_true.txt", [none])
    assert not any(tmp_path.iterdir())
