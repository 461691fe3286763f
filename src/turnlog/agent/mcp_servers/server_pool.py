"""The MCP servers of a session: connects to all of them at once, and collects their tools, prompts and resources."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.agent.mcp_servers.server_config import ServerConfig, describe_name_clash, normalize_name
from turnlog.agent.mcp_servers.server_link import Object, QuestionAsker, ServerFailure, ServerLink
from turnlog.agent.mcp_servers.server_results import limit_output, read_resource_text
from turnlog.agent.mcp_servers.server_tool import ServerTool
from turnlog.agent.tools.command_file import CommandFile
from turnlog.agent.tools.tool import Tool

if TYPE_CHECKING:
    from turnlog.agent.mcp_servers.remote_link import ServerLoop

DEFAULT_CONNECT_SECONDS = 30.0
CONNECT_TIMEOUT_VARIABLE = "MCP_TIMEOUT"
MAX_PAGES = 100
MAX_INSTRUCTION_CHARS = 2048
MISSING_PACKAGE_PROBLEM = "the mcp package is not installed; install it with: pip install 'turnlog[mcp]'"


class ServerStatus(NamedTuple):
    config: ServerConfig
    problem: str = ""
    """Why it is not connected."""
    tools: int = 0
    is_disabled: bool = False
    """Whether a program has closed the connection."""
    is_refused: bool = False
    """Whether its tools would have the names of another server's."""

    @property
    def word(self) -> str:
        return "disabled" if self.is_disabled else "failed" if self.problem else "connected"


class ServerPool:
    """The connections of one session."""

    def __init__(self, ask: QuestionAsker | None = None) -> None:
        self._ask = ask
        self.tools: dict[str, Tool] = {}
        self.prompts: dict[str, CommandFile] = {}
        self.statuses: dict[str, ServerStatus] = {}
        self.links: dict[str, ServerLink] = {}
        self._loop: ServerLoop | None = None

    def connect_all(self, configs: Sequence[ServerConfig], root: Path, environ: Mapping[str, str]) -> None:
        """Connect to servers in parallel; one that fails does not keep the others from starting."""
        admitted = []
        for config in configs:
            if not self.refuse_rival(config):
                self.statuses[config.name] = ServerStatus(config)  # its name is taken from now on
                admitted.append(config)
        configs = admitted
        if not configs:
            return
        try:
            from turnlog.agent.mcp_servers.remote_link import RemoteLink, ServerLoop
        except ImportError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "httpx2"):
                raise
            self.statuses |= {one.name: ServerStatus(one, MISSING_PACKAGE_PROBLEM) for one in configs}
            return
        self._loop = self._loop or ServerLoop()
        seconds = read_connect_seconds(environ)
        links = [RemoteLink(config, self._loop, root, environ, seconds, self._ask) for config in configs]

        def connect(link: RemoteLink) -> list[Object]:
            link.connect()
            return list(list_all(link, "tools", seconds))

        with ThreadPoolExecutor(len(links), "mcp") as pool:
            pending = [(link, pool.submit(connect, link)) for link in links]
            for link, future in pending:
                try:
                    self.add_server(link, future.result(), seconds)
                except ServerFailure as error:
                    self.statuses[link.config.name] = ServerStatus(link.config, str(error))

    def refuse_rival(self, config: ServerConfig) -> str:
        """Refuse a server whose tools would share the names and rules of another one's; return why, or ""."""
        others = [one.config for one in self.statuses.values() if not one.is_refused and one.config.name != config.name]
        owner = next((other.name for other in others if other.prefix == config.prefix), None)
        if owner is None:
            return ""
        problem = describe_name_clash(config, owner)
        self.statuses[config.name] = ServerStatus(config, problem, is_refused=True)
        return problem

    def add_server(self, link: ServerLink, tools: Sequence[Object], seconds: float) -> None:
        """Add the tools and prompts of a connected server; a name that exists already is not replaced."""
        config, count = link.config, 0
        for described in tools:
            tool = ServerTool(link, described)
            if tool.is_usable and tool.name not in self.tools:
                self.tools[tool.name] = tool
                count += 1
        self.links[config.name] = link
        self.statuses[config.name] = ServerStatus(config, tools=count)
        try:
            for described in list_all(link, "prompts", seconds):
                prompt = _build_prompt(link, described)
                self.prompts.setdefault(prompt.name, prompt)
        except ServerFailure:
            pass  # a server without prompts

    def refresh_tools(self, seconds: float) -> bool:
        """List the tools again of servers that have announced others; return whether there are any."""
        changed = [link for link in self.links.values() if link.has_new_tools]
        for link in changed:
            link.has_new_tools = False
            try:
                tools = [ServerTool(link, described) for described in list_all(link, "tools", seconds)]
            except ServerFailure:
                continue  # the tools that are known may still work
            config = link.config
            kept = {name: tool for name, tool in self.tools.items() if not name.startswith(config.prefix)}
            found: dict[str, Tool] = {}
            for tool in tools:
                if tool.is_usable:
                    found.setdefault(tool.name, tool)
            self.tools = {**kept, **found}
            self.statuses[config.name] = ServerStatus(config, tools=len(found))
        return bool(changed)

    def remove_server(self, name: str) -> None:
        """Close the connection to a server and forget its tools and prompts."""
        status, link = self.statuses.pop(name), self.links.pop(name, None)
        prefix = status.config.prefix
        if link is not None:
            link.close()
            self.tools = {key: tool for key, tool in self.tools.items() if not key.startswith(prefix)}
            self.prompts = {key: prompt for key, prompt in self.prompts.items() if not key.startswith(prefix)}

    def disable_server(self, config: ServerConfig) -> None:
        """List a server without a connection."""
        self.statuses[config.name] = ServerStatus(config, is_disabled=True)

    @property
    def instructions(self) -> str:
        """What the servers tell the model, or an empty text."""
        parts = [
            f"## {link.config.name}\n{link.instructions[:MAX_INSTRUCTION_CHARS]}"
            for link in self.links.values()
            if link.instructions.strip()
        ]
        head = (
            "# MCP Server Instructions\n\nThe following MCP servers have provided instructions for how to use their"
            " tools and resources:"
        )
        return "\n\n".join([head, *parts]) if parts else ""

    def read_resource(self, server: str, uri: str, folder: Path, environ: Mapping[str, str]) -> str:
        """Return the text of a resource (`@server:uri`); raise ServerFailure if there is none."""
        link = self.links.get(server)
        if link is None:
            raise ServerFailure(f"there is no connected MCP server {server!r}")
        result = link.send("resources/read", {"uri": uri}, seconds=read_connect_seconds(environ))
        contents = result.get("contents")
        parts = [one for one in contents if isinstance(one, Mapping)] if isinstance(contents, list) else []
        text = "\n\n".join(read_resource_text(server, part, folder) for part in parts)
        return str(limit_output(server, "resource", text, folder, environ))

    def read_ui_resource(self, name: str, uri: str, environ: Mapping[str, str]) -> list[Object]:
        """Return the parts of a `ui://` resource as the server sent them; raise ServerFailure if that fails."""
        status = self.statuses[name]
        link = self.links.get(name)
        if link is None:
            raise ServerFailure(f"MCP server {name} is {status.word}; send mcp_reconnect first")
        result = link.send("resources/read", {"uri": uri}, seconds=read_connect_seconds(environ))
        contents = result.get("contents")
        return [one for one in contents if isinstance(one, Mapping)] if isinstance(contents, list) else []

    def close(self) -> None:
        for link in self.links.values():
            link.close()
        if self._loop is not None:
            self._loop.close()


def list_all(link: ServerLink, kind: str, seconds: float) -> Iterator[Object]:
    """Yield everything of a kind (`tools`, `prompts`, `resources`) that a server offers, page by page."""
    cursor: Any = None
    for _ in range(MAX_PAGES):
        result = link.send(f"{kind}/list", {} if cursor is None else {"cursor": cursor}, seconds=seconds)
        found = result.get(kind)
        yield from (one for one in found if isinstance(one, Mapping)) if isinstance(found, list) else ()
        cursor = result.get("nextCursor")
        if not cursor:
            return


def read_connect_seconds(environ: Mapping[str, str]) -> float:
    value = environ.get(CONNECT_TIMEOUT_VARIABLE, "")
    is_set = value.isascii() and value.isdigit() and int(value) > 0
    return int(value) / 1000 if is_set else DEFAULT_CONNECT_SECONDS


def _build_prompt(link: ServerLink, described: Object) -> CommandFile:
    """Return a prompt of a server as a command; its text comes from the server and is not expanded further."""
    own_name, arguments = str(described.get("name") or ""), described.get("arguments")
    listed = [one for one in arguments if isinstance(one, Mapping)] if isinstance(arguments, list) else []
    names = [str(one.get("name")) for one in listed]

    def fetch(text: str) -> str:
        given = dict(zip(names, _split_words(text), strict=False))
        required = [name for name, one in zip(names, listed, strict=True) if one.get("required") is True]
        missing = [name for name in required if name not in given]
        if missing:
            raise ServerFailure(f"the argument {missing[0]} is missing")
        result = link.send("prompts/get", {"name": own_name, "arguments": given}, seconds=DEFAULT_CONNECT_SECONDS)
        return "\n\n".join(_iterate_message_texts(result.get("messages")))

    return CommandFile(
        link.config.prefix + normalize_name(own_name),
        Path(link.config.where),
        "",
        str(described.get("description") or "")[:MAX_INSTRUCTION_CHARS],
        " ".join(name.upper() for name in names),
        is_for_model=False,
        fetch=fetch,
    )


def _split_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _iterate_message_texts(messages: Any) -> Iterator[str]:
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, Mapping) else None
        for block in content if isinstance(content, list) else [content]:
            if isinstance(block, Mapping) and isinstance(block.get("text"), str):
                yield block["text"]
