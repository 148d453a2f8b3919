"""Run one command for `run.py`; print its seconds, its peak memory and its exit code.

    python -I -S launch.py INPUT OUTPUT ERRORS PROGRAM ARGUMENT ...

A small program of its own, because Linux counts the memory of the parent at the start of a process. So it
imports only modules that Python has loaded already.
"""

import os
import sys
import time


def main() -> None:
    given, output, errors, *command = sys.argv[1:]
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, given, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, output, write, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, errors, write, 0o600),
    ]
    start = time.perf_counter()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - start
    scale = 1 if sys.platform == "darwin" else 1024
    print(seconds, usage.ru_maxrss * scale, os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
