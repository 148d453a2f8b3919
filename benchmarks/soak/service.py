"""The service as a process: its address, memory, metrics and end."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.soak.wire import Wire, head
from roster.progress import process_memory

START = "from roster.cli.main import entry; entry()"


class Service:
    """`roster serve` as a user starts it.

    Args:
        folder: the model.
        options: further arguments.
        log: a file for its output.
    """

    def __init__(self, folder: str, options: Sequence[str], log: Path):
        self._log, self._errors = log, log.with_suffix(".errors")
        with self._log.open("wb") as out, self._errors.open("wb") as errors:
            command = [sys.executable, "-P", "-c", START, "serve", folder, "--port", "0", *options]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)

    def address(self, seconds: float) -> tuple[str, int]:
        """Where it listens, as soon as it does.

        Raises:
            OSError: it ended.
            TimeoutError: it does not listen in time.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            first, newline, _ = self._log.read_text(encoding="utf-8").partition("\n")
            if newline:
                host, _, port = json.loads(first)["url"].removeprefix("http://").rpartition(":")
                return host, int(port)
            if self.process.poll() is not None:
                raise OSError(f"ended with code {self.process.returncode}: {self.errors()}")
            time.sleep(0.05)
        raise TimeoutError

    @property
    def memory(self) -> int:
        """Resident memory in bytes."""
        return process_memory("VmRSS", str(self.process.pid))

    @property
    def files(self) -> int:
        """Open files."""
        try:
            return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))
        except OSError:
            return 0

    def errors(self) -> str:
        """What it wrote to standard error."""
        return self._errors.read_text(encoding="utf-8", errors="replace").strip()[-500:]

    def events(self) -> list[dict[str, Any]]:
        """All lines of its log but those of requests."""
        lines = self._log.read_text(encoding="utf-8").splitlines()
        return [found for line in lines if (found := json.loads(line))["event"] != "request"]

    def end(self, seconds: float) -> int | None:
        """Ends it with SIGTERM; returns its exit code, None if it had to be killed."""
        self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.process.kill()
            self.process.wait()


async def metrics(address: tuple[str, int]) -> dict[str, float]:
    """The metrics of a service, by name and labels."""
    wire = await Wire.open(address)
    try:
        await wire.send(head("GET", "/metrics"))
        text = (await wire.answer("GET")).body.decode()
    finally:
        wire.close()
    rows = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in rows}


async def sample(service: Service, seconds: float, into: list[dict[str, float]]) -> None:
    """Notes memory and open files until it is cancelled."""
    begin = time.perf_counter()
    while True:
        into.append({"seconds": round(time.perf_counter() - begin, 1), "memory": service.memory,
                     "files": service.files})  # fmt: skip
        await asyncio.sleep(seconds)
