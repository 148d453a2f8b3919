"""Commands as processes, forked from one that has imported the package so that each starts at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import sleep

POLL = 0.0003
"""Seconds between two looks at a run folder: a small checkpoint is written in a few milliseconds."""
HEAVY = (
    "roster.methods.train",
    "roster.api.training",
    "roster.cli.main",
    "roster.cli.train",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert",
)


class Command:
    """`roster ...` under way, with a checkpoint after every epoch, on one thread."""

    def __init__(self, arguments: Sequence[str], errors: Path):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*HEAVY, __name__])
        self.errors = errors
        self._process = context.Process(target=_become, args=(list(arguments), str(errors)))
        self._process.start()

    @property
    def running(self) -> bool:
        return self._process.is_alive()

    def wait(self) -> int:
        """Return the exit code."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def kill_when(self, moment: Callable[[], bool]) -> bool:
        """Send SIGKILL at a moment; return False if the command ended before."""
        while self.running:
            if moment():
                assert self._process.pid is not None
                with suppress(ProcessLookupError):
                    os.kill(self._process.pid, signal.SIGKILL)
                return self.wait() == -signal.SIGKILL
            sleep(POLL)
        self.wait()
        return False


def _become(arguments: list[str], errors: str) -> None:
    from roster.cli.main import main

    sys.stderr = open(errors, "a", buffering=1, encoding="utf-8")  # noqa: SIM115, PTH123
    os.environ.update(ROSTER_CHECKPOINT_SECONDS="0", TOKENIZERS_PARALLELISM="false")
    code = main(arguments)
    sys.stderr.flush()
    os._exit(code)
