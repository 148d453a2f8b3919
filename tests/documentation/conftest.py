"""What the pages find in their scratch folders."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from manual.repository import ROOT
from tests.documentation.pages import TABLE, Page, shim
from tests.integration.conftest import (  # noqa: F401
    Roster,
    backbone,
    environment,
    make_sentences,
    roster,
)

PEOPLE, PLACES = ("Ada", "Boris", "Clara", "Dmitri", "Elena"), ("Oslo", "Lima", "Cairo", "Quito")


@pytest.fixture(scope="session")
def given(backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:  # noqa: F811
    """What the names in capitals of pages.toml stand for: a tiny encoder, and gold sentences."""
    folder = tmp_path_factory.mktemp("given")
    texts, tags = make_sentences(90, 2)
    lines = [f"{word}\t{tag}\n" for text, of in zip(texts, tags, strict=True)
             for word, tag in [*zip(text.split(), of.split(), strict=True), ("", "")]]  # fmt: skip
    (folder / "gold.conll").write_text("".join(lines).replace("\n\t\n", "\n\n"), encoding="utf-8")
    return {"TINY": str(backbone), "GOLD": str(folder / "gold.conll")}


@pytest.fixture(scope="session")
def shims(roster: Roster, given: dict[str, str]) -> Iterator[Path]:  # noqa: F811
    with shim(roster, given) as folder:
        yield folder


@pytest.fixture(scope="session")
def stock(
    shims: Path,
    environment: dict[str, str],
    given: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,  # noqa: F811
) -> Path:
    """A folder with the files that pages are given by name: text, names, gold sentences, a run and its export."""
    folder = tmp_path_factory.mktemp("stock")
    texts, _ = make_sentences(60, 1)
    (folder / "news.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    shutil.copy(given["GOLD"], folder / "gold.conll")
    people, places = (
        [f"{name}\t{kind}\n" for name in names] for names, kind in ((PEOPLE, "PER"), (PLACES, "LOC"))
    )
    for name, entries in {"people": people, "places": places, "names": people + places}.items():
        (folder / f"{name}.tsv").write_text("".join(entries), encoding="utf-8")
    page = Page("", folder, shims, environment, given)
    for line in TABLE["stock"]["shell"]:
        page.bash(line, "pages.toml, [stock]")
    return folder


@pytest.fixture
def page(
    stock: Path,
    shims: Path,
    environment: dict[str, str],
    given: dict[str, str],
    tmp_path: Path,
    monkeypatch: Any,  # noqa: F811
) -> Callable[[str], Page]:
    """A page with its scratch folder. Python trainings get what `roster train` gets."""
    import roster as package
    import roster.api.estimator

    def quick(dataset: Any, run: Any, **settings: Any) -> Any:
        pairs = [item.split("=", 1) for item in TABLE["add"]["train roster"] if "=" in item]
        overrides = {name: {"true": True, "false": False}.get(value, value) for name, value in pairs}
        numbers = {
            name: float(value) if isinstance(value, str) else value for name, value in overrides.items()
        }
        settings.setdefault("backbone", given["TINY"])
        if "train_on" in current:
            dataset = str(tmp_path / current["train_on"])
        return train(dataset, run, **settings, overrides=numbers)

    from roster.api.training import train

    monkeypatch.setattr(package, "train", quick, raising=False)
    monkeypatch.setattr(roster.api.estimator, "train", quick)

    current: dict[str, Any] = {}

    def open_page(name: str) -> Page:
        opened = Page(name, tmp_path, shims, environment, given)
        current.update(opened.settings)
        for file in opened.settings.get("files", []):
            source = stock / file
            file = opened.settings.get("rename", {}).get(file, file)
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, tmp_path / file)
            else:
                shutil.copy(source, tmp_path / file)
        for file in ("examples", "src", "Makefile"):
            (tmp_path / file).symlink_to(ROOT / file)
        return opened

    return open_page
