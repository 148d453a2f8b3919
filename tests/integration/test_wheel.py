"""The wheel: everything that is needed in it, nothing else, and at work in an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import roster as package
from roster.config import to_toml
from roster.methods.request import load_config

REPOSITORY = Path(__file__).parents[2]
BUNDLED = "roster/backbone/bundled/roster-small-en-2"


def run(*command: str | Path, cwd: Path) -> str:
    """Away from this checkout: nothing may be found by way of its path."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, env=env)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what git knows, or would add."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=REPOSITORY,
                            capture_output=True, text=True)  # fmt: skip
    if listed.returncode:
        pytest.skip("the wheel is built from a git checkout, and this is none")
    copy = tmp_path_factory.mktemp("wheel") / "copy"
    for name in filter(None, listed.stdout.split("\0")):
        if (REPOSITORY / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, copy / name)
    out = copy.with_name("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", out, cwd=copy)
    (built,) = out.glob("*.whl")
    return built


def test_contents(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    roots = {name.split("/")[0] for name in names}
    assert roots == {"roster", f"roster_ner-{package.__version__}.dist-info"}
    assert not [name for name in names if "test" in name or "__pycache__" in name or name.endswith(".pyc")]
    # All of the source tree, and with it what is easily forgotten because it is not Python.
    source = wheel.parents[1] / "copy" / "src"
    files = {p.relative_to(source).as_posix() for p in source.rglob("*") if p.is_file()}
    assert files == {name for name in names if name.startswith("roster/")}
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors", "README.md"):
        assert f"{BUNDLED}/{file}" in names
    for file in ("news.txt", "gold.jsonl", "dictionary.tsv", "README.md"):
        assert f"roster/sample/{file}" in names
    assert {"roster/py.typed", "roster/presets/paper-wikigold.toml"} <= names
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment with the wheel, and the dependencies of this one behind it."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", place, cwd=place.parent)
    python = place / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-deps", "--no-index", "--disable-pip-version-check", wheel,
        cwd=place.parent)  # fmt: skip
    site = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place.parent
    ).strip()
    # A path file is searched after the environment's own packages: our wheel comes first.
    (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin"


def test_the_command(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "roster", "--version", cwd=tmp_path) == f"roster {package.__version__}\n"
    assert "evaluate" in run(installed / "roster", "--help", cwd=tmp_path)
    printed = run(installed / "roster", "train", "--print-config", "--preset", "paper-wikigold", cwd=tmp_path)
    assert 'name = "roster-small-en-2"' in printed
    assert printed == to_toml(load_config(preset="paper-wikigold"))


def test_the_bundled_files(installed: Path, tmp_path: Path) -> None:
    """All of one process, and all from the wheel's own copy."""
    code = """
import json
from importlib import resources
from pathlib import Path
import roster
from roster.backbone.loading import load_encoder, load_tokenizer, resolve
from roster.corpus.io import read
from roster.distant.entries import read_entries
from roster.distant.kb.classes import load_classes
from roster.distant.matching.patterns import builtin_patterns
from roster.distant.policy.policies import STOP_WORDS
sample = Path(str(resources.files("roster") / "sample"))
encoder, tokenizer = load_encoder("roster-small-en-2"), load_tokenizer("roster-small-en-2")
print(json.dumps({
    "file": roster.__file__,
    "backbone": resolve("roster-small-en-2"),
    "vocabulary": len(tokenizer) == encoder.config.vocab_size,
    "news": sum(1 for _ in read(sample / "news.txt", "text")),
    "gold": sum(1 for _ in read(sample / "gold.jsonl")),
    "names": sum(map(len, read_entries(sample / "dictionary.tsv"))),
    "patterns": len(builtin_patterns(["DATE"])),
    "roots": len(load_classes("ontonotes").roots),
    "stop_words": len(STOP_WORDS["english"]),
}))
"""
    found = json.loads(run(installed / "python", "-c", code, cwd=tmp_path))
    for path in (found["file"], found["backbone"]):
        assert Path(path).is_relative_to(installed.parent)
    assert found["vocabulary"]
    assert found["news"] >= 600
    assert found["gold"] >= 200
    assert found["names"] >= 500
    assert min(found["patterns"], found["roots"], found["stop_words"]) > 5
