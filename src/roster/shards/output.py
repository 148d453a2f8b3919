"""A folder of shards: what is finished, and what it was made from.

```
OUT/shards.json              command, settings, input files; at the end the counts
OUT/part-00000-of-00012.jsonl
OUT/.shards/00000.json       the marker of a finished shard, written after its files
```

A shard is finished if its marker is there, was made with the same settings from the same content, and its
files have the sizes that it lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from roster.errors import RosterError, RunError
from roster.shards.places import Folder

PLAN = "shards.json"
MARKS = ".shards"


@dataclass(frozen=True)
class Output:
    """The folder that a command writes shards into."""

    url: str

    @property
    def folder(self) -> Folder:
        return Folder(self.url)

    @property
    def marks(self) -> Folder:
        return Folder(f"{self.url.rstrip('/')}/{MARKS}")

    def check(self, about: dict[str, Any]) -> None:
        """Checks that the folder is new or empty, or that the same command began it.

        Args:
            about: `command` and `settings`, which must be the same, and the plan.

        Raises:
            RunError: the folder was made by another command, by other settings, or is cut otherwise.
            RosterError: the folder has other files in it.
        """
        names = [name for name in self.folder.names() if not name.startswith(".")]
        before = self.folder.read_json(PLAN)
        if before is None:
            if names and PLAN not in names:
                raise RosterError(f"{self.url}: the folder has other files in it; name a new one")
            if names:
                raise RunError(f"{self.url}/{PLAN} is damaged; give another folder, or remove this one")
        else:
            self._check_same(before, about)

    def begin(self, about: dict[str, Any]) -> None:
        """Makes the folder, or goes on with one that was begun."""
        self.folder.make()
        self.marks.make()
        self.folder.write_json(PLAN, {**about, "finished": False})

    def _check_same(self, before: dict[str, Any], about: dict[str, Any]) -> None:
        different = []
        if before.get("command") != about["command"]:
            different.append(f"by roster {before.get('command')}")
        else:
            old, new = before.get("settings") or {}, about["settings"]
            names = sorted({*old, *new})
            different += [
                f"with another {name.replace('_', ' ')}" for name in names if old.get(name) != new.get(name)
            ]
        if before.get("shards") != about["shards"]:
            different.append("from input of another size, or by another shard size")
        if different:
            raise RunError(
                f"{self.url} holds shards made {' and '.join(different)}; give another folder, or remove "
                "this one to start again"
            )

    def finish(self, about: dict[str, Any], totals: dict[str, Any]) -> None:
        """Writes the totals, when all shards are there, and tidies up."""
        self.folder.sweep()
        self.marks.sweep()
        self.folder.write_json(PLAN, {**about, "finished": True, **totals})

    def mark(self, number: int) -> dict[str, Any] | None:
        """The marker of a shard, if all of its files are there."""
        found = self.marks.read_json(f"{number:05}.json")
        if found is None:
            return None
        sizes = found.get("files")
        if not isinstance(sizes, dict) or any(self.folder.size(name) != size for name, size in sizes.items()):
            return None
        return found

    def set_mark(self, number: int, mark: dict[str, Any]) -> None:
        self.marks.write_json(f"{number:05}.json", mark)
