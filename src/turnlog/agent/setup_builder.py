"""Builds the setup of a session: its model, tools, commands, instructions and folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turnlog.agent.briefing.agents import load_agent_types
from turnlog.agent.briefing.memory import MemoryFile, load_memory_files, render_memory_reminder
from turnlog.agent.briefing.plan_mode import PLAN_MODE_REMINDER
from turnlog.agent.briefing.surroundings import describe_surroundings
from turnlog.agent.briefing.system_prompt import build_system_prompt
from turnlog.agent.commands.init_command import INIT_COMMAND
from turnlog.agent.conversation import build_reminder
from turnlog.agent.model_names import choose_model, choose_small_model, load_model_aliases
from turnlog.agent.permissions.guard import SettingsGuard, build_readonly_check
from turnlog.agent.permissions.trust import may_import_external
from turnlog.agent.setup import AgentSetup, SentInstructions, TurnLimits
from turnlog.agent.start_options import StartOptions
from turnlog.agent.thinking_choice import EFFORT_LEVELS, ThinkingChoice, choose_thinking
from turnlog.agent.toolbox import build_tools
from turnlog.agent.tools.call_result import Workspace, to_object
from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.agent.briefing.output_style import OutputStyle
    from turnlog.agent.plugins import EnabledPlugin
    from turnlog.agent.resume.resume import ResumableSession
    from turnlog.agent.tools.command_file import CommandFile
    from turnlog.agent.tools.task import AgentType
    from turnlog.model.model import Model

_COMMAND_FOLDERS = ("commands", "skills")


def _split_list(text: str) -> list[str]:
    """Return the parts of a list that are separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


class SetupBuilder(Struct):
    """What the setup of a session is built from; programs change it while the session runs."""

    cwd: Path
    root: Path
    """The folder whose `.claude` folder applies."""
    config_dir: Path
    is_trusted: bool
    options: StartOptions
    guard: SettingsGuard
    environ: Mapping[str, str]
    """The client's variables with those from the settings."""
    plugins: Sequence[EnabledPlugin]
    model: Model | None = None
    """The model to use instead of the server that the environment names."""

    def build_setup(self, found: ResumableSession | None) -> AgentSetup:
        options, guard, environ = self.options, self.guard, self.environ
        known = load_model_aliases(environ)
        set_to = environ.get("ANTHROPIC_MODEL") or guard.settings.get_value("model", str)
        name = choose_model((options.model, set_to, found.model if found else None), known)
        place = self._build_workspace()
        warn = guard.settings.warnings.append
        agents = self.load_agents(warn)
        commands, style = self.load_commands(warn), self.find_style()
        guard.free_skills = frozenset(name for name, command in commands.items() if command.is_plain)
        tools = build_tools(agents, build_readonly_check(place), options.tools)
        if options.tools is None and any(command.is_for_model for command in commands.values()):
            from turnlog.agent.tools.skill import Skill

            tools["Skill"] = Skill(commands)
        instructions = self._load_instructions(place)
        return AgentSetup(
            model=self.model or self._connect_model(),
            name=name,
            small=choose_small_model(environ, known),
            system=self.build_system(style),
            preface=self._build_preface(place, name, instructions),
            instructions=[SentInstructions(file.kind, file.path, len(file.text.encode())) for file in instructions],
            tools=tools,
            guard=guard,
            place=place,
            environ=environ,
            config_dir=self.config_dir,
            config_root=self.root,
            may_bypass=options.may_bypass or guard.mode == "bypassPermissions",
            agents=agents,
            plugins=self.plugins,
            commands={"init": INIT_COMMAND, **commands},
            style=style.name if style else "default",
            limits=TurnLimits(options.turns, options.dollars),
            aliases=known,
            thinking=self.choose_thinking(name),
            fallbacks=[choose_model((one,), known) for one in _split_list(options.fallback or "")],
            betas=[beta for text in options.betas for beta in _split_list(text)],
            task_tokens=options.task_tokens,
        )

    def load_agents(self, warn: Callable[[str], object]) -> dict[str, AgentType]:
        """Return the types of sub-agents, built in or from files."""
        return load_agent_types(
            self.root,
            self.config_dir,
            warn,
            ignores_hooks=self.options.ignores_hooks,
            plugins=self.plugins,
            sources=self.options.setting_sources,
            is_trusted=self.is_trusted,
        )

    def load_commands(self, warn: Callable[[str], object]) -> dict[str, CommandFile]:
        """Return the commands and skills in files."""
        if not self.plugins and not any(
            (place / kind).is_dir() for place in (self.config_dir, self.root / ".claude") for kind in _COMMAND_FOLDERS
        ):
            return {}
        from turnlog.agent.commands.command_files import load_commands

        return load_commands(
            self.root,
            self.config_dir,
            self.plugins,
            is_trusted=self.is_trusted,
            warn=warn,
            sources=self.options.setting_sources,
        )

    def build_system(self, style: OutputStyle | None) -> list[dict[str, Any]]:
        """Return the system prompt."""
        return build_system_prompt(self.options.system_prompt, self.options.appended_prompt, style)

    def find_style(self) -> OutputStyle | None:
        """Return the output style that the settings choose; None for the default."""
        name = self.guard.settings.get_value("outputStyle", str)
        if not name or name.lower() == "default":
            return None
        from turnlog.agent.briefing.output_style import find_output_style

        style = find_output_style(
            name,
            self.root,
            self.config_dir,
            self.plugins,
            is_trusted=self.is_trusted,
            sources=self.options.setting_sources,
        )
        if style is None:
            self.guard.settings.warnings.append(f"there is no output style {name[:60]!r}; the model gets none")
        return style

    def list_styles(self) -> list[str]:
        """Return the names of the output styles that the settings can choose."""
        from turnlog.agent.briefing.output_style import list_output_styles

        places = (self.cwd, self.config_dir, self.plugins)
        return list_output_styles(*places, is_trusted=self.is_trusted, sources=self.options.setting_sources)

    def choose_thinking(self, model: str) -> ThinkingChoice:
        """Return how much a model thinks; an effort for the model itself (`modelSettings`) takes precedence."""
        settings, options = self.guard.settings, self.options
        own = to_object(to_object(settings.get_value("modelSettings", dict)).get(model)).get("effortLevel")
        display = options.thinking_display
        is_shown = display == "summarized" if display else settings.get_value("showThinkingSummaries", bool) is True
        return choose_thinking(
            self.environ,
            effort=options.effort,
            budget=0 if options.thinking == "disabled" else options.thinking_tokens,
            effort_setting=own if own in EFFORT_LEVELS else settings.get_value("effortLevel", str),
            is_enabled_setting=settings.get_value("alwaysThinkingEnabled", bool),
            is_shown=is_shown,
            is_forced=options.thinking in ("adaptive", "enabled"),
        )

    def _connect_model(self) -> Model:
        from turnlog.model.anthropic import connect_model
        from turnlog.model.endpoint import Endpoint
        from turnlog.network.addresses import parse_server_address

        url = self.options.url
        if url:
            parse_server_address(url, f"--base-url {url}")
        return connect_model(Endpoint.from_environment(self.environ, url=url))

    def _build_workspace(self) -> Workspace:
        paths = [Path(name).expanduser() for name in self.options.folders]
        further = [Path(os.path.realpath(self.cwd / path)) for path in paths]
        for path in further:
            if not path.is_dir():
                raise UsageError(f"--add-dir {path}: no such folder")
        return Workspace(self.cwd, self.cwd, [*further, *self.guard.settings.list_folders()])

    def _load_instructions(self, place: Workspace) -> list[MemoryFile]:
        external, warn = may_import_external(self.cwd, self.config_dir), self.guard.settings.warnings.append
        is_unreadable = self.guard.build_unreadable_check(place)
        return load_memory_files(
            self.cwd,
            self.config_dir,
            external=external,
            warn=warn,
            is_unreadable=is_unreadable,
            sources=self.options.setting_sources,
        )

    def _build_preface(self, place: Workspace, model: str, instructions: list[MemoryFile]) -> list[dict[str, Any]]:
        surroundings = describe_surroundings(self.cwd, place.further, model, self.environ)
        plan = PLAN_MODE_REMINDER if self.guard.mode == "plan" else ""
        return [build_reminder(text) for text in (render_memory_reminder(instructions), surroundings, plan) if text]
