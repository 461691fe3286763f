"""Finds Claude Code features that are configured but that turnlog lacks, so that none is ignored silently.

A hook that can block a call or a prompt is a guard. Without it, a session may do more than its owner wants, so the
session starts only if the person agrees (`--ignore-hooks`, or the console's question). Every other missing feature
causes a warning at the start. Permission rules are supported and therefore do not appear here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.agent.settings import Settings, SettingsLayer, decode_settings, find_managed_file
from turnlog.agent.small_file import read_small_file
from turnlog.entries.layout import find_state_file

GUARD_EVENTS = frozenset({"PreToolUse", "PermissionRequest", "UserPromptSubmit"})
"""Events whose hooks can block an action; hooks of other events only observe."""
UNSUPPORTED_REMEDY = "remove it, or start with --ignore-hooks to continue without it"
MAX_CONFIG_BYTES = 16 << 20


def _is_enabled(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("enabled") is True


def _is_other_style(value: Any) -> bool:
    return isinstance(value, str) and value.lower() not in ("", "default")


_UNSUPPORTED_SETTINGS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "statusLine": ("no status line is shown", bool),
    "outputStyle": ("the model gets no output style", _is_other_style),
    "sandbox": ("commands run without a sandbox", _is_enabled),
    "apiKeyHelper": ("it does not provide the key", bool),
    "agent": ("the session does not run as this agent", bool),
    "availableModels": ("any model can be chosen", lambda value: value is not None),
    "deniedModels": ("any model can be chosen", bool),
    "claudeMdExcludes": ("no instruction file is excluded", bool),
    "language": ("the model is not told which language to use", bool),
}
"""Unsupported settings that people rely on, with what happens instead and a check for the values that matter."""


class UnsupportedFeature(NamedTuple):
    """A configured feature that turnlog lacks."""

    where: str
    """The file or the command-line option."""
    what: str
    is_guard: bool = False
    """Whether a session without this feature may do what its owner wants to prevent."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def find_unsupported(settings: Settings, root: Path, config_dir: Path) -> list[UnsupportedFeature]:
    """Return everything that is configured for a folder but not supported, guards first."""
    found = [*_find_hooks(settings, config_dir), *_find_settings(settings), *_find_servers(root, config_dir)]
    return sorted(found, key=lambda one: not one.is_guard)


def describe_guards(guards: Sequence[UnsupportedFeature]) -> str:
    """Describe in one line why the session can't start, and what to do about it."""
    more = f" (and {len(guards) - 1} more)" if len(guards) > 1 else ""
    return f"{guards[0]}{more}; {UNSUPPORTED_REMEDY}"


# -- hooks


def _find_hooks(settings: Settings, config_dir: Path) -> Iterator[UnsupportedFeature]:
    layers = [layer for layer in settings.layers if layer.values.get("hooks")]
    managed = [layer for layer in settings.layers if layer.name == "managed"]
    if any(layer.values.get("disableAllHooks") is True for layer in managed):
        return
    is_managed_only = any(layer.values.get("allowManagedHooksOnly") is True for layer in managed)
    if is_managed_only or settings.get_value("disableAllHooks", bool) is True:
        layers = [layer for layer in layers if layer.name == "managed"]
    for layer in layers:
        yield from describe_hooks(layer.where, layer.values["hooks"])
    if not is_managed_only and settings.get_value("disableAllHooks", bool) is not True:
        yield from _find_plugins(settings, config_dir)


def describe_hooks(where: str, hooks: Any) -> Iterator[UnsupportedFeature]:
    """Describe the hooks in one file: first the guards, then the others."""
    if not isinstance(hooks, Mapping):
        yield UnsupportedFeature(where, "hooks is not an object, and turnlog runs no hooks", is_guard=True)
        return
    events = [str(event) for event, matchers in hooks.items() if _has_hook(matchers)]
    for is_guard in (True, False):
        some = [event for event in events if (event in GUARD_EVENTS) is is_guard]
        if some:
            yield UnsupportedFeature(
                where, f"turnlog runs no hooks, but these are configured: {', '.join(some)[:200]}", is_guard
            )


def _has_hook(matchers: Any) -> bool:
    """Return whether any hook is set; malformed hooks count, since it is unknown what they are meant to block."""
    if not isinstance(matchers, list):
        return bool(matchers)
    return any(not isinstance(one, Mapping) or bool(one.get("hooks", True)) for one in matchers)


def _find_plugins(settings: Settings, config_dir: Path) -> Iterator[UnsupportedFeature]:
    for layer in settings.list_trusted_layers():
        enabled = layer.values.get("enabledPlugins")
        names = (
            [str(name) for name, is_enabled in enabled.items() if is_enabled] if isinstance(enabled, Mapping) else []
        )
        if not names:
            continue
        yield UnsupportedFeature(layer.where, f"turnlog loads no plugins: {', '.join(names)[:200]}")
        for name, folder in _list_plugin_folders(config_dir):
            if name in names:
                path = folder / "hooks" / "hooks.json"
                yield from describe_hooks(str(path), _read_object(path).get("hooks") or {})


def _list_plugin_folders(config_dir: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and folder of each installed plugin (`installed_plugins.json`)."""
    plugins = _read_object(config_dir / "plugins" / "installed_plugins.json").get("plugins")
    for name, installed in plugins.items() if isinstance(plugins, Mapping) else ():
        for one in installed if isinstance(installed, list) else [installed]:
            if isinstance(one, Mapping) and isinstance(one.get("installPath"), str):
                yield str(name), Path(one["installPath"])


# -- other settings, and servers


def _find_settings(settings: Settings) -> Iterator[UnsupportedFeature]:
    seen: set[str] = set()
    for layer in settings.list_trusted_layers():
        for name, (instead, asks) in _UNSUPPORTED_SETTINGS.items():
            if name in seen or name not in layer.values:
                continue
            seen.add(name)  # the highest layer's value wins
            if name == "statusLine" and settings.get_value("disableAllHooks", bool) is True:
                continue
            if asks(layer.values[name]):
                yield UnsupportedFeature(
                    layer.where, f"{name} is not supported; {instead}", _needs_sandbox(name, layer)
                )


def _needs_sandbox(name: str, layer: SettingsLayer) -> bool:
    """Return whether Claude Code itself would not start without the sandbox."""
    return name == "sandbox" and layer.values[name].get("failIfUnavailable") is True


def _find_servers(root: Path, config_dir: Path) -> Iterator[UnsupportedFeature]:
    state = find_state_file(config_dir)
    places = [
        (path, _read_object(path)) for path in (root / ".mcp.json", find_managed_file().with_name("managed-mcp.json"))
    ]
    if state is not None:
        known = _read_object(state)
        projects = known.get("projects")
        project = projects.get(root.as_posix()) if isinstance(projects, Mapping) else None
        places += [(state, known), (state, project if isinstance(project, Mapping) else {})]
    for path, values in places:
        servers = values.get("mcpServers")
        if isinstance(servers, Mapping) and servers:
            yield UnsupportedFeature(str(path), f"turnlog starts no MCP servers: {', '.join(map(str, servers))[:200]}")


def _read_object(path: Path) -> Mapping[str, Any]:
    """Return the object in a file, or an empty one if the file can't be read; Claude Code itself reports such files."""
    try:
        values = decode_settings(read_small_file(path, MAX_CONFIG_BYTES))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, Mapping) else {}
