"""Checks of the dependencies that need no network: `python -m manual.dependencies`, part of `make lint`.

Every package that `pyproject.toml` needs, directly or through others, is pinned in `constraints.txt` at the
version that is installed, and has a licence that is known to be free. Known vulnerabilities are a question
for a database (see CONTRIBUTING.md).
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
OWN = "roster-ner"
NOT_INSTALLED = {"gliner", "atheris", "triton"}
"""Of extras that `make setup` leaves out, or that it puts elsewhere; with what they need."""
FREE = re.compile(
    r"apache|\bmit\b|bsd|\bisc\b|mpl|mozilla public|\bpsf\b|python software foundation|zlib|unlicense|"
    r"cc0|public domain|0bsd|hpnd|nvidia|blue ?oak",
    re.I,
)
"""Licences under which a package may be used and passed on. NVIDIA's are those of CUDA's libraries, which
come with torch and are not passed on by us."""
COPYLEFT = re.compile(r"(?<!l)\ba?gpl|general public", re.I)
KNOWN = {"axe-playwright-python": "MIT"}
"""Licences of packages whose metadata names none that can be read."""


def main() -> int:
    """Prints each problem on a line; 1 if there is any."""
    pinned = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    needed = required((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if "--licences" in sys.argv:
        for name, found in sorted(installed(needed).items()):
            print(f"{name:32} {found.version:16} {licence(found)}")
        return 0
    pins((ROOT / "constraints-min.txt").read_text(encoding="utf-8"))  # exact, too
    problems = list(check(needed, pinned))
    for problem in problems:
        print(f"dependencies: {problem}", file=sys.stderr)
    return 1 if problems else 0


def pins(text: str) -> dict[str, str]:
    """Version by package of a file of constraints.

    >>> pins("# exact\\nA_b==1.0\\nc==2 ; sys_platform == 'linux'\\n")
    {'a-b': '1.0', 'c': '2'}
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            one = Requirement(line.partition(" #")[0])
            exact = [pin.version for pin in one.specifier if pin.operator == "=="]
            if len(exact) != 1 or len(one.specifier) != 1:
                raise SystemExit(f"dependencies: {line} is no exact version; write {one.name}==VERSION")
            found[str(canonicalize_name(one.name))] = exact[0]
    return found


def required(project: str) -> list[Requirement]:
    """All requirements of a project, those of its extras and of its build included."""
    tree = tomllib.loads(project)
    extras: Mapping[str, list[str]] = tree["project"].get("optional-dependencies", {})
    lines = [*tree["project"]["dependencies"], *tree["build-system"]["requires"]]
    lines += [line for group in extras.values() for line in group]
    return [one for one in map(Requirement, lines) if canonicalize_name(one.name) != OWN]


def installed(needed: Iterable[Requirement]) -> dict[str, Distribution]:
    """The installed packages among those needed, with all that they need on this platform."""
    found: dict[str, Distribution] = {}
    waiting = list(needed)
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name in NOT_INSTALLED or name == OWN:
            continue
        new = name not in found
        if new:
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:
                continue
        if new or one.extras:
            waiting += _needs(found[name], one.extras)
    return found


def _needs(of: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    for line in of.requires or ():
        one = Requirement(line)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield one


def check(needed: Iterable[Requirement], pinned: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the packages, a line each."""
    needed = list(needed)
    found = installed(needed)
    for one in needed:
        name = canonicalize_name(one.name)
        if name not in pinned and name not in NOT_INSTALLED:
            yield f"{name} is in pyproject.toml and not in constraints.txt; add {name}==VERSION"
        elif name in pinned and not one.specifier.contains(pinned[name], prereleases=True):
            yield f"constraints.txt has {name}=={pinned[name]}, and pyproject.toml needs {one}"
        if name not in found and name not in NOT_INSTALLED and (one.marker is None or one.marker.evaluate()):
            yield f"{name} is not installed; run make setup"
    for package, there in sorted(found.items()):
        version = f"{package}=={there.version}"
        if package not in pinned:
            yield f"{version} is installed and not in constraints.txt; pin it there"
        elif pinned[package] != there.version.partition("+")[0]:
            yield f"{version} is installed, constraints.txt has {pinned[package]}; run make setup"
        if not is_free(licence(there)):
            yield f"{package} has the licence {licence(there)!r}, which is not known to be free ({__file__})"


def licence(of: Distribution) -> str:
    """The licence that the metadata of a package name."""
    fields = of.metadata
    named = KNOWN.get(canonicalize_name(fields["Name"]))
    classifiers = [one for one in fields.get_all("Classifier", []) if one.startswith("License")]
    short = next(filter(None, [named, fields["License-Expression"], *classifiers]), None)
    return short or " ".join((fields["License"] or "").split())[:80] or "none"


def is_free(name: str) -> bool:
    """
    >>> is_free("Apache-2.0"), is_free("MIT OR GPL-3.0"), is_free("AGPL-3.0"), is_free("none")
    (True, True, False, False)
    """
    choices = re.split(r" or ", name, flags=re.I)
    return any(FREE.search(one) and not COPYLEFT.search(one) for one in choices)


if __name__ == "__main__":
    sys.exit(main())
