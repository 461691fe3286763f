"""What a program demands for the tools of MCP servers, and what it reads from them.

Both can only tighten: a policy asks or denies, and a mode override makes bypassPermissions ask as the default mode
does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.agent.loop import AgentLoop
from turnlog.agent.mcp_servers.server_config import normalize_name
from turnlog.agent.mcp_servers.server_link import ServerFailure
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.settings import PERMISSION_MODES
from turnlog.agent.tools.call_result import Workspace, to_object
from turnlog.errors import NotFound, TurnlogError

Object = Mapping[str, Any]
MAX_RESOURCE_CHARS = 16 << 20
_RESERVED_META = "com.anthropic/"


def apply_tool_policies(guard: SettingsGuard, place: Workspace, configs: Object, *, replaces: bool) -> None:
    """Apply the policies of servers (`tools`); with `replaces`, those of a server that states none are dropped."""
    for name, config in configs.items():
        listed = to_object(config).get("tools")
        if isinstance(listed, list) or replaces:
            guard.add_server_rules(name, _read_policies(name, listed), place, replaces=replaces)


def _read_policies(server: str, listed: Any) -> dict[str, list[str]]:
    rules: dict[str, list[str]] = {"ask": [], "deny": []}
    for entry in map(to_object, listed if isinstance(listed, list) else ()):
        name, policy = entry.get("name"), entry.get("permission_policy")
        if isinstance(name, str) and name and policy not in (None, "always_allow"):
            kind = "deny" if policy == "always_deny" else "ask"
            rules[kind].append(f"mcp__{normalize_name(server)}__{normalize_name(name)}")
    return rules


def override_server_mode(guard: SettingsGuard, loop: AgentLoop, request: Object) -> dict[str, Any]:
    """Make bypassPermissions ask about a server's tools, or no longer; return a warning if there is no such server."""
    name, mode = request.get("serverName"), request.get("mode")
    if not isinstance(name, str):
        raise TurnlogError("set_mcp_permission_mode_override: serverName must be a string")
    if "mode" not in request or mode not in (None, "auto", *PERMISSION_MODES):
        raise TurnlogError(f"Cannot set permission mode: must be one of {', '.join(PERMISSION_MODES)}")
    if mode not in ("default", "auto", None):
        raise TurnlogError(
            "Permission mode override over the control channel is tighten-only ('default', 'auto', or null); rejected"
            f" {mode!r}"
        )
    prefix = frozenset((f"mcp__{normalize_name(name)}__",))
    guard.asking_prefixes = guard.asking_prefixes - prefix if mode is None else guard.asking_prefixes | prefix
    servers = loop.setup.servers
    if servers is not None and name in servers.statuses:
        return {}
    if mode is None:
        return {"warning": f"MCP server '{name}' is not known; its stored override was cleared."}
    what = "override stored but will not apply until a server with that exact name connects."
    return {"warning": f"MCP server '{name}' is not yet known; {what}"}


def read_ui_resource(loop: AgentLoop, request: Object) -> dict[str, Any]:
    """Return a `ui://` resource of a server that turnlog has connected to itself."""
    name, uri = request.get("serverName"), request.get("uri")
    if not isinstance(name, str):
        raise TurnlogError("mcp_read_resource: serverName must be a string")
    if not isinstance(uri, str) or not uri.startswith("ui://"):
        raise TurnlogError("mcp_read_resource: uri must use the ui:// scheme")
    servers = loop.setup.servers
    if servers is None or name not in servers.statuses:
        raise NotFound(f"Server not found: {name}")
    if servers.statuses[name].config.kind == "sdk":
        raise TurnlogError(f"mcp_read_resource: {name} is a server of the program, which can read it directly")
    try:
        parts = servers.read_ui_resource(name, uri, loop.setup.environ)
    except ServerFailure as error:
        raise TurnlogError(f"mcp_read_resource: {error}") from None
    contents = [_clean_part(part) for part in parts]
    size = sum(len(str(part.get("text") or part.get("blob") or "")) for part in contents)
    if size > MAX_RESOURCE_CHARS:
        raise TurnlogError(f"mcp_read_resource: {uri} is larger than {MAX_RESOURCE_CHARS >> 20} MB")
    return {"contents": contents}


def _clean_part(part: Object) -> dict[str, Any]:
    """Return a part without the metadata that only a client may set."""
    kept = {name: part[name] for name in ("uri", "mimeType", "text", "blob") if isinstance(part.get(name), str)}
    meta = {name: value for name, value in to_object(part.get("_meta")).items() if not name.startswith(_RESERVED_META)}
    return {**kept, **({"_meta": meta} if meta else {})}
