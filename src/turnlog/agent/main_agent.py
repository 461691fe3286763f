"""Lets the session itself work as an agent (`--agent`): with its prompt, its tools, its model and its effort."""

from __future__ import annotations

from turnlog.agent.briefing.system_prompt import build_system_prompt
from turnlog.agent.loop import AgentLoop
from turnlog.agent.start_options import StartOptions
from turnlog.errors import UsageError


def adopt_agent(loop: AgentLoop, name: str, options: StartOptions) -> None:
    """Let a session work as an agent; raise UsageError if there is none of that name.

    The tools of an agent may be a guard, so a session that should have them never starts without them. The agent's
    permission mode has no effect, because files in the project may define agents.
    """
    setup = loop.setup
    kind = setup.agents.get(name)
    if kind is None:
        where = f"--agent {name[:60]}" if options.agent else f"the setting agent ({name[:60]})"
        raise UsageError(f"{where}: there is no such agent; choose from {', '.join(sorted(setup.agents))}")

    def offers_tool(tool: str) -> bool:
        is_output = loop.output is not None and tool == loop.output.name
        is_listed = kind.tools is None or tool in kind.tools
        return is_output or (is_listed and tool not in kind.denied_tools)

    loop.offers_tool = offers_tool
    if kind.model and not options.model:
        setup.name = setup.aliases.get(kind.model, kind.model)
    if kind.effort and not options.effort:
        setup.thinking = setup.thinking._replace(effort=kind.effort)
    if not (options.system_prompt or "").strip():
        setup.system = build_system_prompt(kind.prompt, options.appended_prompt)
