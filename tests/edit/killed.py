"""Do something in a process of its own, and let it be killed before its k-th step on the disk.

Python tells every step (renaming, linking, removing, opening for writing …) to an audit hook; the hook kills the
process with SIGKILL, so nothing is cleaned up, exactly as in a power cut.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.entry_lookup import find_newest_entry
from turnlog.edit.trash.trash import Trash

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


def killed(work: Callable[[], object], step: int) -> bool:
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


def main(verb: str, session: Path, folder: Path, step: int) -> int:
    """Delete or restore a session; 0 when it was done, 9 when it was killed."""
    trash = Trash(folder)

    def work() -> object:
        if verb == "delete":
            return delete_session(session, trash, history=True)
        return trash.restore(find_newest_entry(trash.list_entries().entries))

    return 9 if killed(work, step) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
