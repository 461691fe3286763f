"""Adds the MCP server to Claude Code's configuration, removes it, and reports where it is installed."""

from __future__ import annotations

import contextlib
import os
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from msgspec import Struct

from turnlog.api.settings_changes import carry_out_plan, hold_settings_lock
from turnlog.entries.layout import list_config_candidates
from turnlog.errors import TurnlogError, UsageError
from turnlog.store.client_settings import parse_client_settings
from turnlog.store.json_members import read_json_member, remove_json_member, set_json_member
from turnlog.store.settings_file import (
    SettingsPlan,
    build_backup_path,
    decode_settings_text,
    encode_settings_text,
    name_settings_file,
    read_settings_bytes,
    read_settings_text,
    resolve_settings_path,
)

MCP_SCOPES = ("user", "project", "local")
MCP_SERVER_NAME = "turnlog"
_CARRIED_VARIABLES = ("TURNLOG_HOME", "TURNLOG_CONFIG", "TURNLOG_CONFIG_DIRS")
"""Claude Code may start with other variables than the shell in which the server is installed."""


class McpSettings(Struct, frozen=True):
    """The state of the server in one of Claude Code's configuration files."""

    scope: str
    """user, project or local."""
    path: Path
    installed: bool
    command: tuple[str, ...] = ()
    current: bool = False
    """Whether it runs this turnlog installation."""
    all_projects: bool = False
    """Whether agents may read the sessions of all projects."""
    redacted: bool = True
    """Whether secrets are replaced."""
    skill: Path | None = None
    """The skill file that tells agents when to use the server; None if it isn't installed."""
    error: str | None = None


class McpStatus(Struct, frozen=True):
    """Where the MCP server is installed."""

    settings: tuple[McpSettings, ...]
    available: bool
    """Whether the package `mcp` is installed, which the server needs."""


class McpChange(Struct, frozen=True):
    """A change to Claude Code's configuration, made or planned."""

    settings: SettingsPlan
    skill: SettingsPlan | None
    """The change to the skill file, if it was asked for."""


def install_mcp_server(
    scope: str = "user",
    *,
    all_projects: bool = False,
    redact: bool = True,
    skill: bool = False,
    dry_run: bool = False,
) -> McpChange:
    """Add the MCP server to Claude Code's configuration; the rest of the file is kept byte for byte.

    `skill` also installs a skill file that tells agents when to look up past sessions.
    """
    path, keys = find_mcp_settings(scope)
    skill_path = _find_skill_file(scope) if skill else None
    entry = _build_entry(scope, all_projects, redact)
    with hold_settings_lock(dry_run):
        plan = _plan_install(path, keys, entry)
        skill_plan = _plan_skill(skill_path) if skill_path else None
        carry_out_plan(plan, dry_run)
        if skill_plan:
            carry_out_plan(skill_plan, dry_run)
    return McpChange(plan, skill_plan)


def uninstall_mcp_server(scope: str = "user", *, dry_run: bool = False) -> McpChange:
    """Remove the MCP server from Claude Code's configuration, and the skill file unless somebody has edited it."""
    path, keys = find_mcp_settings(scope)
    with hold_settings_lock(dry_run):
        plan = _plan_removal(path, keys)
        skill_plan = None if scope == "local" else _plan_skill_removal(_find_skill_file(scope))
        carry_out_plan(plan, dry_run)
        if skill_plan:
            carry_out_plan(skill_plan, dry_run)
            with contextlib.suppress(OSError):  # others may have put files there
                skill_plan.path.parent.rmdir()
    return McpChange(plan, skill_plan)


def read_mcp_status() -> McpStatus:
    """Read where the MCP server is installed."""
    from importlib.util import find_spec

    return McpStatus(tuple(map(_read_settings, MCP_SCOPES)), find_spec("mcp") is not None)


def find_mcp_settings(scope: str) -> tuple[Path, tuple[str, ...]]:
    """Return the configuration file for a scope, and the keys of the server's entry in it."""
    if scope not in MCP_SCOPES:
        raise UsageError(f"unknown scope {scope!r}; use one of {', '.join(MCP_SCOPES)}")
    if scope == "project":
        return Path.cwd() / ".mcp.json", ("mcpServers", MCP_SERVER_NAME)
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    path = (Path(folder) if folder else Path.home()) / ".claude.json"
    if scope == "user":
        return path, ("mcpServers", MCP_SERVER_NAME)
    return path, ("projects", str(_find_project_root()), "mcpServers", MCP_SERVER_NAME)


def _find_project_root() -> Path:
    """Return the folder by which Claude Code knows this project: the root of the git repository, if there is one."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def _find_skill_file(scope: str) -> Path:
    if scope == "local":
        raise UsageError("a skill belongs to a user or a project; use --scope user or --scope project with --skill")
    folder = list_config_candidates()[0] if scope == "user" else Path.cwd() / ".claude"
    return folder / "skills" / MCP_SERVER_NAME / "SKILL.md"


def _build_entry(scope: str, all_projects: bool, redact: bool) -> dict[str, Any]:
    """Build the server's entry; in a file that others share, it contains no path of this machine."""
    options = [word for word, is_set in (("--all-projects", all_projects), ("--no-redact", not redact)) if is_set]
    if scope == "project":
        return {"type": "stdio", "command": "turnlog", "args": ["mcp", *options]}
    # -P: the client starts it in the project's folder, whose files must not be imported.
    entry: dict[str, Any] = {
        "type": "stdio",
        "command": sys.executable,
        "args": ["-P", "-m", "turnlog", "mcp", *options],
    }
    variables = {name: os.environ[name] for name in _CARRIED_VARIABLES if os.environ.get(name)}
    return {**entry, "env": variables} if variables else entry


def _plan_install(path: Path, keys: tuple[str, ...], entry: dict[str, Any]) -> SettingsPlan:
    real = resolve_settings_path(path)
    before, text = read_settings_text(real)
    backup = build_backup_path(real)
    with name_settings_file(real):
        present = read_json_member(parse_client_settings(text), keys)
        if present == entry:
            return SettingsPlan(real, before, before, backup)
        after = set_json_member(text, keys, entry)
    is_first = before is not None and present is None
    return SettingsPlan(real, before, encode_settings_text(before, after), backup, makes_backup=is_first)


def _plan_removal(path: Path, keys: tuple[str, ...]) -> SettingsPlan:
    """Plan to remove the entry; if nothing else has changed, restore the file byte for byte."""
    real = resolve_settings_path(path)
    before, text = read_settings_text(real)
    backup = build_backup_path(real)
    with name_settings_file(real):
        if read_json_member(parse_client_settings(text), keys) is None:
            return SettingsPlan(real, before, before, backup)
        remaining = remove_json_member(text, keys)
    original = backup.read_bytes() if backup.is_file() else None
    if original is not None:
        with contextlib.suppress(TurnlogError):
            kept = parse_client_settings(decode_settings_text(original, backup))
            if _drop_empty_servers(kept, keys) == _drop_empty_servers(parse_client_settings(remaining), keys):
                return SettingsPlan(real, before, original, backup, drops_backup=True)
    if original is None and not parse_client_settings(remaining):
        return SettingsPlan(real, before, None, backup)
    return SettingsPlan(real, before, encode_settings_text(before, remaining), backup)


def _drop_empty_servers(document: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    holder = keys[:-1]
    if read_json_member(document, holder) != {}:
        return document
    import json

    return dict(parse_client_settings(remove_json_member(json.dumps({**document}), (*holder,))))


def _plan_skill(path: Path) -> SettingsPlan:
    real = resolve_settings_path(path)
    before = read_settings_bytes(real)
    wanted = _read_skill()
    backup = build_backup_path(real)
    return SettingsPlan(real, before, wanted, backup, makes_backup=before is not None and before != wanted)


def _plan_skill_removal(path: Path) -> SettingsPlan | None:
    real = resolve_settings_path(path)
    before = read_settings_bytes(real)
    if before != _read_skill():  # missing, or somebody's own by now
        return None
    return SettingsPlan(real, before, None, build_backup_path(real))


def _read_skill() -> bytes:
    return files("turnlog.api").joinpath("mcp_skill.md").read_bytes()


def _read_settings(scope: str) -> McpSettings:
    path, keys = find_mcp_settings(scope)
    try:
        text = read_settings_text(resolve_settings_path(path))[1]
        with name_settings_file(path):
            entry = read_json_member(parse_client_settings(text), keys)
    except TurnlogError as error:
        return McpSettings(scope, path, installed=False, error=str(error))
    skill = None if scope == "local" else _find_skill_file(scope)
    skill = skill if skill and skill.is_file() else None
    if not isinstance(entry, dict):
        return McpSettings(scope, path, installed=False, skill=skill)
    words = [entry.get("command"), *(entry["args"] if isinstance(entry.get("args"), list) else [])]
    command = tuple(word for word in words if isinstance(word, str))
    all_projects, redacted = "--all-projects" in command, "--no-redact" not in command
    own = _build_entry(scope, all_projects, redacted)
    is_current = [*command] == [own["command"], *own["args"]]
    return McpSettings(scope, path, True, command, is_current, all_projects, redacted, skill)
