"""Chromium without a window, driven over a pipe by the DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-dev-shm-usage", "--disable-extensions", "--remote-debugging-pipe"),
)
READ, WRITE = 3, 4
"""The file descriptors from which Chromium takes commands and to which it writes answers."""


def found() -> str | None:
    """The browser of this machine, if it has one."""
    if os.name != "posix":  # where a process cannot be given pipes by their numbers
        return None
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser.

    Args:
        timeout: seconds for an answer, and for a condition to become true.
    """

    def __init__(self, timeout: float = 120):
        program = found()
        assert program is not None
        self._timeout = timeout
        self._folder = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        self.downloads = Path(self._folder.name) / "downloads"
        self.downloads.mkdir()
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()

        def pipes() -> None:
            # Moved up first: a pipe may have the number of the other's place.
            reading, writing = os.dup(commands), os.dup(answers)
            os.dup2(reading, READ)
            os.dup2(writing, WRITE)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self._folder.name}/profile", "about:blank"],
            preexec_fn=pipes,
            pass_fds=(READ, WRITE),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(commands)
        os.close(answers)
        self._buffer, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        pages = self.send("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._folder.cleanup()

    def send(self, method: str, **arguments: Any) -> dict[str, Any]:
        """The result of a command; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], self._timeout)
            more = os.read(self._answers, 1 << 20) if ready else b""
            if not more:
                raise TimeoutError("the browser does not answer")
            self._buffer += more
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression, awaited if it is a promise."""
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def wait(self, condition: str) -> None:
        """Returns when a JavaScript expression is true."""
        end = time.monotonic() + self._timeout
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < end, condition
            time.sleep(0.02)

    def open(self, address: str) -> None:
        """Opens an address and waits until it is loaded."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def screen(self, width: int, height: int, *, dark: bool = False, mobile: bool = False) -> None:
        """Sets the size of the screen and the colours that the user prefers."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def press(self, key: str, code: int = 0, text: str = "") -> None:
        """Presses and releases a key."""
        about: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, **about)

    def type(self, text: str) -> None:
        """Types into what has the focus."""
        self.send("Input.insertText", text=text)

    def picture(self, path: Path) -> None:
        """Writes what the screen shows to a PNG file."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.send("Page.printToPDF")["data"])
