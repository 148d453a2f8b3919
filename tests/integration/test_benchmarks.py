"""The scorer on public data: what a dictionary alone reaches, as the field reports it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "shared" / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason=f"there are no benchmarks in {BENCHMARKS}")


@pytest.mark.parametrize(
    ("name", "expected"), [("wikigold", (0.479, 0.476, 0.478)), ("conll03", (0.824, 0.623, 0.710))]
)
def test_distant_match(name: str, expected: tuple[float, ...], roster: Any) -> None:
    folder = BENCHMARKS / name
    files = [folder / f"train_label_{labels}.txt" for labels in ("dist", "true")]
    done = roster.cold("evaluate", *files, "--json")
    assert done.code == 0, done.err
    scores = json.loads(done.out)
    assert tuple(round(scores[key], 3) for key in ("precision", "recall", "f1")) == expected
    assert sum(one["support"] for one in scores["types"].values()) == scores["support"]
    assert set(scores["types"]) == set((folder / "types.txt").read_text(encoding="utf-8").split())
