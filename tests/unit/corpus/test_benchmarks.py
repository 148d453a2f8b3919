"""Public benchmarks through the readers. Their texts are licensed: they stay outside the repository."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from roster.corpus import detect, load_dataset, read, write
from roster.scores import evaluate_sentences

FOLDER = Path(__file__).parents[3].parent / "shared" / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no benchmarks at {FOLDER}")


@pytest.mark.parametrize(
    ("name", "types", "counts"),
    [
        ("conll03", 4, (14_041, 3_250, 3_453)),
        ("wikigold", 4, (1_142, 280, 274)),
        ("twitter", 10, (2_393, 999, 3_844)),
    ],
)
def test_counts(name: str, types: int, counts: tuple[int, int, int]) -> None:
    dataset = load_dataset(FOLDER / name)
    assert (len(dataset.train), len(dataset.valid), len(dataset.test)) == counts
    assert len(dataset.types) == types


@pytest.mark.parametrize(
    ("name", "scores"), [("conll03", (0.824, 0.623, 0.710)), ("wikigold", (0.479, 0.476, 0.478))]
)
def test_distant_labels_score_as_published(name: str, scores: tuple[float, float, float]) -> None:
    files = (FOLDER / name / f"train_label_{kind}.txt" for kind in ("dist", "true"))
    found = evaluate_sentences(*map(read, files))
    assert (round(found.precision, 3), round(found.recall, 3), round(found.f1, 3)) == scores


@pytest.mark.parametrize(
    ("split", "sentences", "entities"),
    [
        ("dev", 6_653, {"Chemical": 5_345, "Disease": 4_157}),
        ("test", 7_095, {"Chemical": 5_381, "Disease": 4_371}),
    ],
)
def test_bc5cdr(split: str, sentences: int, entities: dict[str, int], tmp_path: Path) -> None:
    file = FOLDER / "bc5cdr" / f"truth_{split}.ck"
    assert detect(file) == "ck"
    found = list(read(file))
    assert len(found) == sentences
    assert Counter(span.label for s in found for span in s.spans or ()) == entities
    assert any(span.end - span.start > 2 for s in found for span in s.spans or ())
    write(tmp_path / "a.ck", found)
    assert (tmp_path / "a.ck").read_bytes() == file.read_bytes()


def test_bc5cdr_raw_text() -> None:
    assert detect(FOLDER / "bc5cdr" / "raw_text.txt") == "rawwords"
    assert sum(len(s) for s in read(FOLDER / "bc5cdr" / "raw_text.txt")) == 341_551


def test_twitter_round_trip(tmp_path: Path) -> None:
    found = list(read(FOLDER / "twitter" / "dev.json"))
    write(tmp_path / "dev.json", found)
    assert list(read(tmp_path / "dev.json")) == found
