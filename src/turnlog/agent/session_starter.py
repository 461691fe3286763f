"""From words, settings and surroundings to a session that can work: who answers, what it can do, where it goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.agent.briefing.agents import load_agent_types
from turnlog.agent.briefing.memory import load_memory_files
from turnlog.agent.briefing.memory import render_memory_reminder as remembered
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
from turnlog.agent.setup import AgentSetup, TurnLimits
from turnlog.agent.toolbox import build_tools
from turnlog.agent.tools.call_result import Workspace
from turnlog.agent.tools.seen_files import is_unwritten_since
from turnlog.agent.unsupported_features import UnsupportedFeature, describe_guards, find_unsupported
from turnlog.entries.layout import find_config_dirs, list_config_candidates
from turnlog.errors import NotFound, Refused, UsageError

if TYPE_CHECKING:
    from turnlog.agent.record.owner import SessionHolder
    from turnlog.agent.resume.resume import ResumableSession
    from turnlog.agent.resume.tool_state import SeenFile
    from turnlog.model.model import Model


class StartOptions(NamedTuple):
    """What a person asked for when they started the client."""

    model: str | None = None
    resume: str | None = None
    """A session to take up: its id, a title or a path."""
    is_continued: bool = False
    """Take up the newest session of the folder."""
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
    ignores_hooks: bool = False
    """Go on without hooks that would guard the session."""


class StartedSession(NamedTuple):
    """A session that can work."""

    loop: AgentLoop
    owner: SessionHolder
    warnings: list[str]
    resumed: ResumableSession | None = None

    def close(self) -> None:
        """Let go of everything that the session holds: commands in the background, the lock on its file."""
        self.loop.shared.shells.close()
        self.owner.close()


class SessionStarter:
    """The folder and the machine that sessions are begun on."""

    def __init__(
        self, cwd: Path, data: Path, environ: Mapping[str, str] | None = None, model: Model | None = None
    ) -> None:
        self.cwd = cwd
        self.data = data
        """turnlog's own folder."""
        self.environ = dict(os.environ if environ is None else environ)
        self.model = model
        """Who answers, if not the server that the environment names."""
        self._given: dict[str, SettingsLayer] = {}
        """Settings that were given, as they were read: of a pipe that can be done once."""

    @property
    def config_dir(self) -> Path:
        """The folder that sessions are written to."""
        return next(iter(find_config_dirs(self.environ)), list_config_candidates(self.environ)[0])

    @property
    def is_trusted(self) -> bool:
        """Whether the person has said that they trust the folder."""
        return is_trusted_folder(self.cwd, self.config_dir)

    @property
    def key_source(self) -> str:
        """Where the key comes from, as print mode tells it."""
        names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
        return next((name for name in names if self.environ.get(name)), "none")

    def begin_session(self, wishes: StartOptions, watch: EventWatcher, person: Person) -> StartedSession:
        """Begin a session, or take one up again."""
        settings = self._load_settings(wishes)
        unsupported = find_unsupported(settings, self.cwd, self.config_dir)
        guards = [one for one in unsupported if one.is_guard]
        if guards and not wishes.ignores_hooks:
            raise UsageError(describe_guards(guards))
        environ = {**self.environ, **settings.collect_variables()}
        mode = _parse_mode(wishes.mode) if wishes.mode else settings.get_default_mode() or "default"
        found = self._find_resumed_session(wishes)
        record = self._open_record(wishes, mode, found)
        guard = SettingsGuard(settings, mode, further=[record.folder])
        setup = self._build_setup(wishes, guard, environ, found)
        owner = self._acquire_owner(record, is_new=found is None or wishes.is_forked)
        try:
            loop = self._build_loop(setup, record, found, watch, person)
        except BaseException:
            owner.close()
            raise
        warnings = [*map(str, unsupported), *guard.warnings, *owner.warnings, *self._list_remarks(found)]
        return StartedSession(loop, owner, warnings, found)

    def find_missing_guards(self, wishes: StartOptions) -> list[UnsupportedFeature]:
        """Guard rails that a session would have to do without; `begin` refuses unless the wishes ignore them."""
        return [one for one in find_unsupported(self._load_settings(wishes), self.cwd, self.config_dir) if one.is_guard]

    def _load_settings(self, wishes: StartOptions) -> Settings:
        return load_settings(
            self.cwd, self.config_dir, is_trusted=self.is_trusted, flags=self._build_flag_layers(wishes)
        )

    def _build_flag_layers(self, wishes: StartOptions) -> list[SettingsLayer | Mapping[str, Any]]:
        for name in wishes.settings:
            self._given[name] = self._given.get(name) or read_flag_layer(name, self.cwd)
        permissions = {"allow": split_rule_list(wishes.allowed), "deny": split_rule_list(wishes.disallowed)}
        return [*(self._given[name] for name in wishes.settings), {"permissions": permissions}]

    # -- what it works with

    def _build_setup(
        self, wishes: StartOptions, guard: SettingsGuard, environ: Mapping[str, str], found: ResumableSession | None
    ) -> AgentSetup:
        known = load_model_aliases(environ)
        set_to = environ.get("ANTHROPIC_MODEL") or guard.settings.get_value("model", str)
        name = choose_model((wishes.model, set_to, found.model if found else None), known)
        place = self._build_workspace(wishes, guard.settings)
        warn = guard.settings.warnings.append
        agents = load_agent_types(self.cwd, self.config_dir, warn, ignores_hooks=wishes.ignores_hooks)
        return AgentSetup(
            model=self.model or self._connect_model(environ, wishes.url),
            name=name,
            small=choose_small_model(environ, known),
            system=build_system_prompt(wishes.system_prompt, wishes.appended_prompt),
            preface=self._build_preface(place, name, environ, guard),
            tools=build_tools(agents, build_readonly_check(place), wishes.tools),
            guard=guard,
            place=place,
            environ=environ,
            agents=agents,
            limits=TurnLimits(wishes.turns, wishes.dollars),
            aliases=known,
        )

    def _connect_model(self, environ: Mapping[str, str], url: str | None) -> Model:
        from turnlog.model.anthropic import connect_model
        from turnlog.model.endpoint import Endpoint
        from turnlog.network.addresses import parse_server_address

        if url:
            parse_server_address(url, f"--base-url {url}")
        return connect_model(Endpoint.from_environment(environ, url=url))

    def _build_workspace(self, wishes: StartOptions, settings: Settings) -> Workspace:
        named = [Path(name).expanduser() for name in wishes.folders]
        further = [Path(os.path.realpath(self.cwd / path)) for path in named]
        for path in further:
            if not path.is_dir():
                raise UsageError(f"--add-dir {path}: there is no such folder")
        return Workspace(self.cwd, self.cwd, [*further, *settings.list_folders()])

    def _build_preface(
        self, place: Workspace, model: str, environ: Mapping[str, str], guard: SettingsGuard
    ) -> list[dict[str, Any]]:
        around = describe_surroundings(self.cwd, place.further, model, environ)
        external, warn = may_import_external(self.cwd, self.config_dir), guard.settings.warnings.append
        is_unreadable = guard.unreadable(place)
        memory = load_memory_files(self.cwd, self.config_dir, external=external, warn=warn, is_unreadable=is_unreadable)
        texts = [remembered(memory), around, PLAN_MODE_REMINDER if guard.mode == "plan" else ""]
        return [build_reminder(text) for text in texts if text]

    # -- where it goes on

    def _find_resumed_session(self, wishes: StartOptions) -> ResumableSession | None:
        """The session to take up."""
        if wishes.resume is None and not wishes.is_continued:
            return None
        from turnlog.agent.resume.choices import find_latest_session
        from turnlog.agent.resume.resume import load_resumable_session
        from turnlog.demo import is_demo
        from turnlog.session.session_lookup import find_session_file

        folders = find_config_dirs(self.environ)
        path = find_session_file(wishes.resume, folders) if wishes.resume else find_latest_session(folders, self.cwd)
        if is_demo(path):
            raise NotFound(f"{wishes.resume}: is a session of the demo, which nothing is added to")
        try:
            return load_resumable_session(path)
        except Refused as reason:
            raise Refused(str(reason) if str(path) in str(reason) else f"{path}: {reason}") from None

    def _list_remarks(self, found: ResumableSession | None) -> Iterator[str]:
        """What a person should know of a session that is taken up."""
        if found is None:
            return
        yield from found.warnings
        if found.cwd is not None and os.path.realpath(found.cwd) != str(self.cwd):
            yield f"the session was at work in {found.cwd}; it goes on in {self.cwd}"

    def _open_record(self, wishes: StartOptions, mode: str, found: ResumableSession | None) -> SessionRecord:
        if found is None:
            return SessionRecord.create_session(self.config_dir, self.cwd, wishes.session_id, mode=mode)
        from turnlog.agent.resume.resume import continue_in_fork, continue_in_place

        if wishes.is_forked:
            record = continue_in_fork(found, self.config_dir, self.cwd, wishes.session_id)
        else:
            record = continue_in_place(found, self.cwd)
        record.mode = mode
        return record

    def _acquire_owner(self, record: SessionRecord, *, is_new: bool) -> SessionHolder:
        from turnlog.agent.record.owner import acquire_session

        return acquire_session(record.path, self.cwd, self.data / "locks", is_new=is_new)

    def _build_loop(
        self,
        setup: AgentSetup,
        record: SessionRecord,
        found: ResumableSession | None,
        watch: EventWatcher,
        person: Person,
    ) -> AgentLoop:
        shared = SharedState(record.folder)
        said, thought_by = (found.messages, found.thought_by) if found else ([], None)
        conversation = AgentConversation(said, setup.preface, thought_by)
        conversation.used = found.used if found else 0
        for seen in found.files if found else ():
            _recall_seen_file(shared, seen)
        if found:
            shared.todos[:] = found.todos
        return AgentLoop(setup, record, conversation, watch, person, shared=shared)


def derive_start_options(wishes: StartOptions, resume: str | None = None) -> StartOptions:
    """The same wishes for another session: a new one, or one that is taken up."""
    return wishes._replace(resume=resume, is_continued=False, is_forked=False, session_id=None)


def _recall_seen_file(shared: SharedState, seen: SeenFile) -> None:
    """Let the tools know what the model saw of a file; what stands there is what it saw, if nobody wrote it since."""
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
        raise UsageError(f"{name}: no permission mode; there are {', '.join(PERMISSION_MODES)}")
    return mode
