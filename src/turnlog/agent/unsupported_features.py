"""Finds Claude Code features that are configured but that turnlog lacks, so that none is ignored silently.

A hook that can't run is a guard: without it, a session may do more than its owner wants, so the session starts only if
the person agrees (`--ignore-hooks`, or the console's question). Every other missing feature causes a warning at the
start. Permission rules are supported and therefore do not appear here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from turnlog.agent.plugins import MAX_CONFIG_BYTES
from turnlog.agent.settings import Settings, SettingsLayer, find_managed_file
from turnlog.agent.small_file import read_small_file
from turnlog.agent.unsupported_feature import UnsupportedFeature
from turnlog.entries.layout import find_state_file

UNSUPPORTED_REMEDY = "remove it, or start with --ignore-hooks to continue without it"


def _is_enabled(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("enabled") is True


_UNSUPPORTED_SETTINGS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "sandbox": ("commands run without a sandbox", _is_enabled),
    "apiKeyHelper": ("it does not provide the key", bool),
    "availableModels": ("any model can be chosen", lambda value: value is not None),
    "deniedModels": ("any model can be chosen", bool),
    "claudeMdExcludes": ("no instruction file is excluded", bool),
    "language": ("the model is not told which language to use", bool),
}
"""Unsupported settings that people rely on, with what happens instead and a check for the values that matter."""


def find_unsupported(
    settings: Settings, config_dir: Path, hook_problems: Sequence[UnsupportedFeature] = ()
) -> list[UnsupportedFeature]:
    """Return everything that is configured for a folder but not supported, guards first."""
    found = [
        *hook_problems,
        *_find_plugin_problems(settings, config_dir),
        *_find_settings(settings),
    ]
    return sorted(found, key=lambda one: not one.is_guard)


def describe_guards(guards: Sequence[UnsupportedFeature]) -> str:
    """Describe in one line why the session can't start, and what to do about it."""
    more = f" (and {len(guards) - 1} more)" if len(guards) > 1 else ""
    return f"{guards[0]}{more}; {UNSUPPORTED_REMEDY}"


def _find_plugin_problems(settings: Settings, config_dir: Path) -> Iterator[UnsupportedFeature]:
    if any(layer.values.get("enabledPlugins") for layer in settings.layers):
        from turnlog.agent.plugins import find_like_named_plugins, find_missing_plugins  # few sessions have plugins

        for where, name in find_missing_plugins(settings, config_dir):
            yield UnsupportedFeature(where, f"the plugin {name[:100]} is not installed, so it is not loaded")
        for where, name, other in find_like_named_plugins(settings):
            what = f"the plugin {name[:100]} is not loaded: it would share names and rules with {other[:100]}"
            yield UnsupportedFeature(where, what)


# -- other settings


def _find_settings(settings: Settings) -> Iterator[UnsupportedFeature]:
    seen: set[str] = set()
    for layer in settings.list_trusted_layers():
        for name, (instead, asks) in _UNSUPPORTED_SETTINGS.items():
            if name in seen or name not in layer.values:
                continue
            seen.add(name)  # the highest layer's value wins
            if asks(layer.values[name]):
                yield UnsupportedFeature(
                    layer.where, f"{name} is not supported; {instead}", _needs_sandbox(name, layer)
                )


def _needs_sandbox(name: str, layer: SettingsLayer) -> bool:
    """Return whether Claude Code itself would not start without the sandbox."""
    return name == "sandbox" and layer.values[name].get("failIfUnavailable") is True


def may_have_servers(root: Path, config_dir: Path) -> bool:
    """Return whether any file may define MCP servers; most sessions have none and never load what connects to them."""
    if (root / ".mcp.json").exists() or find_managed_file().with_name("managed-mcp.json").exists():
        return True
    state = find_state_file(config_dir)
    if state is None:
        return False
    try:
        return b'"mcpServers"' in read_small_file(state, MAX_CONFIG_BYTES)
    except OSError:
        return False
