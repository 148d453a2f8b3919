"""The pages for everybody: axe finds nothing, in light and dark, wide and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.served import Server

TEXT = "Anna Berg went to Paris and Bonn with Carl .\n\nthen Carl saw Dora in Oslo .\n"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def violations(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for one in found
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [{}, PHONE], ids=["wide", "phone"])
def test_axe(open_page: Callable[..., Any], served: Server, scheme: str, size: dict[str, Any]) -> None:
    page = open_page(
        served.first["url"], color_scheme=scheme, bypass_csp=True, reduced_motion="reduce", **size
    )

    def check(place: str) -> None:
        assert violations(page) == [], place
        width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width[0] <= width[1], place

    check("start")
    page.fill("#text", TEXT)
    page.click("#run")
    page.wait_for_selector("#reading", state="hidden")
    page.locator(".chip").first.click()
    check("result")
    page.locator("#view .entity", has_text="Carl").first.click()
    check("editor")
    page.click("#editor-why")
    page.wait_for_selector("#origin-answer .entry")
    check("dictionary")
    page.click("#tab-export")
    check("export")


def test_a_screen_reader_is_told_what_happens(open_page: Callable[..., Any], served: Server) -> None:
    page = open_page(served.first["url"])
    live = page.locator("#live")
    assert live.get_attribute("aria-live") == "polite"
    page.click("#run")
    assert live.inner_text() == "There is no text yet"
    page.fill("#text", TEXT)
    page.click("#run")
    page.wait_for_selector("#live >> text=/Finished. \\d+ entities in/")
    page.locator("#view .entity").first.click()
    page.click("#editor-delete")
    assert live.inner_text() == "Removed Anna Berg"
    page.click("#undo")
    assert live.inner_text() == "Undone"
    roles = page.evaluate("['main', 'header', 'h1'].map((name) => document.querySelectorAll(name).length)")
    assert roles == [1, 1, 1]
    tree = page.locator("#view").aria_snapshot()
    assert 'button "Anna Berg, PER, score' in tree
    assert page.get_attribute("#progress", "aria-label") == "Share of the text that is read"


def test_a_finger_selects_words(open_page: Callable[..., Any], served: Server) -> None:
    page = open_page(served.first["url"], **PHONE)
    page.fill("#text", "the house in the house")
    page.click("#run")
    page.wait_for_selector("#reading", state="hidden")
    page.evaluate(  # what long press and handles do
        """() => { const node = document.querySelector(".block").firstChild;
           getSelection().setBaseAndExtent(node, 4, node, 7); }"""
    )
    page.locator(".offer .chip", has_text="LOC").tap()
    assert page.locator("#view .entity").all_inner_texts() == ["house"]


def test_print(open_page: Callable[..., Any], served: Server) -> None:
    page = open_page(served.first["url"])
    page.fill("#text", TEXT)
    page.click("#run")
    page.wait_for_selector("#reading", state="hidden")
    page.emulate_media(media="print")
    assert page.locator(".toolbar").is_hidden()
    assert page.locator("#view").is_visible()
