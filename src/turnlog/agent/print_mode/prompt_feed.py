"""Print mode for programs: prompts come as lines of JSON while the session works (`--input-format stream-json`).

A line is a message of the user, or a request about the session itself (`control_request`): those are answered at once,
also in the middle of a turn. Lines of other kinds are passed over, as the newest client does. A program that defines
hooks, agents or servers when it begins relies on them: it is refused, and the session ends.
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
from turnlog.agent.print_mode.program_person import ProgramPerson
from turnlog.agent.settings import PERMISSION_MODES
from turnlog.agent.slash_commands import PRINTABLE_COMMANDS, SLASH_COMMANDS
from turnlog.agent.tools.call_result import to_object
from turnlog.errors import TurnlogError, UsageError
from turnlog.model.cancel import Cancel

Object = Mapping[str, Any]
LineWriter = Callable[[dict[str, Any]], None]


_UNSUPPORTED_REQUEST_KEYS = (
    "hooks",
    "agents",
    "sdkMcpServers",
    "jsonSchema",
    "toolAliases",
    "planModeInstructions",
    "appendSubagentSystemPrompt",
)
"""What a program may define when it begins (`initialize`), and what this client would have to pass over."""


class FeedMessage(NamedTuple):
    """What a program says in the place of a person."""

    content: str | list[dict[str, Any]]
    uuid: str | None = None


class PromptFeed:
    """The messages on their way to a session."""

    def __init__(
        self,
        loop: AgentLoop,
        lines: Iterable[bytes],
        write: LineWriter,
        program: ProgramPerson | None = None,
        *,
        ignores_hooks: bool = False,
    ) -> None:
        self._loop = loop
        self._ignores_hooks = ignores_hooks
        self._lines = lines
        self._write = write
        self._program = program
        """Who is asked for leave, if anybody."""
        self._waiting: queue.SimpleQueue[FeedMessage | TurnlogError | None] = queue.SimpleQueue()
        self._cancel = Cancel()
        threading.Thread(target=self._read_lines, name="feed", daemon=True).start()

    def next_message(self) -> FeedMessage | None:
        """The next message; None when there are no more."""
        found = self._waiting.get()
        if isinstance(found, TurnlogError):
            raise found
        return found

    def create_cancel(self) -> Cancel:
        """What takes the next turn back, if the program wants that."""
        self._cancel = Cancel()
        return self._cancel

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
            if self._program is not None:
                self._program.close_answers()

    def _handle_line(self, number: int, line: bytes) -> None:
        try:
            found = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise TurnlogError(f"standard input, line {number}: no JSON ({error})") from None
        kind = found.get("type") if isinstance(found, dict) else None
        if kind == "user":
            self._waiting.put(_parse_message(number, found))
        elif kind == "control_request":
            self._respond_to_request(found)
        elif kind == "control_response" and self._program is not None:
            self._program.accept_response(to_object(found.get("response")))

    # -- requests about the session

    def _respond_to_request(self, found: Object) -> None:
        name = found.get("request_id")
        try:
            told = self._carry_out_request(to_object(found.get("request")))
        except TurnlogError as error:
            self._write(_build_response("error", name, error=str(error)))
            if isinstance(error, UsageError) and to_object(found.get("request")).get("subtype") == "initialize":
                raise
        else:
            self._write(_build_response("success", name, response=told))

    def _carry_out_request(self, request: Object) -> dict[str, Any]:
        setup, kind = self._loop.setup, request.get("subtype")
        if kind == "initialize":
            return self._initialize(request)
        if kind == "interrupt":
            self._cancel.set()
            if self._program is not None:
                self._program.withdraw_questions()
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
        raise TurnlogError(f"Unsupported control request subtype: {kind}")

    def _initialize(self, request: Object) -> dict[str, Any]:
        """Take what a program defines for the session; UsageError if it relies on something that there is not."""
        refused = [name for name in _UNSUPPORTED_REQUEST_KEYS if request.get(name)]
        if refused:
            problem = f"initialize: turnlog does not support {', '.join(refused)}"
            if not self._ignores_hooks:
                raise UsageError(f"{problem}; start it with --ignore-hooks to go on without")
            self._loop.tell(WarningIssued(f"{problem}; the session goes on without"))
        instead, added = request.get("systemPrompt"), request.get("appendSystemPrompt")
        whole = "\n\n".join(map(str, instead)) if isinstance(instead, list) else instead
        if isinstance(whole, str) or isinstance(added, str):
            self._loop.setup.system = build_system_prompt(
                whole if isinstance(whole, str) else None, added if isinstance(added, str) else None
            )
        return self._describe_capabilities()

    def _describe_capabilities(self) -> dict[str, Any]:
        setup = self._loop.setup
        return {
            "commands": [
                {"name": name, "description": SLASH_COMMANDS[name].help, "argumentHint": SLASH_COMMANDS[name].words}
                for name in PRINTABLE_COMMANDS
            ],
            "agents": [{"name": name} for name in setup.agents],
            "output_style": "default",
            "available_output_styles": ["default"],
            "models": [
                {"value": name, "displayName": model, "description": ""} for name, model in setup.aliases.items()
            ],
            "account": {},
        }


def _build_response(subtype: str, name: Any, **more: Any) -> dict[str, Any]:
    return {"type": "control_response", "response": {"subtype": subtype, "request_id": name, **more}}


def _parse_message(number: int, found: Object) -> FeedMessage:
    message, uuid = found.get("message"), found.get("uuid")
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, list) and content and all(isinstance(one, dict) and "type" in one for one in content):
        return FeedMessage(content, uuid if isinstance(uuid, str) else None)
    if isinstance(content, str) and content.strip():
        return FeedMessage(content, uuid if isinstance(uuid, str) else None)
    raise TurnlogError(f"standard input, line {number}: a message of the user without content")
