"""`python -m benchmarks scaling` as a user runs it, without Ray."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_commands_over_shards(benchmarks: Any, model: Path) -> None:
    done = benchmarks(
        "scaling", model, "--words", "2000", "--sizes", "0.004", "--workers", "--repeat", "1", "--json"
    )
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert [one["command"] for one in report["results"]] == ["convert", "label", "predict"]
    for one in report["results"]:
        assert (one["status"], one["message"]) == ("ok", "")
        assert one["shards"] > 2
        assert one["core_rate"]["median"] > 0
