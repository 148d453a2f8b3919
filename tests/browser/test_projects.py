"""The page `/projects` in a browser: every step, and the path of somebody who has nothing but the page."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import roster
from roster.corpus.sentence import Sentence
from roster.projects.project import Projects, Round
from roster.projects.uploads import take
from tests.browser.conftest import DICTIONARY
from tests.integration.conftest import PEOPLE, PLACES, make_sentences
from tests.served import Server

REPOSITORY = Path(__file__).parents[2]
NAMES = "".join(f"{name}\tPER\n" for name in PEOPLE[:6]) + "".join(f"{name}\tLOC\n" for name in PLACES[:6])
PHONE = {"viewport": {"width": 390, "height": 800}}


@pytest.fixture(scope="module")
def folder(run: Path, toy: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the project `ready`: labelled, trained and audited."""
    texts = "".join(f"{one.text}\n" for one in toy)
    return project_of(run, tmp_path_factory.mktemp("browser") / "projects", texts, DICTIONARY)


def project_of(run: Path, folder: Path, texts: str, names: str, name: str = "ready") -> Path:
    """A project with a finished run, and the texts and names that it was made from."""
    projects = Projects(folder)
    project = projects.create(name)
    shutil.copytree(json.loads((run / "results.json").read_text())["data"]["path"], project.data(1))
    shutil.copytree(run, project.run(1), ignore=shutil.ignore_patterns("review"))
    project.state.rounds.append(Round(1, training={"minutes": None, "backbone": None, "gold": False}))
    for kind, file, content in (("texts", "news.txt", texts), ("names", "names.tsv", names)):
        part = folder / file
        part.write_text(content)
        suffix, facts = take(kind, part, file, number=project.reserve(), unpacked=10**6)  # type: ignore[arg-type]
        project.add(project.reserve(), kind, file, suffix, part, facts)  # type: ignore[arg-type]
    project.state.rounds[0].sources = project.sources
    project.save()
    projects.close()
    return folder


@pytest.fixture(scope="module")
def service(folder: Path, environment: dict[str, str]) -> Iterator[Server]:
    server = Server(
        {**environment, "ROSTER_CHECKPOINT_SECONDS": "2"}, "--projects", folder, "--device", "cpu"
    )
    yield server
    assert server.stop() == 0, server.errors
    assert [line for line in server.lines if line["event"] == "error"] == []


@pytest.fixture
def projects(open_page: Callable[..., Any], service: Server) -> Callable[..., Any]:
    """Opens the page at a project."""
    return lambda at="", **options: open_page(service.first["url"], f"/projects{at}", wait=False, **options)


def accessible(page: Any) -> None:
    """No violation of the rules of axe, and nothing wider than the window."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def badge(page: Any, step: str, text: str) -> None:
    page.locator(f"#badge-{step}", has_text=text).wait_for(timeout=600_000)


def test_from_nothing_to_a_model(projects: Callable[..., Any], tmp_path: Path) -> None:
    """Nothing but the page: text and names, label, train with a stop, audit, review, download; then the model
    is loaded."""
    (tmp_path / "news.txt").write_text("\n".join(make_sentences(60, 1)[0]) + "\n")
    (tmp_path / "names.tsv").write_text(NAMES)
    page = projects()
    page.fill("#create-name", "stranger")
    page.keyboard.press("Enter")
    page.locator("#project-title", has_text="stranger").wait_for()
    accessible(page)
    page.set_input_files("#add-texts", tmp_path / "news.txt")
    badge(page, "text", "60 sentences")
    page.set_input_files("#add-names", tmp_path / "names.tsv")
    badge(page, "names", "12 names")
    page.click("#run-label button")
    badge(page, "label", "done")
    assert "labels" in page.inner_text("#labels")
    page.select_option("#minutes", "0.2")
    page.click("#run-train button")
    page.locator("#run-train b", has_text="Training model 1").wait_for()
    page.click("#run-train button:has-text('Stop')")
    page.locator("#run-train", has_text="It can go on").wait_for()
    page.click("#run-train button:has-text('Go on')")
    badge(page, "train", "done")
    assert page.locator("#training .chart").count() == 1
    page.click("#run-audit button")
    page.locator("#audit table").first.wait_for(timeout=600_000)
    page.click("#run-review button")
    page.locator("#run-review a").wait_for(timeout=600_000)
    page.click("#run-review a")
    page.locator("#question", has_text="?").wait_for()
    accessible(page)
    for _ in range(4):
        answer(page, "a" if page.locator("#sentence .asked").count() else "Enter")
    page.keyboard.press("q")
    page.locator("#run-review", has_text="Go on with the review").wait_for()
    accessible(page)
    with page.expect_download() as begun:
        page.click("text=Download the model")
    assert begun.value.suggested_filename == "stranger-model.zip"
    with zipfile.ZipFile(begun.value.path()) as packed:
        packed.extractall(tmp_path)
    found = roster.load(tmp_path / "stranger-model")("Mr Ada lives in Oslo .")
    assert ("Oslo", "LOC") in [(one.text, one.label) for one in found]
    page.click("text=Try the model")
    page.wait_for_url("**/?model=stranger")
    page.fill("#text", "Mr Ada lives in Oslo .")
    page.click("#run")
    page.locator(".entity", has_text="Oslo").wait_for()


def answer(page: Any, key: str) -> None:
    """Presses a key, and waits until the service has answered."""
    before = int(page.get_attribute("#question-card", "data-turn") or 0)
    page.keyboard.press(key)
    page.locator(f"#question-card[data-turn='{before + 1}']").wait_for()


def test_every_answer(projects: Callable[..., Any], folder: Path) -> None:
    """Keys and mouse; answers are on the disk, and the estimate grows narrower."""
    page = projects("#ready")
    page.locator("#run-review .button").click()
    page.click("#run-review a")
    page.locator("#question", has_text="?").wait_for()
    answers = folder / "ready" / "rounds" / "1" / "run" / "review" / "answers.jsonl"

    def last() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(answers.read_text().splitlines()[-1])
        return found

    def to_name() -> None:
        while not page.locator("#sentence .asked").count():
            answer(page, "Enter")

    to_name()
    label = page.get_attribute("#sentence .asked", "data-label")
    page.click(".answer:has-text('Wrong type')")
    other = next(one for one in ("PER", "LOC") if one != label)
    answer(
        page,
        str(["LOC", "PER"].index(other) + 1)
        if page.locator(f".answer:has-text('{other}') kbd").inner_text() != "1"
        else "1",
    )
    assert (last()["verdict"], last()["label"]) == ("type", other)
    answer(page, "u")
    assert last() == {"undo": True}
    to_name()
    answer(page, "n")
    assert last()["verdict"] == "no name"
    to_name()
    page.keyboard.press("b")
    asked = page.locator(".word.chosen").count()
    page.keyboard.press("Shift+ArrowRight")
    if page.locator(".word.chosen").count() == asked:  # the name ends the sentence
        page.locator(".word").first.click(modifiers=["Shift"])
    answer(page, "1")
    message = page.locator("#failure-review")
    assert last()["verdict"] == "border" or message.is_visible()
    if message.is_visible():
        page.keyboard.press("Escape")
    while page.locator("#sentence .asked").count():
        answer(page, "r")
    page.click(".answer:has-text('A name is missing')")
    first = page.locator(".word").first
    first.click()
    accessible(page)
    answer(page, page.locator(".answer:has-text('PER') kbd").inner_text())
    if message.is_visible():  # the first word is a name already
        page.keyboard.press("Escape")
    widths = []
    for _ in range(60):
        answer(page, "a" if page.locator("#sentence .asked").count() else "Enter")
        if (shown := re.search(r"± ([\d.]+)", page.inner_text("#estimate-now"))) and "." in shown[1]:
            widths.append(float(shown[1]))
    assert len(widths) > 20
    assert widths[-1] < widths[0]
    assert page.locator("#estimate .chart").count() == 2
    count = page.inner_text("#question-count")
    page.reload()
    page.locator("#question", has_text="?").wait_for()
    assert page.inner_text("#question-count").split(",")[0] == count.split(",")[0]


def test_wrong_files(projects: Callable[..., Any], tmp_path: Path) -> None:
    """The errors of the readers with file and line, as text whatever the file is called."""
    page = projects()
    page.fill("#create-name", "wrong")
    page.click("#create button")
    page.locator("#project-title", has_text="wrong").wait_for()
    evil = "<img src=x onerror=alert(1)>.txt"
    page.set_input_files(
        "#add-texts", {"name": evil, "mimeType": "text/plain", "buffer": b"Fine.\nNot \xff UTF-8\n"}
    )
    page.locator("#failure-texts", has_text="line 2").wait_for()
    assert evil.replace("/", "") in page.inner_text("#failure-texts")
    assert page.locator("main img").count() == 0
    page.set_input_files(
        "#add-texts", {"name": evil, "mimeType": "text/plain", "buffer": b"Ada went to Oslo.\n"}
    )
    page.locator(".file-name", has_text=evil).wait_for()
    assert page.locator("#failure-texts").is_hidden()
    page.click("text=Paste names")
    page.fill("#paste-names", "Ada\tPER\nOslo\n")
    page.click("#paste-names-add")
    page.locator("#failure-names", has_text="line 2").wait_for()
    page.fill("#names-type", "PER")
    page.fill("#paste-names", "Ada\nBoris\n")
    page.click("#paste-names-add")
    page.locator("#files-names", has_text="2 names: PER 2").wait_for()
    page.click("#files-names button")
    page.locator("#files-names .file").wait_for(state="detached")
    page.click("#delete")
    page.click("#confirm button[value=yes]")
    page.locator("#projects li").first.wait_for()
    assert "wrong" not in page.locator(".project-name").all_inner_texts()


def test_changes_are_accepted(projects: Callable[..., Any], service: Server, folder: Path) -> None:
    """The patch of the audit becomes a file of the project, the text is labelled again, the model stays."""
    patch = folder / "ready" / "rounds" / "1" / "run" / "audit" / "patch.tsv"
    patch.write_text("add\tBoris\tPER\nremove\tAnna Berg\tPER\n")
    page = projects("#ready")
    page.click("#audit summary")
    assert "Anna Berg" in page.inner_text("#audit")
    page.click("#audit button:has-text('Accept')")
    page.locator("#files-names", has_text="changes from the audit").wait_for()
    page.locator("#run-label button:has-text('Label again')").wait_for()
    badge(page, "label", "done")
    assert "Of training" not in page.inner_text("#report")
    assert service.ask("/api/projects/ready")[1]["best"] == 1
    assert service.ask("/api/projects/ready")[1]["round"] == 2
    tab = None
    with page.context.expect_page() as opened:
        page.click("text=Open the audit")
    tab = opened.value
    tab.wait_for_url("**/download/audit.html*")
    assert tab.locator("table").count() > 0
    assert tab.evaluate("origin") == "null"  # its scripts cannot reach the service


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_small_windows(projects: Callable[..., Any], scheme: str) -> None:
    page = projects("#ready", color_scheme=scheme, **PHONE)
    page.locator("#audit table").first.wait_for()
    accessible(page)
    page.goto(page.url.partition("#")[0])
    page.locator("#projects li").first.wait_for()
    accessible(page)


def test_pictures(
    pictures: Path, environment: dict[str, str], open_page: Callable[..., Any], tmp_path: Path
) -> None:
    """The pictures of docs/web.md, from a run of the bundled sample with its audit."""
    images = REPOSITORY / "docs" / "images"
    sample = REPOSITORY / "src" / "roster" / "sample"
    texts, names = (sample / "news.txt").read_text(), (sample / "dictionary.tsv").read_text()
    folder = project_of(pictures, tmp_path / "projects", texts, names, "press-2024")
    server = Server(environment, "--projects", folder, "--device", "cpu")
    page = open_page(server.first["url"], "/projects#press-2024", wait=False)
    page.locator("#audit table").first.wait_for()
    page.click("#labels summary")
    page.evaluate("scrollTo(0, 0)")
    page.set_viewport_size({"width": 1280, "height": 1080})
    page.screenshot(path=images / "web-steps.png")
    page.set_viewport_size({"width": 1280, "height": 860})
    page.evaluate("document.querySelector('#step-look').scrollIntoView()")
    page.screenshot(path=images / "web-look.png")
    page.click("#run-review button")
    page.locator("#run-review a").wait_for(timeout=600_000)
    page.click("#run-review a")
    page.locator("#question", has_text="?").wait_for()
    for turn in range(55):  # some names are called wrong, so that the picture has an interval worth seeing
        asked = page.locator("#sentence .asked").count()
        answer(page, "n" if asked and turn % 5 == 0 else "a" if asked else "Enter")
    while not page.locator("#sentence .asked").count():
        answer(page, "Enter")
    page.set_viewport_size({"width": 1180, "height": 640})
    page.screenshot(path=images / "web-review.png")
    server.stop()
    for name in ("steps", "look", "review"):
        assert (images / f"web-{name}.png").stat().st_size < 300_000
