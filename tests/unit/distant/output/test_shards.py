"""Parts of the output from several processes: when they are used, and that they make no difference."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from roster.corpus.sentence import Sentence
from roster.distant import labels as labels_module
from roster.distant.output.target import Target
from roster.distant.settings import load_settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")

BOM = "\ufeff"


@pytest.mark.parametrize(
    ("name", "parts"), [("x.jsonl", 1), ("x_text.txt", 1), ("x.ck", 1), ("x.conll", 0), ("data", 1)]
)
def test_parts_where_the_format_allows_them(
    name: str, parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    whole = labels_module.write_shards
    monkeypatch.setattr(labels_module, "write_shards", lambda *a, **k: calls.append(a) or whole(*a, **k))
    monkeypatch.setattr("roster.distant.labelling.chunks.CHUNK_WORDS", 6)
    (tmp_path / "names.tsv").write_text("Ada Lund\tPER\n")
    # Every other text begins with a byte order mark, which only the top of a file must not lose.
    sentences = [
        Sentence.from_words([BOM * (n % 2) + "today", "Ada", "Lund", "left", "."], doc=str(n))
        for n in range(9)
    ]
    settings = load_settings(dictionaries=[tmp_path / "names.tsv"])
    made: dict[int, dict[str, bytes]] = {}
    for workers in (1, 3):
        folder = tmp_path / str(workers)
        labels = labels_module.Labels(lambda: sentences, settings, workers=workers)
        labels.save(Target(folder / name))
        made[workers] = {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
        assert sum(labels.report.labels.values()) == 9
        assert len(calls) == (parts if workers > 1 else 0)
    assert made[1] == made[3]
