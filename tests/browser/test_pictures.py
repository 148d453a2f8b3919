"""Pictures of the page for the docs, of the example with a model that was trained on the bundled sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.served import Server

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PHONE = {"viewport": {"width": 390, "height": 780}, "is_mobile": True, "has_touch": True}


def test_pictures(pictures: Path, open_page: Callable[..., Any], environment: dict[str, str]) -> None:
    server = Server(environment, f"news={pictures}", "--device", "cpu")
    for name, options in (
        ("page-light", {"color_scheme": "light"}),
        ("page-dark", {"color_scheme": "dark"}),
        ("page-phone", {"color_scheme": "light", **PHONE}),
    ):
        page = open_page(server.first["url"], **options)
        page.click("#example")
        page.wait_for_selector("#result")
        page.wait_for_selector("#reading", state="hidden")
        page.evaluate("document.activeElement.blur()")
        if name == "page-dark":
            page.locator("#view .entity", has_text="Swedish").click()
        page.screenshot(path=IMAGES / f"{name}.png")
        assert (IMAGES / f"{name}.png").stat().st_size < 300_000
    assert server.stop() == 0, server.errors
