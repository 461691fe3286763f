"""An actor: the session itself or a sub-agent, with everything that the parts of its loop work on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from turnlog.agent.commands.command_effects import CommandEffects
from turnlog.agent.conversation import AgentConversation
from turnlog.agent.events import TurnEvent, WarningIssued
from turnlog.agent.person import Person
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.setup import AgentSetup
from turnlog.agent.shared_state import SharedState
from turnlog.agent.spending_tally import SpendingTally
from turnlog.agent.tools.call_result import CallFollowUp, Object
from turnlog.agent.tools.task import AgentType, Task
from turnlog.agent.tools.tool import Tool

if TYPE_CHECKING:
    from turnlog.agent.hooks.hook_scope import HookScope
    from turnlog.agent.hooks.session_hooks import SessionLifecycle

EventWatcher = Callable[[TurnEvent], None]


class Actor:
    """The state of one actor; the parts of its loop hold no state of the conversation themselves."""

    def __init__(
        self,
        setup: AgentSetup,
        record: SessionRecord,
        conversation: AgentConversation,
        watch: EventWatcher,
        person: Person,
        *,
        spent: SpendingTally | None = None,
        shared: SharedState | None = None,
        agent: str | None = None,
        tools: Mapping[str, Tool] | None = None,
    ) -> None:
        self.setup = setup
        self.record = record
        self.conversation = conversation
        self.watch = watch
        self.person = person
        self.spent = spent or SpendingTally()
        self.shared = shared or SharedState(record.folder)
        self.agent = agent
        """The call that started this sub-agent, or None for the session itself."""
        self.usage: Object = {}
        """The usage of the last answer."""
        self.follow_ups: dict[str, CallFollowUp] = {}
        """What follows the result of a call, by the call's id."""
        self.program_agents: dict[str, AgentType] = {}
        """The types of sub-agents that a program has defined."""
        self.effects = CommandEffects(setup)
        self._tools = dict(tools if tools is not None else setup.tools)
        self.offers_tool: Callable[[str], bool] = lambda _: True
        """Whether the model may see a tool, whenever that tool was added."""
        self.hooks: HookScope | None = None
        self.lifecycle: SessionLifecycle | None = None
        """The hooks of the session as a whole; a sub-agent has none."""
        lock = threading.Lock()

        def send_event(event: TurnEvent) -> None:
            with lock:
                watch(event)

        self.tell = send_event

    def add_tools(self, tools: Mapping[str, Tool]) -> None:
        """Add tools that became known after the start, behind all others."""
        self.setup.tools = {**self.setup.tools, **tools}
        self._tools = {**self._tools, **tools}

    def replace_server_tools(self, tools: Mapping[str, Tool]) -> None:
        """Make these the only tools of MCP servers."""
        own = {name: tool for name, tool in self.setup.tools.items() if not name.startswith("mcp__")}
        self.setup.tools = {**own, **tools}
        self._tools = {**{name: tool for name, tool in self._tools.items() if not name.startswith("mcp__")}, **tools}

    def add_agents(self, definitions: Object, where: str) -> None:
        """Add types of sub-agents that a program defines."""
        from turnlog.agent.agent_objects import parse_agent_objects

        self.program_agents |= parse_agent_objects(definitions, where, lambda text: self.tell(WarningIssued(text)))
        self.replace_agents({**self.setup.agents, **self.program_agents})

    def replace_agents(self, agents: Mapping[str, AgentType]) -> None:
        """Make these the only types of sub-agents."""
        self.setup.agents = agents
        if "Task" in self.setup.tools:
            self.add_tools({"Task": Task(agents)})

    def list_tools(self) -> dict[str, Tool]:
        """Return the tools that the model may use, in order."""
        is_hidden = self.setup.guard.is_hidden
        return {name: tool for name, tool in self._tools.items() if self.offers_tool(name) and not is_hidden(name)}
