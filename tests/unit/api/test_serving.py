"""`roster.serve` in a thread."""

from __future__ import annotations

import json
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import roster
from roster.errors import ConfigError, ModelError


def ask(url: str, content: Any = None) -> Any:
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def test_a_service_in_a_thread(trained: Path) -> None:
    events: list[tuple[str, dict[str, Any]]] = []
    ner = roster.load(trained, "cpu")
    before = threading.active_count()
    with roster.serve({"loaded": ner, "news": trained}, port=0, device="cpu", background=True,
                      log=lambda event, **fields: events.append((event, fields))) as service:  # fmt: skip
        assert [one["name"] for one in ask(f"{service.url}/models")["models"]] == ["loaded", "news"]
        for name in ("loaded", "news"):
            answer = ask(f"{service.url}/predict", {"text": "Anna Berg went to Oslo .", "model": name})
            assert [one["text"] for one in answer["results"][0]["spans"]] == ["Anna Berg", "Oslo"]
    assert [event for event, _ in events if event != "request"] == ["listening", "stopped"]
    assert events[0][1]["url"] == service.url
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{service.url}/health", timeout=60)
    service.close()  # once more is harmless
    assert threading.active_count() == before


def test_models_are_named_as_on_the_command_line(trained: Path) -> None:
    for given, names in (
        (trained, [trained.parent.name]),
        ([f"news={trained}"], ["news"]),
        (roster.load(trained, "cpu"), ["default"]),
    ):
        with roster.serve(given, port=0, device="cpu", background=True) as service:
            assert [one["name"] for one in ask(f"{service.url}/models")["models"]] == names


def test_mistakes(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        roster.serve(tmp_path, port=0, background=True)
    with pytest.raises(ConfigError, match="there is no model 'other'"):
        roster.serve({"news": trained}, port=0, audits={"other": tmp_path}, background=True)
