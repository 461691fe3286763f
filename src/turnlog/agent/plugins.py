"""Installed plugins that the settings enable; only settings that are trusted can enable one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.agent.settings import Settings, decode_settings
from turnlog.agent.small_file import read_small_file
from turnlog.agent.start_options import StartOptions
from turnlog.errors import UsageError

MAX_CONFIG_BYTES = 16 << 20


class EnabledPlugin(NamedTuple):
    name: str
    """Its name without the marketplace."""
    folder: Path
    has_servers: bool = True
    """Whether its MCP servers are used."""


def list_named_folders(options: StartOptions, cwd: Path) -> dict[Path, bool]:
    """Return the folders of the plugins that the options name, and whether to use their servers."""
    named = [*((name, True) for name in options.plugins), *((name, False) for name in options.serverless_plugins)]
    return {Path(os.path.realpath(cwd / Path(name).expanduser())): has_servers for name, has_servers in named}


def list_enabled_plugins(
    settings: Settings, config_dir: Path, folders: Mapping[Path, bool] | None = None
) -> list[EnabledPlugin]:
    """Return the plugins in `folders` (`--plugin-dir`) and the installed ones that the settings enable.

    The values of `folders` say whether to use the plugin's servers. The highest layer that mentions a plugin decides.
    """
    if missing := [folder for folder in folders or () if not folder.is_dir()]:
        raise UsageError(f"--plugin-dir {missing[0]}: no such folder")
    given = [EnabledPlugin(read_plugin_name(folder), folder, used) for folder, used in (folders or {}).items()]
    return drop_like_named_plugins(given + _list_enabled(settings, config_dir))


def drop_like_named_plugins(plugins: Iterable[EnabledPlugin]) -> list[EnabledPlugin]:
    """Keep the first plugin of each name: two would share the rules for their tools and skills."""
    found: dict[str, EnabledPlugin] = {}
    for plugin in plugins:
        found.setdefault(fold_plugin_name(plugin.name), plugin)
    return list(found.values())


def fold_plugin_name(name: str) -> str:
    """Return a plugin's name as it appears in the names of its servers."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def read_plugin_name(folder: Path) -> str:
    """Return the name that a plugin gives itself, or else that of its folder."""
    name = read_config_object(folder / ".claude-plugin" / "plugin.json").get("name")
    return name if isinstance(name, str) and name else folder.name


def _list_enabled(settings: Settings, config_dir: Path) -> list[EnabledPlugin]:
    wanted: dict[str, bool] = {}
    for layer in settings.list_trusted_layers():
        enabled = layer.values.get("enabledPlugins")
        for name, value in enabled.items() if isinstance(enabled, Mapping) else ():
            wanted.setdefault(str(name), bool(value))
    names = [name for name, is_enabled in wanted.items() if is_enabled]
    if not names:
        return []
    installed = sorted(_list_installed(config_dir), key=lambda one: names.index(one[0]) if one[0] in names else -1)
    found = {folder: EnabledPlugin(name.partition("@")[0], folder) for name, folder in installed if name in names}
    return list(found.values())


def find_like_named_plugins(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yield the file and the name of each enabled plugin that has the name of another one, and that one's name."""
    first: dict[str, str] = {}
    for layer in settings.list_trusted_layers():
        enabled = layer.values.get("enabledPlugins")
        for name, value in enabled.items() if isinstance(enabled, Mapping) else ():
            before = first.setdefault(fold_plugin_name(str(name).partition("@")[0]), str(name)) if value else str(name)
            if before != str(name):
                yield layer.where, str(name), before


def find_missing_plugins(settings: Settings, config_dir: Path) -> Iterator[tuple[str, str]]:
    """Yield the file and the name of each enabled plugin that is not installed."""
    installed = {name for name, folder in _list_installed(config_dir) if folder.is_dir()}
    for layer in settings.list_trusted_layers():
        enabled = layer.values.get("enabledPlugins")
        for name, value in enabled.items() if isinstance(enabled, Mapping) else ():
            if value and str(name) not in installed:
                yield layer.where, str(name)


def _list_installed(config_dir: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and folder of each installed plugin (`installed_plugins.json`)."""
    plugins = read_config_object(config_dir / "plugins" / "installed_plugins.json").get("plugins")
    for name, installed in plugins.items() if isinstance(plugins, Mapping) else ():
        for one in installed if isinstance(installed, list) else [installed]:
            if isinstance(one, Mapping) and isinstance(one.get("installPath"), str):
                yield str(name), Path(one["installPath"])


def read_config_object(path: Path) -> Mapping[str, Any]:
    """Return the object in a file, or an empty one if the file can't be read; Claude Code itself reports such files."""
    try:
        values = decode_settings(read_small_file(path, MAX_CONFIG_BYTES))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, Mapping) else {}
