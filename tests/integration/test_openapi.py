"""Schemathesis finds nothing: every route answers as the OpenAPI document describes, whatever is sent.

It reads the document of a service with a trained model, projects and a token, and sends examples, borders of
each field, wrong values, missing fields and methods that the document does not have.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.served import Server

TOKEN = "0123456789abcdefXYZ"
SETTINGS = """
[checks]
# Beside its own list: 413 for more texts or characters than a request may have.
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429]

[[operations]]
# Any bytes fit the schema of an upload, but not all are a text or a list of names.
include-name = "POST /api/projects/{name}/files/{file}"
checks.positive_data_acceptance.expected-statuses = ["2xx", 401, 403, 404, 409, 422]
"""


def test_every_route_is_as_documented(trained: Path, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    server = Server({**environment, "ROSTER_SERVE_TOKEN": TOKEN}, f"news={trained}", "--device", "cpu",
                    "--projects", tmp_path / "projects")  # fmt: skip
    try:
        status, document = server.ask("/openapi.json", token=TOKEN)
        assert status == 200
        done = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run",
             f"{server.first['url']}/openapi.json", "--header", f"Authorization: Bearer {TOKEN}",
             "--phases", "examples,coverage,fuzzing", "--checks", "all", "--max-examples", "3", "--seed", "1",
             "--suppress-health-check", "all", "--generation-database", "none", "--no-color"],
            cwd=tmp_path, env=environment, text=True, capture_output=True,
        )  # fmt: skip
    finally:
        code = server.stop()
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    assert code == 0, server.errors
    assert [line for line in server.lines if line["event"] == "error"] == []
    # Every operation of the document was reached, and most of them many times.
    reached = Counter(
        (line["method"].lower(), line["path"]) for line in server.lines if line["event"] == "request"
    )
    for path, methods in document["paths"].items():
        for method in methods:
            assert reached[method, path] >= (3 if path != "/health" else 1), (method, path)
