"""Names inside files that lead elsewhere, names that change a terminal, and services that strangers reach."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import roster
from roster.cli.main import main
from roster.corpus import io as formats
from roster.corpus.sentence import Sentence, Span
from roster.errors import ConfigError, DataError, ModelError
from roster.log import LOGGER, log_to_stderr
from roster.serving.app import create_app
from roster.serving.models import ServedModel
from roster.terminal import SafeOutput, printable

NASTY = "Ada\x1b[2J\x1b]0;title\x07\u202eoslo\x9b31m"
SHOWN = "Ada\\x1b[2J\\x1b]0;title\\x07\\u202eoslo\\x9b31m"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("state.json", {"_data_files": [{"filename": "../secret.arrow"}]}),
        ("state.json", {"_data_files": [{"filename": "/etc/passwd"}]}),
        ("state.json", {"_data_files": [None]}),
        ("state.json", {"_data_files": "secret"}),
        ("dataset_dict.json", {"splits": [".."]}),
        ("dataset_dict.json", {"splits": ["../secret"]}),
        ("dataset_dict.json", {"splits": [3]}),
    ],
)
def test_a_saved_data_set_that_names_files_elsewhere(file: str, content: Any, tmp_path: Path) -> None:
    sentence = Sentence.from_words(["Ada"], [Span(0, 1, "PER")])
    formats.write(tmp_path / "secret.arrow", [sentence], "arrow")
    folder = tmp_path / "data"
    formats.write(folder, [sentence], "arrow")
    (folder / file).write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"expected _data_files to hold|expected splits to be"):
        list(formats.read(folder, "arrow"))


def test_messages_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A file name, a label and a value are shown as they are written in Python."""
    assert main(["evaluate", f"{NASTY}\nroster: all is well", "gold"]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert f"{SHOWN}\\nroster: all is well" in printed


def test_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    with log_to_stderr():
        LOGGER.info(f"reading {NASTY}")
    assert capsys.readouterr().err == f"reading {SHOWN}\n"


def test_output_on_a_terminal(tmp_path: Path) -> None:
    """A terminal gets escapes, a pipe the data as they are."""
    label = "PER\x9b31m\x1b[7m"
    for name in ("gold", "found"):
        (tmp_path / f"{name}.jsonl").write_text(
            json.dumps({"text": "Ada ran", "spans": [{"start": 0, "end": 3, "label": label}]}) + "\n"
        )
    command = [sys.executable, "-m", "roster.cli.main", "evaluate", "found.jsonl", "gold.jsonl"]
    options: dict[str, Any] = {
        "cwd": tmp_path,
        "check": True,
        "env": {**os.environ, "PYTHONPATH": str(Path(roster.__file__).parents[1])},
    }
    ours, theirs = pty.openpty()
    subprocess.run(command, stdout=theirs, **options)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # Linux reports the end of a terminal so
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert b"PER\\x9b31m\\x1b[7m" in shown
    assert b"\x1b[7m" not in shown
    piped = subprocess.run(command, capture_output=True, **options).stdout
    assert label in piped.decode()


def test_printable() -> None:
    assert printable("Ada\tran\n\u0634\u0631\u0643\u0629 \U0001f468\u200d\U0001f469 é") == (
        "Ada\tran\n\u0634\u0631\u0643\u0629 \U0001f468\u200d\U0001f469 é"
    )
    stream = io.StringIO()
    print(NASTY, file=SafeOutput(stream))  # type: ignore[arg-type]
    assert stream.getvalue() == f"{SHOWN}\n"
    assert SafeOutput(stream).getvalue() == stream.getvalue()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "ner.example"])
def test_a_service_without_a_token_that_others_reach(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before a model is loaded."""
    monkeypatch.delenv("ROSTER_SERVE_TOKEN", raising=False)
    with pytest.raises(ConfigError, match=r"restrict it with --token-file, or say --allow-anonymous"):
        roster.serve(tmp_path / "missing", host=host)
    with pytest.raises(ModelError, match="there is no model folder"):
        roster.serve(tmp_path / "missing", host=host, allow_anonymous=True)


async def asked(hosts: Any, host: str, path: str = "/health") -> tuple[int, dict[str, str]]:
    app = create_app({"news": ServedModel(("PER",), lambda found: [])}, hosts=hosts)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": [(b"host", host.encode()), (b"origin", b"http://other.example")],
             "scheme": "http", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1)}  # fmt: skip
    await app(scope, receive, send)
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def answer(hosts: Any, host: str, path: str = "/health") -> tuple[int, dict[str, str]]:
    """Status and headers."""
    return asyncio.run(asked(hosts, host, path))


def test_rebound_names() -> None:
    """A site whose name leads to 127.0.0.1 is not answered, where no token protects the service."""
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000"):
        assert answer((), host)[0] == 200
    for host in ("rebound.example:8000", "", "localhost.rebound.example"):
        status, headers = answer((), host)
        assert status == 421
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert answer(None, host)[0] == 200
    assert answer({"ner.example"}, "ner.example")[0] == 200


def test_headers_of_every_answer() -> None:
    for path in (
        "/",
        "/health",
        "/nothing",
        "/models",
        "/predict",
        "/web/page.js",
        "/metrics",
        "/../etc/passwd",
    ):
        _, headers = answer(None, "localhost", path)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
