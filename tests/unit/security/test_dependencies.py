"""The check of pins and licences finds what is missing, and nothing in this environment."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from manual.dependencies import check, installed, is_free, pins


def test_what_is_found() -> None:
    needed = [Requirement("pytest>=8")]
    exact = {name: one.version for name, one in installed(needed).items()}
    assert {"pytest", "pluggy", "iniconfig"} <= set(exact)
    assert list(check(needed, exact)) == []
    assert "pluggy" in " ".join(check(needed, {k: v for k, v in exact.items() if k != "pluggy"}))
    assert "run make setup" in " ".join(check(needed, {**exact, "pluggy": "0.1"}))
    assert "pyproject.toml needs pytest>=8" in " ".join(check(needed, {**exact, "pytest": "7.0"}))
    assert "is not installed" in " ".join(check([Requirement("no-such-package")], {"no-such-package": "1"}))


def test_pins_are_exact() -> None:
    assert pins("# a comment\nA_b==1.0\n") == {"a-b": "1.0"}
    for line in ("a>=1", "a", "a==1,<2"):
        with pytest.raises(SystemExit, match="is no exact version"):
            pins(line)


def test_licences() -> None:
    assert all(map(is_free, ("MIT License", "BSD-3-Clause", "MPL-2.0 AND MIT", "GPL-2.0 OR MIT")))
    assert not any(map(is_free, ("GPL-3.0-only", "AGPL-3.0", "Proprietary", "none", "")))
