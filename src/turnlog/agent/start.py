"""From words, settings and surroundings to a session that can work: who answers, what it can do, where it goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.agent.briefing.agents import agent_types
from turnlog.agent.briefing.memory import memories
from turnlog.agent.briefing.memory import reminder as remembered
from turnlog.agent.briefing.planning import PLANNING
from turnlog.agent.briefing.prompt import system
from turnlog.agent.briefing.surroundings import surroundings
from turnlog.agent.conversation import Conversation, reminder
from turnlog.agent.loop import Loop, Shared, Watch
from turnlog.agent.models import aliases, chosen, small
from turnlog.agent.permissions.decision import MODES, Mode
from turnlog.agent.permissions.guard import SettingsGuard, is_readonly
from turnlog.agent.permissions.rules import listed
from turnlog.agent.permissions.trust import may_import, trusted
from turnlog.agent.person import Person
from turnlog.agent.record.record import Record
from turnlog.agent.settings import Layer, Settings, given, load
from turnlog.agent.setup import Limits, Setup
from turnlog.agent.toolbox import tools
from turnlog.agent.tools.files import is_as_seen
from turnlog.agent.tools.tool import Place
from turnlog.agent.unsupported import Unsupported, describe_guards, find_unsupported
from turnlog.entries.layout import config_candidates, config_dirs
from turnlog.errors import NotFound, Refused, UsageError

if TYPE_CHECKING:
    from turnlog.agent.record.owner import Owner
    from turnlog.agent.resume.resume import Resumed
    from turnlog.agent.resume.seen import SeenFile
    from turnlog.model.model import Model


class Wishes(NamedTuple):
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


class Begun(NamedTuple):
    """A session that can work."""

    loop: Loop
    owner: Owner
    warnings: list[str]
    resumed: Resumed | None = None

    def close(self) -> None:
        """Let go of everything that the session holds: commands in the background, the lock on its file."""
        self.loop.shared.shells.close()
        self.owner.close()


class Starting:
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
        self._given: dict[str, Layer] = {}
        """Settings that were given, as they were read: of a pipe that can be done once."""

    @property
    def config_dir(self) -> Path:
        """The folder that sessions are written to."""
        return next(iter(config_dirs(self.environ)), config_candidates(self.environ)[0])

    @property
    def is_trusted(self) -> bool:
        """Whether the person has said that they trust the folder."""
        return trusted(self.cwd, self.config_dir)

    @property
    def key_source(self) -> str:
        """Where the key comes from, as print mode tells it."""
        names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
        return next((name for name in names if self.environ.get(name)), "none")

    def begin(self, wishes: Wishes, watch: Watch, person: Person) -> Begun:
        """Begin a session, or take one up again."""
        settings = self._settings(wishes)
        unsupported = find_unsupported(settings, self.cwd, self.config_dir)
        guards = [one for one in unsupported if one.is_guard]
        if guards and not wishes.ignores_hooks:
            raise UsageError(describe_guards(guards))
        environ = {**self.environ, **settings.env()}
        mode = _mode(wishes.mode) if wishes.mode else settings.mode() or "default"
        found = self._found(wishes)
        record = self._record(wishes, mode, found)
        guard = SettingsGuard(settings, mode, further=[record.folder])
        setup = self._setup(wishes, guard, environ, found)
        owner = self._owner(record, is_new=found is None or wishes.is_forked)
        try:
            loop = self._loop(setup, record, found, watch, person)
        except BaseException:
            owner.close()
            raise
        warnings = [*map(str, unsupported), *guard.warnings, *owner.warnings, *self._remarks(found)]
        return Begun(loop, owner, warnings, found)

    def missing_guards(self, wishes: Wishes) -> list[Unsupported]:
        """Guard rails that a session would have to do without; `begin` refuses unless the wishes ignore them."""
        return [one for one in find_unsupported(self._settings(wishes), self.cwd, self.config_dir) if one.is_guard]

    def _settings(self, wishes: Wishes) -> Settings:
        return load(self.cwd, self.config_dir, is_trusted=self.is_trusted, flags=self._flags(wishes))

    def _flags(self, wishes: Wishes) -> list[Layer | Mapping[str, Any]]:
        for name in wishes.settings:
            self._given[name] = self._given.get(name) or given(name, self.cwd)
        permissions = {"allow": listed(wishes.allowed), "deny": listed(wishes.disallowed)}
        return [*(self._given[name] for name in wishes.settings), {"permissions": permissions}]

    # -- what it works with

    def _setup(self, wishes: Wishes, guard: SettingsGuard, environ: Mapping[str, str], found: Resumed | None) -> Setup:
        known = aliases(environ)
        set_to = environ.get("ANTHROPIC_MODEL") or guard.settings.value("model", str)
        name = chosen((wishes.model, set_to, found.model if found else None), known)
        place = self._place(wishes, guard.settings)
        warn = guard.settings.warnings.append
        agents = agent_types(self.cwd, self.config_dir, warn, ignores_hooks=wishes.ignores_hooks)
        return Setup(
            model=self.model or self._connected(environ, wishes.url),
            name=name,
            small=small(environ, known),
            system=system(wishes.system_prompt, wishes.appended_prompt),
            preface=self._preface(place, name, environ, guard),
            tools=tools(agents, is_readonly(place), wishes.tools),
            guard=guard,
            place=place,
            environ=environ,
            agents=agents,
            limits=Limits(wishes.turns, wishes.dollars),
            aliases=known,
        )

    def _connected(self, environ: Mapping[str, str], url: str | None) -> Model:
        from turnlog.model.anthropic import connect
        from turnlog.model.endpoint import Endpoint, checked

        if url:
            checked(url, f"--base-url {url}")
        return connect(Endpoint.from_environment(environ, url=url))

    def _place(self, wishes: Wishes, settings: Settings) -> Place:
        named = [Path(name).expanduser() for name in wishes.folders]
        further = [Path(os.path.realpath(self.cwd / path)) for path in named]
        for path in further:
            if not path.is_dir():
                raise UsageError(f"--add-dir {path}: there is no such folder")
        return Place(self.cwd, self.cwd, [*further, *settings.folders()])

    def _preface(
        self, place: Place, model: str, environ: Mapping[str, str], guard: SettingsGuard
    ) -> list[dict[str, Any]]:
        around = surroundings(self.cwd, place.further, model, environ)
        external, warn = may_import(self.cwd, self.config_dir), guard.settings.warnings.append
        is_unreadable = guard.unreadable(place)
        memory = memories(self.cwd, self.config_dir, external=external, warn=warn, is_unreadable=is_unreadable)
        texts = [remembered(memory), around, PLANNING if guard.mode == "plan" else ""]
        return [reminder(text) for text in texts if text]

    # -- where it goes on

    def _found(self, wishes: Wishes) -> Resumed | None:
        """The session to take up."""
        if wishes.resume is None and not wishes.is_continued:
            return None
        from turnlog.agent.resume.choices import latest
        from turnlog.agent.resume.resume import resumed
        from turnlog.demo import is_demo
        from turnlog.session.find import find

        folders = config_dirs(self.environ)
        path = find(wishes.resume, folders) if wishes.resume else latest(folders, self.cwd)
        if is_demo(path):
            raise NotFound(f"{wishes.resume}: is a session of the demo, which nothing is added to")
        try:
            return resumed(path)
        except Refused as reason:
            raise Refused(str(reason) if str(path) in str(reason) else f"{path}: {reason}") from None

    def _remarks(self, found: Resumed | None) -> Iterator[str]:
        """What a person should know of a session that is taken up."""
        if found is None:
            return
        yield from found.warnings
        if found.cwd is not None and os.path.realpath(found.cwd) != str(self.cwd):
            yield f"the session was at work in {found.cwd}; it goes on in {self.cwd}"

    def _record(self, wishes: Wishes, mode: str, found: Resumed | None) -> Record:
        if found is None:
            return Record.new(self.config_dir, self.cwd, wishes.session_id, mode=mode)
        from turnlog.agent.resume.resume import forked, taken_up

        if wishes.is_forked:
            record = forked(found, self.config_dir, self.cwd, wishes.session_id)
        else:
            record = taken_up(found, self.cwd)
        record.mode = mode
        return record

    def _owner(self, record: Record, *, is_new: bool) -> Owner:
        from turnlog.agent.record.owner import owned

        return owned(record.path, self.cwd, self.data / "locks", is_new=is_new)

    def _loop(self, setup: Setup, record: Record, found: Resumed | None, watch: Watch, person: Person) -> Loop:
        shared = Shared(record.folder)
        said, thought_by = (found.messages, found.thought_by) if found else ([], None)
        conversation = Conversation(said, setup.preface, thought_by)
        conversation.used = found.used if found else 0
        for seen in found.files if found else ():
            _recall(shared, seen)
        if found:
            shared.todos[:] = found.todos
        return Loop(setup, record, conversation, watch, person, shared=shared)


def another(wishes: Wishes, resume: str | None = None) -> Wishes:
    """The same wishes for another session: a new one, or one that is taken up."""
    return wishes._replace(resume=resume, is_continued=False, is_forked=False, session_id=None)


def _recall(shared: Shared, seen: SeenFile) -> None:
    """Let the tools know what the model saw of a file; what stands there is what it saw, if nobody wrote it since."""
    path = Path(seen.path)
    try:
        status = path.stat()
        is_same = is_as_seen(status, seen.time) and status.st_size < 1 << 20
        text = path.read_text(encoding="utf-8") if seen.is_whole and is_same else None
    except (OSError, ValueError):
        return
    shared.files.recall(path, seen.time, text)


def _mode(name: str) -> Mode:
    mode = next((mode for mode in MODES if mode == name), None)
    if mode is None:
        raise UsageError(f"{name}: no permission mode; there are {', '.join(MODES)}")
    return mode
