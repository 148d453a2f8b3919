"""What the pages find in their folders."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import roster as package
import roster.api.estimator as estimator
from manual.repository import ROOT
from roster.api.training import train
from tests.documentation.pages import Page
from tests.documentation.shims import shim
from tests.documentation.table import TABLE
from tests.integration import conftest as integration
from tests.integration.conftest import Roster, make_sentences

backbone, environment, roster = integration.backbone, integration.environment, integration.roster

PEOPLE, PLACES = ("Ada", "Boris", "Clara", "Dmitri", "Elena"), ("Oslo", "Lima", "Cairo", "Quito")


@pytest.fixture(scope="session")
def given(backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the names in capitals of `pages.toml` stand for: a tiny encoder, and gold sentences."""
    file = tmp_path_factory.mktemp("given") / "gold.conll"
    with file.open("w", encoding="utf-8") as out:
        for text, tags in zip(*make_sentences(90, 2), strict=True):
            pairs = zip(text.split(), tags.split(), strict=True)
            out.write("".join(f"{word}\t{tag}\n" for word, tag in pairs) + "\n")
    return {"TINY": str(backbone), "GOLD": str(file)}


@pytest.fixture(scope="session")
def shims(roster: Roster, given: dict[str, str]) -> Iterator[Path]:
    with shim(roster, given) as folder:
        yield folder


@pytest.fixture(scope="session")
def stock(
    shims: Path, environment: dict[str, str], given: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with the files that pages are given by name: text, names, gold sentences, labels, a run."""
    folder = tmp_path_factory.mktemp("stock")
    texts, _ = make_sentences(60, 1)
    (folder / "news.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    shutil.copy(given["GOLD"], folder / "gold.conll")
    people, places = (
        [f"{name}\t{kind}\n" for name in names] for names, kind in ((PEOPLE, "PER"), (PLACES, "LOC"))
    )
    for name, entries in {"people": people, "places": places, "names": people + places}.items():
        (folder / f"{name}.tsv").write_text("".join(entries), encoding="utf-8")
    page = Page("", folder, shims, environment)
    for line in TABLE["stock"]["shell"]:
        page.bash(line, "pages.toml, [stock]")
    return folder


@pytest.fixture
def page(
    stock: Path, shims: Path, environment: dict[str, str], given: dict[str, str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str], Page]:  # fmt: skip
    """Opens a page in a folder of its own. Trainings from Python get what `roster train` gets."""
    opened: list[Page] = []

    def quick(dataset: Any, run: Any, **settings: Any) -> Any:
        (here,) = opened
        overrides = dict(part.split("=") for part in TABLE["add"]["train roster"] if "=" in part)
        settings.setdefault("backbone", given["TINY"])
        return train(here.environment.get("TRAIN_ON", dataset), run, **settings,
                     overrides={name: value(text) for name, text in overrides.items()})  # fmt: skip

    monkeypatch.setattr(package, "train", quick, raising=False)
    monkeypatch.setattr(estimator, "train", quick)

    def open_page(name: str) -> Page:
        opened.append(Page(name, tmp_path, shims, environment))
        settings = opened[0].settings
        for file in settings.get("files", []):
            source, target = stock / file, tmp_path / settings.get("rename", {}).get(file, file)
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
        for file in ("examples", "src", "Makefile"):
            (tmp_path / file).symlink_to(ROOT / file)
        return opened[0]

    return open_page


def value(text: str) -> Any:
    return {"true": True, "false": False}.get(text, float(text) if text[0].isdigit() else text)
