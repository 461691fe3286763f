"""Which MCP servers are configured, and which of them may start.

    managed   managed-mcp.json of the administrator, which replaces all others
    flags     --mcp-config
    local     `projects` in .claude.json
    project   .mcp.json, which comes with a checkout
    user      .claude.json
    plugin    .mcp.json of a plugin

A name that several places define belongs to the first of them. A server of the project starts only if the folder is
trusted and the person has approved the server by name (`enabledMcpjsonServers`, `enableAllProjectMcpServers`); the
project's own settings can't approve it. `deniedMcpServers` and `allowedMcpServers` of the administrator always apply.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import Struct

from turnlog.agent.plugins import EnabledPlugin, read_config_object
from turnlog.agent.settings import (
    SETTING_SOURCES,
    Settings,
    decode_settings,
    find_managed_file,
    rewrite_settings,
)
from turnlog.agent.unsupported_feature import UnsupportedFeature
from turnlog.entries.layout import find_state_file
from turnlog.errors import UsageError

Object = Mapping[str, Any]
_VARIABLE_PATTERN = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")
_KINDS = {"stdio": "stdio", "http": "http", "streamable-http": "http", "sse": "sse"}
_FOREIGN_SCOPES = ("project", "plugin")
"""The scopes of servers that somebody else may have defined."""


class ServerConfig(Struct, frozen=True):
    name: str
    scope: str
    where: str
    kind: str
    """`stdio`, `http`, `sse` or, for a server inside a program, `sdk`."""
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    headers_helper: str = ""
    """A command that prints further headers for each connection."""
    call_seconds: float | None = None
    """How long a call of a tool may take."""

    @property
    def prefix(self) -> str:
        """What the names of its tools begin with."""
        return f"mcp__{normalize_name(self.name)}__"


class ConfiguredServers(Struct, frozen=True):
    servers: tuple[ServerConfig, ...] = ()
    problems: tuple[UnsupportedFeature, ...] = ()
    """Servers that can't or may not start."""
    unapproved: tuple[ServerConfig, ...] = ()
    """Servers of the project about which the person has not decided."""


def normalize_name(name: str) -> str:
    """Return a name as it appears in the names of tools."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def find_servers(
    settings: Settings,
    root: Path,
    config_dir: Path,
    environ: Mapping[str, str],
    *,
    flags: Sequence[str] = (),
    is_strict: bool = False,
    plugins: Sequence[EnabledPlugin] = (),
    sources: Collection[str] | None = None,
) -> ConfiguredServers:
    """Return the servers of a session; `environ` provides the values of variables and must not contain keys.

    A program that names `project` in `sources` approves the servers of a trusted project, just as it runs its hooks.
    """
    servers: dict[str, ServerConfig] = {}
    problems: list[UnsupportedFeature] = []
    unapproved: list[ServerConfig] = []
    places = [
        place
        for place in _list_places(root, config_dir, flags, is_strict, plugins)
        if sources is None or place[0] not in SETTING_SOURCES or place[0] in sources
    ]
    owners = _find_name_owners(places)
    for scope, where, values in places:
        for name, value in values.items():
            config = _read_config(str(name), scope, where, value, environ)
            if isinstance(config, str):
                problems.append(
                    UnsupportedFeature(where, f"the MCP server {str(name)[:60]!r} does not start: {config}")
                )
                continue
            key = normalize_name(config.name)
            if config.name != owners[key]:
                problems.append(UnsupportedFeature(where, describe_name_clash(config, owners[key])))
                continue
            if key in servers or any(normalize_name(one.name) == key for one in unapproved):
                continue
            if reason := _find_prohibition(config, settings):
                problems.append(UnsupportedFeature(where, f"the MCP server {config.name!r} does not start: {reason}"))
            elif scope == "project" and not _is_approved(
                config.name, settings, root, config_dir, by_caller=sources is not None
            ):
                if not _is_rejected(config.name, settings, root, config_dir):
                    unapproved.append(config)
            else:
                servers[key] = config
    for config in unapproved:
        remedy = "start `turnlog chat` in the folder to decide, or list it in enabledMcpjsonServers"
        why = "it has not been approved" if settings.is_trusted else "the folder is not trusted"
        what = f"the MCP server {config.name!r} does not start: {why}; {remedy}"
        problems.append(UnsupportedFeature(config.where, what))
    return ConfiguredServers(tuple(servers.values()), tuple(problems), tuple(unapproved))


def _find_name_owners(places: Sequence[tuple[str, str, Object]]) -> dict[str, str]:
    """Return, by normalised name, the server whose tools may have it.

    Only servers of the same name replace each other. Otherwise a project or a plugin could take over the rules of one
    of the person's own servers.
    """
    owners: dict[str, str] = {}
    for _, _, values in sorted(places, key=lambda place: place[0] in _FOREIGN_SCOPES):
        for name in values:
            owners.setdefault(normalize_name(str(name)), str(name))
    return owners


def describe_name_clash(config: ServerConfig, owner: str) -> str:
    """Describe why a server may not start beside another one."""
    return (
        f"the MCP server {config.name!r} does not start: the names of its tools would begin with {config.prefix}, as"
        f" those of {owner!r} do, and share its permission rules; rename one of them"
    )


def _list_places(
    root: Path, config_dir: Path, flags: Sequence[str], is_strict: bool, plugins: Sequence[EnabledPlugin]
) -> Iterator[tuple[str, str, Object]]:
    """Yield the scope, the file and the servers of each place, highest first."""
    managed = find_managed_file().with_name("managed-mcp.json")
    if servers := _get_servers(read_config_object(managed)):
        yield "managed", str(managed), servers
        return
    for flag in flags:
        yield "flags", "--mcp-config", _read_flag(flag, root)
    if is_strict:
        return
    state = find_state_file(config_dir)
    known = read_config_object(state) if state else {}
    yield "local", str(state), _get_servers(_get_project(known, root))
    yield "project", str(root / ".mcp.json"), _get_servers(read_config_object(root / ".mcp.json"))
    yield "user", str(state), _get_servers(known)
    for plugin in (one for one in plugins if one.has_servers):
        path = plugin.folder / ".mcp.json"
        values = read_config_object(path)
        servers = _get_servers(values) or {name: one for name, one in values.items() if isinstance(one, Mapping)}
        yield "plugin", str(path), {f"plugin:{plugin.name}:{name}": one for name, one in servers.items()}


def _get_project(state: Object, root: Path) -> Object:
    projects = state.get("projects")
    project = projects.get(root.as_posix()) if isinstance(projects, Mapping) else None
    return project if isinstance(project, Mapping) else {}


def _get_servers(values: Object) -> Object:
    servers = values.get("mcpServers")
    return servers if isinstance(servers, Mapping) else {}


def _read_flag(flag: str, root: Path) -> Object:
    """Return the servers of `--mcp-config`, which is JSON or a file."""
    if flag.lstrip().startswith("{"):
        values, where = decode_settings(flag.encode("utf-8", "surrogatepass")), "--mcp-config"
    else:
        where = f"--mcp-config {flag}"
        try:
            values = decode_settings((root / Path(flag).expanduser()).read_bytes())
        except OSError as error:
            raise UsageError(f"{where}: {error.strerror or 'not readable'}") from None
    if isinstance(values, str) or not isinstance(values.get("mcpServers"), Mapping):
        raise UsageError(f"{where}: {values if isinstance(values, str) else 'mcpServers is missing'}")
    return _get_servers(values)


def _read_config(name: str, scope: str, where: str, value: Any, environ: Mapping[str, str]) -> ServerConfig | str:
    """Return a server's configuration, or why it can't start."""
    if not isinstance(value, Mapping):
        return "its entry is not an object"
    if problem := find_name_problem(name):
        return problem
    if value.get("type") == "sdk" and scope == "flags":
        return ServerConfig(name, scope, where, "sdk")
    kind = _KINDS.get(str(value.get("type") or ("http" if value.get("url") else "stdio")))
    if kind is None:
        return f"turnlog does not know servers of type {str(value.get('type'))[:40]!r}"
    texts = {key: value.get(key) or "" for key in ("command", "url", "headersHelper")}
    if not isinstance(texts["headersHelper"], str) or (texts["headersHelper"] and kind == "stdio"):
        return "its headersHelper is malformed, or it is not a server that answers over HTTP"
    lists, maps = value.get("args") or [], {key: value.get(key) or {} for key in ("env", "headers")}
    needed = "command" if kind == "stdio" else "url"
    if not isinstance(texts[needed], str) or not texts[needed]:
        return f"it has no {needed}"
    if not isinstance(lists, list) or not all(isinstance(one, Mapping) for one in maps.values()):
        return "args, env or headers is malformed"
    missing: list[str] = []

    def expand(text: Any) -> str:
        return _VARIABLE_PATTERN.sub(lambda match: _get_variable(match, environ, missing), str(text))

    config = ServerConfig(
        name,
        scope,
        where,
        kind,
        expand(texts["command"]),
        tuple(map(expand, lists)),
        {str(key): expand(one) for key, one in maps["env"].items()},
        expand(texts["url"]),
        {str(key): expand(one) for key, one in maps["headers"].items()},
        texts["headersHelper"],
        read_call_seconds(value),
    )
    if missing:
        return f"the environment variable {missing[0]} is not set"
    if kind != "stdio" and not config.url.startswith(("http://", "https://")):
        return "its url does not begin with http:// or https://"
    return config


def read_call_seconds(value: Object) -> float | None:
    """Return how long a call may take (`timeout`, in milliseconds); less than a second is ignored."""
    found = value.get("timeout")
    return found / 1000 if isinstance(found, int | float) and not isinstance(found, bool) and found >= 1000 else None


def find_name_problem(name: str) -> str:
    """Return why a server can't have a name: the tools of one server must never be taken for those of another."""
    plain = normalize_name(name)
    is_good = plain.strip("_") and "__" not in plain and plain == plain.strip("_")
    return "" if is_good else "its name must not start or end with an underscore or contain two in a row"


def _get_variable(match: re.Match[str], environ: Mapping[str, str], missing: list[str]) -> str:
    value = environ.get(match[1])
    if value is None and match[2] is None:
        missing.append(match[1])
    return value if value is not None else match[2] or ""


# -- who may start


def approve_server(root: Path, name: str, *, is_approved: bool) -> None:
    """Record in the folder's local settings whether a server of the project may start."""
    key = "enabledMcpjsonServers" if is_approved else "disabledMcpjsonServers"

    def add_name(values: Object) -> Object | None:
        names = values.get(key, [])
        return {**values, key: [*names, name]} if isinstance(names, list) else None

    path = root / ".claude" / "settings.local.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    rewrite_settings(path, add_name, f"{key} is not a list", root=root)


def _find_prohibition(config: ServerConfig, settings: Settings) -> str:
    managed = [layer.values for layer in settings.layers if layer.name == "managed"]
    for layer in settings.layers:
        if any(_fits_entry(config, entry) for entry in _list_entries(layer.values, "deniedMcpServers")):
            return f"deniedMcpServers in {layer.where} forbids it"
    allowing = [values for values in managed if isinstance(values.get("allowedMcpServers"), list)]
    entries = [entry for values in allowing for entry in _list_entries(values, "allowedMcpServers")]
    if allowing and not any(_fits_entry(config, entry) for entry in entries):
        return "allowedMcpServers of the administrator does not list it"
    return ""


def _list_entries(values: Object, key: str) -> list[Object]:
    found = values.get(key)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _fits_entry(config: ServerConfig, entry: Object) -> bool:
    if "serverCommand" in entry:
        return bool(config.command) and entry["serverCommand"] == [config.command, *config.args]
    if "serverUrl" in entry:
        return bool(config.url) and fnmatchcase(config.url, str(entry["serverUrl"]))
    return entry.get("serverName") == config.name


def _iterate_decisions(key: str, settings: Settings, root: Path, config_dir: Path) -> Iterator[Any]:
    """Yield a setting from every place that may decide about the project's servers: not from the project itself."""
    for layer in settings.list_trusted_layers():
        if layer.name != "project":
            yield layer.values.get(key)
    state = find_state_file(config_dir)
    yield _get_project(read_config_object(state) if state else {}, root).get(key)


def _is_rejected(name: str, settings: Settings, root: Path, config_dir: Path) -> bool:
    lists = _iterate_decisions("disabledMcpjsonServers", settings, root, config_dir)
    return any(isinstance(names, list) and name in names for names in lists)


def _is_approved(name: str, settings: Settings, root: Path, config_dir: Path, *, by_caller: bool) -> bool:
    if not settings.is_trusted or _is_rejected(name, settings, root, config_dir):
        return False
    if by_caller:
        return True
    lists = _iterate_decisions("enabledMcpjsonServers", settings, root, config_dir)
    if any(isinstance(names, list) and name in names for names in lists):
        return True
    return any(one is True for one in _iterate_decisions("enableAllProjectMcpServers", settings, root, config_dir))
