"""Keeps the client's API keys out of reach of the commands that it runs; process memory is protected only on Linux.

A command runs as the same user as the client, so three routes to the key must be closed before the first command
starts:

    /proc/<pid>/environ, cmdline    shows the initial arguments and variables: that memory is overwritten
    /proc/<pid>/mem, ptrace         the process becomes non-dumpable, which only CAP_SYS_PTRACE overrides
    CAP_SYS_PTRACE                  root has it: children can no longer acquire it, but this process keeps it

Each step is independent: if the system rejects one, the others still apply. docs/permissions.md describes the limits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

KEY_PREFIXES = ("ANTHROPIC_", "CLAUDE_CODE_")
"""The prefixes of the client's variables, including those of its keys and tokens."""
_KEY_NAMES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_MIN_KEY_CHARS = 8
"""A shorter value is not a key and would match unrelated text."""
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_CAP_SYS_PTRACE = 19
_STAT_ARG_START, _STAT_ENV_END = 45, 48
"""The positions of fields in /proc/self/stat, counted after the program name."""


def build_child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a child process's variables, omitting the client's own and any that contain one of its keys."""
    keys = _list_key_values(environ)
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith(KEY_PREFIXES) and not any(key in value for key in keys)
    }


def shield_keys(environ: Mapping[str, str], arguments: Iterable[str] = ()) -> None:
    """Hide the client's variables and the given arguments from child processes; call it before any thread starts.

    The change affects the whole process and can't be undone, so only the program itself calls this function.
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
    """Overwrite strings in the memory where the kernel placed this process's arguments and variables."""
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
