"""A page escapes what it is given, and JSON in a script cannot end the script."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from roster.pages.document import data, document, text


@given(
    st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_data_is_the_same_json_and_has_no_tag(value: object) -> None:
    code = data(value)
    assert json.loads(code) == value
    assert "<" not in code


def test_a_title_is_text() -> None:
    page = document("<script>alert(1)</script>", "<p>body</p>", "p { margin: 0 }", "let x = 1 < 2")
    assert "<title>&lt;script&gt;alert(1)&lt;/script&gt;</title>" in page
    assert page.count("<script>") == 1
    assert "p { margin: 0 }" in page


@given(st.text())
def test_text_has_no_markup(value: str) -> None:
    assert not set('<>"') & set(text(value))
