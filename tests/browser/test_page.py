"""The page `/` in a browser."""

from __future__ import annotations

from typing import Any

TEXT = "Anna Berg went to Paris .\n\nThen Carl saw Dora in Oslo .\n"


def test_texts_are_marked(page: Any) -> None:
    page.fill("#text", TEXT)
    page.click("#run")
    page.wait_for_selector("#reading", state="hidden")
    print(page.locator(".entity").all_inner_texts())
    assert 0
