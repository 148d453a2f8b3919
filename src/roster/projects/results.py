"""What a project has, as data for the page: labels, training, audit. Read from the files that the commands
wrote."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from roster.distant.entries.patch import Change, read_patch
from roster.errors import RosterError
from roster.methods.quality import estimate_lines, final_scores
from roster.projects.project import Project

SHOWN = 20
EXAMPLES = 8
LONGEST = 400
"""Characters of an example."""
CHANGES = 200


def labels(project: Project, number: int) -> dict[str, Any] | None:
    """The report of `roster label` for the labels of a round, and examples; None if there are none."""
    folder = project.data(number)
    if (found := _object(folder / "labels.json")) is None:
        return None
    names = {Path(one.path).name: one.name for one in project.state.files}
    kept = ("sentences", "words", "labelled_sentences", "covered_words", "types", "entries", "broken_lines",
            "dead_entries", "dropped", "dropped_examples", "warnings", "patch")  # fmt: skip
    return {
        **{key: found[key] for key in kept if key in found},
        "sources": {names.get(name, name): count for name, count in found.get("sources", {}).items()},
        "top_entries": found.get("top_entries", [])[:SHOWN],
        "ambiguous": found.get("ambiguous", [])[:SHOWN],
        "dead": _dead(folder / "dead_entries.tsv", names),
        "decisions": {
            label: {key: one.get(key) for key in ("case", "reason")}
            for label, one in found.get("decisions", {}).items()
        },
        "examples": _examples(folder / "train.jsonl"),
    }


def _dead(path: Path, names: Mapping[str, str]) -> list[dict[str, str]]:
    """Entries that can match nothing, with their places."""
    try:
        with path.open(encoding="utf-8") as file:
            head, *lines = islice(file, SHOWN + 1)
    except (OSError, ValueError):
        return []
    columns = head.rstrip("\n").split("\t")
    rows = [dict(zip(columns, line.rstrip("\n").split("\t"), strict=False)) for line in lines]
    return [{**row, "file": names.get(row.get("file", ""), row.get("file", ""))} for row in rows]


def _examples(path: Path) -> list[dict[str, Any]]:
    """Some short documents with labels."""
    found: list[dict[str, Any]] = []
    try:
        with path.open(encoding="utf-8") as file:
            for line in islice(file, 1000):
                record = json.loads(line)
                if record.get("spans") and len(record.get("text", "")) <= LONGEST:
                    found.append({"text": record["text"], "spans": record["spans"]})
                if len(found) == EXAMPLES:
                    break
    except (OSError, ValueError):
        return found
    return found


def training(project: Project, number: int) -> dict[str, Any] | None:
    """The stages of the training of a round so far, and what is known of the quality of its model; None if it
    was not begun."""
    run = project.run(number)
    if not (run / "run.json").is_file():
        return None
    results = _object(run / "results.json") or {}
    stages = [
        {
            "name": name,
            "seconds": facts.get("seconds"),
            "losses": facts.get("losses", []),
        }
        for name, facts in results.get("stages", {}).items()
    ]
    done = project.trained(number)
    return {
        "stages": stages,
        "finished": done,
        "report": (run / "report.html").is_file(),
        "estimates": estimate_lines(results) if done else [],
        "scores": final_scores(results) if done else {},
        "warnings": results.get("warnings", []),
    }


def audit(project: Project, number: int) -> dict[str, Any] | None:
    """Counts of the claims of the audit of a round, the surest entries, and the changes it proposes; None if
    there is none."""
    folder = project.run(number) / "audit"
    if not (folder / "audit.html").is_file():
        return None
    counts: Counter[str] = Counter()
    types: list[dict[str, Any]] = []
    for row in _rows(folder / "audit.jsonl"):
        counts[row["kind"]] += 1
        if row["kind"] == "type":
            types.append({key: row.get(key) for key in ("label", "labels", "precision", "recall")})
    return {"counts": dict(counts), "types": types, **changes(folder / "patch.tsv")}


def changes(path: Path) -> dict[str, Any]:
    """The changes of a patch: their number, and the first of them."""
    try:
        found = read_patch(path).changes if path.is_file() else ()
    except RosterError:
        found = ()
    return {"changes": len(found), "first_changes": [_change(one) for one in found[:CHANGES]]}


def _change(one: Change) -> dict[str, str]:
    return {"action": one.action, "name": one.name, "type": one.type, "new_type": one.new_type}


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except (OSError, ValueError):
        return []


def _object(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
