"""A function that runs after the import of a module."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from roster.after_import import after_import


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a package, not yet imported, with a module `inner`."""
    (tmp_path / "made_for_this").mkdir()
    (tmp_path / "made_for_this" / "__init__.py").touch()
    (tmp_path / "made_for_this" / "inner.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("made_for_this", "made_for_this.inner"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    return "made_for_this"


def test_before_and_after(package: str) -> None:
    seen = []
    finders = list(sys.meta_path)
    after_import(f"{package}.inner", lambda: seen.append(sys.modules[f"{package}.inner"].value))
    importlib.import_module(package)
    assert seen == []
    importlib.import_module(f"{package}.inner")
    assert seen == [3]
    assert sys.meta_path == finders
    after_import(f"{package}.inner", lambda: seen.append(4))
    assert seen == [3, 4]


def test_a_module_that_is_not_there(package: str) -> None:
    after_import(f"{package}.missing", lambda: pytest.fail("was called"))
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{package}.missing")
