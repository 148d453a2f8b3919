"""The request of the page on the service, sent to the service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from manual.shell import commands
from tests.documentation.pages import blocks_of

PAGE = "docs/serving.md"


def test_request_and_answer_of_the_page(stock: Path) -> None:
    testing = pytest.importorskip("starlette.testclient")
    from roster.serving.app import create_app
    from roster.serving.models import load_models

    found = blocks_of(PAGE)
    (request,) = [block for block in found if block.language == "sh" and "curl" in block.text]
    (shown,) = [
        json.loads(block.text) for block in found if block.language == "json" and "results" in block.text
    ]
    ((_, address, *options),) = commands(request.text, {})
    body = json.loads(options[options.index("-d") + 1])
    with testing.TestClient(create_app(load_models({"news": str(stock / "runs/news")}))) as client:
        answer = client.post(address.partition(":8000")[2], json=body)
    assert answer.status_code == 200, answer.text
    given = answer.json()
    assert given.keys() == shown.keys()
    assert given["model"] == shown["model"] == body["model"]
    assert len(given["results"]) == len(shown["results"]) == len(body["texts"])
    for text, result in zip(body["texts"], shown["results"], strict=True):
        for span in result["spans"]:
            assert text[span["start"] : span["end"]] == span["text"]
    spans = [span for result in given["results"] for span in result["spans"]]
    assert all(span.keys() == shown["results"][0]["spans"][0].keys() for span in spans)
