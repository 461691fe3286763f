"""Where the hook is installed, in words and as JSON, and what it is to be called with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from turnlog.cli.config import config_file, load_config, trace_dir
from turnlog.cli.terminal import make_visible, to_visible_line
from turnlog.cli.when import format_client_time, to_json_time
from turnlog.entries.layout import list_config_candidates
from turnlog.errors import TurnlogError, UsageError
from turnlog.trace import hook, trouble
from turnlog.trace.install import HOOK_EVENTS, HookOptions, read_installed_hooks
from turnlog.trace.targets import variables
from turnlog.trace.targets.targets import NO_TARGET_REMEDY, list_configured_targets
from turnlog.trace.wakes import count_wakes

SETTINGS_SCOPES = ("user", "project", "local")


def settings_file(scope: str) -> Path:
    """The file of the client's settings that a scope means."""
    if scope == "user":
        return list_config_candidates()[0] / "settings.json"
    return Path.cwd() / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def build_hook_options(names: Sequence[str]) -> HookOptions:
    """How the hook is to be called: it finds this data folder and these settings, whatever the client's variables."""
    config = config_file().absolute() if os.environ.get("TURNLOG_CONFIG") else None
    return HookOptions(trace_dir().absolute(), names, config)


def render_hook_targets(names: Sequence[str]) -> list[str]:
    """Where spans go, as far as it is known here; the client may have variables of its own."""
    try:
        found = list_configured_targets(load_config().trace, os.environ, names)
    except UsageError as error:
        return [f"As things are here, nothing would be sent: {to_visible_line(str(error))}"]
    if found:
        return [
            f"Spans go to {', '.join(to_visible_line(target.display_name) for target in found)}.",
            *_warn_hidden_variables(),
        ]
    return [f"No target is configured yet: {NO_TARGET_REMEDY}."]


def _warn_hidden_variables() -> list[str]:
    said = "Newer clients keep OTEL_* variables from their hooks: name that target in config.toml; see docs/trace.md."
    return [said] if variables.has_otel(os.environ) else []


def to_hook_status_document() -> dict[str, Any]:
    """Where the hook is installed, where it sends to, and what went wrong."""
    folder = trace_dir()
    waiting, broken = count_wakes(folder)
    last = trouble.read_last_trouble(folder)
    targets, problem = _list_targets()
    return {
        "settings": [_to_settings_document(scope) for scope in SETTINGS_SCOPES],
        "targets": targets,
        "problem": problem,
        "wakes": {"waiting": waiting, "broken": broken},
        "trouble": last and {"time": to_json_time(last.time), "words": last.words},
    }


def _to_settings_document(scope: str) -> dict[str, Any]:
    path = settings_file(scope)
    found: dict[str, Any] = {"scope": scope, "path": str(path), "exists": path.exists(), "installed": False}
    empty: dict[str, Any] = {
        "events": [],
        "command": None,
        "current": False,
        "targets": [],
        "since": None,
        "disabled": False,
    }
    try:
        there = read_installed_hooks(path)
    except TurnlogError as error:
        return {**found, **empty, "error": str(error)}
    here = {sys.executable, hook.__file__, str(trace_dir().absolute())}
    return {
        **found,
        "installed": bool(there.events),
        "events": list(there.events),
        "command": there.commands[0] if there.commands else None,
        "current": {*there.events} >= {*HOOK_EVENTS}
        and len(there.commands) == 1
        and _is_own_command(there.commands[0], here),
        "targets": list(there.targets),
        "since": to_json_time(there.since),
        "disabled": there.is_disabled,
        "error": None,
    }


def _is_own_command(command: str, words: set[str]) -> bool:
    """Whether a command is one of this installation; a quote in a path is spelled differently in it."""
    plain = command.replace("'\"'\"'", "'")
    return all(word in plain for word in words)


def _list_targets() -> tuple[list[str], str | None]:
    try:
        return [target.display_name for target in list_configured_targets(load_config().trace, os.environ)], None
    except UsageError as error:
        return [], str(error)


def render_hook_status(found: dict[str, Any]) -> Iterator[str]:
    """The same in words."""
    for item in found["settings"]:
        yield f"{item['scope']:<8} {_describe_state(item)}  {make_visible(item['path'])}"
        if item["disabled"]:
            yield "         its disableAllHooks keeps the client from running any hook"
        if item["error"]:
            yield f"         {to_visible_line(item['error'])}"
    targets = ", ".join(to_visible_line(name) for name in found["targets"])
    yield f"targets  {to_visible_line(found['problem'] or '') or targets or f'none: {NO_TARGET_REMEDY}'}"
    wakes = found["wakes"]
    yield f"wakes    {wakes['waiting']} waiting, {wakes['broken']} broken (left by the hook, served by no worker yet)"
    if found["trouble"]:
        yield f"trouble  {format_client_time(found['trouble']['time'])}: {to_visible_line(found['trouble']['words'])}"


def _describe_state(item: dict[str, Any]) -> str:
    if not item["installed"]:
        return "not installed"
    words = f"installed {format_client_time(item['since'])}" if item["since"] else "installed"
    if not item["current"]:
        words += ", but not by this turnlog or not for all events; `turnlog hook install` puts that right"
    return words + (f", only to {', '.join(map(to_visible_line, item['targets']))}" if item["targets"] else "")
