"""The files of the pages: their headers, their caching, and that no other file can be had."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from roster.serving.app import create_app
from roster.serving.auth import Tokens
from roster.serving.static import PAGES, TYPES, static_files
from tests.unit.serving.conftest import FakeModel

WEB = Path(__file__).parents[3] / "src" / "roster" / "serving" / "web"


@pytest.fixture
def client(model: FakeModel) -> TestClient:
    return TestClient(create_app({"news": model.served}, tokens=Tokens(["0123456789abcdef"])))


def test_every_file_is_served_without_a_token(client: TestClient) -> None:
    paths = {f"/web/{file.name}" for file in WEB.iterdir()} - {
        f"/web/{name}" for name in PAGES.values()
    } | set(PAGES)
    assert set(static_files()) == paths
    for path in paths:
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] in TYPES.values()
        assert answer.headers["cache-control"] == "no-cache"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" in policy
        assert "unsafe" not in policy
        for end in ("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"):
            assert end in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        head = client.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == str(len(answer.content))


def test_what_the_client_has_is_not_sent_again(client: TestClient) -> None:
    tag = client.get("/web/dom.js").headers["etag"]
    for known in (tag, f'"other", W/{tag}'):
        answer = client.get("/web/dom.js", headers={"If-None-Match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
        assert "content-security-policy" in answer.headers
    assert client.get("/web/dom.js", headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/web/",
            "/web",
            "/web/index.html",
            "/web/no.js",
            "/web/../app.py",
            "/web/%2e%2e/app.py",
            "/web/..%2fapp.py",
        ),
        *("/web//dom.js", "/web/./dom.js", "/web/dom.js/", "/web/dom.js%00", "/index.html", "/static.py"),
    ],
)
def test_no_other_file(client: TestClient, path: str) -> None:
    # The client of the tests tidies paths, as browsers do; the scope has what a raw request would have.
    answer = client.get(path, headers={"Authorization": "Bearer 0123456789abcdef"})
    tidied = path == "/web/./dom.js"
    assert answer.status_code == (200 if tidied else 404), answer.text
    assert "import" not in answer.text or tidied


def test_other_methods(client: TestClient) -> None:
    answer = client.post("/", headers={"Authorization": "Bearer 0123456789abcdef"})
    assert answer.status_code == 405
    assert "GET" in answer.headers["allow"]


def test_the_answers_of_the_api_keep_their_policy(client: TestClient) -> None:
    headers = client.get("/health").headers
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["cache-control"] == "no-store"


def test_nothing_is_loaded_from_elsewhere_and_no_html_is_made_of_text() -> None:
    for file in WEB.iterdir():
        content = file.read_text("utf-8")
        found = re.findall(r"https?://[^\s\"'<)]+", content)
        assert [one for one in found if one != "http://www.w3.org/2000/svg"] == [], file.name
        if file.suffix == ".js":
            code = re.sub(r"//.*", "", content)
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", code
            ), file
        if file.suffix == ".html":
            assert not re.search(r"\sstyle=|\son\w+=|<script(?![^>]*src=)|<style", content), file.name
