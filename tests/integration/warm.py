"""A process that has imported torch and transformers once, and forks for every command.

Each command is a process of its own (its own arguments, environment, streams, signals and exit code),
without the four seconds of imports that a fresh Python would spend. One JSON object a line on standard
input; for each, two lines on standard output: the process's number, then its exit code.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages
from typing import NoReturn

import roster

MODULES = (
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "daachorse",
    "pyoxigraph",
)


def become(job: dict) -> None:  # type: ignore[type-arg]
    """In the fork: the streams, the directory, the environment and the arguments of the command."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(job["cwd"])
    os.environ.update(job["env"])
    flags = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, (path, flag) in enumerate(zip(job["streams"], flags, strict=True)):
        handle = os.open(path, flag, 0o644)
        os.dup2(handle, number)
        os.close(handle)
    coding = {"encoding": job["env"].get("PYTHONIOENCODING", "utf-8"), "closefd": False}
    sys.stdin, sys.stdout = open(0, **coding), open(1, "w", **coding)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", **coding)  # noqa: SIM115
    sys.argv = ["roster", *job["arguments"]]


def run() -> NoReturn:
    """The command, and the end of its process as Python ends it, without the destruction of the modules:
    that writes to the memory that a fork shares, and takes longer than most commands."""
    from roster.cli.main import entry

    try:
        entry()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = 120  # as Python has it
    os._exit(code)


def warm_up() -> None:
    """Imports the whole package and what most commands need, and makes the tables of characters."""
    for name in MODULES:
        with suppress(ImportError):
            import_module(name)
    for module in walk_packages(roster.__path__, "roster."):
        if module.name != "roster.accelerate.kernels":  # needs Triton
            import_module(module.name)
    from roster.corpus.tokenizer import tokenize
    from roster.distant.subtokens import to_subtokens

    tokenize("Ada")
    to_subtokens(["Ada"])


def serve() -> None:
    warm_up()
    gc.freeze()  # or every fork spends a second on collecting all of torch when it ends
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            become(json.loads(line))
            run()
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
