"""Requests by a program about the session (`control_request`), answered at once, even during a turn.

`CONTROL_REQUESTS` lists them all. Connecting to MCP servers takes time and may need answers by the program itself, so
these requests run in a thread of their own. Any other request is answered with an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from turnlog._version import __version__
from turnlog.agent.briefing.plan_mode import build_plan_reminder
from turnlog.agent.conversation import build_reminder
from turnlog.agent.delegation import may_run_in_background
from turnlog.agent.print_mode import session_facts
from turnlog.agent.print_mode.control_channel import ControlChannel
from turnlog.agent.print_mode.permission_updates import NO_BYPASS
from turnlog.agent.record.chain import CLIENT_VERSION
from turnlog.agent.settings import PERMISSION_MODES
from turnlog.agent.started_session import StartedSession
from turnlog.agent.tools.call_result import to_object
from turnlog.errors import NotFound, TurnlogError

if TYPE_CHECKING:
    from turnlog.agent.print_mode.reload_requests import SessionReload
    from turnlog.agent.print_mode.settings_requests import SessionSettings

Object = Mapping[str, Any]
Json = dict[str, Any]


class RequestFailure(TurnlogError):
    """A request that can't be carried out, with the code that programs look at."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class TurnFeed(Protocol):
    """What feeds prompts to the session."""

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or a message waits for one."""
        ...

    def interrupt_turn(self) -> None:
        """End the turn that runs."""
        ...

    def send_event(self, subtype: str, **fields: Any) -> None:
        """Inform the program of a change of the session."""
        ...


class ControlRequests:
    """Carries out a program's requests for one session."""

    def __init__(self, session: StartedSession, feed: TurnFeed, channel: ControlChannel) -> None:
        self._loop = loop = session.loop
        self._session = session
        self._channel = channel
        self._feed = feed
        self._first_model = loop.setup.name
        self._spares_tasks = False
        """Whether the person can stop each sub-agent in the background, so that an interrupt does not."""
        self._servers_with_policies: set[str] = set()
        self.server_names = list(loop.setup.program_servers)
        """MCP servers inside the program to which the session has not connected yet."""
        self.server_configs: Object = {}
        """What the program says of these servers, by name."""

    def carry_out(self, request: Object) -> Json:
        """Carry out a request and return the answer; raise TurnlogError if that is not possible."""
        handle = CONTROL_REQUESTS.get(str(request.get("subtype")))
        if handle is None:
            problem = f"Unsupported control request subtype: {request.get('subtype')}"
            raise RequestFailure(problem, "unsupported_request")
        return handle(self, request)

    # -- the start

    def initialize(self, request: Object) -> Json:
        """Apply the program's definitions for the session; raise UsageError if it relies on an unsupported feature."""
        hooks = to_object(request.get("hooks"))
        if hooks or (isinstance(request.get("hooks"), Mapping) and self._loop.hooks is not None):
            from turnlog.agent.print_mode.program_hooks import attach_program_hooks

            attach_program_hooks(self._loop, hooks, self._channel)
        self._apply_session_keys(request)
        if agents := to_object(request.get("agents")):
            self._loop.add_agents(agents, "initialize")
        if isinstance(added := request.get("appendSubagentSystemPrompt"), str) and added:
            self._reload.agent_suffix = added
            self._reload.offer_agents()
        if isinstance(skills := request.get("skills"), list):
            self._reload.skill_names = [name for name in skills if isinstance(name, str)]
            self._reload.offer_skills()
        if schema := to_object(request.get("jsonSchema")):
            self._loop.require_output(schema, "initialize: jsonSchema")
        names = request.get("sdkMcpServers")
        self.server_names += [
            name
            for name in (names if isinstance(names, list) else [])
            if isinstance(name, str) and name not in self.server_names
        ]
        configs = to_object(request.get("sdkMcpServerConfigs"))
        self.server_configs = {name: configs[name] for name in self.server_names if name in configs}
        self._apply_tool_policies(self.server_configs)
        self._replace_system_prompt(request)
        if isinstance(title := request.get("title"), str) and title.strip():
            self._loop.record.write_title(title.strip())
        applied = {"hooks_applied": True} if isinstance(request.get("hooks"), Mapping) else {}
        return {**session_facts.describe_session(self._loop, self._session.builder.list_styles()), **applied}

    def _apply_session_keys(self, request: Object) -> None:
        """Apply the keys of `initialize` that change how the session works with the model and the program."""
        setup = self._loop.setup
        if aliases := to_object(request.get("toolAliases")):
            setup.tool_aliases = {name: one for name, one in aliases.items() if isinstance(one, str)}
        if isinstance(plan := request.get("planModeInstructions"), str) and plan.strip():
            before, after = build_reminder(build_plan_reminder(setup.plan_instructions)), build_plan_reminder(plan)
            setup.plan_instructions = plan
            if not self._loop.conversation.messages:  # later, the reminder is sent when the mode changes
                setup.preface = [build_reminder(after) if block == before else block for block in setup.preface]
                self._loop.conversation.preface = list(setup.preface)
        if isinstance(forwards := request.get("forwardSubagentText"), bool):
            setup.forwards_agent_text = forwards
        self._spares_tasks = self._spares_tasks or request.get("perTaskStopAffordance") is True

    def _replace_system_prompt(self, request: Object) -> None:
        replaced, added = request.get("systemPrompt"), request.get("appendSystemPrompt")
        builder = self._session.builder
        if isinstance(replaced, list | str):
            prompt = replaced if isinstance(replaced, str) else "\n\n".join(map(str, replaced))
            builder.options = builder.options._replace(system_prompt=prompt)
        if isinstance(added, str):
            builder.options = builder.options._replace(appended_prompt=added)
        if isinstance(replaced, list | str) or isinstance(added, str):
            self._loop.setup.system = builder.build_system(builder.find_style())

    @cached_property
    def _settings(self) -> SessionSettings:
        from turnlog.agent.print_mode.settings_requests import SessionSettings

        return SessionSettings(self._session)

    @cached_property
    def _reload(self) -> SessionReload:
        from turnlog.agent.print_mode.reload_requests import SessionReload

        return SessionReload(self._session)

    # -- the turn and the model

    def interrupt(self, _: Object) -> Json:
        if not self._spares_tasks:  # the person would have no means to stop them
            for agent in self._loop.shared.agents.list_running():
                agent.stop("client")
        self._feed.interrupt_turn()
        return {"still_queued": []}

    def set_model(self, request: Object) -> Json:
        setup, name = self._loop.setup, str(request.get("model") or "")
        setup.name = setup.aliases.get(name, name) if name and name != "default" else self._first_model
        return {"model": setup.name}

    def set_permission_mode(self, request: Object) -> Json:
        mode = next((mode for mode in PERMISSION_MODES if mode == request.get("mode")), None)
        if mode is None:
            raise TurnlogError(f"Cannot set permission mode: must be one of {', '.join(PERMISSION_MODES)}")
        if mode == "bypassPermissions" and not self._loop.setup.may_bypass:
            raise RequestFailure(f"Cannot set permission mode to {mode} because {NO_BYPASS}", "bypass_not_launched")
        self._loop.setup.guard.mode = mode
        self._loop.record.write_permission_mode(mode)
        return {"mode": mode}

    def set_max_thinking_tokens(self, request: Object) -> Json:
        count, display = request.get("max_thinking_tokens"), request.get("thinking_display")
        if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 0):
            raise TurnlogError("max_thinking_tokens must be a number from 0, or null")
        setup = self._loop.setup
        setup.thinking = setup.thinking._replace(budget=count)
        if display is not None:
            setup.thinking = setup.thinking._replace(is_shown=display == "summarized")
        return {}

    def apply_flag_settings(self, request: Object) -> Json:
        self._settings.apply_flag_settings(request)
        return {}

    def update_settings(self, request: Object) -> Json:
        self._settings.update_settings(request)
        return {}

    def rewind_files(self, request: Object) -> Json:
        from turnlog.agent.print_mode.file_rewind import answer_rewind_request

        return answer_rewind_request(self._loop, request)

    def read_file(self, request: Object) -> Json:
        from turnlog.agent.print_mode.file_requests import read_file

        return read_file(self._loop, request)

    def seed_read_state(self, request: Object) -> Json:
        from turnlog.agent.print_mode.file_requests import seed_read_state

        seed_read_state(self._loop, request)
        return {}

    # -- files that are read again

    def reload_skills(self, _: Object) -> Json:
        before = session_facts.list_commands(self._loop)
        names = self._reload.reload_skills()
        self._announce_commands(before)
        return {"skills": [one for one in session_facts.list_commands(self._loop) if one["name"] in names]}

    def reload_styles(self, _: Object) -> Json:
        return {"available_output_styles": self._session.builder.list_styles()}

    def reload_plugins(self, request: Object) -> Json:
        if request.get("refuse_if_busy") is True and (self._feed.is_busy or self._loop.shared.agents.list_running()):
            raise RequestFailure("reload_plugins: the session is busy", "reload_plugins_busy")
        found = self._reload.read_plugins(request)
        is_cautious = request.get("hold_on_cache_impact") is True
        is_held = bool(is_cautious and (found.added or found.removed) and self._loop.conversation.messages)
        if not is_held:
            before = session_facts.list_commands(self._loop)
            self._reload.apply_plugins(found)
            self._announce_commands(before)
        impact = {
            "mcp_servers_added": [one.name for one in found.added],
            "mcp_servers_removed": list(found.removed),
            "lsp_tool_change": None,
        }
        return {
            "commands": session_facts.list_commands(self._loop),
            "agents": session_facts.list_agents(self._loop),
            "plugins": session_facts.list_plugins(self._loop),
            "mcpServers": session_facts.describe_servers(self._loop),
            "error_count": found.problems,
            **({"held": is_held} if is_cautious else {}),
            **({"cache_impact": impact} if is_held else {}),
        }

    def _announce_commands(self, before: list[Json]) -> None:
        """Inform the program about the commands if there are others than before."""
        commands = session_facts.list_commands(self._loop)
        if commands != before:
            self._feed.send_event("commands_changed", commands=commands)

    # -- tasks

    def stop_task(self, request: Object) -> Json:
        with contextlib.suppress(NotFound):  # it has ended in the meantime
            self._loop.shared.tasks.stop_task(str(request.get("task_id")))
        return {}

    def move_to_background(self, request: Object) -> Json:
        """Let what the turn waits for go on in the background."""
        if not may_run_in_background(self._loop.setup.environ):
            raise TurnlogError("Background tasks are disabled in this session.")
        call = request.get("tool_use_id")
        is_moved = self._loop.shared.tasks.move_to_background(call if isinstance(call, str) else None)
        return {"backgrounded": is_moved} if isinstance(call, str) else {}

    def rename_session(self, request: Object) -> Json:
        title = request.get("title")
        if not isinstance(title, str) or not title.strip():
            raise TurnlogError("rename_session: title is missing")
        self._loop.record.write_title(title.strip())
        return {}

    # -- MCP servers

    def list_servers(self, _: Object) -> Json:
        return {"mcpServers": session_facts.describe_servers(self._loop)}

    def set_servers(self, request: Object) -> Json:
        from turnlog.agent.print_mode.server_changes import set_servers

        servers = to_object(request.get("servers"))
        self._apply_tool_policies({**dict.fromkeys(self._servers_with_policies), **servers}, replaces=True)
        return set_servers(self._loop, servers, self._channel)

    def _apply_tool_policies(self, configs: Object, *, replaces: bool = False) -> None:
        if not configs:
            return
        from turnlog.agent.print_mode.server_policies import apply_tool_policies

        self._servers_with_policies |= configs.keys()
        apply_tool_policies(self._session.builder.guard, self._loop.setup.place, configs, replaces=replaces)

    def override_server_mode(self, request: Object) -> Json:
        from turnlog.agent.print_mode.server_policies import override_server_mode

        return override_server_mode(self._session.builder.guard, self._loop, request)

    def read_ui_resource(self, request: Object) -> Json:
        from turnlog.agent.print_mode.server_policies import read_ui_resource

        return read_ui_resource(self._loop, request)

    def reconnect_server(self, request: Object) -> Json:
        from turnlog.agent.print_mode.server_changes import reconnect_server

        reconnect_server(self._loop, str(request.get("serverName")), self._channel)
        return {}

    def toggle_server(self, request: Object) -> Json:
        from turnlog.agent.print_mode.server_changes import toggle_server

        is_enabled = request.get("enabled") is True
        toggle_server(self._loop, str(request.get("serverName")), self._channel, is_enabled=is_enabled)
        return {}


CONTROL_REQUESTS: Mapping[str, Callable[[ControlRequests, Object], Json]] = {
    "initialize": ControlRequests.initialize,
    "interrupt": ControlRequests.interrupt,
    "set_model": ControlRequests.set_model,
    "set_permission_mode": ControlRequests.set_permission_mode,
    "set_max_thinking_tokens": ControlRequests.set_max_thinking_tokens,
    "apply_flag_settings": ControlRequests.apply_flag_settings,
    "update_settings": ControlRequests.update_settings,
    "rewind_files": ControlRequests.rewind_files,
    "read_file": ControlRequests.read_file,
    "seed_read_state": ControlRequests.seed_read_state,
    "reload_skills": ControlRequests.reload_skills,
    "reload_output_styles": ControlRequests.reload_styles,
    "reload_plugins": ControlRequests.reload_plugins,
    "stop_task": ControlRequests.stop_task,
    "background_tasks": ControlRequests.move_to_background,
    "rename_session": ControlRequests.rename_session,
    "get_context_usage": lambda one, _: session_facts.describe_context(one._loop),
    "get_usage": lambda one, _: session_facts.describe_spending(one._loop),
    "get_binary_version": lambda _, __: {"version": CLIENT_VERSION, "turnlog": __version__},
    "list_models": lambda one, _: {"models": session_facts.list_models(one._loop)},
    "list_permission_rules": lambda one, _: session_facts.describe_rules(one._loop),
    "cancel_async_message": lambda _, __: {"cancelled": False},
    "mcp_status": ControlRequests.list_servers,
    "mcp_set_servers": ControlRequests.set_servers,
    "set_mcp_permission_mode_override": ControlRequests.override_server_mode,
    "mcp_read_resource": ControlRequests.read_ui_resource,
    "mcp_reconnect": ControlRequests.reconnect_server,
    "mcp_toggle": ControlRequests.toggle_server,
}
SLOW_REQUESTS = frozenset(("reload_plugins", "mcp_set_servers", "mcp_read_resource", "mcp_reconnect", "mcp_toggle"))
"""Requests that may wait for a server, which may be the program itself."""
