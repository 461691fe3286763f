"""The client's hook that starts tracing at the end of each turn: where it is installed, and what it left."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from turnlog.api.config import Config, config_file, load_config, trace_dir
from turnlog.entries.layout import list_config_candidates
from turnlog.errors import TurnlogError, UsageError
from turnlog.session.clock import to_iso_time
from turnlog.trace import hook as client_hook
from turnlog.trace.hook_settings import (
    HOOK_EVENTS,
    HookOptions,
    SettingsPlan,
    apply_settings_plan,
    plan_hook_install,
    plan_hook_removal,
    read_installed_hooks,
)
from turnlog.trace.targets.targets import list_configured_targets
from turnlog.trace.trouble import read_last_trouble
from turnlog.trace.wakes import count_wakes

SETTINGS_SCOPES = ("user", "project", "local")


class HookSettings(Struct, frozen=True):
    """What one file of the client's settings says of the hook."""

    scope: str
    """user, project or local."""
    path: Path
    exists: bool
    installed: bool
    events: tuple[str, ...] = ()
    command: str | None = None
    current: bool = False
    """It is the hook of this turnlog, for all events."""
    targets: tuple[str, ...] = ()
    """The only targets that it sends to; empty: to all that are configured."""
    since: str | None = None
    disabled: bool = False
    """The settings keep the client from running any hook."""
    error: str | None = None


class HookWakes(Struct, frozen=True):
    """What the hook has left for a worker."""

    waiting: int
    broken: int


class HookTrouble(Struct, frozen=True):
    """What last went wrong in the background."""

    time: str
    words: str


class HookStatus(Struct, frozen=True):
    """Where the hook is installed, where it sends to, and what went wrong."""

    settings: tuple[HookSettings, ...]
    targets: tuple[str, ...]
    problem: str | None
    """What is wrong with the configuration of targets."""
    wakes: HookWakes
    trouble: HookTrouble | None


def install_hook(scope: str = "user", *, targets: Sequence[str] = (), dry_run: bool = False) -> SettingsPlan:
    """Put the hook into the client's settings; everything else in them stays as it is, byte for byte.

    The hook finds this data folder and these settings, whatever variables the client has.
    """
    config = config_file().absolute() if os.environ.get("TURNLOG_CONFIG") else None
    options = HookOptions(trace_dir().absolute(), targets, config)
    return _apply(plan_hook_install(find_settings_file(scope), options, time.time()), dry_run)


def uninstall_hook(scope: str = "user", *, dry_run: bool = False) -> SettingsPlan:
    """Take the hook out of the client's settings."""
    return _apply(plan_hook_removal(find_settings_file(scope)), dry_run)


def _apply(plan: SettingsPlan, dry_run: bool) -> SettingsPlan:
    if not dry_run and not plan.is_idle:
        apply_settings_plan(plan)
    return plan


def find_settings_file(scope: str) -> Path:
    """Find the file of the client's settings that a scope means."""
    if scope not in SETTINGS_SCOPES:
        raise UsageError(f"scope {scope}: there are {', '.join(SETTINGS_SCOPES)}")
    if scope == "user":
        return list_config_candidates()[0] / "settings.json"
    return Path.cwd() / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def read_hook_status(*, config: Config | None = None) -> HookStatus:
    """Tell where the hook is installed, where it sends to, and what went wrong."""
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
    return HookStatus(found, targets, problem, HookWakes(waiting, broken), trouble)


def _read_settings(scope: str) -> HookSettings:
    path = find_settings_file(scope)
    try:
        there = read_installed_hooks(path)
    except TurnlogError as error:
        return HookSettings(scope, path, path.exists(), installed=False, error=str(error))
    own = {sys.executable, client_hook.__file__, str(trace_dir().absolute())}
    is_complete = {*there.events} >= {*HOOK_EVENTS} and len(there.commands) == 1
    return HookSettings(
        scope=scope,
        path=path,
        exists=path.exists(),
        installed=bool(there.events),
        events=tuple(there.events),
        command=there.commands[0] if there.commands else None,
        current=is_complete and _is_own_command(there.commands[0], own),
        targets=tuple(there.targets),
        since=_to_time_text(there.since),
        disabled=there.is_disabled,
    )


def _is_own_command(command: str, words: set[str]) -> bool:
    """Whether a command is one of this installation; a quote in a path is spelled differently in it."""
    plain = command.replace("'\"'\"'", "'")
    return all(word in plain for word in words)


def _to_time_text(seconds: float | None) -> str | None:
    return None if seconds is None else to_iso_time(datetime.fromtimestamp(seconds, UTC))
