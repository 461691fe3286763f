"""Print mode for programs: prompts arrive as lines of JSON while the session runs (`--input-format stream-json`).

Each line is a user message or a request about the session itself (`control_request`), which is answered immediately,
even during a turn. Other lines are skipped, as in the newest Claude Code. If a program defines hooks, agents or servers
in `initialize`, it relies on them, so turnlog rejects the request and ends the session.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from turnlog.agent.briefing.system_prompt import build_system_prompt
from turnlog.agent.events import WarningIssued
from turnlog.agent.loop import AgentLoop
from turnlog.agent.print_mode.control_channel import ControlChannel
from turnlog.agent.record.chain import create_record_id
from turnlog.agent.settings import PERMISSION_MODES
from turnlog.agent.slash_commands import PRINTABLE_COMMANDS, SLASH_COMMANDS
from turnlog.agent.tools.call_result import to_object
from turnlog.entries.layout import is_session_id
from turnlog.errors import TurnlogError, UsageError
from turnlog.model.cancel import Cancel

Object = Mapping[str, Any]
LineWriter = Callable[[dict[str, Any]], None]


_UNSUPPORTED_REQUEST_KEYS = (
    "agents",
    "jsonSchema",
    "toolAliases",
    "planModeInstructions",
    "appendSubagentSystemPrompt",
)
"""Keys of `initialize` that turnlog would have to ignore."""


class FeedMessage(NamedTuple):
    """A prompt from the program."""

    content: str | list[dict[str, Any]]
    uuid: str | None = None


class PromptFeed:
    """Reads messages and requests from a program for a session."""

    def __init__(
        self,
        loop: AgentLoop,
        lines: Iterable[bytes],
        write: LineWriter,
        channel: ControlChannel | None = None,
        *,
        ignores_hooks: bool = False,
    ) -> None:
        self._loop = loop
        self._ignores_hooks = ignores_hooks
        self._lines = lines
        self._write = write
        self._channel = channel or ControlChannel(write)
        """Asks the program."""
        self._waiting: queue.SimpleQueue[FeedMessage | TurnlogError | None] = queue.SimpleQueue()
        self._cancel = Cancel()
        self._server_names: list[str] = []
        """MCP servers inside the program to which the session has not connected yet."""
        self._prompt_ids: set[str] = set()
        threading.Thread(target=self._read_lines, name="feed", daemon=True).start()

    def next_message(self) -> FeedMessage | None:
        """Wait for the next message; return None when there are no more."""
        message = self._waiting.get()
        if isinstance(message, TurnlogError):
            raise message
        return message

    def create_cancel(self) -> Cancel:
        """Create the signal that lets the program interrupt the next turn."""
        self._cancel = Cancel()
        return self._cancel

    def connect_servers(self) -> None:
        """Connect to the MCP servers inside the program; not while reading its lines, which contain the answers."""
        names, self._server_names = self._server_names, []
        if names:
            from turnlog.agent.print_mode.program_server import add_program_servers

            add_program_servers(self._loop, names, self._channel)

    def _read_lines(self) -> None:
        try:
            for number, line in enumerate(self._lines, 1):
                if line.strip():
                    self._handle_line(number, line)
            self._waiting.put(None)
        except TurnlogError as error:
            self._waiting.put(error)
        except OSError as error:
            self._waiting.put(TurnlogError(f"standard input: {error}"))
        finally:
            self._channel.close()

    def _handle_line(self, number: int, line: bytes) -> None:
        try:
            found = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise TurnlogError(f"standard input, line {number}: not valid JSON ({error})") from None
        kind = found.get("type") if isinstance(found, dict) else None
        if kind == "user":
            message = _parse_message(number, found)
            self._waiting.put(message._replace(uuid=self._choose_prompt_id(message.uuid)))
        elif kind == "control_request":
            self._respond_to_request(found)
        elif kind == "control_response":
            self._channel.accept_response(to_object(found.get("response")))

    def _choose_prompt_id(self, given: str | None) -> str:
        """Return the id that the program gave its prompt, unless it is no UUID or was used before."""
        is_good = given is not None and is_session_id(given) and given not in self._prompt_ids
        uuid = given if is_good and given and self._loop.record.is_unused_id(given) else create_record_id()
        self._prompt_ids.add(uuid)
        return uuid

    # -- requests about the session

    def _respond_to_request(self, line: Object) -> None:
        name = line.get("request_id")
        try:
            response = self._carry_out_request(to_object(line.get("request")))
        except TurnlogError as error:
            self._write(_build_response("error", name, error=str(error)))
            if isinstance(error, UsageError) and to_object(line.get("request")).get("subtype") == "initialize":
                raise
        else:
            self._write(_build_response("success", name, response=response))

    def _carry_out_request(self, request: Object) -> dict[str, Any]:
        setup, kind = self._loop.setup, request.get("subtype")
        if kind == "initialize":
            return self._initialize(request)
        if kind == "interrupt":
            self._cancel.set()
            self._channel.withdraw_requests()
            return {}
        if kind == "set_model":
            name = str(request.get("model") or "")
            setup.name = setup.aliases.get(name, name) or setup.name
            return {"model": setup.name}
        if kind == "set_permission_mode":
            mode = next((mode for mode in PERMISSION_MODES if mode == request.get("mode")), None)
            if mode is None:
                raise TurnlogError(f"Cannot set permission mode: must be one of {', '.join(PERMISSION_MODES)}")
            setup.guard.mode = mode
            self._loop.record.write_permission_mode(mode)
            return {"mode": mode}
        if kind == "rewind_files":
            from turnlog.agent.print_mode.file_rewind import answer_rewind_request

            return answer_rewind_request(self._loop, request)
        raise TurnlogError(f"Unsupported control request subtype: {kind}")

    def _initialize(self, request: Object) -> dict[str, Any]:
        """Apply the program's definitions for the session; raise UsageError if it relies on an unsupported feature."""
        refused = [name for name in _UNSUPPORTED_REQUEST_KEYS if request.get(name)]
        if refused:
            problem = f"initialize: turnlog does not support {', '.join(refused)}"
            if not self._ignores_hooks:
                raise UsageError(f"{problem}; start turnlog with --ignore-hooks to continue without them")
            self._loop.tell(WarningIssued(f"{problem}; the session continues without them"))
        if hooks := to_object(request.get("hooks")):
            from turnlog.agent.print_mode.program_hooks import attach_program_hooks

            attach_program_hooks(self._loop, hooks, self._channel)
        names = request.get("sdkMcpServers")
        self._server_names = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        replaced, added = request.get("systemPrompt"), request.get("appendSystemPrompt")
        prompt = "\n\n".join(map(str, replaced)) if isinstance(replaced, list) else replaced
        if isinstance(prompt, str) or isinstance(added, str):
            self._loop.setup.system = build_system_prompt(
                prompt if isinstance(prompt, str) else None, added if isinstance(added, str) else None
            )
        return self._describe_capabilities()

    def _describe_capabilities(self) -> dict[str, Any]:
        setup = self._loop.setup
        return {
            "commands": [
                *(
                    {"name": name, "description": command.description, "argumentHint": command.hint}
                    for name, command in setup.commands.items()
                    if command.is_for_people
                ),
                *(_describe_own_command(name) for name in PRINTABLE_COMMANDS),
            ],
            "agents": [{"name": name} for name in setup.agents],
            "output_style": setup.style,
            "available_output_styles": list(dict.fromkeys(["default", setup.style])),
            "models": [
                {"value": name, "displayName": model, "description": ""} for name, model in setup.aliases.items()
            ],
            "account": {},
        }


def _describe_own_command(name: str) -> dict[str, Any]:
    command = SLASH_COMMANDS[name]
    return {"name": name, "description": command.help, "argumentHint": command.arguments}


def _build_response(subtype: str, name: Any, **more: Any) -> dict[str, Any]:
    return {"type": "control_response", "response": {"subtype": subtype, "request_id": name, **more}}


def _parse_message(number: int, found: Object) -> FeedMessage:
    message, uuid = found.get("message"), found.get("uuid")
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, list) and content and all(isinstance(one, dict) and "type" in one for one in content):
        return FeedMessage(content, uuid if isinstance(uuid, str) else None)
    if isinstance(content, str) and content.strip():
        return FeedMessage(content, uuid if isinstance(uuid, str) else None)
    raise TurnlogError(f"standard input, line {number}: the user message has no content")
