"""Text of strangers on our pages and in notebooks: nothing of it is HTML, and no page runs a script of it."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from html.parser import HTMLParser
from typing import Any

import pytest

from roster.corpus.sentence import Sentence, Span
from roster.infer.recogniser import Entities, Entity
from roster.pages.document import data, document, text

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><script>alert(1)</script>",
    "<!-- --><svg onload=alert(1)>",
    "&lt;script&gt;",
    "\u202egpj.exe\u202c \u2066x",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1f3\U0001f1f4 e\u0301",
    "javascript:alert(1)",
    "]]><script>alert(1)</script>",
)


class Parsed(HTMLParser):
    def __init__(self, page: str):
        super().__init__()
        self.tags, self.attributes, self.content = set[str](), set[str](), ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.content += data


def harmless(page: str, shown: str) -> None:
    """The text is on the page as it is, and made no element and no handler."""
    found = Parsed(page)
    assert not found.tags & {"img", "svg", "iframe", "object"}
    assert not any(name.startswith("on") for name in found.attributes)
    assert shown in found.content
    assert "<script>alert" not in page


@pytest.mark.parametrize("hostile", HOSTILE)
def test_notebooks(hostile: str) -> None:
    sentence = Sentence(
        (hostile, "ran"), ((0, len(hostile)), (len(hostile) + 1, len(hostile) + 4)), f"{hostile} ran"
    )
    harmless(sentence.with_spans([Span(0, 1, hostile)])._repr_html_(), hostile)
    entity = Entity(hostile, hostile, 0, len(hostile), 0.5)
    harmless(Entities(hostile, [entity])._repr_html_(), hostile)


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_documents(hostile: str, sealed: bool) -> None:
    page = document(hostile, f"<p title='{text(hostile)}'>{text(hostile)}</p>", sealed=sealed)
    harmless(page, hostile)
    assert "</script>" not in data({hostile: hostile})


@pytest.mark.parametrize("sealed", [True, False])
def test_the_policy_of_a_page(sealed: bool) -> None:
    """It stands before everything that it restricts; a script in the body has no hash that it names."""
    script = "document.title"
    page = document("t", "<script>alert(1)</script>", script=script, sealed=sealed)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy.start() < page.index("<title>") < page.index("<style>") < page.index("<script>")
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert (rules["default-src"], rules["base-uri"], rules["form-action"]) == ("'none'",) * 3
    assert ("unsafe-inline" in rules["style-src"]) == (not sealed)
    assert "script-src 'none'" in document("t", "", sealed=sealed)
