"""`pages.toml`: what pages need to be run, and what cannot be run."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

TABLE = tomllib.loads(Path(__file__).with_name("pages.toml").read_text(encoding="utf-8"))


class Excuses:
    """What is not run of a page, each with a reason; counts which ones are used."""

    def __init__(self, page: str):
        self.entries = [one for one in TABLE["excuse"] if re.fullmatch(one["page"], page)]
        self.used: Counter[str] = Counter()

    def reason(self, text: str) -> str | None:
        for one in self.entries:
            if one["has"] in text:
                self.used[one["has"]] += 1
                return str(one["reason"])
        return None

    def unused(self) -> list[str]:
        return [one["has"] for one in self.entries if not self.used[one["has"]]]


def not_run(command: list[str]) -> str | None:
    """The reason why a command runs on no page, if it is one of those."""
    line = " ".join(command) + " "
    return next((reason for begin, reason in TABLE["not_run"].items() if line.startswith(f"{begin} ")), None)
