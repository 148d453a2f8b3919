"""The page of an audit: what is in the file, and what a browser makes of it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roster.auditing.page import CHUNK_ROWS, COLUMNS, write_page
from roster.distant.entries.patch import read_patch
from roster.errors import RosterError
from tests.unit.auditing.chromium import Browser, found

NASTY = [
    "<script>window.hacked = 1</script>", "</script><img src=x onerror='window.hacked = 1'>", "<!--",
    "<b>&amp;\"'",
    "\u05e9\u05dc\u05d5\u05dd \u202eabc", "\U0001f9d1\u200d\U0001f680", "a\0b\x07\x1b[31m", "\ud800",
    "\u2028\u2029", "=1+1",
]  # fmt: skip
FACTS = {
    "run": "<run>",
    "data": "data & co",
    "made": "today",
    "command": "roster audit run",
    "notes": ["</li><script>"],
}


def label(number: int, **values: Any) -> dict[str, Any]:
    """A row; every third label has the type PER, and confidences go up."""
    row = {
        "kind": "label", "sentence": number // 2, "start": 1, "end": 2, "left": "They saw",
        "text": f"Name{number}",
        "right": "in Malmö .", "given": "PER" if number % 3 == 0 else "LOC",
        "believed": "ORG" if number % 2 else "",
        "confidence": number / 1000, "held_out": 0.5, "members": float("nan"), "removed": 1,
        "sources": [{"source": f"{'ab'[number % 2]}.tsv", "entry": f"Name{number}", "line": number + 1}],
    }  # fmt: skip
    return {**row, **values}


def entry(number: int, **values: Any) -> dict[str, Any]:
    row = {
        "kind": "entry", "entry": f"Entry{number}", "label": "LOC", "source": "a.tsv", "line": number + 1,
        "verdict": "wrong", "believed": "", "labels": number, "right": 0.5, "wrong": number - 0.5,
        "confidence": 0.95, "examples": [["They saw", f"Entry{number}", "there ."]],
    }  # fmt: skip
    return {**row, **values}


def name(number: int, **values: Any) -> dict[str, Any]:
    row = {
        "kind": "name",
        "name": f"New{number}",
        "label": "LOC",
        "count": 3,
        "confidence": 0.5,
        "examples": [],
    }
    return {**row, **values}


TYPE = {
    "kind": "type",
    "label": "LOC",
    "labels": 700,
    "precision": {"value": 0.64, "low": 0.6, "high": 0.7},
    "recall": {},
}


class Parsed(HTMLParser):
    """The elements of a page, the texts of its scripts, and its style."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.style = self.inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside == "style":
            self.style += data


def read_back(page: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of a page, by kind."""
    parsed = Parsed(page)
    elements = [attributes for tag, attributes in parsed.tags if tag == "script"]
    rows: dict[str, list[dict[str, Any]]] = {kind: [] for kind in COLUMNS}
    for attributes, content in zip(elements, parsed.scripts, strict=True):
        if attributes.get("class") == "rows":
            columns = {
                column: [values["of"][i] for i in values["at"]] if isinstance(values, dict) else values
                for column, values in json.loads(content).items()
            }
            of_chunk = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            assert attributes["data-rows"] == str(len(of_chunk))
            rows[attributes["data-kind"] or ""] += of_chunk
    return rows


@given(st.lists(st.sampled_from(NASTY) | st.text(st.characters(exclude_categories=())), max_size=6))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read(tmp_path: Path, texts: list[str]) -> None:
    rows = [
        label(i, text=text, sources=[{"source": text, "entry": text, "line": 1}])
        for i, text in enumerate(texts)
    ]
    rows += [entry(i, entry=text, examples=[[text, text, text]]) for i, text in enumerate(texts)] + [TYPE]
    write_page(tmp_path / "page.html", iter(rows), FACTS)
    page = (tmp_path / "page.html").read_text("utf-8")
    back = read_back(page)
    for kind, columns in COLUMNS.items():
        wanted = [row for row in rows if row["kind"] == kind]
        for row, other in zip(wanted, back[kind], strict=True):
            assert {c: other[c] for c in columns if c != "members"} == {
                c: row.get(c) for c in columns if c != "members"
            }
    assert all(row["members"] is None for row in back["label"])
    # Whatever the texts are, there are as many elements.
    tags = [tag for tag, _ in Parsed(page).tags]
    assert tags.count("script") == 1 + 2 * bool(texts) + 1
    assert not {"img", "b", "link", "iframe"} & set(tags)


def test_only_the_own_script_and_style_are_allowed(tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", [label(1)], FACTS)
    parsed = Parsed((tmp_path / "page.html").read_text("utf-8"))
    policy = next(
        a["content"] or "" for tag, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    for what, content in (("script-src", parsed.scripts[-1]), ("style-src", parsed.style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert directives[what] == f"'sha256-{digest}'"
    for _, attributes in parsed.tags:
        assert not {"src", "href", "style"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"https?://", "".join(parsed.scripts[-1:]) + parsed.style)
    assert "innerHTML" not in parsed.scripts[-1]


def test_a_hundred_thousand_rows_are_written_as_they_come(tmp_path: Path) -> None:
    class Row(dict[str, Any]):
        alive = most = 0

        def __init__(self, **values: Any):
            super().__init__(**values)
            Row.alive += 1
            Row.most = max(Row.most, Row.alive)

        def __del__(self) -> None:
            Row.alive -= 1

    write_page(tmp_path / "page.html", (Row(**label(number)) for number in range(100_000)), {})
    assert Row.most <= CHUNK_ROWS + 1
    assert (tmp_path / "page.html").stat().st_size < 20e6


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")
    with pytest.raises(ValueError, match="a row of the kind 'labels'; expected label, entry, name, type"):
        write_page(path, [label(1), {"kind": "labels"}], {})
    assert path.read_text() == "before"
    with pytest.raises(RosterError, match="cannot write"):
        write_page(tmp_path / "page.html" / "x.html", [], {})


# What a browser makes of it.


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if found() is None:
        pytest.skip("no Chromium on this machine")
    with Browser() as opened:
        opened.screen(1300, 800)
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """400 labels, entries of which two contradict each other, names, and a type."""
    path = tmp_path_factory.mktemp("audit") / "page.html"
    rows = [label(number) for number in range(400)]
    rows += [label(400 + i, text=text, left=text, confidence=0.99) for i, text in enumerate(NASTY)]
    rows += [entry(number) for number in range(6)]
    rows += [entry(6, verdict="right"), entry(7, verdict="ambiguous"), entry(8, confidence=0.3)]
    rows += [entry(9, verdict="wrong type", believed="ORG"), entry(0, verdict="wrong type", believed="ORG")]
    rows += [name(0, confidence=0.95), name(1), name(2, name="<script>\ttab\n\0")]
    write_page(path, [*rows, TYPE], FACTS)
    return path.as_uri()


COUNT = "document.getElementById('count').textContent"
ROWS = "[...document.querySelectorAll('tbody tr[data-k]')]"
READY = "document.documentElement.dataset.ready !== undefined"


def fill(field: str, value: str, event: str = "input") -> str:
    return (
        f"(() => {{ const e = document.getElementById('{field}'); e.value = {json.dumps(value)}; "
        f"e.dispatchEvent(new Event('{event}')); }})()"
    )


def texts(browser: Browser, cell: int) -> list[str]:
    found: list[str] = browser.run(f"{ROWS}.map((row) => row.cells[{cell}].textContent)")
    return found


def problems(browser: Browser) -> list[Any]:
    return [e for e in browser.events if e["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")]


def test_only_visible_rows_are_made(browser: Browser, page: str) -> None:
    browser.open(page)
    assert browser.run(COUNT) == "410 rows"
    titles = "[...document.querySelectorAll('#tabs .long-title')].map((e) => e.textContent)"
    assert browser.run(titles) == [
        "Labels believed wrong (410)",
        "Entries of the dictionary (11)",
        "Names that the dictionary lacks (3)",
        "Types: how good the dictionary is (1)",
    ]
    assert 10 < browser.run(f"{ROWS}.length") < 80
    assert browser.run("document.querySelector('tbody mark').textContent") == "Name0"
    browser.run("document.getElementById('scroller').scrollTop = 1e9")
    browser.wait(f"{ROWS}.at(-1).dataset.k === '409'")
    assert browser.run("document.getElementById('table').getAttribute('aria-rowcount')") == "411"
    assert not problems(browser)


@pytest.mark.parametrize(
    ("search", "count"),
    [
        ("name17", "11 of 410 rows"),
        ("MALMO name399", "1 of 410 rows"),
        ("b.tsv", "205 of 410 rows"),
        ("none", "0 of 410 rows"),
    ],
)
def test_search(browser: Browser, page: str, search: str, count: str) -> None:
    browser.open(page)
    browser.run(fill("search", search))
    browser.wait(f"{COUNT} === '{count}'")
    hash_ = browser.run("location.hash")
    browser.open(page + hash_)
    assert browser.run(COUNT) == count
    assert browser.run("document.getElementById('search').value") == search


def test_filters(browser: Browser, page: str) -> None:
    browser.open(page)
    browser.run(fill("type", "PER", "change"))
    assert browser.run(COUNT) == "137 of 410 rows"
    browser.run(fill("source", "b.tsv", "change"))
    assert browser.run(COUNT) == "68 of 410 rows"
    browser.run(fill("verdict", "not a name", "change"))
    assert browser.run(COUNT) == "0 of 410 rows"
    browser.run("document.getElementById('clear').click()")
    browser.run(fill("least-number", "0.39"))
    browser.wait(f"{COUNT} === '20 of 410 rows'")
    assert browser.run("document.getElementById('least').value") == "0.39"
    browser.open(page + "#tab=label&type=LOC&least=0.39&verdict=ORG&sort=confidence:down,text:up")
    count, most = browser.run(COUNT), texts(browser, 4)[-1]
    assert (count, most) == ("7 of 410 rows", "0.39")
    browser.open(page + "#tab=constructor&least=x&sort=toString:up,__proto__&entry.yes=zzz.!")
    assert browser.run(COUNT) == "410 rows"


def test_sorting(browser: Browser, page: str) -> None:
    browser.open(page)
    click = "document.querySelector('thead [data-column=\"{}\"]').click()"
    sorted_by = "[...document.querySelectorAll('thead th[aria-sort]')]"
    state = sorted_by + ".map((e) => e.textContent + ' ' + e.ariaSort).join()"
    browser.run(click.format("text"))
    assert browser.run(state) == "Mention ascending"
    assert browser.run(f"{ROWS}.slice(-3).map((r) => r.querySelector('mark').textContent)") == sorted(
        browser.run(f"{ROWS}.slice(-3).map((r) => r.querySelector('mark').textContent)"),
        key=lambda n: int(n[4:]),
    )
    browser.run(click.format("given"))
    browser.run(click.format("given"))
    assert browser.run(state) == "Label descending"
    marks = browser.run(
        f"{ROWS}.map((r) => r.querySelector('mark').textContent).filter((t) => /^Name/.test(t))"
    )
    assert marks[:4] == ["Name0", "Name3", "Name6", "Name9"]
    browser.run(click.format("confidence"))
    assert texts(browser, 4)[0] == "0.99"
    assert "sort=confidence" in browser.run("location.hash")


def test_nothing_of_the_data_is_run(browser: Browser, page: str) -> None:
    browser.events.clear()
    browser.open(page + "#least=0.99")
    marks = browser.run("[...document.querySelectorAll('tbody mark')].map((e) => e.textContent)")
    shown = [re.sub(r"[\0-\x1f]", lambda c: chr(0x2400 + ord(c[0])), text) for text in NASTY]
    assert [mark for mark, text in zip(marks, NASTY, strict=True) if text != "\ud800"] == [
        s for s in shown if s != "\ud800"
    ]
    assert browser.run("document.querySelectorAll('img, td script, td b').length") == 0
    assert browser.run("document.querySelectorAll('tbody mark bdi').length") == len(NASTY)
    script = "Object.assign(document.createElement('script'), { textContent: 'window.hacked = 2' })"
    browser.run(f"document.body.append({script})")
    fetched = "fetch('https://example.org/').then(() => 'loaded', () => 'refused')"
    assert browser.run(fetched) == "refused"
    assert browser.run("window.hacked === undefined")
    requests = [
        e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"
    ]
    assert all(url.startswith(("file:", "about:", "https://example.org/")) for url in requests)


def test_the_patch(browser: Browser, page: str, tmp_path: Path) -> None:
    browser.open(page + "#tab=entry")
    browser.wait(READY)
    assert browser.run("document.getElementById('save').textContent") == "Save patch (7 changes)"
    assert browser.run("document.querySelectorAll('tbody input').length") == 10  # one entry is right
    for number in (9, 10):  # other types are for a person to decide
        browser.run(f"document.querySelector('#row-{number} input').click()")
    browser.wait("document.getElementById('save').textContent === 'Save patch (8 changes)'")
    browser.run("document.querySelectorAll('tbody input')[1].click()")
    browser.run("document.querySelector('#row-7 input').click()")
    browser.run(fill("from-number", "0.2"))
    browser.wait("location.hash.includes('entry.from=0.2')")
    browser.open(page + browser.run("location.hash"))  # a reload keeps the choices
    browser.wait(READY)
    assert browser.run("document.getElementById('save').textContent") == "Save patch (9 changes)"
    browser.run("document.getElementById('tab-label').click()")
    browser.run("document.querySelector('tbody input').click()")
    browser.run("document.getElementById('tab-name').click()")
    browser.run("document.getElementById('all').click()")
    browser.wait("document.getElementById('save').textContent === 'Save patch (12 changes)'")
    browser.run("document.getElementById('save').click()")
    file = browser.downloads / "dictionary.patch"
    browser.wait("document.getElementById('done').textContent.startsWith('1 changes contradict')")
    for _ in range(200):
        if file.exists() and file.stat().st_size:
            break
        browser.run("new Promise((done) => setTimeout(done, 50))")
    assert [str(change) for change in read_patch(file).changes] == [
        *(f"remove Entry{number} LOC" for number in (0, 2, 3, 4, 5, 7, 8)),
        "retype Entry9 LOC ORG",
        "add New0 LOC", "add New1 LOC", "add <script> tab LOC",
        "remove Name0 PER",
    ]  # fmt: skip
    assert "# contradicts a line above: retype Entry0 LOC ORG" in file.read_text()


def test_by_keyboard(browser: Browser, page: str) -> None:
    browser.open(page + "#tab=entry")
    browser.run("document.getElementById('tab-entry').focus()")
    browser.press("ArrowRight", 39)
    assert browser.run("document.activeElement.id") == "tab-name"
    browser.press("ArrowLeft", 37)
    browser.run("document.getElementById('table').focus()")
    for key, code in (("ArrowDown", 40), ("ArrowDown", 40), ("ArrowUp", 38)):
        browser.press(key, code)
    assert browser.run("document.getElementById('table').getAttribute('aria-activedescendant')") == "row-1"
    assert browser.run("document.querySelector('#row-1 input').checked")
    browser.press(" ", 32, " ")
    assert not browser.run("document.querySelector('#row-1 input').checked")
    browser.press("Enter", 13)
    assert "They saw Entry1 there ." in browser.run("document.getElementById('details').textContent")
    browser.press("Escape", 27)
    assert browser.run("document.getElementById('details').hidden")
    browser.press("End", 35)
    assert browser.run("document.querySelector('tr.active').dataset.k") == "10"
    browser.press("/", 191, "/")
    browser.type("entry9")
    browser.wait(f"{COUNT} === '1 of 11 rows'")


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone(browser: Browser, page: str, dark: bool) -> None:
    browser.screen(390, 844, dark=dark, mobile=True)
    try:
        for tab in COLUMNS:
            browser.open(f"{page}#tab={tab}")
            assert browser.run("document.documentElement.scrollWidth") <= 390
            assert browser.run(f"{ROWS}.length") > 0
            style = "getComputedStyle(document.body)"
            colours = browser.run(f"[{style}.color, {style}.backgroundColor]")
            text, paper = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
            assert (text > paper) == dark
    finally:
        browser.screen(1300, 800)


def test_printing(browser: Browser, page: str, tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", (label(number) for number in range(700)), {})
    browser.open((tmp_path / "page.html").as_uri())
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert (
        browser.run("document.getElementById('printed').textContent")
        == "Labels believed wrong: the first 500 of 700 rows"
    )
    assert browser.run(f"{ROWS}.length") == 500
    assert browser.pdf().startswith(b"%PDF")
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run(f"{ROWS}.length") < 80
    browser.open(page + "#tab=type")
    assert "0.64 (0.60 to 0.70)" in browser.run("document.querySelector('tbody').textContent")
