"""Our hooks in the client's settings.json: planned first, then carried out in one step, with a way back.

<settings>.before-turnlog       the file as it was before the first change; gone again when it was put back
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.errors import TurnlogError
from turnlog.store.archive import durable
from turnlog.store.client_settings import Hook, hooks_of, parsed, with_hooks, without_hooks
from turnlog.trace import hook as hook_script

EVENTS = ("Stop", "SubagentStop", "SessionEnd")
TIMEOUT = 10
"""Seconds; without it the client gives all hooks of SessionEnd together one and a half."""
_OURS = re.compile(r"turnlog[\\/]+trace[\\/]+hook\.py")
_SINCE = re.compile(r"--since (\d+)")
_BOM = "\ufeff"


class Wish(NamedTuple):
    """How the hook is to be called."""

    folder: Path
    """`trace` in turnlog's data folder."""
    targets: Sequence[str] = ()
    config: Path | None = None
    """Another file of settings of turnlog than the usual one."""


class Plan(NamedTuple):
    """What is to become of a file of settings."""

    path: Path
    """Where it really is: links are followed."""
    before: bytes | None
    """What it holds; None if it is not there."""
    after: bytes | None
    """What it shall hold; None if it shall go."""
    backup: Path
    makes_backup: bool = False
    drops_backup: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return self.before == self.after


class Installed(NamedTuple):
    """Our hooks in a file of settings."""

    events: tuple[str, ...]
    commands: tuple[str, ...]
    """Each once; more than one if somebody has changed them."""
    targets: tuple[str, ...]
    since: float | None
    """When they were put there, in seconds since 1970."""
    is_disabled: bool
    """The settings tell the client to run no hooks."""


def command(wish: Wish, since: int) -> str:
    """What the client is to run."""
    words = [sys.executable, "-I", "-S", str(Path(hook_script.__file__)), str(wish.folder), "--since", str(since)]
    words += ["--config", str(wish.config)] if wish.config else []
    words += [word for name in wish.targets for word in ("--target", name)]
    if sys.platform == "win32":  # a shell of either kind takes these
        return subprocess.list2cmdline([word.replace("\\", "/") for word in words])
    # Python ends with 2 where the script is gone, and for the client that means: do not stop, go on working.
    return f"{shlex.join(words)} || :"


def is_ours(text: str) -> bool:
    """Whether a command is that of our hook, of this installation or another."""
    return _OURS.search(text) is not None


def installed(path: Path) -> Installed:
    """What is there of our hooks."""
    settings = parsed(_text(_real(path))[1])
    found = list(hooks_of(settings, is_ours))
    commands = tuple(dict.fromkeys(str(hook["command"]) for _, hook in found))
    times = [int(time[1]) for text in commands if (time := _SINCE.search(text))]
    names = dict.fromkeys(name for text in commands for name in _named(text))
    events = tuple(dict.fromkeys(event for event, _ in found))
    return Installed(events, commands, tuple(names), min(times, default=None), settings.get("disableAllHooks") is True)


def installing(path: Path, wish: Wish, now: float) -> Plan:
    """Put our hooks in place of those of ours that are there; nothing to do if they are the same."""
    real = _real(path)
    before, text = _text(real)
    found = list(hooks_of(parsed(text), is_ours))
    times = [int(time[1]) for _, hook in found if (time := _SINCE.search(str(hook["command"])))]
    ours: Hook = {"type": "command", "command": command(wish, min(times, default=int(now))), "timeout": TIMEOUT}
    backup = _backup(real)
    if sorted(found, key=_event) == sorted(((event, ours) for event in EVENTS), key=_event):
        return Plan(real, before, before, backup)
    after = with_hooks(without_hooks(text, is_ours) if found else text, dict.fromkeys(EVENTS, ours))
    return Plan(real, before, _bytes(before, after), backup, makes_backup=before is not None and not found)


def uninstalling(path: Path) -> Plan:
    """Take our hooks out; if nothing else was changed meanwhile, the file is again what it was, byte for byte."""
    real = _real(path)
    before, text = _text(real)
    backup = _backup(real)
    if not any(hooks_of(parsed(text), is_ours)):
        return Plan(real, before, before, backup)
    left = without_hooks(text, is_ours)
    kept = backup.read_bytes() if backup.is_file() else None
    if kept is not None and _meaning(_decoded(kept, backup)) == _meaning(left):
        return Plan(real, before, kept, backup, drops_backup=True)
    if kept is None and not parsed(left):
        return Plan(real, before, None, backup)
    return Plan(real, before, _bytes(before, left), backup)


def carry_out(plan: Plan) -> None:
    """Do what is planned; nothing is written if the file was changed meanwhile."""
    if plan.is_idle:
        return
    if _read(plan.path) != plan.before:
        raise TurnlogError(f"{plan.path}: was changed meanwhile; nothing was written, try again")
    mode = plan.path.stat().st_mode & 0o777 if plan.before is not None else 0o600
    if plan.makes_backup and plan.before is not None:
        durable.write(plan.backup, plan.before, mode)
    if plan.after is None:
        plan.path.unlink()
    else:
        durable.write(plan.path, plan.after, mode)
    if plan.drops_backup:
        plan.backup.unlink(missing_ok=True)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _backup(path: Path) -> Path:
    return path.with_name(f"{path.name}.before-turnlog")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TurnlogError(f"{path}: {error.strerror}") from None


def _text(path: Path) -> tuple[bytes | None, str]:
    """The bytes of a file, and its text without a byte order mark; raises if it holds no settings."""
    data = _read(path)
    text = _decoded(data or b"", path)
    try:
        parsed(text)
    except TurnlogError as error:
        raise TurnlogError(f"{path}: {error}") from None
    return data, text


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TurnlogError(f"{path}: line {line}: not UTF-8; correct it first") from None


def _bytes(before: bytes | None, text: str) -> bytes:
    has_mark = before is not None and before.startswith(_BOM.encode())
    return (_BOM + text if has_mark else text).encode()


def _meaning(text: str) -> str:
    """Settings apart from their layout, and from hooks that are none."""
    try:
        settings = parsed(text)
    except TurnlogError:
        return text
    hooks = {event: groups for event, groups in settings.get("hooks", {}).items() if groups}
    found: dict[str, Any] = {**settings, "hooks": hooks}
    return json.dumps({name: value for name, value in found.items() if value or name != "hooks"})


def _named(text: str) -> list[str]:
    """The targets that a command names."""
    try:
        words = shlex.split(text, posix=sys.platform != "win32")
    except ValueError:
        return []
    return [value for name, value in pairwise(words) if name == "--target"]


def _event(pair: tuple[str, Hook]) -> str:
    return pair[0]
