"""`turnlog hook run`: what the hooks of the Claude Code plugin run.

A plugin doesn't know where Python and turnlog are, so it runs the `turnlog` on the PATH. Everything else is as in the
hook that `turnlog hook install` adds: this imports only the standard library, prints nothing and never fails.
"""

from __future__ import annotations

import os
import time

_SINCE_FILE = "plugin-since"
_MAX_SINCE_BYTES = 32


def run_plugin_hook() -> int:
    """Trace a finished turn, and report an event for live views; return the exit status, which is always 0."""
    try:
        from turnlog.api.config import trace_dir
        from turnlog.trace.hook import run_hook

        folder = os.path.abspath(trace_dir())  # noqa: PTH100 - the hook wants text
        run_hook([folder, "--since", _read_start_time(folder), "--for", "trace", "--for", "live"])
    except Exception:  # noqa: BLE001 - Claude Code must not be disturbed
        return 0
    return 0


def _read_start_time(folder: str) -> str:
    """Return when the plugin ran first, in seconds since 1970: tracing sends nothing from before that."""
    path = os.path.join(folder, _SINCE_FILE)  # noqa: PTH118
    try:
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        with open(path, "rb") as file:  # noqa: PTH123
            text = file.read(_MAX_SINCE_BYTES).decode("ascii", "replace").strip()
        return text if text.isdecimal() else "0"
    now = str(int(time.time()))
    os.write(fd, now.encode())
    os.close(fd)
    return now
