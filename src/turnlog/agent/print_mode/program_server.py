"""Connections to servers inside the program that runs turnlog (SDK): requests travel as control messages."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from turnlog._version import __version__
from turnlog.agent.events import WarningIssued
from turnlog.agent.loop import AgentLoop
from turnlog.agent.mcp_servers.server_config import ServerConfig, find_name_problem, read_call_seconds
from turnlog.agent.mcp_servers.server_link import Object, ServerFailure
from turnlog.agent.mcp_servers.server_pool import ServerStatus, list_all, read_connect_seconds
from turnlog.agent.print_mode.control_channel import ControlChannel
from turnlog.agent.server_start import get_server_pool
from turnlog.agent.tools.call_result import to_object
from turnlog.model.cancel import Cancel

PROTOCOL_VERSION = "2025-06-18"


class ProgramLink:
    """A connection to one server of the program."""

    def __init__(self, name: str, channel: ControlChannel, call_seconds: float | None = None) -> None:
        self.config = ServerConfig(name, "sdk", "the program", "sdk", call_seconds=call_seconds)
        self.instructions = ""
        self.has_new_tools = False
        self._channel = channel
        self._numbers = itertools.count()

    def connect(self, seconds: float) -> None:
        client = {"name": "turnlog", "version": __version__}
        params = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
        self.instructions = str(self.send("initialize", params, seconds=seconds).get("instructions") or "")
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, None, seconds)

    def send(self, method: str, params: Object, cancel: Cancel | None = None, seconds: float | None = None) -> Object:
        """Send a request to the program and wait for its answer."""
        message = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": dict(params)}
        answer = self._post(message, cancel, seconds)
        error = answer.get("error")
        if isinstance(error, Mapping):
            raise ServerFailure(str(error.get("message") or "the request failed"))
        result = answer.get("result")
        return result if isinstance(result, Mapping) else {}

    def _post(self, message: dict[str, Any], cancel: Cancel | None, seconds: float | None) -> Object:
        request = {"subtype": "mcp_message", "server_name": self.config.name, "message": message}
        answer = self._channel.send_request(request, seconds, cancel)
        if answer.content is None:
            raise ServerFailure(answer.error or "the request was withdrawn")
        found = answer.content.get("mcp_response")
        return found if isinstance(found, Mapping) else {}

    def close(self) -> None:
        pass  # the program ends its own servers


def add_program_servers(
    loop: AgentLoop, names: Sequence[str], channel: ControlChannel, configs: Object = MappingProxyType({})
) -> None:
    """Add the tools and prompts of the program's servers to a session."""
    setup = loop.setup
    pool = get_server_pool(setup, loop.person)
    seconds = read_connect_seconds(setup.environ)
    for name in names:
        link = ProgramLink(name, channel, read_call_seconds(to_object(configs.get(name))))
        if problem := pool.refuse_rival(link.config):
            loop.tell(WarningIssued(problem))
            continue
        try:
            if problem := find_name_problem(name):
                raise ServerFailure(problem)
            link.connect(seconds)
            pool.add_server(link, list(list_all(link, "tools", seconds)), seconds)
        except ServerFailure as error:
            pool.statuses[name] = ServerStatus(link.config, str(error))
            loop.tell(WarningIssued(f"MCP server {name!r} of the program: {error}"))
    loop.add_tools(pool.tools)
    setup.commands = {**setup.commands, **pool.prompts}
