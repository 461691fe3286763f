"""Print mode for programs: prompts come as lines of JSON while the session works (`--input-format stream-json`).

A line is a message of the user, or a request about the session itself (`control_request`): those are answered at once,
also in the middle of a turn. Lines of other kinds are passed over, as the newest client does.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from turnlog.agent.console.slash import COMMANDS
from turnlog.agent.loop import Loop
from turnlog.agent.permissions.decision import MODES
from turnlog.agent.printing.printing import PRINTED
from turnlog.agent.printing.program import Program
from turnlog.agent.tools.tool import an_object
from turnlog.errors import TurnlogError
from turnlog.model.cancel import Cancel

Object = Mapping[str, Any]
Write = Callable[[dict[str, Any]], None]


class Message(NamedTuple):
    """What a program says in the place of a person."""

    content: str | list[dict[str, Any]]
    uuid: str | None = None


class Feed:
    """The messages on their way to a session."""

    def __init__(self, loop: Loop, lines: Iterable[bytes], write: Write, program: Program | None = None) -> None:
        self._loop = loop
        self._lines = lines
        self._write = write
        self._program = program
        """Who is asked for leave, if anybody."""
        self._waiting: queue.SimpleQueue[Message | TurnlogError | None] = queue.SimpleQueue()
        self._cancel = Cancel()
        threading.Thread(target=self._read, name="feed", daemon=True).start()

    def next(self) -> Message | None:
        """The next message; None when there are no more."""
        found = self._waiting.get()
        if isinstance(found, TurnlogError):
            raise found
        return found

    def cancel(self) -> Cancel:
        """What takes the next turn back, if the program wants that."""
        self._cancel = Cancel()
        return self._cancel

    def _read(self) -> None:
        try:
            for number, line in enumerate(self._lines, 1):
                if line.strip():
                    self._take(number, line)
            self._waiting.put(None)
        except TurnlogError as error:
            self._waiting.put(error)
        except OSError as error:
            self._waiting.put(TurnlogError(f"standard input: {error}"))
        finally:
            if self._program is not None:
                self._program.left()

    def _take(self, number: int, line: bytes) -> None:
        try:
            found = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise TurnlogError(f"standard input, line {number}: no JSON ({error})") from None
        kind = found.get("type") if isinstance(found, dict) else None
        if kind == "user":
            self._waiting.put(_message(number, found))
        elif kind == "control_request":
            self._write({"type": "control_response", "response": self._answer(found)})
        elif kind == "control_response" and self._program is not None:
            self._program.heard(an_object(found.get("response")))

    # -- requests about the session

    def _answer(self, found: Object) -> dict[str, Any]:
        name = found.get("request_id")
        try:
            told = self._settle(an_object(found.get("request")))
        except TurnlogError as error:
            return {"subtype": "error", "request_id": name, "error": str(error)}
        return {"subtype": "success", "request_id": name, "response": told}

    def _settle(self, request: Object) -> dict[str, Any]:
        setup, kind = self._loop.setup, request.get("subtype")
        if kind == "initialize":
            if request.get("hooks"):
                raise TurnlogError("Hooks are not supported")  # one that should stop a call must not be passed over
            return self._known()
        if kind == "interrupt":
            self._cancel.set()
            if self._program is not None:
                self._program.withdraw()
            return {}
        if kind == "set_model":
            name = str(request.get("model") or "")
            setup.name = setup.aliases.get(name, name) or setup.name
            return {"model": setup.name}
        if kind == "set_permission_mode":
            mode = next((mode for mode in MODES if mode == request.get("mode")), None)
            if mode is None:
                raise TurnlogError(f"Cannot set permission mode: must be one of {', '.join(MODES)}")
            setup.guard.mode = mode
            self._loop.record.permitting(mode)
            return {"mode": mode}
        raise TurnlogError(f"Unsupported control request subtype: {kind}")

    def _known(self) -> dict[str, Any]:
        setup = self._loop.setup
        return {
            "commands": [
                {"name": name, "description": COMMANDS[name].help, "argumentHint": COMMANDS[name].words}
                for name in PRINTED
            ],
            "agents": [{"name": name} for name in setup.agents],
            "output_style": "default",
            "available_output_styles": ["default"],
            "models": [
                {"value": name, "displayName": model, "description": ""} for name, model in setup.aliases.items()
            ],
            "account": {},
        }


def _message(number: int, found: Object) -> Message:
    message, uuid = found.get("message"), found.get("uuid")
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, list) and content and all(isinstance(one, dict) and "type" in one for one in content):
        return Message(content, uuid if isinstance(uuid, str) else None)
    if isinstance(content, str) and content.strip():
        return Message(content, uuid if isinstance(uuid, str) else None)
    raise TurnlogError(f"standard input, line {number}: a message of the user without content")
