"""The web pages in a real browser, served by a real `roster serve` process with a small model.

`run` is a finished run with its data set and its audit; it is made once, also where several workers test.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import roster
from roster.corpus.sentence import Sentence
from tests.served import Server

REPOSITORY = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"]
PICTURES = "ROSTER_TEST_PICTURES"
TOKEN = "0123456789abcdefXYZ"
DICTIONARY = """\
surface\ttype
Anna\tPER
Berg\tPER
Carl\tPER
Dora\tPER
Paris\tLOC
Bonn\tLOC
Rome\tLOC
Oslo\tLOC
Anna Berg\tPER
"""
TRAINING = """\
method = "roster"
seed = 5
[backbone]
name = "{backbone}"
max_length = 24
[optimiser]
batch_size = 8
device = "cpu"
[noise_robust]
epochs = 12
learning_rate = 5e-3
update_every = 20
[ensemble]
models = 2
epochs = 8
learning_rate = 5e-3
[self_training]
epochs = 1
learning_rate = 1e-4
update_every = 5
"""


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """No network, no GPU, one thread, and a Hugging Face cache of its own."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("ROSTER_")},
        "PYTHONPATH": str(REPOSITORY / "src"),
        "HF_HOME": str(tmp_path_factory.mktemp("hf")),
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


@pytest.fixture(scope="session")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder of the method roster with an audit; nothing may write to it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # the same for all workers
    made = folder / "browser-run"
    with FileLock(folder / "browser-run.lock"):
        if not (made / "audit").is_dir():
            _train(made, request.getfixturevalue("tiny"), request.getfixturevalue("toy"))
    return made


def _train(made: Path, backbone: Path, toy: list[Sentence]) -> None:
    inputs = made.with_name("browser-inputs")
    inputs.mkdir(exist_ok=True)
    (inputs / "news.txt").write_text("".join(f"{one.text}\n" for one in toy))
    (inputs / "names.tsv").write_text(DICTIONARY)
    (inputs / "config.toml").write_text(TRAINING.format(backbone=backbone))
    roster.label_file(inputs / "news.txt", inputs / "data", inputs / "names.tsv")
    roster.train(inputs / "data", made, config=inputs / "config.toml")
    roster.audit(made, output=made / "audit")


@pytest.fixture(scope="session")
def served(run: Path, environment: dict[str, str]) -> Iterator[Server]:
    """The model of `run`, called news, without a token."""
    server = Server(environment, f"news={run}", "--device", "cpu")
    yield server
    assert server.stop() == 0, server.errors


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser of Playwright. (For one file only: while it is open, no other event loop can run.)"""
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"there is no Chromium on this machine ({', '.join(NAMES)})")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address in a new window. At the end of the test, no page may have had an error, a violation of
    its policy, or a request to another server."""
    contexts, wrong = [], []

    def opened(address: str, path: str = "/", *, wait: bool = True, **options: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if _is_error(message) else None)
        page.on(
            "request",
            lambda one: None if one.url.startswith((address, "blob:", "data:")) else wrong.append(one.url),
        )
        page.goto(address + path, wait_until="networkidle" if wait else "load")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def _is_error(message: Any) -> bool:
    # A failed request is an answer that the page handles; the browser notes it all the same.
    return message.type == "error" and not message.text.startswith("Failed to load resource")


@pytest.fixture
def page(open_page: Callable[..., Any], served: Server) -> Any:
    """The page `/` of `served`."""
    return open_page(served.first["url"])


@pytest.fixture
def pictures() -> Path:
    """The run folder with which pictures of the docs are made; without it the test is skipped."""
    if PICTURES not in os.environ:
        pytest.skip(f"pictures of the docs are made with {PICTURES}=RUN")
    return Path(os.environ[PICTURES])
