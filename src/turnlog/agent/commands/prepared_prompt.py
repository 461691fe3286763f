"""A prompt with everything that belongs to it: the text of a command, and the files that it mentions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from turnlog.agent.commands.command_expansion import (
    CommandRefused,
    fill_in_arguments,
    find_shell_commands,
    run_shell_parts,
)
from turnlog.agent.commands.mentions import (
    FileAttachment,
    attach_file,
    find_mentions,
    find_resource,
    resolve_mention,
)
from turnlog.agent.conversation import MessageContent, to_blocks
from turnlog.agent.events import HookMessage, TurnEvent
from turnlog.agent.mcp_servers.server_link import ServerFailure
from turnlog.agent.record.line_bodies import extract_content_text
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.setup import AgentSetup
from turnlog.agent.toolbox import LazyTool
from turnlog.agent.tools.call_result import ToolError
from turnlog.agent.tools.command_file import CommandFile
from turnlog.agent.tools.tool import CallContext
from turnlog.model.cancel import Cancel

_COMMAND_PATTERN = re.compile(r"/([\w:-]+)(?:\s+(.*))?", re.DOTALL)


class PreparedPrompt(Struct):
    """What a prompt becomes."""

    content: MessageContent
    """The prompt as it is recorded; for a command, its name and arguments."""
    expansion: str = ""
    """The text of the command."""
    attachments: list[FileAttachment] = []
    command: CommandFile | None = None

    @property
    def message(self) -> list[dict[str, Any]]:
        """The message to the model: what is attached comes before the text."""
        files = [block for one in self.attachments for block in one.blocks]
        return [*files, *to_blocks(self.content), *to_blocks(self.expansion)]


class PromptHost(Protocol):
    """The parts of the loop that preparing a prompt needs."""

    @property
    def setup(self) -> AgentSetup:
        """The setup of the session."""
        ...

    @property
    def record(self) -> SessionRecord:
        """The record of the session."""
        ...

    @property
    def tell(self) -> Callable[[TurnEvent], None]:
        """Tells the person something."""
        ...

    def build_call_context(self, call: str, cancel: Cancel) -> CallContext:
        """Build the context of a call that the client makes itself."""
        ...

    def find_shell_obstacle(self, command: str, cancel: Cancel) -> str:
        """Return why hooks forbid a shell command of a command's file; "" if they don't."""
        ...

    def run_forked_command(self, command: CommandFile, text: str, cancel: Cancel) -> str:
        """Run a command in a sub-agent of its own, and return its report."""
        ...


def find_command(text: str, commands: Mapping[str, CommandFile]) -> tuple[CommandFile, str] | None:
    """Return the command that a prompt names, and its arguments."""
    match = _COMMAND_PATTERN.fullmatch(text.strip())
    command = commands.get(match[1]) if match else None
    return (command, (match[2] or "").strip()) if match and command else None


def prepare_prompt(
    host: PromptHost, content: MessageContent, cancel: Cancel, *, is_typed: bool, typed_text: str | None = None
) -> PreparedPrompt:
    """Expand the command that a prompt names and attach the files that it mentions.

    With `typed_text`, only that part of the prompt names a command and mentions files."""
    text = extract_content_text(content)
    typed_text = text if typed_text is None else typed_text
    found = find_command(text, host.setup.commands) if find_command(typed_text, host.setup.commands) else None
    if found is None:
        return PreparedPrompt(content, attachments=_attach_mentions(host, typed_text, cancel, is_typed=is_typed))
    command, arguments = found
    if not command.is_for_people:
        raise CommandRefused(f"/{command.name}: only the model can use this skill; ask it to")
    expansion = expand_command(host, command, arguments, cancel)
    parts = [("message", command.name), ("name", f"/{command.name}"), ("args", arguments)]
    named = "\n".join(f"<command-{tag}>{value}</command-{tag}>" for tag, value in parts if value)
    attachments = _attach_mentions(host, typed_text, cancel, is_typed=is_typed)
    known = {str(one.attachment.get("filename")) for one in attachments}
    if command.fetch is None:
        attachments += _attach_mentions(host, expansion, cancel, is_typed=False, known=known)
    return PreparedPrompt(named, expansion, attachments, command)


def expand_command(host: PromptHost, command: CommandFile, arguments: str, cancel: Cancel) -> str:
    """Return the text of a command; raise CommandRefused if it can't run or a rule does not allow a part of it."""
    if command.problem:
        raise CommandRefused(f"/{command.name}: {command.problem} ({command.path})")
    if command.fetch is not None:
        try:
            return command.fetch(arguments)
        except ServerFailure as error:
            raise CommandRefused(f"/{command.name}: {error}") from None
    text = fill_in_arguments(command, arguments, host.record.session_id)
    setup = host.setup
    for shell_command, pattern in find_shell_commands(text):
        decision = setup.guard.decide_with_rules("Bash", {"command": shell_command}, setup.place, command.allowed)
        if decision.verdict != "allow":
            reason = decision.reason or "it needs permission"
            raise CommandRefused(f'Shell command permission check failed for pattern "{pattern}": {reason}')
        if obstacle := host.find_shell_obstacle(shell_command, cancel):
            raise CommandRefused(f'Shell command refused for pattern "{pattern}": {obstacle}')
    context = host.build_call_context("", cancel)

    def run(shell_command: str, pattern: str) -> str:
        try:
            result = LazyTool("Bash").run({"command": shell_command}, context)
        except ToolError as error:
            raise CommandRefused(f'Shell command failed for pattern "{pattern}": {error}') from None
        if result.is_error:
            raise CommandRefused(f'Shell command failed for pattern "{pattern}": {result.content}')
        output = result.structured if isinstance(result.structured, Mapping) else {}
        return str(output.get("stdout") or "").strip("\n")

    return run_shell_parts(text, run)


def _attach_mentions(
    host: PromptHost, text: str, cancel: Cancel, *, is_typed: bool, known: set[str] | None = None
) -> list[FileAttachment]:
    if "@" not in text:
        return []
    setup, found, resources = host.setup, dict[Path, FileAttachment](), list[FileAttachment]()
    context = host.build_call_context("", cancel)
    for mention in find_mentions(text):
        if known is None and setup.servers is not None and (resource := find_resource(mention, setup.servers.links)):
            resources += _attach_resource(host, resource)
            continue
        path = resolve_mention(mention, setup.place.cwd, Path.home())
        if path is None or path in found or str(path) in (known or ()):
            continue
        decision = setup.guard.decide("Read", {"file_path": str(path)}, setup.place)
        if decision.verdict == "deny" or (decision.verdict == "ask" and not is_typed):
            why = decision.reason or "it needs permission"
            host.tell(HookMessage(f"@{mention.name} is not attached: {why}", "warning"))
            continue
        attachment = attach_file(mention, path, context)
        if isinstance(attachment, str):
            host.tell(HookMessage(f"@{mention.name} is not attached: {attachment}", "warning"))
        else:
            found[path] = attachment
    return [*found.values(), *resources]


def _attach_resource(host: PromptHost, resource: tuple[str, str]) -> list[FileAttachment]:
    server, uri = resource
    servers = host.setup.servers
    try:
        text = servers.read_resource(server, uri, host.record.folder, host.setup.environ) if servers else ""
    except ServerFailure as error:
        host.tell(HookMessage(f"@{server}:{uri} is not attached: {error}", "warning"))
        return []
    fields = {"server": server, "uri": uri, "name": uri, "content": {"contents": [{"uri": uri, "text": text}]}}
    told = f'<mcp-resource server="{server}" uri="{uri}">\n{text}\n</mcp-resource>'
    return [FileAttachment({"type": "mcp_resource", **fields, "displayPath": f"{server}:{uri}"}, (told,))]
