"""Commands that file permissions bind, also where the tests run as root."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

posix = pytest.mark.skipif(sys.platform != "linux", reason="needs permissions that bind")
_READ_ANYTHING = (1 << 1) | (1 << 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
_DROP = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
for capability in (1, 2):
    libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.argv[1], sys.argv[1:])
"""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Set(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def permissions_bind() -> Iterator[None]:
    """Let permissions bind this thread for a while."""
    libc, header, sets = ctypes.CDLL(None, use_errno=True), _Header(0x20080522, 0), (_Set * 2)()
    assert libc.capget(ctypes.byref(header), sets) == 0
    before = sets[0].effective
    sets[0].effective = before & ~_READ_ANYTHING
    assert libc.capset(ctypes.byref(header), sets) == 0
    try:
        yield
    finally:
        sets[0].effective = before
        assert libc.capset(ctypes.byref(header), sets) == 0


def run_bound(args: Sequence[str], **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program that may not read what permissions forbid."""
    command = [sys.executable, "-c", _DROP, sys.executable, *args]
    return subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)


class Machine:
    """A home with sessions, and turnlog's commands on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / ".claude"
        self.data = folder / "turnlog"

    @property
    def environ(self) -> Mapping[str, str]:
        return {"HOME": str(self.folder), "TURNLOG_HOME": str(self.data), "CLAUDE_CONFIG_DIR": str(self.config)}

    def turnlog(self, *args: str) -> subprocess.CompletedProcess[str]:
        done = run_bound(["-m", "turnlog", *args], **self.environ)
        assert not any(words in done.stderr for words in ("Traceback", "internal error")), done.stderr
        return done

    def write(self, path: str, data: bytes) -> Path:
        target = self.config / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return target
