"""The page `/` in a browser: what a person does with it, by mouse and by keyboard."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import roster
from roster.corpus.io import read
from roster.distant.entries.patch import read_patch
from roster.infer.recogniser import Recogniser, load
from tests.served import Server

TOKEN = "0123456789abcdefXYZ"
TEXT = (
    "Anna Berg went to Paris and Bonn with Carl .\n\nthen Carl saw Dora in Oslo . then the house in Oslo .\n"
)


@pytest.fixture(scope="module")
def ner(run: Path) -> Recogniser:
    return load(run, "cpu")


@pytest.fixture(scope="module")
def guarded(
    run: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Two models, one of them without its run; a token; one request at a time."""
    folder = tmp_path_factory.mktemp("guarded")
    shutil.copytree(run / "model", folder / "bare")
    (folder / "tokens").write_text(TOKEN + "\n")
    limits = ["--max-requests", "1", "--max-characters", "3000", "--max-body", "40000"]
    tokens = ["--token-file", folder / "tokens"]
    server = Server(environment, f"news={run}", folder / "bare", *tokens, *limits, "--device", "cpu")
    yield server
    assert server.stop() == 0, server.errors


def find(page: Any, text: str) -> None:
    page.fill("#text", text)
    page.click("#run")
    finished(page)


def finished(page: Any) -> None:
    """Waits until the text is there and read."""
    page.wait_for_selector("#result")
    page.wait_for_selector("#reading", state="hidden")


def marks(page: Any) -> list[tuple[str, str]]:
    """Names and labels of the entities that are drawn. Text near the screen is drawn after the next frame, so
    two are waited for."""
    page.evaluate("() => new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)))")
    found = page.locator("#view .entity").evaluate_all(
        "(all) => all.map((one) => [one.innerText, one.dataset.label])"
    )
    return [(name, label.split()[0]) for name, label in found]


def mark(page: Any, name: str, place: int = 0) -> Any:
    return page.locator("#view .entity", has_text=name).nth(place)


def exported(page: Any, kind: str, folder: Path) -> Path:
    """The file that a button of the tab Export gives."""
    page.click("#tab-export")
    with page.expect_download() as download:
        page.click(f"#export-{kind}")
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def spans(page: Any, folder: Path) -> list[dict[str, Any]]:
    record = json.loads(exported(page, "jsonl", folder).read_text("utf-8").splitlines()[0])
    assert all(record["text"][one["start"] : one["end"]] == one["text"] for one in record["spans"])
    return record["spans"]


def select(page: Any, words: str) -> None:
    """Selects words in the text with the mouse."""
    box = page.evaluate(
        """(words) => {
          const view = document.querySelector("#view");
          const box = (offset) => {
            const walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
            const range = document.createRange();
            let node = walker.nextNode(), left = offset;
            while (left >= node.length) { left -= node.length; node = walker.nextNode(); }
            range.setStart(node, left);
            range.setEnd(node, left + 1);
            return range.getBoundingClientRect();
          };
          const start = view.textContent.indexOf(words);
          const first = box(start), last = box(start + words.length - 1);
          const middle = ({ top, bottom }) => (top + bottom) / 2;
          return [[first.left + 1, middle(first)], [last.right - 1, middle(last)]];
        }""",
        words,
    )
    page.mouse.move(*box[0])
    page.mouse.down()
    page.mouse.move(*box[1], steps=4)
    page.mouse.up()


def test_the_entities_are_those_of_the_model(page: Any, ner: Recogniser, tmp_path: Path) -> None:
    text = f"😀 {TEXT}\r\n\r\nin Rome 𝒜 Dora . "
    find(page, text)
    alone = ner(text)
    assert len(alone) > 6
    assert [name for name, _ in marks(page)] == [one.text for one in alone]
    # A text area has line feeds only, so offsets are compared with those of the text that it holds.
    held = page.evaluate("document.querySelector('#text').value")
    assert page.evaluate("document.querySelector('#view').textContent") == held
    assert spans(page, tmp_path) == [one.as_dict() for one in ner(held)]
    assert (
        page.locator("#summary")
        .inner_text()
        .startswith(f"{len(alone)} entities in {len(held) + 2} characters")
    )


def test_scores_and_types_are_chosen_without_a_request(page: Any, ner: Recogniser) -> None:
    find(page, TEXT)
    found, requests = ner(TEXT), []
    page.on("request", lambda one: requests.append(one.url))
    limit = sorted(one.score for one in found)[len(found) // 2]
    page.evaluate(
        """(value) => { const slider = document.querySelector("#threshold");
           slider.step = "any"; slider.value = value; slider.dispatchEvent(new Event("input")); }""",
        limit,
    )
    expected = [(one.text, one.label) for one in found if one.score >= limit]
    assert 0 < len(expected) < len(found)
    page.wait_for_function(
        "(n) => document.querySelectorAll('#view .entity').length === n", arg=len(expected)
    )
    assert marks(page) == expected
    assert f"{len(found) - len(expected)} not shown" in page.locator("#summary").inner_text()
    page.click('.chip[data-type="LOC"]')
    assert page.get_attribute('.chip[data-type="LOC"]', "aria-pressed") == "false"
    assert marks(page) == [one for one in expected if one[1] != "LOC"]
    assert page.locator("#table tbody tr").count() == len({one for one in expected if one[1] != "LOC"})
    page.click('.chip[data-type="LOC"]')
    assert marks(page) == expected
    assert requests == []


def test_an_entity_is_corrected_and_the_correction_undone(page: Any) -> None:
    find(page, TEXT)
    before = marks(page)
    mark(page, "Paris").click()
    assert page.locator("#editor-title").inner_text() == "Correct an entity"
    page.locator("#editor .choice", has_text="PER").click()
    page.click("#editor-save")
    assert ("Paris", "PER") in marks(page)
    corrected = mark(page, "Paris")
    assert "own" in corrected.get_attribute("class")
    assert corrected.get_attribute("aria-label") == "Paris, PER, corrected"
    assert "1 correction" in page.locator("#summary").inner_text()
    assert page.evaluate("document.activeElement.textContent") == "Paris"  # the focus is back in the text
    page.click("#undo")
    assert marks(page) == before
    assert page.locator("#undo").is_disabled()
    page.keyboard.press("Control+Shift+Z")
    assert ("Paris", "PER") in marks(page)
    mark(page, "Paris").click()
    page.locator("#editor .choice", has_text="LOC").click()
    page.click("#editor-save")  # what the model found is no correction
    assert marks(page) == before
    assert "correction" not in page.locator("#summary").inner_text()


def test_borders_are_moved_and_entities_removed(page: Any, tmp_path: Path) -> None:
    find(page, TEXT)
    mark(page, "Anna Berg").click()
    page.click('#editor [data-edge="start"][data-step="1"]')
    page.click('#editor [data-edge="start"][data-step="1"]')  # not beyond the end
    assert page.locator("#editor-text mark").inner_text() == "Berg"
    page.click('#editor [data-edge="end"][data-step="1"]')
    page.click("#editor-save")
    assert mark(page, "Berg went").get_attribute("aria-label") == "Berg went, PER, corrected"
    mark(page, "Bonn").click()
    page.click("#editor-delete")
    assert "Bonn" not in [one["text"] for one in spans(page, tmp_path)]
    changes = [str(one) for one in read_patch(exported(page, "patch", tmp_path)).changes]
    assert changes == ["add Berg went PER", "remove Anna Berg PER", "remove Bonn LOC"]


def test_all_occurrences_are_corrected_or_removed(page: Any) -> None:
    find(page, TEXT)
    assert marks(page).count(("Oslo", "LOC")) == 2
    mark(page, "Oslo", 1).click()
    assert page.locator("#editor-all-label").inner_text() == "All 2 occurrences"
    page.locator("#editor .choice", has_text="PER").click()
    page.check("#editor-all")
    page.click("#editor-save")
    assert marks(page).count(("Oslo", "PER")) == 2
    mark(page, "Oslo").click()
    page.check("#editor-all")
    page.click("#editor-delete")
    assert "Oslo" not in [name for name, _ in marks(page)]
    page.click("#undo")
    page.click("#undo")
    assert marks(page).count(("Oslo", "LOC")) == 2


def test_selected_words_become_an_entity(page: Any, tmp_path: Path) -> None:
    find(page, "the house and the house 😀 with the house .")
    page.wait_for_selector("#view .block")
    assert marks(page) == []
    select(page, "ous")  # a part of a word means the word
    page.locator(".offer .chip", has_text="LOC").click()
    assert marks(page) == [("house", "LOC")]
    select(page, " with ")
    page.locator(".offer").get_by_text("More…").click()
    assert page.locator("#editor-text mark").inner_text() == "with"
    page.keyboard.press("Escape")
    mark(page, "house").click()
    page.keyboard.press("Escape")
    page.click("#undo")
    select(page, "house")
    page.locator(".offer").get_by_text("More…").click()
    page.locator("#editor .choice", has_text="PER").click()
    page.check("#editor-all")
    page.click("#editor-save")
    assert marks(page) == [("house", "PER")] * 3
    assert [one["start"] for one in spans(page, tmp_path)] == [4, 18, 35]
    patch = read_patch(exported(page, "patch", tmp_path))
    assert [str(one) for one in patch.changes] == ["add house PER"]


def test_by_keyboard_alone(page: Any) -> None:
    def until_focused(selector: str) -> None:
        for _ in range(40):
            if page.evaluate("(s) => document.activeElement.matches(s)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{selector} is not reached with Tab")

    until_focused("#text")
    page.keyboard.insert_text(TEXT)
    until_focused("#run")
    page.keyboard.press("Enter")
    finished(page)
    assert page.evaluate("document.activeElement.id") == "view"
    before = marks(page)
    page.keyboard.press("n")
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.textContent") == before[1][0] == "Paris"
    page.keyboard.press("p")
    assert page.evaluate("document.activeElement.textContent") == "Anna Berg"
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.value") == "LOC"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert marks(page)[1] == ("Paris", "PER")
    assert page.evaluate("document.activeElement.textContent") == "Paris"
    page.keyboard.press("Delete")
    assert "Paris" not in [name for name, _ in marks(page)]
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    assert marks(page) == before
    # Words without an entity: from Anna Berg to the next word, and one more.
    page.keyboard.press("p")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("getSelection().toString()") == "went"
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate("getSelection().toString()") == "went to"
    page.keyboard.press("Enter")
    assert page.locator("#editor-title").inner_text() == "Add an entity"
    page.keyboard.press("Enter")
    assert ("went to", "LOC") in marks(page)
    page.keyboard.press("Control+z")
    until_focused("#tab-names")
    page.keyboard.press("ArrowRight")
    assert page.locator("#origin").is_visible()
    page.keyboard.press("End")
    assert page.locator("#export").is_visible()


def test_the_table_is_sorted_filtered_and_leads_to_the_text(page: Any) -> None:
    find(page, TEXT)
    rows = page.locator("#table tbody tr")

    def column(number: int) -> list[str]:
        return [one.locator("td").nth(number).inner_text() for one in rows.all()]

    assert [int(one) for one in column(2)] == sorted([int(one) for one in column(2)], reverse=True)
    assert column(0)[:2] == ["Carl", "Oslo"]
    page.click("th[data-column=name] button")
    assert column(0) == sorted(column(0))
    assert page.get_attribute("th[data-column=name]", "aria-sort") == "ascending"
    page.click("th[data-column=name] button")
    assert column(0) == sorted(column(0), reverse=True)
    assert page.get_attribute("th[data-column=count]", "aria-sort") is None
    page.fill("#filter", "loc")
    assert set(column(1)) == {"LOC"}
    page.fill("#filter", "os")
    assert column(0) == ["Oslo"]
    assert page.locator("#names-count").inner_text() == "1 name"
    places = []
    for _ in range(3):
        rows.nth(0).get_by_text("Oslo").click()
        places.append(page.evaluate("document.activeElement.dataset.id"))
    assert places[0] == places[2] != places[1]


def test_why_a_name_was_labelled(page: Any, run: Path) -> None:
    find(page, TEXT)
    mark(page, "Carl").click()
    page.click("#editor-why")
    entry = page.locator("#origin-answer .entry")
    entry.first.wait_for()
    claims = [json.loads(line) for line in (run / "audit" / "audit.jsonl").read_text().splitlines()]
    (claim,) = [one for one in claims if one["kind"] == "entry" and one["entry"] == "Carl"]
    shown = entry.inner_text()
    assert f"names.tsv, line {claim['line']}" in shown
    assert claim["line"] == 4
    assert f"{claim['labels']}" in shown
    assert f"{claim['verdict']}" in shown
    assert page.evaluate("document.activeElement.id") == "tab-origin"
    page.fill("#origin-name", "Nobody")
    page.keyboard.press("Enter")
    page.wait_for_selector("#origin-answer >> text=No label of the training text has this name")
    page.click("#tab-names")
    page.locator("#table tbody tr", has_text="Paris").get_by_text("Why?").click()
    page.wait_for_selector("#origin-answer >> text=names.tsv, line 6")


def test_exports_are_read_by_roster(page: Any, tmp_path: Path, run: Path) -> None:
    text = "😀 Anna Berg's house\tin Oslo-Bonn . \n\n\n then Carl (Rome) saw Dora ."
    find(page, text)
    found = spans(page, tmp_path)
    assert len(found) > 4
    back = list(read(tmp_path / "entities.jsonl"))
    assert {one.text for one in back} == {text}
    listed = [(*s.char_span(x), x.label) for s in back for x in s.spans or ()]
    assert listed == [(one["start"], one["end"], one["label"]) for one in found]
    conll = list(read(exported(page, "conll", tmp_path)))
    names = [(" ".join(s.words[x.start : x.end]), x.label) for s in conll for x in s.spans or ()]
    assert [(one.replace(" ", ""), label) for one, label in names] == [
        (one["text"].replace(" ", ""), one["label"]) for one in found
    ]
    assert "".join(word for s in conll for word in s.words) == "".join(text.split())
    assert len(conll) > 1


def test_a_patch_of_corrections_changes_the_labels(page: Any, tmp_path: Path) -> None:
    find(page, TEXT)
    mark(page, "Paris").click()
    page.locator("#editor .choice", has_text="PER").click()
    page.click("#editor-save")
    select(page, "house")
    page.locator(".offer .chip", has_text="LOC").click()
    patch = exported(page, "patch", tmp_path)
    assert patch.name == "patch.tsv"
    names = {"LOC": ["Paris", "Oslo"], "PER": ["Dora"]}
    labels = roster.label([TEXT], names, patch=patch, policy={"case": "exact"})
    assert {(s.span_text(x), x.label) for s in labels for x in s.spans or ()} == {
        *(("Paris", "PER"), ("house", "LOC"), ("Oslo", "LOC"), ("Dora", "PER")),
    }


def test_files_are_opened_and_dropped(page: Any, tmp_path: Path, ner: Recogniser) -> None:
    (tmp_path / "one.txt").write_bytes(b"Anna Berg went to Paris .\r\n\r\nthen Carl .")
    (tmp_path / "two.txt").write_text("\ufeffDora saw Rome .", encoding="utf-8")
    (tmp_path / "broken.txt").write_bytes(b"caf\xe9")
    page.set_input_files("#files", [tmp_path / "one.txt", tmp_path / "two.txt"])
    finished(page)
    assert page.locator("#document option").all_inner_texts() == ["one.txt", "two.txt"]
    assert [name for name, _ in marks(page)] == [
        one.text for one in ner((tmp_path / "one.txt").read_bytes().decode())
    ]
    page.select_option("#document", label="two.txt")
    finished(page)
    expected = [(one.text, one.label) for one in ner("Dora saw Rome .")]
    assert expected
    assert marks(page) == expected
    documents = exported(page, "jsonl", tmp_path).read_text().splitlines()
    assert [json.loads(one)["id"] for one in documents] == ["one.txt", "two.txt"]
    assert len({one.doc for one in read(exported(page, "conll", tmp_path))}) == 2
    page.click("#again")
    transfer = page.evaluate_handle(
        """() => { const data = new DataTransfer();
           data.items.add(new File(["Carl went to Oslo ."], "three.txt", { type: "text/plain" }));
           return data; }"""
    )
    page.dispatch_event("main", "dragenter", {"dataTransfer": transfer})
    assert page.locator("#drop").is_visible()
    page.dispatch_event("main", "drop", {"dataTransfer": transfer})
    finished(page)
    assert page.locator("#drop").is_hidden()
    assert marks(page) == [("Carl", "PER"), ("Oslo", "LOC")]
    page.click("#again")
    page.set_input_files("#files", tmp_path / "broken.txt")
    page.wait_for_selector("#failure >> text=broken.txt is no UTF-8 text")
    assert page.locator("#start").is_visible()


def test_text_is_never_html(page: Any, tmp_path: Path, ner: Recogniser) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda one: (dialogs.append(one.message), one.dismiss()))
    hostile = (
        "<script>alert(1)</script> <img src=x onerror=alert(2)> &lt;b&gt; Anna Berg <b>in</b> Oslo .\n\n"
        "שלום Carl בירושלים . \u202eAnna Berg\u202c went to Rome 👩‍👩‍👧 .\n\n</textarea></main>"
    )
    find(page, hostile)
    assert page.evaluate("document.querySelector('#view').textContent") == hostile
    assert page.locator("#view script, #view img, #view b").count() == 0
    select(page, "<img src=x onerror=alert(2)>")
    page.locator(".offer .chip", has_text="PER").click()
    page.click("#tab-names")
    assert page.locator("#table .name", has_text="<img src=x onerror=alert(2)>").count() == 1
    assert page.locator("main img").count() == 0
    page.locator("#table tr", has_text="<img").get_by_text("Why?").click()
    page.wait_for_selector("#origin-answer h3 >> text=<img src=x onerror=alert(2)>")
    found = [(one["start"], one["end"], one["label"]) for one in spans(page, tmp_path)]
    model = [(one.start, one.end, one.label) for one in ner(hostile)]
    start = hostile.index("<img")
    assert set(model) - set(found) <= {one for one in model if one[0] < start + 29 and one[1] > start}
    assert dialogs == []


def test_a_name_of_a_file_is_never_html(page: Any, tmp_path: Path) -> None:
    for name in ("<img src=x onerror=alert(1)>.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"\xff" if name == "b.txt" else b"Anna")
    page.set_input_files("#files", [tmp_path / "<img src=x onerror=alert(1)>.txt", tmp_path / "b.txt"])
    page.wait_for_selector("#failure >> text=b.txt")
    assert page.locator("main img").count() == 0


def test_a_long_text(page: Any, tmp_path: Path, ner: Recogniser) -> None:
    """One megabyte: stopped, continued, and fluid because only what is near the screen has entities."""
    paragraph = "Anna Berg went to Paris . " + "antidisestablishmentarianism " * 60 + "\n\n"
    text = paragraph * (1_000_000 // len(paragraph) + 1) + "at last Dora saw Rome ."
    (tmp_path / "long.txt").write_text(text)
    page.set_input_files("#files", tmp_path / "long.txt")
    page.wait_for_selector("#view .entity")
    page.click("#stop")
    page.wait_for_selector("#continue")
    read_so_far = page.evaluate("document.querySelector('#progress').value")
    assert 0 < read_so_far < 1
    mark(page, "Paris").click()
    page.click("#editor-delete")  # corrections of what was read stay
    page.click("#continue")
    finished(page)
    expected = [one.as_dict() for one in ner(text) if one.start != text.index("Paris")]
    assert f"{len(expected):,} entities in {len(text):,} characters" in page.inner_text("#summary")
    assert page.locator("#view .entity").count() < 200
    assert page.evaluate("document.querySelector('#view').textContent.length") == len(text)
    page.fill("#filter", "Rome")
    page.locator("#table .name", has_text="Rome").click()
    assert page.evaluate("document.activeElement.textContent") == "Rome"
    assert mark(page, "Rome").bounding_box()["y"] < 800
    assert spans(page, tmp_path) == expected


def test_a_token_is_asked_for_and_a_busy_service_asked_again(
    open_page: Callable[..., Any], guarded: Server, ner: Recogniser, tmp_path: Path
) -> None:
    page = open_page(guarded.first["url"])
    assert page.locator("#token").is_visible()
    page.fill("#token-value", "wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#token-note >> text=does not accept this token")
    page.fill("#token-value", TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#token", state="hidden")
    answers = []
    page.on("response", lambda one: answers.append(one.status) if "/predict" in one.url else None)
    text = TEXT * 80  # several requests at a time, of which the service takes one
    find(page, text)
    assert 503 in answers
    page.reload(wait_until="networkidle")
    assert page.locator("#token").is_hidden()  # the token is kept for the tab
    assert page.locator("#model option").all_inner_texts() == ["news", "bare"]
    page.select_option("#model", "bare")
    find(page, text)
    assert spans(page, tmp_path) == [one.as_dict() for one in ner(text)]
    assert page.locator("#table").get_by_text("Why?").count() == 0
    page.click("#tab-origin")
    page.fill("#origin-name", "Carl")
    page.keyboard.press("Enter")
    page.wait_for_selector("#origin-answer >> text=This model has no training data and no audit beside it")
    assert "Carl" not in json.dumps(guarded.lines)


def test_without_a_token_the_page_says_so(open_page: Callable[..., Any], guarded: Server) -> None:
    page = open_page(guarded.first["url"])
    page.click("#token-cancel")
    page.wait_for_selector("#failure >> text=this needs a valid token")
    page.locator("#failure").get_by_text("Try again").click()
    page.wait_for_selector("#token")


def test_a_service_that_ends_is_reported_and_reading_continues(page: Any) -> None:
    page.route("**/predict", lambda route: route.abort())
    page.fill("#text", TEXT)
    page.click("#run")
    page.wait_for_selector("#failure >> text=The service cannot be reached")
    page.unroute("**/predict")
    page.click("#continue")
    finished(page)
    assert page.locator("#failure").is_hidden()
    assert ("Paris", "LOC") in marks(page)


def test_the_example_is_ours(page: Any) -> None:
    page.click("#example")
    finished(page)
    sample = (Path(roster.__file__).parent / "sample" / "news.txt").read_text()
    shown = page.evaluate("document.querySelector('#view').textContent")
    assert shown.split() == sample.split()[: len(shown.split())]
    assert len(shown) > 1000
