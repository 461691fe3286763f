"""Keeps the keys of the client out of reach of the commands that it runs; the memory only on Linux.

A command has the same user as the client, so three doors have to be closed before the first one starts:

    /proc/<pid>/environ, cmdline    the kernel shows what the process was started with: that memory is overwritten
    /proc/<pid>/mem, ptrace         the process is marked as not dumpable, which only CAP_SYS_PTRACE overrides
    CAP_SYS_PTRACE                  root has it: it is dropped from what later children can get, not from this process

Every step is tried by itself: one that the system refuses leaves the others in place. docs/permissions.md has the
limits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

KEY_PREFIXES = ("ANTHROPIC_", "CLAUDE_CODE_")
"""Variables that belong to the client; its keys and tokens are among them."""
_KEY_NAMES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_MIN_KEY_CHARS = 8
"""A shorter value is no key, and would be found in texts that have nothing to do with it."""
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_CAP_SYS_PTRACE = 19
_STAT_ARG_START, _STAT_ENV_END = 45, 48
"""Fields of /proc/self/stat, counted behind the name of the program."""


def build_child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that a child process may see: none of the client's own, and none that repeats one of its keys."""
    keys = _list_key_values(environ)
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith(KEY_PREFIXES) and not any(key in value for key in keys)
    }


def shield_keys(environ: Mapping[str, str], arguments: Iterable[str] = ()) -> None:
    """Hide the client's own variables and some arguments from child processes; call it before any thread begins.

    It changes the whole process and can't be taken back, so only the program itself calls it.
    """
    if sys.platform != "linux":
        return
    import ctypes

    libc = ctypes.CDLL(None)
    own = [f"{name}={value}" for name, value in environ.items() if name.startswith(KEY_PREFIXES)]
    _overwrite_start_memory(ctypes, [*own, *_list_key_values(environ), *arguments])
    for option, value in ((_PR_SET_DUMPABLE, 0), (_PR_CAPBSET_DROP, _CAP_SYS_PTRACE)):
        libc.prctl(option, *(ctypes.c_ulong(number) for number in (value, 0, 0, 0)))


def _list_key_values(environ: Mapping[str, str]) -> list[str]:
    values = (environ.get(name, "").strip() for name in _KEY_NAMES)
    return [value for value in values if len(value) >= _MIN_KEY_CHARS]


def _overwrite_start_memory(ctypes: Any, texts: Iterable[str]) -> None:
    """Overwrite texts where the kernel put the arguments and variables of this process."""
    import os

    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 - before pathlib is loaded
            fields = file.read().rsplit(b")", 1)[1].split()
        start, end = int(fields[_STAT_ARG_START]), int(fields[_STAT_ENV_END])
    except (OSError, IndexError, ValueError):
        return
    if not 0 < start < end:
        return
    block = ctypes.string_at(start, end - start)
    for raw in {os.fsencode(text) for text in texts if text}:
        at = block.find(raw)
        while at >= 0:
            ctypes.memset(start + at, ord("*"), len(raw))
            at = block.find(raw, at + 1)
