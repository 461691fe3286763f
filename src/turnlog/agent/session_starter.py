"""Starts or resumes a session from options, settings and the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.agent.briefing.agents import load_agent_types
from turnlog.agent.briefing.memory import MemoryFile, load_memory_files, render_memory_reminder
from turnlog.agent.briefing.plan_mode import PLAN_MODE_REMINDER
from turnlog.agent.briefing.surroundings import describe_surroundings
from turnlog.agent.briefing.system_prompt import build_system_prompt
from turnlog.agent.conversation import AgentConversation, build_reminder
from turnlog.agent.loop import AgentLoop, EventWatcher, SharedState
from turnlog.agent.model_names import choose_model, choose_small_model, load_model_aliases
from turnlog.agent.permissions.guard import SettingsGuard, build_readonly_check
from turnlog.agent.permissions.rules import split_rule_list
from turnlog.agent.permissions.trust import is_trusted_folder, may_import_external
from turnlog.agent.person import Person
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.settings import (
    PERMISSION_MODES,
    PermissionMode,
    Settings,
    SettingsLayer,
    load_settings,
    read_flag_layer,
)
from turnlog.agent.setup import AgentSetup, SentInstructions, TurnLimits
from turnlog.agent.thinking_choice import ThinkingChoice, choose_thinking
from turnlog.agent.toolbox import build_tools
from turnlog.agent.tools.call_result import Workspace
from turnlog.agent.tools.seen_files import is_unwritten_since
from turnlog.agent.unsupported_feature import UnsupportedFeature
from turnlog.agent.unsupported_features import describe_guards, find_unsupported, may_have_servers
from turnlog.entries.layout import find_config_dirs, list_config_candidates
from turnlog.errors import NotFound, Refused, UsageError

if TYPE_CHECKING:
    from turnlog.agent.briefing.output_style import OutputStyle
    from turnlog.agent.file_history.history import FileHistory
    from turnlog.agent.hooks.hook_definitions import HookDefinition
    from turnlog.agent.mcp_servers.server_config import ConfiguredServers, ServerConfig
    from turnlog.agent.plugins import EnabledPlugin
    from turnlog.agent.record.owner import SessionHolder
    from turnlog.agent.resume.resume import ResumableSession
    from turnlog.agent.resume.tool_state import SeenFile
    from turnlog.agent.tools.command_file import CommandFile
    from turnlog.model.model import Model


_COMMAND_FOLDERS = ("commands", "skills")


class StartOptions(NamedTuple):
    """The options with which a person started the client."""

    model: str | None = None
    resume: str | None = None
    """The session to resume: its id, a title or a path."""
    is_continued: bool = False
    """Whether to resume the newest session in the folder."""
    is_forked: bool = False
    session_id: str | None = None
    mode: str | None = None
    allowed: tuple[str, ...] = ()
    disallowed: tuple[str, ...] = ()
    tools: str | None = None
    folders: tuple[str, ...] = ()
    system_prompt: str | None = None
    appended_prompt: str | None = None
    turns: int | None = None
    dollars: float | None = None
    settings: tuple[str, ...] = ()
    url: str | None = None
    mcp_configs: tuple[str, ...] = ()
    """Files or JSON that define MCP servers."""
    is_strict_mcp: bool = False
    """Whether only these servers start."""
    plugins: tuple[str, ...] = ()
    """Folders of plugins to load for this session."""
    ignores_hooks: bool = False
    """Whether to start even if hooks that would guard the session can't run."""
    leaf: str | None = None
    """The last entry to keep of the resumed session."""
    effort: str | None = None
    thinking_tokens: int | None = None
    fallback: str | None = None
    betas: tuple[str, ...] = ()
    copies_files: bool = False
    """Whether to copy files before they are changed, so that a person can rewind."""


class StartedSession(NamedTuple):
    """A session that is ready for prompts."""

    loop: AgentLoop
    owner: SessionHolder
    warnings: list[str]
    resumed: ResumableSession | None = None

    def close(self, reason: str = "other") -> None:
        """Release everything that the session uses: background commands and the lock on its file.

        Hooks learn the reason: `clear`, `resume`, `prompt_input_exit` or `other`.
        """
        if self.loop.lifecycle is not None:
            self.loop.lifecycle.end_session(reason)
        self.loop.shared.shells.close()
        if self.loop.setup.servers is not None:
            self.loop.setup.servers.close()
        self.owner.close()


class SessionStarter:
    """Starts sessions in a folder on this machine."""

    def __init__(
        self, cwd: Path, data: Path, environ: Mapping[str, str] | None = None, model: Model | None = None
    ) -> None:
        self.cwd = cwd
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
        return is_trusted_folder(self.cwd, self.config_dir)

    @property
    def key_source(self) -> str:
        """The name of the variable that contains the API key, as print mode reports it."""
        names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
        return next((name for name in names if self.environ.get(name)), "none")

    def begin_session(self, options: StartOptions, watch: EventWatcher, person: Person) -> StartedSession:
        """Start a new session or resume one."""
        settings = self._load_settings(options)
        plugins = self._list_plugins(settings, options)
        hooks, unsupported = self._examine_settings(settings, plugins)
        guards = [one for one in unsupported if one.is_guard]
        if guards and not options.ignores_hooks:
            raise UsageError(describe_guards(guards))
        environ = {**self.environ, **settings.collect_variables()}
        mode = _parse_mode(options.mode) if options.mode else settings.get_default_mode() or "default"
        found = self._find_resumed_session(options)
        record = self._open_record(options, mode, found)
        guard = SettingsGuard(settings, mode, further=[record.folder])
        setup = self._build_setup(options, guard, environ, found, plugins)
        owner = self._acquire_owner(record, is_new=found is None or options.is_forked)
        try:
            problems = self._connect_servers(options, setup, settings, plugins)
            loop = self._build_loop(setup, record, found, watch, person)
            if options.copies_files and may_copy_files(settings, environ):
                loop.shared.history = self._build_history(loop, found)
            if hooks:
                self._attach_hooks(loop, hooks, found)
        except BaseException:
            owner.close()
            if setup.servers is not None:
                setup.servers.close()
            raise
        warnings = [*map(str, unsupported), *problems, *guard.warnings, *owner.warnings, *self._list_remarks(found)]
        return StartedSession(loop, owner, warnings, found)

    def find_missing_guards(self, options: StartOptions) -> list[UnsupportedFeature]:
        """Return the guards that can't run; `begin_session` starts a session only if the options ignore them."""
        settings = self._load_settings(options)
        plugins = self._list_plugins(settings, options)
        return [one for one in self._examine_settings(settings, plugins)[1] if one.is_guard]

    def _list_plugins(self, settings: Settings, options: StartOptions) -> Sequence[EnabledPlugin]:
        if not options.plugins and not any(layer.values.get("enabledPlugins") for layer in settings.layers):
            return ()
        from turnlog.agent.plugins import list_enabled_plugins

        folders = [Path(os.path.realpath(self.cwd / Path(name).expanduser())) for name in options.plugins]
        return list_enabled_plugins(settings, self.config_dir, folders)

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
            self.cwd, self.config_dir, is_trusted=self.is_trusted, flags=self._build_flag_layers(options)
        )

    def _build_flag_layers(self, options: StartOptions) -> list[SettingsLayer | Mapping[str, Any]]:
        for name in options.settings:
            self._flag_layers[name] = self._flag_layers.get(name) or read_flag_layer(name, self.cwd)
        permissions = {"allow": split_rule_list(options.allowed), "deny": split_rule_list(options.disallowed)}
        return [*(self._flag_layers[name] for name in options.settings), {"permissions": permissions}]

    # -- setup

    def _build_setup(
        self,
        options: StartOptions,
        guard: SettingsGuard,
        environ: Mapping[str, str],
        found: ResumableSession | None,
        plugins: Sequence[EnabledPlugin] = (),
    ) -> AgentSetup:
        known = load_model_aliases(environ)
        set_to = environ.get("ANTHROPIC_MODEL") or guard.settings.get_value("model", str)
        name = choose_model((options.model, set_to, found.model if found else None), known)
        place = self._build_workspace(options, guard.settings)
        warn = guard.settings.warnings.append
        agents = load_agent_types(self.cwd, self.config_dir, warn, ignores_hooks=options.ignores_hooks, plugins=plugins)
        commands, style = self._load_commands(plugins, warn), self._find_style(guard.settings, plugins)
        guard.free_skills = frozenset(name for name, command in commands.items() if command.is_plain)
        tools = build_tools(agents, build_readonly_check(place), options.tools)
        if options.tools is None and any(command.is_for_model for command in commands.values()):
            from turnlog.agent.tools.skill import Skill

            tools["Skill"] = Skill(commands)
        instructions = self._load_instructions(place, guard)
        return AgentSetup(
            model=self.model or self._connect_model(environ, options.url),
            name=name,
            small=choose_small_model(environ, known),
            system=build_system_prompt(options.system_prompt, options.appended_prompt, style),
            preface=self._build_preface(place, name, environ, guard, instructions),
            instructions=[SentInstructions(file.kind, file.path, len(file.text.encode())) for file in instructions],
            tools=tools,
            guard=guard,
            place=place,
            environ=environ,
            agents=agents,
            commands=commands,
            style=style.name if style else "default",
            limits=TurnLimits(options.turns, options.dollars),
            aliases=known,
            thinking=_choose_thinking(options, guard.settings, environ),
            fallback=choose_model((options.fallback,), known) if options.fallback else None,
            betas=options.betas,
        )

    def find_unapproved_servers(self, options: StartOptions) -> Sequence[ServerConfig]:
        """Return the project's MCP servers about which the person has not decided yet."""
        if not (self.cwd / ".mcp.json").exists():
            return ()
        settings = self._load_settings(options)
        return self._find_servers(options, settings, self._list_plugins(settings, options)).unapproved

    def _find_servers(
        self, options: StartOptions, settings: Settings, plugins: Sequence[EnabledPlugin]
    ) -> ConfiguredServers:
        from turnlog.agent.key_shield import build_child_environment
        from turnlog.agent.mcp_servers.server_config import find_servers

        environ = build_child_environment({**self.environ, **settings.collect_variables()})
        flags, is_strict = options.mcp_configs, options.is_strict_mcp
        return find_servers(
            settings, self.cwd, self.config_dir, environ, flags=flags, is_strict=is_strict, plugins=plugins
        )

    def _connect_servers(
        self, options: StartOptions, setup: AgentSetup, settings: Settings, plugins: Sequence[EnabledPlugin]
    ) -> list[str]:
        """Connect to the MCP servers of a session and return what went wrong."""
        if not options.mcp_configs and not plugins and not may_have_servers(self.cwd, self.config_dir):
            return []
        found = self._find_servers(options, settings, plugins)
        problems = [str(problem) for problem in found.problems]
        if found.servers:
            from turnlog.agent.key_shield import build_child_environment
            from turnlog.agent.mcp_servers.server_pool import ServerPool

            setup.servers = pool = ServerPool()
            pool.connect_all(found.servers, self.cwd, build_child_environment(setup.environ))
            if options.tools is None:
                setup.tools = {**setup.tools, **pool.tools}
            setup.commands = {**setup.commands, **pool.prompts}
            setup.preface = [*setup.preface, *([build_reminder(pool.instructions)] if pool.instructions else [])]
            failed = [one for one in pool.statuses.values() if one.problem]
            problems += [f"{one.config.where}: MCP server {one.config.name!r}: {one.problem}" for one in failed]
        return problems

    def _load_commands(self, plugins: Sequence[EnabledPlugin], warn: Callable[[str], object]) -> dict[str, CommandFile]:
        if not plugins and not any(
            (place / kind).is_dir() for place in (self.config_dir, self.cwd / ".claude") for kind in _COMMAND_FOLDERS
        ):
            return {}
        from turnlog.agent.commands.command_files import load_commands

        return load_commands(self.cwd, self.config_dir, plugins, is_trusted=self.is_trusted, warn=warn)

    def _find_style(self, settings: Settings, plugins: Sequence[EnabledPlugin]) -> OutputStyle | None:
        name = settings.get_value("outputStyle", str)
        if not name or name.lower() == "default":
            return None
        from turnlog.agent.briefing.output_style import find_output_style

        style = find_output_style(name, self.cwd, self.config_dir, plugins, is_trusted=self.is_trusted)
        if style is None:
            settings.warnings.append(f"there is no output style {name[:60]!r}; the model gets none")
        return style

    def _connect_model(self, environ: Mapping[str, str], url: str | None) -> Model:
        from turnlog.model.anthropic import connect_model
        from turnlog.model.endpoint import Endpoint
        from turnlog.network.addresses import parse_server_address

        if url:
            parse_server_address(url, f"--base-url {url}")
        return connect_model(Endpoint.from_environment(environ, url=url))

    def _build_workspace(self, options: StartOptions, settings: Settings) -> Workspace:
        paths = [Path(name).expanduser() for name in options.folders]
        further = [Path(os.path.realpath(self.cwd / path)) for path in paths]
        for path in further:
            if not path.is_dir():
                raise UsageError(f"--add-dir {path}: no such folder")
        return Workspace(self.cwd, self.cwd, [*further, *settings.list_folders()])

    def _load_instructions(self, place: Workspace, guard: SettingsGuard) -> list[MemoryFile]:
        external, warn = may_import_external(self.cwd, self.config_dir), guard.settings.warnings.append
        is_unreadable = guard.build_unreadable_check(place)
        return load_memory_files(self.cwd, self.config_dir, external=external, warn=warn, is_unreadable=is_unreadable)

    def _build_preface(
        self,
        place: Workspace,
        model: str,
        environ: Mapping[str, str],
        guard: SettingsGuard,
        instructions: list[MemoryFile],
    ) -> list[dict[str, Any]]:
        surroundings = describe_surroundings(self.cwd, place.further, model, environ)
        texts = [render_memory_reminder(instructions), surroundings, PLAN_MODE_REMINDER if guard.mode == "plan" else ""]
        return [build_reminder(text) for text in texts if text]

    # -- new and resumed sessions

    def _find_resumed_session(self, options: StartOptions) -> ResumableSession | None:
        """Load the session to resume, if the options name one."""
        if options.resume is None and not options.is_continued:
            return None
        from turnlog.agent.resume.choices import find_latest_session
        from turnlog.agent.resume.resume import load_resumable_session
        from turnlog.demo import is_demo
        from turnlog.session.session_lookup import find_session_file

        folders = find_config_dirs(self.environ)
        path = find_session_file(options.resume, folders) if options.resume else find_latest_session(folders, self.cwd)
        if is_demo(path):
            raise NotFound(f"{options.resume}: demo sessions can't be resumed")
        try:
            return load_resumable_session(path, options.leaf)
        except Refused as error:
            raise Refused(str(error) if str(path) in str(error) else f"{path}: {error}") from None

    def _list_remarks(self, found: ResumableSession | None) -> Iterator[str]:
        """Yield remarks about a resumed session."""
        if found is None:
            return
        yield from found.warnings
        if found.cwd is not None and os.path.realpath(found.cwd) != str(self.cwd):
            yield f"the session ran in {found.cwd}; it continues in {self.cwd}"

    def _open_record(self, options: StartOptions, mode: str, found: ResumableSession | None) -> SessionRecord:
        if found is None:
            return SessionRecord.create_session(self.config_dir, self.cwd, options.session_id, mode=mode)
        from turnlog.agent.resume.resume import continue_in_fork, continue_in_place

        if options.is_forked:
            record = continue_in_fork(found, self.config_dir, self.cwd, options.session_id)
        else:
            record = continue_in_place(found, self.cwd)
        record.mode = mode
        return record

    def _acquire_owner(self, record: SessionRecord, *, is_new: bool) -> SessionHolder:
        from turnlog.agent.record.owner import acquire_session

        return acquire_session(record.path, self.cwd, self.data / "locks", is_new=is_new)

    def _build_history(self, loop: AgentLoop, found: ResumableSession | None) -> FileHistory | None:
        """Return the history of files, or None if the session is not in a config folder, where copies belong."""
        from turnlog.agent.events import WarningIssued
        from turnlog.agent.file_history.history import FileHistory

        projects = loop.record.path.parents[1]
        if projects.name != "projects":
            return None
        return FileHistory(
            projects.parent / "file-history" / loop.record.session_id,
            self.cwd,
            loop.record.write_file_history,
            lambda text: loop.tell(WarningIssued(text)),
            found.snapshots if found and found.path == loop.record.path else None,
        )

    def _build_loop(
        self,
        setup: AgentSetup,
        record: SessionRecord,
        found: ResumableSession | None,
        watch: EventWatcher,
        person: Person,
    ) -> AgentLoop:
        shared = SharedState(record.folder)
        messages, thought_by = (found.messages, found.thought_by) if found else ([], None)
        conversation = AgentConversation(messages, setup.preface, thought_by)
        conversation.used = found.used if found else 0
        for seen in found.files if found else ():
            _recall_seen_file(shared, seen)
        if found:
            shared.todos[:] = found.todos
        return AgentLoop(setup, record, conversation, watch, person, shared=shared)


def _choose_thinking(options: StartOptions, settings: Settings, environ: Mapping[str, str]) -> ThinkingChoice:
    return choose_thinking(
        environ,
        effort=options.effort,
        budget=options.thinking_tokens,
        effort_setting=settings.get_value("effortLevel", str),
        is_enabled_setting=settings.get_value("alwaysThinkingEnabled", bool),
        is_shown=settings.get_value("showThinkingSummaries", bool) is True,
    )


def may_copy_files(settings: Settings, environ: Mapping[str, str]) -> bool:
    """Return whether the settings and the environment let the client copy the files that it changes."""
    is_disabled = environ.get("CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING", "").lower() in ("1", "true", "yes", "on")
    return not is_disabled and settings.get_value("fileCheckpointingEnabled", bool) is not False


def derive_start_options(options: StartOptions, resume: str | None = None) -> StartOptions:
    """Return the same options for a different session: a new one or the one to resume."""
    return options._replace(resume=resume, is_continued=False, is_forked=False, session_id=None, leaf=None)


def _recall_seen_file(shared: SharedState, seen: SeenFile) -> None:
    """Record that the model has seen a file, and its content if the model saw all of it and the file is unchanged."""
    path = Path(seen.path)
    try:
        status = path.stat()
        is_same = is_unwritten_since(status, seen.time) and status.st_size < 1 << 20
        text = path.read_text(encoding="utf-8") if seen.is_whole and is_same else None
    except (OSError, ValueError):
        return
    shared.files.recall_seen(path, seen.time, text)


def _parse_mode(name: str) -> PermissionMode:
    mode = next((mode for mode in PERMISSION_MODES if mode == name), None)
    if mode is None:
        raise UsageError(f"unknown permission mode {name!r}; use one of {', '.join(PERMISSION_MODES)}")
    return mode
