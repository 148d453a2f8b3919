"""The page of a run: whole, self-contained, and nothing in it but text from what a run holds."""

from __future__ import annotations

import json
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import roster
from roster.errors import DataError, RunError
from roster.infer.calibration import Calibration, Fit, Reliability, save_calibration
from roster.reporting.facts import read_run
from roster.training.run import PREDICTIONS
from tests.unit.reporting.strange import LOC, PER, add_facts

VOID = {"meta", "br", "link", "path", "use", "rect", "line"}
EVERYWHERE = {"entities", "examples", "losses", "config", "cost", "scores", "confusion"}


class Page(HTMLParser):
    """Elements, ids, links and text; a tag that is closed out of turn is an error."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "td":
            self.text.append(" ")
        values = dict(attributes)
        self.ids += [i for i in [values.get("id")] if i]
        for name, value in attributes:
            if name in ("href", "src", "xlink:href") and value:
                self.links.append(value)
            self.links += re.findall(r"url\((.*?)\)", value or "") if name != "content" else []
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join("".join(self.text).split())


@pytest.fixture(scope="module")
def full(run: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run with all that a run can keep."""
    copy = shutil.copytree(run, tmp_path_factory.mktemp("full") / run.name)
    add_facts(copy, data)
    return copy


@pytest.fixture(scope="module")
def page(full: Path) -> Page:
    path = roster.report(full)
    assert path == full / "report.html"
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def test_all_sections(page: Page) -> None:
    assert {*EVERYWHERE, "estimate", "kept", "agreement", "calibration"} <= set(page.ids)
    for words in ("Quality.", "Warnings.", "Next.", PER, LOC, "Agreement of the members", "method = "):
        assert words in page.words


def test_nothing_is_markup_but_ours(page: Page) -> None:
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert "<script>alert('Anna')</script>" in page.words
    assert "<run> & \U0001f600" in page.words
    assert "أوسلو" in page.words


def test_estimates_and_calibration_are_told_with_their_errors(page: Page) -> None:
    assert f"{PER} 0.500 0.100 15" in page.words
    assert "expected calibration error" in page.words
    assert "by cross-fitting" in page.words


def test_a_calibrated_model(run: Path, page: Page, tmp_path: Path) -> None:
    """The report tells of the calibration that the model has, with true labels at hand or without."""
    assert "Scores are not calibrated" in page.words
    fit = Fit(Calibration(0.5, -1.0), 1234, Reliability(0.211, 0.19), Reliability(0.042, 0.12))
    with_labels, without = shutil.copytree(run, tmp_path / "run"), earlier(run, tmp_path)
    for folder in (with_labels, without):
        save_calibration(folder / "model", fit)
        found = Page(roster.report(folder, tmp_path / "page.html").read_text(encoding="utf-8"))
        assert "fitted it to 1,234 entities" in found.words
        assert "expected calibration error 0.211 0.042" in found.words
        assert "not calibrated" not in found.words
        assert found.ids.count("calibration") == 1
        assert ("mean score without calibration" in found.words) == (folder == with_labels)


def test_it_is_self_contained(page: Page) -> None:
    assert page.links
    for link in page.links:
        assert link.startswith("#")
        assert link[1:] in page.ids
    assert not {"img", "link", "iframe"} & set(page.tags)


def test_ids_are_unique(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))


def test_charts_have_text_and_alternatives(full: Path, page: Page) -> None:
    html = (full / "report.html").read_text(encoding="utf-8")
    drawings = re.findall(r"<svg .*?</svg>", html, re.S)
    assert len(drawings) == page.tags.count("svg") >= 5
    for drawing in drawings:
        assert 'role="img" aria-label="Chart: ' in drawing
        assert "<text" in drawing
        assert "var(--s0)" in drawing
        assert not re.findall(r"#[0-9a-f]{6}", drawing)
    assert page.tags.count("figure") == len(drawings) == html.count("<summary>As a table")


def test_without_matplotlib_there_are_tables(
    full: Path, tmp_path: Path, no_matplotlib: None, page: Page
) -> None:
    found = Page(roster.report(full, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "svg" not in found.tags
    assert 'pip install "roster-ner[figures]"' in found.words
    assert found.tags.count("table") == page.tags.count("table")


def earlier(run: Path, folder: Path) -> Path:
    """The run as an earlier version left it: without predictions, and without the place of its data."""
    copy = shutil.copytree(run, folder / "earlier")
    (copy / PREDICTIONS).unlink()
    results = json.loads((copy / "results.json").read_text())
    del results["data"]
    (copy / "results.json").write_text(json.dumps(results))
    return copy


def test_a_run_that_kept_less(run: Path, data: Path, tmp_path: Path) -> None:
    """The model reads the text again; sections without facts are not there."""
    old = earlier(run, tmp_path)
    found = Page(roster.report(old, tmp_path / "page.html", data=data).read_text(encoding="utf-8"))
    assert set(found.ids) >= EVERYWHERE
    assert "Agreement of the members" not in found.words
    assert "The model finds an entity where there is no label" in found.words


def test_a_run_without_its_data(run: Path, tmp_path: Path) -> None:
    found = Page(roster.report(earlier(run, tmp_path), tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "No examples: the run did not note where its data set lies; name it with --data" in found.words
    assert {"confusion", "calibration"}.isdisjoint(found.ids)
    assert "scores" in found.ids


def test_gold_sentences_of_the_user(run: Path, data: Path, tmp_path: Path) -> None:
    path = roster.report(run, tmp_path / "page.html", gold=data / "test.jsonl")
    found = Page(path.read_text(encoding="utf-8"))
    assert "Sentences: 60 (the given sentences)." in found.words
    (tmp_path / "raw.txt").write_text("no labels here\n")
    with pytest.raises(DataError, match="no labels"):
        roster.report(run, tmp_path / "page.html", gold=tmp_path / "raw.txt", format="text")


def test_data_that_was_changed(full: Path, data: Path, tmp_path: Path) -> None:
    copy, moved = shutil.copytree(full, tmp_path / "run"), shutil.copytree(data, tmp_path / "data")
    with (moved / "train.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"text": "more", "spans": []}\n')
    with pytest.raises(RunError, match="is not the data set of"):
        roster.report(copy, data=moved)
    results = (copy / "results.json").read_text()
    (copy / "results.json").write_text(results.replace(str(data), str(moved)))
    assert "was changed since the run" in read_run(copy).no_data
    shutil.rmtree(moved)
    assert "cannot be read" in read_run(copy).no_data


def test_folders_that_are_no_finished_run(full: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"has no results\.json"):
        read_run(tmp_path)
    copy = shutil.copytree(full, tmp_path / "run")
    (copy / PREDICTIONS).write_bytes(b"no tensors")
    with pytest.raises(RunError, match="damaged"):
        read_run(copy)
    shutil.rmtree(copy / "model")
    with pytest.raises(RunError, match="is not finished"):
        read_run(copy)


def test_a_report_that_fails_spares_the_training(
    run: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from roster.api.reporting import report_after_training
    from roster.corpus.dataset import load_dataset

    report_after_training(run / "nowhere", load_dataset(data), roster.load(run, "cpu"))
    assert "the model is finished, but its report could not be written" in caplog.text
