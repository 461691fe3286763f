"""Do something in a process of its own, and let it be killed before its k-th step on the disk.

Python tells every step (renaming, linking, removing, opening for writing …) to an audit hook; the hook kills the
process with SIGKILL, so nothing is cleaned up, exactly as in a power cut.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

STEPS = {"os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir", "os.utime", "os.chmod", "os.symlink"}


def die_at(step: int) -> None:
    """Die before the given step."""
    left = step

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in STEPS or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def is_killed_at(work: Callable[[], object], step: int) -> bool:
    """Do some work in a copy of this process; whether it was killed at the step, and not done before."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            die_at(step)
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status) and status:
        raise SystemExit(f"failed at step {step}")
    return os.WIFSIGNALED(status)
