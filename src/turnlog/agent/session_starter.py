"""Starts or resumes a session from options, settings and the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlog.agent.actor import EventWatcher
from turnlog.agent.loop import AgentLoop
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.permissions.rules import split_rule_list
from turnlog.agent.permissions.trust import is_trusted_folder
from turnlog.agent.person import Person
from turnlog.agent.server_start import ServerStart
from turnlog.agent.session_opening import (
    build_history,
    build_loop,
    find_resumed_session,
    list_remarks,
    may_copy_files,
    open_record,
)
from turnlog.agent.settings import (
    PERMISSION_MODES,
    PermissionMode,
    Settings,
    SettingsLayer,
    load_settings,
    read_flag_layer,
)
from turnlog.agent.setup_builder import SetupBuilder
from turnlog.agent.start_options import StartOptions
from turnlog.agent.started_session import StartedSession
from turnlog.agent.unsupported_feature import UnsupportedFeature
from turnlog.agent.unsupported_features import describe_guards, find_unsupported
from turnlog.entries.layout import find_config_dirs, list_config_candidates
from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.agent.hooks.hook_definitions import HookDefinition
    from turnlog.agent.mcp_servers.server_config import ServerConfig
    from turnlog.agent.plugins import EnabledPlugin
    from turnlog.agent.resume.resume import ResumableSession
    from turnlog.model.model import Model


class SessionStarter:
    """Starts sessions in a folder on this machine."""

    def __init__(
        self,
        cwd: Path,
        data: Path,
        environ: Mapping[str, str] | None = None,
        model: Model | None = None,
        config_root: Path | None = None,
    ) -> None:
        self.cwd = cwd
        self.config_root = config_root or cwd
        """The folder whose project settings, servers and `.claude` folder apply."""
        self.data = data
        """turnlog's data folder."""
        self.environ = dict(os.environ if environ is None else environ)
        self.model = model
        """The model to use instead of the server that the environment names."""
        self._flag_layers: dict[str, SettingsLayer] = {}
        """Settings from the command line, kept because a pipe can be read only once."""

    @property
    def config_dir(self) -> Path:
        """The config folder that sessions are written to."""
        return next(iter(find_config_dirs(self.environ)), list_config_candidates(self.environ)[0])

    @property
    def is_trusted(self) -> bool:
        """Whether the person has marked the folder as trusted."""
        return is_trusted_folder(self.config_root, self.config_dir)

    @property
    def key_source(self) -> str:
        """The name of the variable that contains the API key, as print mode reports it."""
        names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
        return next((name for name in names if self.environ.get(name)), "none")

    def begin_session(self, options: StartOptions, watch: EventWatcher, person: Person) -> StartedSession:
        """Start a new session or resume one."""
        from turnlog.agent.record.owner import acquire_session

        settings = self._load_settings(options)
        plugins = self._list_plugins(settings, options)
        hooks, unsupported = self._examine_settings(settings, plugins)
        guards = [one for one in unsupported if one.is_guard]
        if guards and not options.ignores_hooks:
            raise UsageError(describe_guards(guards))
        environ = {**self.environ, **settings.collect_variables()}
        mode = _parse_mode(options.mode) if options.mode else settings.get_default_mode() or "default"
        found = find_resumed_session(options, self.cwd, self.environ)
        scratch = _make_scratch_folder() if options.is_ephemeral else None
        record = open_record(options, mode, found, scratch or self.config_dir, self.cwd)
        guard = SettingsGuard(settings, mode, further=[record.folder])
        place = (self.cwd, self.config_root, self.config_dir)
        builder = SetupBuilder(*place, self.is_trusted, options, guard, environ, plugins, self.model)
        setup = builder.build_setup(found)
        owner = acquire_session(
            record.path, self.cwd, self.data / "locks", is_new=found is None or record.path != found.path
        )
        try:
            problems = self._create_server_start(options, settings, plugins).connect_servers(setup, person)
            loop = build_loop(setup, record, found, watch, person)
            if options.output_schema is not None:
                loop.require_output(options.output_schema, "--json-schema")
            if options.copies_files and may_copy_files(settings, environ):
                loop.shared.history = build_history(loop, found)
            agent = options.agent or settings.get_value("agent", str)
            if agent and (agent in setup.agents or not options.defines_agents):
                from turnlog.agent.main_agent import adopt_agent

                adopt_agent(loop, agent, options)
            if hooks:
                self._attach_hooks(loop, hooks, found)
        except BaseException:
            owner.close()
            if setup.servers is not None:
                setup.servers.close()
            raise
        warnings = [*map(str, unsupported), *problems, *guard.warnings, *owner.warnings, *list_remarks(found, self.cwd)]
        return StartedSession(loop, owner, warnings, builder, settings, found, scratch)

    def wants_flat_output(self, options: StartOptions) -> bool:
        """Return whether the person uses a screen reader; a project can't say so."""
        if options.is_flat:
            return True
        if value := self.environ.get("CLAUDE_AX_SCREEN_READER", "").strip().lower():
            return value in ("1", "true", "yes", "on")
        layers = [one for one in self._load_settings(options).layers if one.name not in ("local", "project")]
        values = [one.values["axScreenReader"] for one in layers if "axScreenReader" in one.values]
        return values[:1] == [True]

    def find_missing_guards(self, options: StartOptions) -> list[UnsupportedFeature]:
        """Return the guards that can't run; `begin_session` starts a session only if the options ignore them."""
        settings = self._load_settings(options)
        plugins = self._list_plugins(settings, options)
        return [one for one in self._examine_settings(settings, plugins)[1] if one.is_guard]

    def find_unapproved_servers(self, options: StartOptions) -> Sequence[ServerConfig]:
        """Return the project's MCP servers about which the person has not decided yet."""
        if not (self.config_root / ".mcp.json").exists():
            return ()
        settings = self._load_settings(options)
        return (
            self._create_server_start(options, settings, self._list_plugins(settings, options))
            .find_servers()
            .unapproved
        )

    def _create_server_start(
        self, options: StartOptions, settings: Settings, plugins: Sequence[EnabledPlugin]
    ) -> ServerStart:
        return ServerStart(self.cwd, self.config_root, self.config_dir, self.environ, options, settings, plugins)

    def _list_plugins(self, settings: Settings, options: StartOptions) -> Sequence[EnabledPlugin]:
        if (
            not options.plugins
            and not options.serverless_plugins
            and not any(layer.values.get("enabledPlugins") for layer in settings.layers)
        ):
            return ()
        from turnlog.agent.plugins import list_enabled_plugins, list_named_folders

        return list_enabled_plugins(settings, self.config_dir, list_named_folders(options, self.cwd))

    def _examine_settings(
        self, settings: Settings, plugins: Sequence[EnabledPlugin]
    ) -> tuple[Sequence[HookDefinition], list[UnsupportedFeature]]:
        """Return the hooks in the settings, and what they contain that is not supported."""
        if not plugins and not any(layer.values.get("hooks") for layer in settings.layers):
            return (), find_unsupported(settings, self.config_dir)
        from turnlog.agent.hooks.hook_settings import load_hooks

        hooks = load_hooks(settings, plugins)
        return hooks.definitions, find_unsupported(settings, self.config_dir, hooks.problems)

    def _attach_hooks(self, loop: AgentLoop, hooks: Sequence[HookDefinition], found: ResumableSession | None) -> None:
        from turnlog.agent.hooks.hook_runner import HookRunner
        from turnlog.agent.hooks.hook_scope import HookScope

        runner = HookRunner(hooks, self.cwd)
        loop.attach_hooks(HookScope(runner, loop.setup, loop.record, loop.tell))
        if loop.lifecycle is not None:
            loop.lifecycle.start_session("startup" if found is None else "resume")

    def _load_settings(self, options: StartOptions) -> Settings:
        return load_settings(
            self.config_root,
            self.config_dir,
            is_trusted=self.is_trusted,
            flags=self._build_flag_layers(options),
            sources=options.setting_sources,
        )

    def _build_flag_layers(self, options: StartOptions) -> list[SettingsLayer | Mapping[str, Any]]:
        for name in options.settings:
            self._flag_layers[name] = self._flag_layers.get(name) or read_flag_layer(name, self.cwd)
        permissions = {"allow": split_rule_list(options.allowed), "deny": split_rule_list(options.disallowed)}
        layers: list[SettingsLayer | Mapping[str, Any]] = [
            *(self._flag_layers[name] for name in options.settings),
            {"permissions": permissions},
        ]
        if options.policy is not None:
            from turnlog.agent.program_policy import read_program_policy

            layers.append(read_program_policy(options.policy, self.cwd))
        return layers


def _parse_mode(name: str) -> PermissionMode:
    mode = next((mode for mode in PERMISSION_MODES if mode == name), None)
    if mode is None:
        raise UsageError(f"unknown permission mode {name!r}; use one of {', '.join(PERMISSION_MODES)}")
    return mode


def _make_scratch_folder() -> Path:
    """Make a folder for the files of a session that is not kept."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix="turnlog-"))
