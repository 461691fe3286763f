"""A connection to an MCP server, as the rest of the client sees it: plain requests and their results as objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from turnlog.agent.mcp_servers.server_config import ServerConfig
from turnlog.model.cancel import Cancel

Object = Mapping[str, Any]
QuestionAsker = Callable[[Object], Object]
"""Asks the person what a server wants to know (elicitation), and returns their action and the content of the form."""


class ServerFailure(Exception):
    """A request that the server refused or could not answer."""


class ServerLink(Protocol):
    config: ServerConfig
    has_new_tools: bool
    """Whether the server has said that its tools are others than those that it listed."""

    @property
    def instructions(self) -> str:
        """What the server tells the model about itself."""
        ...

    def send(self, method: str, params: Object, cancel: Cancel | None = None, seconds: float | None = None) -> Object:
        """Send a request (`tools/list`, `tools/call` …) and return its result; raise ServerFailure if it fails."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...
