"""Labels of a text with and without the patch of an audit, beside gold labels."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import roster
from benchmarks.audit.source import Source
from benchmarks.repair.measure import label_scores
from benchmarks.repair.source import read_source
from roster.auditing.audit import PATCH
from roster.auditing.measure import AgainstGold, known
from roster.corpus.dataset import load_dataset


def relabelled(source: Source, found: AgainstGold) -> Iterator[dict[str, Any]]:
    """Yield precision, recall and F1 of the labels without and with the patch, on the known sentences."""
    assert source.repair is not None
    made = read_source(source.repair)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found.audit.save(folder)
        for patch in ((), (folder / PATCH,)):
            data = folder / ("with" if patch else "without")
            roster.label_file(
                made.text, data, made.dictionaries, config=made.config, cache=False, workers=1, patch=patch
            )
            sentences = load_dataset(data).train
            scores = label_scores(sentences, known(sentences, found.gold))
            told = {key: round(value, 4) for key, value in scores.items()}
            yield {"data": source.name, "text": source.text, "kind": "labels", "patch": bool(patch), **told}
