"""Installs, removes and inspects the Claude Code hook, which starts tracing and reports what sessions are doing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from turnlog.api.config import Config, config_file, data_dir, load_config, trace_dir
from turnlog.api.settings_changes import carry_out_plan, hold_settings_lock
from turnlog.entries.layout import list_config_candidates
from turnlog.errors import TurnlogError, UsageError
from turnlog.live.hook_reports import inspect_spool
from turnlog.session.clock import to_iso_time
from turnlog.store.settings_file import SettingsPlan
from turnlog.trace import hook as client_hook
from turnlog.trace.hook_settings import (
    HookOptions,
    plan_hook_install,
    plan_hook_removal,
    read_installed_hooks,
)
from turnlog.trace.targets.targets import list_configured_targets
from turnlog.trace.trouble import read_last_trouble
from turnlog.trace.wakes import count_wakes

SETTINGS_SCOPES = ("user", "project", "local")


class HookSettings(Struct, frozen=True):
    """The state of the hook in one of Claude Code's settings files."""

    scope: str
    """user, project or local."""
    path: Path
    exists: bool
    installed: bool
    purposes: tuple[str, ...] = ()
    """What it does: trace, live, or both."""
    events: tuple[str, ...] = ()
    command: str | None = None
    current: bool = False
    """Whether it runs this turnlog installation and covers all events that its purposes need."""
    targets: tuple[str, ...] = ()
    """The targets that it sends to; if empty, all configured targets."""
    since: str | None = None
    disabled: bool = False
    """Whether the settings disable all hooks."""
    error: str | None = None


class HookWakes(Struct, frozen=True):
    """Requests from the hook that no worker has handled yet."""

    waiting: int
    broken: int


class HookSpool(Struct, frozen=True):
    """The files in which the hook reports what sessions are doing."""

    path: Path
    files: int
    bytes: int
    latest: str | None
    """When the latest report was written."""
    problem: str | None
    """Why reports can't be written or read."""


class HookTrouble(Struct, frozen=True):
    """The latest background error."""

    time: str
    words: str


class HookStatus(Struct, frozen=True):
    """Where the hook is installed, its targets, and its latest error."""

    settings: tuple[HookSettings, ...]
    targets: tuple[str, ...]
    problem: str | None
    """The error in the configuration of targets."""
    wakes: HookWakes
    trouble: HookTrouble | None
    reports: HookSpool


def install_hook(
    scope: str = "user",
    *,
    trace: bool = True,
    live: bool = False,
    targets: Sequence[str] = (),
    dry_run: bool = False,
) -> SettingsPlan:
    """Add the hook to Claude Code's settings; the rest of the file is kept byte for byte.

    `trace` makes it send finished turns, and `live` makes it report what sessions are doing. One command does both, and
    a purpose that is already installed is kept. The command contains the paths of the data folder and the config file,
    because Claude Code may run with different environment variables.
    """
    purposes = _list_purposes(trace, live)
    if targets and not trace:
        raise UsageError("targets are used only for tracing; install the hook for tracing, or omit the targets")
    config = config_file().absolute() if os.environ.get("TURNLOG_CONFIG") else None
    options = HookOptions(trace_dir().absolute(), targets, config, purposes)
    with hold_settings_lock(dry_run):
        return carry_out_plan(plan_hook_install(find_settings_file(scope), options, time.time()), dry_run)


def uninstall_hook(
    scope: str = "user", *, trace: bool = True, live: bool = True, dry_run: bool = False
) -> SettingsPlan:
    """Remove the hook from Claude Code's settings, or only one of its purposes."""
    options = HookOptions(trace_dir().absolute(), purposes=_list_purposes(trace, live))
    with hold_settings_lock(dry_run):
        return carry_out_plan(plan_hook_removal(find_settings_file(scope), options), dry_run)


def _list_purposes(trace: bool, live: bool) -> tuple[str, ...]:
    purposes = tuple(name for name, is_wanted in (("trace", trace), ("live", live)) if is_wanted)
    if not purposes:
        raise UsageError("the hook needs a purpose; use trace, live, or both")
    return purposes


def find_settings_file(scope: str) -> Path:
    """Return the path of the settings file for a scope."""
    if scope not in SETTINGS_SCOPES:
        raise UsageError(f"unknown scope {scope!r}; use one of {', '.join(SETTINGS_SCOPES)}")
    if scope == "user":
        return list_config_candidates()[0] / "settings.json"
    return Path.cwd() / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def read_hook_status(*, config: Config | None = None) -> HookStatus:
    """Read where the hook is installed, its targets, and its latest error."""
    waiting, broken = count_wakes(trace_dir())
    note = read_last_trouble(trace_dir())
    targets: tuple[str, ...] = ()
    problem = None
    settings = (config or load_config()).trace
    try:
        targets = tuple(target.display_name for target in list_configured_targets(settings, os.environ))
    except UsageError as error:
        problem = str(error)
    trouble = HookTrouble(_to_time_text(note.time) or "", note.words) if note else None
    found = tuple(map(_read_settings, SETTINGS_SCOPES))
    spool = inspect_spool(data_dir())
    reports = HookSpool(spool.path, spool.files, spool.bytes, _to_time_text(spool.latest), spool.problem)
    return HookStatus(found, targets, problem, HookWakes(waiting, broken), trouble, reports)


def _read_settings(scope: str) -> HookSettings:
    path = find_settings_file(scope)
    try:
        installed = read_installed_hooks(path)
    except TurnlogError as error:
        return HookSettings(scope, path, path.exists(), installed=False, error=str(error))
    own = {sys.executable, client_hook.__file__, str(trace_dir().absolute())}
    needed = HookOptions(trace_dir(), purposes=installed.purposes).events
    is_complete = {*installed.events} >= {*needed} and len(installed.commands) == 1
    return HookSettings(
        scope=scope,
        path=path,
        exists=path.exists(),
        installed=bool(installed.events),
        purposes=installed.purposes,
        events=tuple(installed.events),
        command=installed.commands[0] if installed.commands else None,
        current=is_complete and _is_own_command(installed.commands[0], own),
        targets=tuple(installed.targets),
        since=_to_time_text(installed.since),
        disabled=installed.is_disabled,
    )


def _is_own_command(command: str, words: set[str]) -> bool:
    """Return whether a command belongs to this installation; single quotes in its paths are escaped."""
    plain = command.replace("'\"'\"'", "'")
    return all(word in plain for word in words)


def _to_time_text(seconds: float | None) -> str | None:
    return None if seconds is None else to_iso_time(datetime.fromtimestamp(seconds, UTC))
