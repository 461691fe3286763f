"""Finds the MCP servers of a session and connects to those that the person has approved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.agent.conversation import build_reminder
from turnlog.agent.person import Person
from turnlog.agent.settings import Settings
from turnlog.agent.setup import AgentSetup
from turnlog.agent.start_options import StartOptions
from turnlog.agent.tools.tool import Question
from turnlog.agent.unsupported_features import may_have_servers

if TYPE_CHECKING:
    from turnlog.agent.mcp_servers.server_config import ConfiguredServers
    from turnlog.agent.mcp_servers.server_pool import ServerPool
    from turnlog.agent.plugins import EnabledPlugin


def get_server_pool(setup: AgentSetup, person: Person) -> ServerPool:
    """Return the connections of a session, of which there may be none yet."""
    if setup.servers is None:
        from turnlog.agent.mcp_servers.server_pool import ServerPool

        setup.servers = ServerPool(partial(_ask_person, person) if person.fills_in_forms else None)
    return setup.servers


class ServerStart(NamedTuple):
    """What decides which servers a session has."""

    cwd: Path
    root: Path
    """The folder whose `.mcp.json` applies."""
    config_dir: Path
    environ: Mapping[str, str]
    options: StartOptions
    settings: Settings
    plugins: Sequence[EnabledPlugin]

    def find_servers(self) -> ConfiguredServers:
        from turnlog.agent.key_shield import build_child_environment
        from turnlog.agent.mcp_servers.server_config import find_servers

        environ = build_child_environment({**self.environ, **self.settings.collect_variables()})
        flags, is_strict = self.options.mcp_configs, self.options.is_strict_mcp
        return find_servers(
            self.settings,
            self.root,
            self.config_dir,
            environ,
            flags=flags,
            is_strict=is_strict,
            plugins=self.plugins,
            sources=self.options.sources,
        )

    def connect_servers(self, setup: AgentSetup, person: Person) -> list[str]:
        """Connect to the MCP servers of a session and return what went wrong."""
        if not self.options.mcp_configs and not self.plugins and not may_have_servers(self.root, self.config_dir):
            return []
        found = self.find_servers()
        problems = [str(problem) for problem in found.problems]
        setup.program_servers = [one.name for one in found.servers if one.kind == "sdk"]
        if outside := [one for one in found.servers if one.kind != "sdk"]:
            from turnlog.agent.key_shield import build_child_environment

            pool = get_server_pool(setup, person)
            pool.connect_all(outside, self.cwd, build_child_environment(setup.environ))
            if self.options.tools is None:
                setup.tools = {**setup.tools, **pool.tools}
            setup.commands = {**setup.commands, **pool.prompts}
            setup.preface = [*setup.preface, *([build_reminder(pool.instructions)] if pool.instructions else [])]
            failed = [one for one in pool.statuses.values() if one.problem]
            problems += [f"{one.config.where}: MCP server {one.config.name!r}: {one.problem}" for one in failed]
        return problems


def _ask_person(person: Person, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Let a person fill in the form of a server; a form that nobody sees is cancelled."""
    return person.answer(Question("form", asked)) or {"action": "cancel"}
