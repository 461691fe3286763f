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
from uuid import uuid4

import msgspec

from turnlog.agent.print_mode.control_channel import ControlChannel
from turnlog.agent.print_mode.control_requests import SLOW_REQUESTS, ControlRequests, RequestFailure
from turnlog.agent.record.chain import create_record_id
from turnlog.agent.started_session import StartedSession
from turnlog.agent.tools.call_result import to_object
from turnlog.entries.layout import is_session_id
from turnlog.errors import TurnlogError, UsageError
from turnlog.model.cancel import Cancel

Object = Mapping[str, Any]
LineWriter = Callable[[dict[str, Any]], None]


class FeedMessage(NamedTuple):
    """A prompt from the program."""

    content: str | list[dict[str, Any]]
    uuid: str | None = None
    is_verbatim: bool = False
    """Whether the text mentions no files and names no command, since no person has typed it."""
    is_notice: bool = False
    """Whether it only says that a notice of a background task waits."""


class PromptFeed:
    """Reads messages and requests from a program for a session."""

    def __init__(
        self,
        session: StartedSession,
        lines: Iterable[bytes],
        write: LineWriter,
        channel: ControlChannel,
    ) -> None:
        self._loop = loop = session.loop
        self._lines = lines
        self._write = write
        self._channel = channel
        """Asks the program."""
        self._waiting: queue.SimpleQueue[FeedMessage | TurnlogError | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._cancel = Cancel()
        self._requests = ControlRequests(session, self, channel)
        self._slow_answers: list[threading.Thread] = []
        self._prompt_ids: set[str] = set()
        self._unanswered = 0
        """How many messages wait or are being answered."""
        self._is_answering = False
        loop.shared.notices.watch = lambda: self._queue_message(FeedMessage("", is_notice=True))
        threading.Thread(target=self._read_lines, name="feed", daemon=True).start()

    def next_message(self) -> FeedMessage | None:
        """Wait for the next message; return None when there are no more."""
        if self._is_answering:
            with self._lock:
                self._unanswered -= 1
        self._is_answering = True
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
        names, self._requests.server_names = self._requests.server_names, []
        if names:
            from turnlog.agent.print_mode.program_server import add_program_servers

            add_program_servers(self._loop, names, self._channel, self._requests.server_configs)

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or a message waits for one."""
        return self._unanswered > 0

    def send_event(self, subtype: str, **fields: Any) -> None:
        """Inform the program of a change of the session."""
        around = {"uuid": str(uuid4()), "session_id": self._loop.record.session_id}
        self._write({"type": "system", "subtype": subtype, **fields, **around})

    def _queue_message(self, message: FeedMessage) -> None:
        with self._lock:
            self._unanswered += 1
        self._waiting.put(message)

    def _read_lines(self) -> None:
        try:
            for number, line in enumerate(self._lines, 1):
                if line.strip():
                    self._handle_line(number, line)
            self._channel.close()  # before the wait for answers that now never come
            for thread in self._slow_answers:
                thread.join()
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
            self._queue_message(message._replace(uuid=self._choose_prompt_id(message.uuid)))
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
        if to_object(line.get("request")).get("subtype") in SLOW_REQUESTS:
            thread = threading.Thread(target=self._answer_request, args=(line,), name="request", daemon=True)
            self._slow_answers.append(thread)
            thread.start()
        else:
            self._answer_request(line)

    def _answer_request(self, line: Object) -> None:
        name, request = line.get("request_id"), to_object(line.get("request"))
        try:
            response = self._requests.carry_out(request)
        except TurnlogError as error:
            code = {"error_code": error.code} if isinstance(error, RequestFailure) else {}
            self._write(_build_response("error", name, error=str(error), **code))
            if isinstance(error, UsageError) and request.get("subtype") == "initialize":
                raise
        except Exception as error:  # noqa: BLE001 - a bug of ours must not leave the program waiting
            self._write(_build_response("error", name, error=f"{type(error).__name__}: {error}"))
        else:
            self._write(_build_response("success", name, response=response))

    def interrupt_turn(self) -> None:
        self._cancel.set()
        self._channel.withdraw_requests()


def _build_response(subtype: str, name: Any, **more: Any) -> dict[str, Any]:
    return {"type": "control_response", "response": {"subtype": subtype, "request_id": name, **more}}


def _parse_message(number: int, found: Object) -> FeedMessage:
    message, uuid = found.get("message"), found.get("uuid")
    content = message.get("content") if isinstance(message, Mapping) else None
    is_list = isinstance(content, list) and all(isinstance(one, dict) and "type" in one for one in content)
    if content and (is_list or (isinstance(content, str) and content.strip())):
        is_verbatim = found.get("client_composed") is True
        return FeedMessage(content, uuid if isinstance(uuid, str) else None, is_verbatim)
    raise TurnlogError(f"standard input, line {number}: the user message has no content")
