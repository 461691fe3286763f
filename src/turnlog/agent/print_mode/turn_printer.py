"""Print mode: prints a turn to standard output in Claude Code's formats.

    text          the last text from the model
    json          one object when the turn ends: the result, its cost, and the calls that were denied
    stream-json   a line for every event, and the same object at the end

The keys are those that both Claude Code and turnlog can provide; keys for features that turnlog lacks are omitted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args
from uuid import uuid4

from turnlog.agent.events import (
    AnswerStreamed,
    CallDenied,
    EntryWritten,
    HookEnded,
    HookMessage,
    HookStarted,
    TurnEnded,
    TurnEvent,
)
from turnlog.agent.print_mode.task_lines import TaskLines
from turnlog.agent.record.chain import CLIENT_VERSION
from turnlog.agent.record.line_bodies import (
    INTERRUPTED_CALL_TEXT,
    INTERRUPTED_TEXT,
    OUTPUT_REMINDER,
    SYNTHETIC_MODEL,
    build_synthetic_line,
    extract_content_text,
)
from turnlog.agent.spending_tally import SpendingTally, count_priced_tokens
from turnlog.agent.tools.call_result import to_object
from turnlog.agent.tools.task_events import TaskEnded, TaskMoved, TaskProgressed, TaskStarted
from turnlog.session.usage.prices import PricedTokens, find_context_window, find_price

if TYPE_CHECKING:
    from turnlog.agent.loop import AgentLoop

PrintFormat = Literal["text", "json", "stream-json"]
Object = Mapping[str, Any]
Json = dict[str, Any]

PRINT_FORMATS: tuple[PrintFormat, ...] = get_args(PrintFormat)
CAPABILITIES = (
    "mcp_read_resource_v1",
    "reload_plugins_refuse_if_busy_v1",
)
"""What programs can rely on, in the words of Claude Code's first line."""
_SUBTYPES_BY_REASON = {
    "finished": "success",
    **dict.fromkeys(("prompt_blocked", "hook_stopped", "stop_hook_prevented", "command_ended"), "success"),
    "error": "success",  # as in Claude Code; `is_error` distinguishes them
    "max_turns": "error_max_turns",
    "budget": "error_max_budget_usd",
    "interrupted": "error_during_execution",
    "no_output": "error_max_structured_output_retries",
}
_STOP_FEEDBACK = ("Stop hook feedback:\n", "SubagentStop hook feedback:\n")
_TERMINAL_REASONS = {
    "finished": "completed",
    "error": "api_error",
    "max_turns": "max_turns",
    "budget": "budget_exhausted",
    "interrupted": "aborted_streaming",
    "no_output": "structured_output_retry_exhausted",
}


class TurnPrinter:
    def __init__(
        self,
        form: PrintFormat,
        write: Callable[[Json], None],
        say: Callable[[str], None],
        *,
        partial: bool = False,
        prints_hooks: bool = False,
    ) -> None:
        self._form = form
        self._write = write
        self._say = say
        self._partial = partial
        self._prints_hooks = prints_hooks
        """Whether to print the start and end of every hook, and not only of those that run before the first turn."""
        self._lock = threading.Lock()
        self._session_id = str(uuid4())
        self._spent = SpendingTally()
        self._denied: list[Json] = []
        self._results = 0
        self._usage: dict[str, Object] = {}
        self._stop: str | None = None
        self._origin: Json = {}
        """What started the turn, unless it was a prompt."""
        self._held: Json | None = None
        """The result that `json` prints when nothing more can follow it."""
        self._texts = 0
        self._tasks = TaskLines()
        self._forwards_agent_text = False

    def begin_turn(self, loop: AgentLoop, key_source: str = "none", *, is_notice: bool = False) -> None:
        """Print the setup of the turn and reset the counts; a notice of a background task starts some turns."""
        self._origin = {"origin": {"kind": "task-notification"}} if is_notice else {}
        self._session_id, self._spent = loop.record.session_id, loop.spent
        self._forwards_agent_text = loop.setup.forwards_agent_text
        self._denied, self._results, self._usage, self._stop = [], 0, {}, None
        self._is_call_interrupted = False
        if self._form == "stream-json":
            self._write(_build_init_line(loop, key_source))

    def watch(self, event: TurnEvent) -> None:
        """Count an event and, in stream-json, print it; sub-agents call this concurrently."""
        with self._lock:
            self._handle_event(event)

    def _handle_event(self, event: TurnEvent) -> None:
        if isinstance(event, EntryWritten):
            self._count_entry(event)
        elif isinstance(event, CallDenied):
            self._denied.append(
                {"tool_name": event.name, "tool_use_id": event.call, "tool_input": dict(event.arguments)}
            )
        if self._form == "stream-json":
            for line in self._build_event_lines(event):
                self._write({"session_id": self._session_id, **line, "uuid": line.get("uuid") or str(uuid4())})

    def end_turn(self, loop: AgentLoop, ended: TurnEnded) -> int:
        """Print the result of the turn and return the exit status."""
        if ended.reason == "command_ended" and self._form == "stream-json":
            self._write_synthetic_answer(ended.text)
        if self._form == "text":
            self._say("\n" * bool(self._texts) + _describe_end(ended, loop))
            self._texts += 1
        elif self._form == "json":
            self._held = self._build_result(ended)
        else:
            self._write({**self._build_result(ended), **self._origin})
        return int(ended.is_failure)

    def print_last_result(self) -> None:
        """Print the result of the last turn (`json`), which is the only one to be printed."""
        held, self._held = self._held, None
        if held is not None:
            self._write(held)

    def print_failure(self, trouble: str) -> None:
        """Print a result for programs if a turn can't start or continue; people see the error on standard error."""
        if self._form != "text":
            self._held = None
            self._write(self._build_result(TurnEnded("broken", trouble, 0, 0)))

    def replay_message(self, content: Any, uuid: str | None = None) -> None:
        """Echo a message from the program (`--replay-user-messages`)."""
        around = {"session_id": self._session_id, "parent_tool_use_id": None, "uuid": uuid or str(uuid4())}
        self._write({"type": "user", "message": {"role": "user", "content": content}, **around, "isReplay": True})

    def print_command_result(self, loop: AgentLoop, name: str, text: str, milliseconds: int) -> int:
        """Print the output of a slash command in place of a turn."""
        if self._form == "text":
            self._say(text)
            return 0
        if self._form == "stream-json" and text:
            self._write_synthetic_answer(text)
        result = self._build_result(TurnEnded("finished", text, milliseconds, 0))
        self._write({**result, "num_turns": 0, "stop_reason": None, "local_command": name})
        return 0

    def _write_synthetic_answer(self, text: str) -> None:
        message = build_synthetic_line(text, str(uuid4()))["message"]
        around = {"parent_tool_use_id": None, "session_id": self._session_id, "uuid": str(uuid4())}
        self._write({"type": "assistant", "message": message, **around})

    def _count_entry(self, event: EntryWritten) -> None:
        entry = event.entry
        message = entry.get("message")
        if event.agent is not None or not isinstance(message, Mapping):
            return
        if entry.get("type") == "assistant":
            self._usage[f"{message.get('id')} {entry.get('requestId')}"] = message.get("usage") or {}
            self._stop = message.get("stop_reason")
        elif _is_result_entry(entry) or _is_client_message(entry):
            self._results += 1
            self._is_call_interrupted |= extract_content_text(message.get("content") or "") == INTERRUPTED_CALL_TEXT

    def _build_event_lines(self, event: TurnEvent) -> Iterator[Json]:
        if isinstance(event, AnswerStreamed) and self._partial and event.event.data:
            yield {"type": "stream_event", "event": dict(event.event.data), "parent_tool_use_id": event.agent}
        elif isinstance(event, CallDenied) and not event.by_program:
            names = {"tool_name": event.name, "tool_use_id": event.call, "message": event.reason}
            agent = {key: value for key, value in self._tasks.describe_agent(event.agent).items() if key == "agent_id"}
            yield {"type": "system", "subtype": "permission_denied", **names, **agent}
        elif isinstance(event, HookMessage):
            told = {"content": event.text, "level": event.level, **event.details}
            yield {"type": "system", "subtype": "informational", **told}
        elif isinstance(event, HookStarted | HookEnded):
            if self._prints_hooks or event.event == "SessionStart":
                yield _build_hook_line(event)
        elif isinstance(event, EntryWritten):
            if event.agent is not None and self._is_left_out(event.agent, event.entry):
                return
            about = self._tasks.describe_agent(event.agent)
            yield from ({**line, **about} for line in _build_entry_lines(event.entry, event.agent))
        elif isinstance(event, TaskStarted | TaskMoved | TaskProgressed | TaskEnded):
            yield from self._tasks.build_lines(event)

    def _is_left_out(self, call: str, entry: Object) -> bool:
        """Return whether an entry is text or thinking of a sub-agent that a call waits for."""
        if self._forwards_agent_text or entry.get("type") != "assistant" or not self._tasks.is_in_foreground(call):
            return False
        content = to_object(entry.get("message")).get("content")
        return not any(to_object(block).get("type") == "tool_use" for block in content or ())

    def _build_result(self, ended: TurnEnded) -> Json:
        is_error = ended.is_failure or ended.reason == "broken"
        is_bare = ended.reason in ("prompt_blocked", "broken", "command_ended")  # no model gave this answer
        terminal_reason = _TERMINAL_REASONS.get(ended.reason, ended.reason)
        if ended.reason == "interrupted" and self._is_call_interrupted:
            terminal_reason = "aborted_tools"
        subtype = _SUBTYPES_BY_REASON.get(ended.reason, "error_during_execution")
        outcome: Json = (
            {"result": ended.text} if subtype == "success" else {"errors": [ended.text] if ended.text else []}
        )
        return {
            "type": "result",
            "subtype": subtype,
            "is_error": is_error,
            "duration_ms": ended.milliseconds,
            "duration_api_ms": round(self._spent.milliseconds),
            "num_turns": 0 if is_bare else 1 + self._results,
            **outcome,
            **({"structured_output": dict(ended.output)} if ended.output is not None else {}),
            "stop_reason": self._stop,
            **({} if is_bare else {"terminal_reason": terminal_reason}),
            "session_id": self._session_id,
            "total_cost_usd": self._spent.dollars,
            "usage": _build_usage(self._usage.values()),
            "modelUsage": {
                name: _build_model_usage(name, used.tokens, used.dollars) for name, used in self._spent.models.items()
            },
            "permission_denials": self._denied,
            "uuid": str(uuid4()),
        }


def _build_init_line(loop: AgentLoop, key_source: str) -> Json:
    from turnlog.agent.slash_commands import PRINTABLE_COMMANDS  # only this format names them

    setup = loop.setup
    return {
        "type": "system",
        "subtype": "init",
        "cwd": str(setup.place.root),
        "session_id": loop.record.session_id,
        "tools": list(loop.list_tools()),
        "mcp_servers": _describe_servers(loop),
        "model": setup.name,
        "permissionMode": setup.guard.mode,
        "slash_commands": [*setup.commands, *PRINTABLE_COMMANDS],
        "apiKeySource": key_source,
        "claude_code_version": CLIENT_VERSION,
        "output_style": setup.style,
        "agents": list(setup.agents),
        "skills": [name for name, command in setup.commands.items() if command.is_skill],
        "plugins": [{"name": one.name, "path": str(one.folder)} for one in setup.plugins],
        "capabilities": list(CAPABILITIES),
        "uuid": str(uuid4()),
    }


def _describe_servers(loop: AgentLoop) -> list[Json]:
    servers = loop.setup.servers
    statuses = servers.statuses.values() if servers is not None else ()
    return [{"name": one.config.name, "status": one.word, "source": one.config.scope} for one in statuses]


def _build_entry_lines(entry: Object, agent: str | None) -> Iterator[Json]:
    """Convert an entry into lines for programs; entries that only the client uses yield none."""
    kind = entry.get("type")
    whose = {"agent_id": entry["agentId"]} if "agentId" in entry else {}
    around = {"parent_tool_use_id": agent, **whose, "uuid": entry.get("uuid"), "timestamp": entry.get("timestamp")}
    if kind == "assistant" and not _is_filler(entry):
        request_id = {"request_id": entry["requestId"]} if "requestId" in entry else {}
        error = {"error": entry["error"]} if "error" in entry else {}
        yield {"type": "assistant", "message": entry["message"], **around, **request_id, **error}
    elif kind == "user" and _is_result_entry(entry):
        details = {"tool_use_result": entry["toolUseResult"]} if "toolUseResult" in entry else {}
        yield {"type": "user", "message": entry["message"], **around, **details}
    elif kind == "user" and _is_client_message(entry):
        text = extract_content_text(to_object(entry.get("message")).get("content") or "")
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        synthetic = {"isSynthetic": True} if entry.get("isMeta") is True else {}
        yield {"type": "user", "message": message, **around, **synthetic}
    elif kind == "system" and entry.get("subtype") == "compact_boundary":
        facts = entry.get("compactMetadata") or {}
        details = {"trigger": facts.get("trigger"), "pre_tokens": facts.get("preTokens")}
        yield {"type": "system", "subtype": "compact_boundary", "compact_metadata": details, "uuid": entry.get("uuid")}


def _build_hook_line(event: HookStarted | HookEnded) -> Json:
    names = {"hook_id": event.id, "hook_name": event.name, "hook_event": event.event, "session_id": event.session_id}
    if isinstance(event, HookStarted):
        return {"type": "system", "subtype": "hook_started", **names}
    streams = {"output": event.stdout + event.stderr, "stdout": event.stdout, "stderr": event.stderr}
    outcome = {"exit_code": event.exit_code, "outcome": "error" if event.is_failed else "success"}
    return {"type": "system", "subtype": "hook_response", **names, **streams, **outcome}


def _is_client_message(entry: Object) -> bool:
    """Return whether an entry tells the model why the turn goes on or ends, which counts as a turn."""
    if entry.get("type") != "user" or "origin" in entry:
        return False
    text = extract_content_text(to_object(entry.get("message")).get("content") or "")
    if entry.get("isMeta") is True:
        return text == OUTPUT_REMINDER or text.startswith(_STOP_FEEDBACK)
    return text in (INTERRUPTED_TEXT, INTERRUPTED_CALL_TEXT)


def _is_filler(entry: Object) -> bool:
    """Return whether an answer only fills the place of one that is missing in the session that was resumed."""
    message = to_object(entry.get("message"))
    if message.get("model") != SYNTHETIC_MODEL:
        return False
    from turnlog.session.messages import FILLER_TEXT  # resuming has already imported it

    return message.get("content") == [{"type": "text", "text": FILLER_TEXT}]


def _is_result_entry(entry: Object) -> bool:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    return isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)


def _describe_end(ended: TurnEnded, loop: AgentLoop) -> str:
    limits = loop.setup.limits
    texts = {
        "max_turns": f"Error: Reached max turns ({limits.turns})",
        "budget": f"Error: Exceeded USD budget ({limits.dollars:g})" if limits.dollars is not None else "",
        "interrupted": "Error: interrupted",
    }
    return texts.get(ended.reason) or ended.text


def _build_usage(usages: Any) -> Json:
    tokens = (
        PricedTokens(*map(sum, zip(*(count_priced_tokens(usage) for usage in usages), strict=True)))
        if usages
        else PricedTokens()
    )
    return {
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": tokens.cache_write_5m + tokens.cache_write_1h,
        "cache_read_input_tokens": tokens.cache_read,
        "output_tokens": tokens.output,
        "server_tool_use": {"web_search_requests": tokens.web_searches, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {
            "ephemeral_1h_input_tokens": tokens.cache_write_1h,
            "ephemeral_5m_input_tokens": tokens.cache_write_5m,
        },
    }


def _build_model_usage(name: str, tokens: PricedTokens, dollars: float) -> Json:
    price = find_price(name)
    return {
        "inputTokens": tokens.input,
        "outputTokens": tokens.output,
        "cacheReadInputTokens": tokens.cache_read,
        "cacheCreationInputTokens": tokens.cache_write_5m + tokens.cache_write_1h,
        "webSearchRequests": tokens.web_searches,
        "costUSD": dollars,
        "contextWindow": find_context_window(name) or 0,
        "maxOutputTokens": (price.max_output if price else None) or 0,
    }
