"""A process that has imported torch and transformers once, and forks for every command.

Each command is a process of its own (its own arguments, environment, streams, signals and exit code),
without the four seconds of imports that a fresh Python would spend. One JSON object a line on standard
input; for each, two lines on standard output: the process's number, then its exit code.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys


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


def serve() -> None:
    import transformers.models.auto.modeling_auto
    import transformers.models.auto.tokenization_auto
    import transformers.models.bert.modeling_bert  # noqa: F401

    import roster.api.recognition
    import roster.infer.recogniser
    import roster.methods.train  # noqa: F401
    from roster.cli.main import entry

    gc.freeze()  # or every fork spends a second on collecting all of torch when it ends
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            become(json.loads(line))
            entry()  # never returns
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
