"""Restrictions by the program that starts the client (`--managed-settings`): a layer like the administrator's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnlog.agent.settings import SettingsLayer, read_flag_layer
from turnlog.errors import UsageError

_RESTRICTING_PERMISSIONS = ("deny", "ask", "disableBypassPermissionsMode")
_RESTRICTIONS = (
    "allowManagedPermissionRulesOnly",
    "allowManagedHooksOnly",
    "deniedMcpServers",
    "allowedMcpServers",
    "disabledMcpjsonServers",
)
_FREEDOMS = frozenset(
    ("$schema", "enabledPlugins", "env", "hooks", "model", "outputStyle", "permissions", "statusLine")
)
"""Settings that restrict nothing: a program can't set these above the administrator's."""


def read_program_policy(text: str, root: Path) -> SettingsLayer:
    """Read restrictions; raise UsageError for one that turnlog can't enforce."""
    values = read_flag_layer(text, root).values
    unknown = values.keys() - {*_RESTRICTIONS, *_FREEDOMS, "disableAllHooks"}
    if unknown:
        raise UsageError(f"--managed-settings: turnlog can't enforce {', '.join(sorted(unknown))}")
    permissions = values.get("permissions") or {}
    kept: dict[str, Any] = {name: values[name] for name in _RESTRICTIONS if name in values}
    if isinstance(permissions, Mapping):
        kept["permissions"] = {name: permissions[name] for name in _RESTRICTING_PERMISSIONS if name in permissions}
    if values.get("disableAllHooks") not in (None, False, "false"):
        kept["allowManagedHooksOnly"] = True  # the administrator's own hooks keep running
    return SettingsLayer("managed", "--managed-settings", kept, root)
