"""Changes of a session's MCP servers by a program: `mcp_set_servers`, `mcp_reconnect` and `mcp_toggle`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from turnlog.agent.key_shield import build_child_environment
from turnlog.agent.loop import AgentLoop
from turnlog.agent.mcp_servers.server_config import ServerConfig, find_servers
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.print_mode.control_channel import ControlChannel
from turnlog.agent.print_mode.program_server import add_program_servers
from turnlog.agent.server_start import get_server_pool
from turnlog.errors import NotFound, TurnlogError

Object = Mapping[str, Any]
_PROGRAM_SCOPES = ("sdk", "flags")
"""The scopes of servers that the program has defined itself, and so may replace."""


def set_servers(loop: AgentLoop, servers: Object, channel: ControlChannel) -> dict[str, Any]:
    """Make the given servers the program's own; those from files stay."""
    pool = get_server_pool(loop.setup, loop.person)
    ours = [name for name, status in pool.statuses.items() if status.config.scope in _PROGRAM_SCOPES]
    removed, added = [name for name in ours if name not in servers], [name for name in servers if name not in ours]
    for name in removed:
        pool.remove_server(name)
    inside = [name for name in added if isinstance(servers[name], Mapping) and servers[name].get("type") == "sdk"]
    errors = _connect(loop, {name: servers[name] for name in added if name not in inside})
    loop.replace_server_tools(pool.tools)
    add_program_servers(loop, inside, channel, servers)
    errors |= {name: pool.statuses[name].problem for name in inside if pool.statuses[name].problem}
    return {"added": added, "removed": removed, "errors": errors}


def _connect(loop: AgentLoop, servers: Object) -> dict[str, str]:
    """Connect to servers outside the program and return what went wrong, by name."""
    guard, setup = loop.setup.guard, loop.setup
    if not servers or not isinstance(guard, SettingsGuard) or setup.servers is None:
        return {}
    flags, environ = [json.dumps({"mcpServers": servers})], build_child_environment(setup.environ)
    folder = loop.setup.config_dir
    found = find_servers(guard.settings, setup.place.root, folder, environ, flags=flags, is_strict=True)
    setup.servers.connect_all(found.servers, setup.place.root, environ)
    errors = {one.name: setup.servers.statuses[one.name].problem for one in found.servers}
    refused = [name for name in servers if name not in errors]
    problems = "; ".join(map(str, found.problems))
    return {name: problem for name, problem in errors.items() if problem} | dict.fromkeys(refused, problems)


def reconnect_server(loop: AgentLoop, name: str, channel: ControlChannel) -> None:
    """Close the connection to a server and open it again; raise TurnlogError if that fails."""
    config = _find_server(loop, name)
    pool = loop.setup.servers
    assert pool is not None
    if pool.statuses[name].is_disabled:
        raise TurnlogError(f"MCP server {name} is disabled; enable it (mcp_toggle) before reconnecting")
    pool.remove_server(name)
    _open(loop, [config], channel)
    if problem := pool.statuses[name].problem:
        raise TurnlogError(problem)


def toggle_server(loop: AgentLoop, name: str, channel: ControlChannel, *, is_enabled: bool) -> None:
    """Close the connection to a server until it is enabled again, or open it."""
    config = _find_server(loop, name)
    pool = loop.setup.servers
    assert pool is not None
    is_closed = pool.statuses[name].is_disabled
    if is_enabled and is_closed:
        pool.remove_server(name)
        _open(loop, [config], channel)
    elif not is_enabled and not is_closed:
        pool.remove_server(name)
        pool.disable_server(config)
        loop.replace_server_tools(pool.tools)


def _find_server(loop: AgentLoop, name: str) -> ServerConfig:
    statuses = loop.setup.servers.statuses if loop.setup.servers is not None else {}
    if name not in statuses:
        raise NotFound(f"Server not found: {name}")
    return statuses[name].config


def _open(loop: AgentLoop, configs: Sequence[ServerConfig], channel: ControlChannel) -> None:
    setup, pool = loop.setup, loop.setup.servers
    assert pool is not None
    inside = {one.name: {"timeout": 1000 * (one.call_seconds or 0)} for one in configs if one.kind == "sdk"}
    outside = [one for one in configs if one.kind != "sdk"]
    pool.connect_all(outside, setup.place.root, build_child_environment(setup.environ))
    loop.replace_server_tools(pool.tools)
    add_program_servers(loop, list(inside), channel, inside)
