"""The readers of all corpus formats, and their detection."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from fuzz.target import BETWEEN, Target, files_of
from roster.corpus import io
from roster.corpus.dataset import load_dataset
from roster.corpus.formats.base import Options
from roster.corpus.formats.records import documents, from_record, to_record
from roster.corpus.sentence import Sentence, Span
from roster.corpus.tokenizer import split

FILES: dict[str, tuple[str, ...]] = {
    "lines": ("train_text.txt", "train_label_dist.txt"),
    "conll": ("a.conll",),
    "bond": ("a.json", "tag_to_id.json"),
    "ck": ("a.ck",),
    "rawwords": ("a.words",),
    "jsonl": ("a.jsonl",),
    "parquet": ("a.parquet",),
    "arrow": ("a.arrow",),
    "docbin": ("a.spacy",),
    "doccano": ("a.doccano.jsonl",),
    "labelstudio": ("a.labelstudio.json",),
    "prodigy": ("a.prodigy.jsonl",),
    "brat": ("a.ann", "a.txt"),
    "argilla": ("a.argilla.json",),
    "text": ("a.txt",),
}
"""The files of an input by format; the first is read."""
ARROW = ("state.json", "dataset_info.json", "a.arrow")
GUESSED = ("a.txt", "a.json", "a.jsonl", "a.tsv", "a", "types.txt")
"""Names under which a file of unknown format is tried, one by one."""


def sample() -> list[Sentence]:
    """Sentences with every kind of label, from text with several scripts."""
    text = "Ada Lovelace met Bank of Oslo. Étienne 東京 paid 3.5% to A.B. \U0001f600 شركة"
    spans = [(0, 12, "PER"), (17, 29, "ORG"), (31, 38, "PER"), (39, 41, "LOC")]
    words = Sentence.from_words(["Ada", "ran", "to", "Oslo"], [Span(0, 1, "PER"), Span(3, 4, "LOC")])
    return [*split(text, "7", spans), words.with_spans(words.spans or ())]


def check(found: Iterable[Sentence]) -> None:
    """Offsets lie in the text, in order, and spans lie in the sentence; a record gives the same again."""
    kept = []
    for sentence in found:
        ends = [0, *(end for _, end in sentence.offsets)]
        assert len(sentence.words) == len(sentence.offsets)
        for (start, end), before in zip(sentence.offsets, ends, strict=False):
            assert 0 <= start <= end <= len(sentence.text), "an offset lies outside the text"
            assert start >= before, "words overlap"
        for span in sentence.spans or ():
            assert 0 <= span.start < span.end <= len(sentence), "a span lies outside the sentence"
            assert isinstance(span.label, str)
        "".join(sentence.words).encode()
        kept.append(sentence)
    for group in documents(kept[:50]):
        record = json.loads(json.dumps(to_record(group, Path("record"))))
        again = list(from_record(record, Options()))
        assert [(s.words, s.offsets) for s in again] == [(s.words, s.offsets) for s in group]


def targets() -> list[Target]:
    """A target for each format, one for saved data sets, one for detection, one for whole data sets."""
    found = [Target(name, partial(_read, name), partial(_seeds, name)) for name in FILES]
    found.append(Target("arrow-folder", _arrow_folder, _arrow_seeds))
    found.append(Target("detection", _detection, lambda: [s for name in FILES for s in _seeds(name)]))
    return found


def _read(format: str, data: bytes, folder: Path) -> None:
    path = files_of(data, folder, *FILES[format])[0]
    check(io.read(path, format))


def _arrow_folder(data: bytes, folder: Path) -> None:
    files_of(data, folder, *ARROW)
    check(io.read(folder, "arrow"))


def _detection(data: bytes, folder: Path) -> None:
    name = GUESSED[len(data) % len(GUESSED)]
    files_of(data, folder, name, "train_label_dist.txt")
    if len(data) % 2:
        _ = load_dataset(folder / name).train
    else:
        check(io.read(folder / name))


def _seeds(format: str) -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        output = folder / "b" if format == "brat" else folder / FILES[format][0]
        io.write(output, sample(), format)
        if format == "brat":
            found = [next(output.rglob("*.ann")), next(output.rglob("*.txt"))]
        else:
            found = [file for one in FILES[format] if (file := folder / one).exists()]
        return [BETWEEN.join(file.read_bytes() for file in found)]


def _arrow_seeds() -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "saved"
        io.write(folder, sample(), "arrow")
        data = next(folder.glob("*.arrow")).read_bytes()
        state = json.dumps({"_data_files": [{"filename": ARROW[2]}]}).encode()
        return [BETWEEN.join([state, (folder / ARROW[1]).read_bytes(), data])]
