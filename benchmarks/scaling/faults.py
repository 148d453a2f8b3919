"""Commands whose worker, node or driver is killed while they work, compared record for record with one
process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import FAILED, OK, ROOT
from benchmarks.scaling.nodes import COMMAND, content, lost_and_doubled, nodes, when_finished

KINDS = ("worker", "node", "driver")
LINES = 24_000
SHARD_MIB = "0.004"


def faults(repeat: int, log: Callable[[str], None]) -> list[dict[str, Any]]:
    """Each kind of fault `repeat` times, at different places of the work; one result for each kind."""
    paths = [f"{ROOT}/src", ROOT, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    counts = {kind: {"injected": 0, "survived": 0, "lost": 0, "doubled": 0} for kind in KINDS}
    message = ""
    with TemporaryDirectory(prefix="roster-") as folder, nodes(2, environment) as cluster:
        text, whole = Path(folder) / "text.txt", Path(folder) / "whole.jsonl"
        text.write_text("".join(f"{i} Ada lives in Oslo {'and waits ' * (i % 7)}.\n" for i in range(LINES)))
        subprocess.run([*COMMAND, "convert", text, whole], env=environment, check=True, capture_output=True)
        expected = whole.read_bytes()
        for turn in range(repeat):
            for kind in KINDS:
                out = Path(folder) / f"{kind}-{turn}"
                given: list[str | Path] = ["convert", text, out, "--to", "jsonl", "--shard-size", SHARD_MIB]
                command = cluster.start(*given)
                kill = {"worker": cluster.kill_worker, "node": cluster.kill_node, "driver": command.kill}[
                    kind
                ]
                try:
                    when_finished(command, out, 10 + 20 * turn, kill)
                    counts[kind]["injected"] += 1
                    _, error = command.communicate()
                    if kind == "driver":
                        command = cluster.start(*given)
                        _, error = command.communicate()
                    if kind == "node":
                        cluster.add()
                    done = (
                        command.returncode == 0 and json.loads((out / "shards.json").read_text())["finished"]
                    )
                    lost, doubled = lost_and_doubled(content(out), expected)
                    counts[kind]["survived"] += done
                    counts[kind]["lost"] += lost
                    counts[kind]["doubled"] += doubled
                    log(f"{kind} killed, run {turn + 1} of {repeat}: lost {lost}, doubled {doubled}")
                    message = message if done else error.strip().rpartition("\n")[2][:200]
                except RuntimeError as error:
                    message = str(error)
    status = FAILED if message else OK
    return [
        {"case": f"{kind} killed", "status": status, "message": message, **counts[kind]} for kind in KINDS
    ]
