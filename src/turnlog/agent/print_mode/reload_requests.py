"""Requests of a program to read files again: `reload_skills`, `reload_output_styles` and `reload_plugins`.

The settings, and whether the folder is trusted, are those from the start of the session: a plugin that a file has
enabled since then is not loaded, and the files of a project that was not trusted stay unread.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from turnlog.agent.commands.init_command import INIT_COMMAND
from turnlog.agent.events import WarningIssued
from turnlog.agent.hooks.hook_definitions import HookDefinition
from turnlog.agent.hooks.hook_settings import load_hooks
from turnlog.agent.loop import AgentLoop
from turnlog.agent.mcp_servers.server_config import ServerConfig
from turnlog.agent.plugins import (
    EnabledPlugin,
    drop_like_named_plugins,
    list_enabled_plugins,
    list_named_folders,
    read_plugin_name,
)
from turnlog.agent.server_start import ServerStart, get_server_pool
from turnlog.agent.setup_builder import SetupBuilder
from turnlog.agent.started_session import StartedSession
from turnlog.agent.tools.call_result import to_object
from turnlog.agent.tools.skill import Skill
from turnlog.agent.unsupported_features import describe_guards
from turnlog.errors import TurnlogError

Object = Mapping[str, Any]
_MALFORMED_PLUGINS = 'reload_plugins add_plugins must be a list of { type: "local", path } entries with absolute paths'


class PluginReload(NamedTuple):
    """What reading the plugins again has found."""

    plugins: Sequence[EnabledPlugin]
    hooks: Sequence[HookDefinition]
    added: Sequence[ServerConfig]
    removed: Sequence[str]
    """The names of the servers of plugins that are gone."""
    problems: int


class SessionReload:
    """Reads the files of a session again."""

    def __init__(self, session: StartedSession) -> None:
        self._loop: AgentLoop = session.loop
        self._builder: SetupBuilder = session.builder
        self.agent_suffix = ""
        """What a program adds to the system prompt of every sub-agent."""
        self.skill_names: Sequence[str] | None = None
        """The skills that the program allows the model; None for all."""

    def reload_skills(self) -> list[str]:
        """Read commands and skills again, and return the names of all."""
        setup, guard = self._loop.setup, self._builder.guard
        commands = self._builder.load_commands(self._warn)
        prompts = setup.servers.prompts if setup.servers is not None else {}
        setup.commands = {"init": INIT_COMMAND, **commands, **prompts}
        guard.free_skills = frozenset(name for name, command in commands.items() if command.is_plain)
        self.offer_skills()
        return ["init", *commands]

    def offer_skills(self) -> None:
        """Offer the model the skills that it may use."""
        commands = {
            name: one for name, one in self._loop.setup.commands.items() if one.fetch is None and name != "init"
        }
        is_offered = "Skill" in self._loop.list_tools()
        if not is_offered and (
            self._builder.options.tools is not None or not any(one.is_for_model for one in commands.values())
        ):
            return
        names = self.skill_names
        wanted = {
            name: one
            for name, one in commands.items()
            if names is None or not one.is_skill or any(name == given or name.endswith(f":{given}") for given in names)
        }
        self._loop.add_tools({"Skill": Skill(wanted)})

    def offer_agents(self) -> None:
        """Offer the model the sub-agents from files and those that the program has defined."""
        agents = {**self._builder.load_agents(self._warn), **self._loop.program_agents}
        if self.agent_suffix:
            agents = {
                name: replace(kind, prompt=f"{kind.prompt}\n\n{self.agent_suffix}") for name, kind in agents.items()
            }
        self._loop.replace_agents(agents)

    # -- plugins

    def read_plugins(self, request: Object) -> PluginReload:
        """Read the plugins again, with those that the request adds; raise TurnlogError if their hooks can't run."""
        builder = self._builder
        asked = _parse_plugins(request.get("add_plugins"))
        missing = [plugin for plugin in asked if not plugin.folder.is_dir()]
        named = list_named_folders(builder.options, builder.cwd)
        folders = {folder: has_servers for folder, has_servers in named.items() if folder.is_dir()}
        found = list_enabled_plugins(builder.guard.settings, builder.config_dir, folders)
        loaded = {plugin.folder: plugin for plugin in (*found, *builder.plugins, *asked) if plugin.folder.is_dir()}
        plugins = drop_like_named_plugins(loaded.values())
        hooks = load_hooks(builder.guard.settings, plugins)
        guards = [one for one in hooks.problems if one.is_guard]
        if guards and not builder.options.ignores_hooks:
            raise TurnlogError(f"reload_plugins: {describe_guards(guards)}")
        servers = self._find_servers(plugins)
        pool = self._loop.setup.servers
        present = [name for name, one in pool.statuses.items() if one.config.scope == "plugin"] if pool else []
        return PluginReload(
            plugins,
            [one for one in hooks.definitions if one.plugin_root],
            [config for name, config in servers.items() if name not in present],
            [name for name in present if name not in servers],
            len(missing) + len(hooks.problems),
        )

    def apply_plugins(self, found: PluginReload) -> None:
        """Make what was read part of the session."""
        self._builder.plugins = found.plugins
        self._loop.setup.plugins = found.plugins
        self._replace_hooks(found.hooks)
        self._replace_servers(found)
        self.reload_skills()
        self.offer_agents()

    def _find_servers(self, plugins: Sequence[EnabledPlugin]) -> dict[str, ServerConfig]:
        builder = self._builder
        start = ServerStart(
            builder.cwd,
            builder.root,
            builder.config_dir,
            builder.environ,
            builder.options,
            builder.guard.settings,
            plugins,
        )
        return {one.name: one for one in start.find_servers().servers if one.scope == "plugin"} if plugins else {}

    def _replace_servers(self, found: PluginReload) -> None:
        if not found.added and not found.removed:
            return
        from turnlog.agent.key_shield import build_child_environment

        setup = self._loop.setup
        pool = get_server_pool(setup, self._loop.person)
        for name in found.removed:
            pool.remove_server(name)
        pool.connect_all(found.added, self._builder.cwd, build_child_environment(setup.environ))
        if self._builder.options.tools is None:
            self._loop.replace_server_tools(pool.tools)

    def _replace_hooks(self, hooks: Sequence[HookDefinition]) -> None:
        if self._loop.hooks is not None:
            self._loop.hooks.runner.replace_plugin_hooks(hooks)
        elif hooks:
            from turnlog.agent.hooks.hook_runner import HookRunner
            from turnlog.agent.hooks.hook_scope import HookScope

            runner = HookRunner(hooks, self._builder.cwd)
            self._loop.attach_hooks(HookScope(runner, self._loop.setup, self._loop.record, self._loop.tell))

    def _warn(self, text: str) -> None:
        self._loop.tell(WarningIssued(text))


def _parse_plugins(values: Any) -> list[EnabledPlugin]:
    """Return the plugins that a request lists; raise TurnlogError if the list is malformed."""
    if values is not None and not isinstance(values, list):
        raise TurnlogError(_MALFORMED_PLUGINS)
    plugins = []
    for value in map(to_object, values or ()):
        path = value.get("path") if value.get("type") == "local" else None
        if not isinstance(path, str) or not Path(path).is_absolute() or "\0" in path:
            raise TurnlogError(_MALFORMED_PLUGINS)
        folder = Path(os.path.realpath(path))
        plugins.append(EnabledPlugin(read_plugin_name(folder), folder, value.get("skipMcpDiscovery") is not True))
    return plugins
