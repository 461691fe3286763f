"""A process that looks like an old client: its name is `claude`, and it has no arguments."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.edit.loose_clients import find_running_clients


@contextmanager
def old_client(cwd: Path, config: Path, **environ: str) -> Iterator[int]:
    """A process called `claude` in a folder, which works with a config folder; gives its number."""
    program = config.parent / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    if not program.exists():
        program.symlink_to(shutil.which("cat") or "/bin/cat")
    given = {"CLAUDE_CONFIG_DIR": str(config), "PWD": str(cwd), **environ}
    with subprocess.Popen([program], cwd=cwd, stdin=subprocess.PIPE, env=given) as process:
        try:
            while not any(client.pid == process.pid and client.folders for client in find_running_clients()):
                assert process.poll() is None
                time.sleep(0.01)
            yield process.pid
        finally:
            process.communicate()


def write_since(path: Path, seconds: float = 60) -> None:
    """Give a file a time after every process that runs now has started."""
    path.touch()
    os.utime(path, (time.time() + seconds, time.time() + seconds))
