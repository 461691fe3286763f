"""Where the hook is installed, in words and as JSON, and what it is to be called with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from turnlog.cli.config import config_file, load, trace_dir
from turnlog.cli.terminal import line, visible
from turnlog.cli.when import local, stamp
from turnlog.entries.layout import config_candidates
from turnlog.errors import TurnlogError, UsageError
from turnlog.trace import hook, trouble
from turnlog.trace.install import EVENTS, Wish, installed
from turnlog.trace.targets import variables
from turnlog.trace.targets.targets import REMEDY, configured
from turnlog.trace.wakes import count

SCOPES = ("user", "project", "local")


def settings_file(scope: str) -> Path:
    """The file of the client's settings that a scope means."""
    if scope == "user":
        return config_candidates()[0] / "settings.json"
    return Path.cwd() / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def wish(names: Sequence[str]) -> Wish:
    """How the hook is to be called: it finds this data folder and these settings, whatever the client's variables."""
    config = config_file().absolute() if os.environ.get("TURNLOG_CONFIG") else None
    return Wish(trace_dir().absolute(), names, config)


def targets_lines(names: Sequence[str]) -> list[str]:
    """Where spans go, as far as it is known here; the client may have variables of its own."""
    try:
        found = configured(load().trace, os.environ, names)
    except UsageError as error:
        return [f"As things are here, nothing would be sent: {line(str(error))}"]
    if found:
        return [f"Spans go to {', '.join(line(target.shown) for target in found)}.", *_kept_from_hooks()]
    return [f"No target is configured yet: {REMEDY}."]


def _kept_from_hooks() -> list[str]:
    said = "Newer clients keep OTEL_* variables from their hooks: name that target in config.toml; see docs/trace.md."
    return [said] if variables.has_otel(os.environ) else []


def status_document() -> dict[str, Any]:
    """Where the hook is installed, where it sends to, and what went wrong."""
    folder = trace_dir()
    waiting, broken = count(folder)
    last = trouble.last(folder)
    targets, problem = _targets()
    return {
        "settings": [_settings(scope) for scope in SCOPES],
        "targets": targets,
        "problem": problem,
        "wakes": {"waiting": waiting, "broken": broken},
        "trouble": last and {"time": stamp(last.time), "words": last.words},
    }


def _settings(scope: str) -> dict[str, Any]:
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
        there = installed(path)
    except TurnlogError as error:
        return {**found, **empty, "error": str(error)}
    here = {sys.executable, hook.__file__, str(trace_dir().absolute())}
    return {
        **found,
        "installed": bool(there.events),
        "events": list(there.events),
        "command": there.commands[0] if there.commands else None,
        "current": {*there.events} >= {*EVENTS} and len(there.commands) == 1 and _names_all(there.commands[0], here),
        "targets": list(there.targets),
        "since": stamp(there.since),
        "disabled": there.is_disabled,
        "error": None,
    }


def _names_all(command: str, words: set[str]) -> bool:
    """Whether a command is one of this installation; a quote in a path is spelled differently in it."""
    plain = command.replace("'\"'\"'", "'")
    return all(word in plain for word in words)


def _targets() -> tuple[list[str], str | None]:
    try:
        return [target.shown for target in configured(load().trace, os.environ)], None
    except UsageError as error:
        return [], str(error)


def status_lines(found: dict[str, Any]) -> Iterator[str]:
    """The same in words."""
    for item in found["settings"]:
        yield f"{item['scope']:<8} {_state(item)}  {visible(item['path'])}"
        if item["disabled"]:
            yield "         its disableAllHooks keeps the client from running any hook"
        if item["error"]:
            yield f"         {line(item['error'])}"
    targets = ", ".join(line(name) for name in found["targets"])
    yield f"targets  {line(found['problem'] or '') or targets or f'none: {REMEDY}'}"
    wakes = found["wakes"]
    yield f"wakes    {wakes['waiting']} waiting, {wakes['broken']} broken (left by the hook, served by no worker yet)"
    if found["trouble"]:
        yield f"trouble  {local(found['trouble']['time'])}: {line(found['trouble']['words'])}"


def _state(item: dict[str, Any]) -> str:
    if not item["installed"]:
        return "not installed"
    words = f"installed {local(item['since'])}" if item["since"] else "installed"
    if not item["current"]:
        words += ", but not by this turnlog or not for all events; `turnlog hook install` puts that right"
    return words + (f", only to {', '.join(map(line, item['targets']))}" if item["targets"] else "")
