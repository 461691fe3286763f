"""The work in progress, as a transcript describes it, folded line by line.

An `Activity` is small, contains only data, and is append-incremental: folding a tail onto an earlier fold gives the
same as folding the whole file. It may start anywhere in a file, because the last lines show what a session is doing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from turnlog.entries.entry import Body, Entry, MessageHead
from turnlog.entries.line_decoder import decode_body
from turnlog.entries.reader import RawItem
from turnlog.render.call_titles import build_call_title
from turnlog.session.calls import AGENT_TOOLS
from turnlog.session.graph import holds_result
from turnlog.session.message_usage import sum_context_tokens
from turnlog.session.notices import Notice, parse_notice
from turnlog.session.prompts import Prompt, parse_queued_prompt, parse_user_body
from turnlog.session.usage.iterations import MAX_REQUEST_TOKENS, split_iterations
from turnlog.session.usage.prices import SYNTHETIC_MODEL

MAX_SUMMARY_CHARS = 200
_MAX_TAIL_CHARS = 4_000
"""How much of an answer's end is searched for its last sentence."""
_CODE_FENCE = re.compile(r"^ {0,3}(?:```|~~~).*$", re.MULTILINE)
_LINE_MARKUP = re.compile(r"^\s*(?:#{1,6}\s|>\s?|[-*+]\s|\d{1,3}[.)]\s)*|\s*\|\s*")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+")


def is_task_over(fields: dict[str, Any]) -> bool:
    """Return whether the result of a status request says that the task has ended."""
    task = fields.get("task")
    status = task.get("status") if isinstance(task, dict) else fields.get("status")
    return status in ("completed", "failed", "killed", "stopped")


def find_task_reference(tool: str, arguments: object) -> str:
    """Return the background task that a call refers to; empty if it refers to none."""
    if tool not in TASK_TOOLS or not isinstance(arguments, dict):
        return ""
    names = ("task_id", "shell_id", "bash_id", "agentId")
    return next((task for name in names if isinstance(task := arguments.get(name), str) and task), "")


def count_head_tokens(head: MessageHead) -> int:
    """Return how many tokens of the context window the last request of a message used."""
    if (usage := head.usage) is None:
        return 0
    requests = split_iterations(usage, head.model).own
    if requests and (last := sum_context_tokens(requests[-1])):
        return last
    parts = usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    return sum(count for count in parts if count is not None and 0 < count <= MAX_REQUEST_TOKENS)


def read_content_blocks(body: Body) -> list[dict[str, Any]]:
    """Return the blocks of an entry's message."""
    message = body.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def read_first_text(body: Body) -> object:
    """Return the first text of an entry's message."""
    return next((block.get("text") for block in read_content_blocks(body) if block.get("type") == "text"), "")


def to_summary_line(text: object) -> str:
    """Return the start of a text, on one line."""
    return " ".join(text[: 4 * MAX_SUMMARY_CHARS].split())[:MAX_SUMMARY_CHARS] if isinstance(text, str) else ""


def find_last_sentence(text: object) -> str:
    """Return the last sentence of a text in Markdown, without its markup; code says nothing."""
    if not isinstance(text, str):
        return ""
    starts_in_code = len(_CODE_FENCE.findall(text[:-_MAX_TAIL_CHARS])) % 2
    for part in reversed(_CODE_FENCE.split(text[-_MAX_TAIL_CHARS:])[starts_in_code::2]):
        for line in reversed(part.splitlines()):
            words = _LINE_MARKUP.sub("", line).replace("**", "").replace("`", "").strip()
            if any(character.isalnum() for character in words):
                sentences = [sentence for sentence in _SENTENCE_END.split(words) if len(sentence) > 1]
                return to_summary_line(sentences[-1] if sentences else words)
    return ""


def to_small_count(value: object) -> int:
    """Return a small number; 0 for anything else."""
    return value if type(value) is int and 0 < value < 1000 else 0


LastKind = Literal[
    "", "prompt", "command", "bash", "answer", "thinking", "result", "stopping", "finished", "interrupted", "error"
]
"""The kind of the last line that matters: "" for none yet; answer: a text; thinking: only thinking so far; stopping: a
Stop hook is running; finished: certainly the end of a turn."""

MAX_COMMAND_CHARS = 400
_MAX_UUIDS = 40
_MAX_REQUESTS = 100
MAX_OPEN_CALLS = 500
"""How many open calls and tasks are tracked; a transcript that claims more is not credible."""
FINAL_STOP_REASONS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal", "model_context_window_exceeded"})
STOPPING_TOOLS = frozenset({"TaskStop", "KillShell", "KillBash"})
TASK_TOOLS = STOPPING_TOOLS | {"TaskOutput", "BashOutput", "AgentOutputTool"}
"""Tools that refer to a background task."""
_TITLE_FIELDS = {"custom-title": ("customTitle", "custom_title"), "ai-title": ("aiTitle", "ai_title")}


class OpenCall(Struct):
    """A call without a result."""

    name: str
    since: str | None
    about: str = ""
    """Its title (`render.call_titles`)."""
    message: str | None = None
    has_progress: bool = False
    """Whether there was progress since: it is running, and not waiting for anyone."""
    task: str = ""
    """The background task that it refers to."""
    command: str = ""
    """The start of the shell command that it runs."""


class BackgroundTask(Struct):
    """Work that was started in the background."""

    call: str
    name: str
    since: str | None
    about: str = ""
    is_agent: bool = False
    command: str = ""
    """The start of the shell command."""


class Activity(Struct):
    """The state after some lines."""

    is_agent: bool = False
    """Whether the file is a sub-agent's, where every line is marked as a side chain."""
    last: LastKind = ""
    since: str | None = None
    """When that line was written."""
    heard: str | None = None
    """The last timestamp of all."""
    turn: str | None = None
    """When the turn started."""
    prompt: str = ""
    """The start of the last prompt that a person typed."""
    calls: dict[str, OpenCall] = {}
    tasks: dict[str, BackgroundTask] = {}
    mode: str | None = None
    """The permission mode."""
    error: str = ""
    retry: tuple[int, int] | None = None
    """The current attempt, and the maximum number of attempts."""
    requests: list[str] = []
    """When each request was sent that has no answer yet; only newer clients record them."""
    has_requests: bool = False
    """Whether the client records its requests."""
    dequeued: str | None = None
    """When something that was queued was taken up; None once its prompt is written."""
    uuids: list[str] = []
    """The last entries."""
    awaited: list[str] = []
    """The parents of the last entries that were not written before them."""
    message: str | None = None
    model: str | None = None
    context: int = 0
    """How many tokens the context window contained at the last answer."""
    last_sentence: str = ""
    """The last sentence of the model."""
    custom_title: str = ""
    """The title that a person gave."""
    ai_title: str = ""
    """The title that the model gave."""
    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    entries: int = 0

    def add_all(self, pieces: Iterable[RawItem]) -> Activity:
        """Fold some lines; ignore those that aren't entries."""
        for piece in pieces:
            if isinstance(piece.item, Entry):
                self.add(piece.item, piece.raw)
        return self

    def add(self, entry: Entry, raw: bytes) -> None:
        self.entries += 1
        self.heard = entry.timestamp or self.heard
        if entry.is_sidechain and not self.is_agent:
            return
        self.cwd, self.git_branch = entry.cwd or self.cwd, entry.git_branch or self.git_branch
        self.version = entry.version or self.version
        if entry.parent_uuid and entry.parent_uuid not in self.uuids:
            self.awaited = [*self.awaited[1 - _MAX_UUIDS :], entry.parent_uuid]
        if entry.uuid:
            self.uuids = [*self.uuids[1 - _MAX_UUIDS :], entry.uuid]
        match entry.type:
            case "assistant":
                self._add_answer(entry, raw)
            case "user":
                self._add_user_entry(entry, raw)
            case "system":
                self._add_system_entry(entry, raw)
            case "attachment" | "progress":
                self._add_progress(entry, raw)
            case kind:
                self._add_metadata(kind or "", raw)

    def _set_last(self, last: LastKind, entry: Entry) -> None:
        self.last, self.since = last, entry.timestamp
        self.retry = None
        # Clients may write a request before the entry that caused it, and an answer after the next request.
        self.requests = [sent for sent in self.requests if sent >= (entry.timestamp or "")]
        if self.requests and last in ("bash", "finished", "interrupted", "error"):
            self.last, self.since = "prompt", self.requests[0]  # the model is asked again

    def _is_late(self, entry: Entry) -> bool:
        """Return whether an entry was written after one that follows it: 2.1.45 can write a prompt after its answer."""
        return entry.uuid is not None and entry.uuid in self.awaited

    # -- answers

    def _add_answer(self, entry: Entry, raw: bytes) -> None:
        head = entry.message
        if head is None:
            return
        if entry.is_api_error_message:
            self.calls.clear()
            self._set_last("error", entry)
            self.error = to_summary_line(read_first_text(decode_body(raw)))
            return
        if head.model == SYNTHETIC_MODEL:
            return
        self.error = ""
        if head.id is None or head.id != self.message:  # the open calls of the previous message were abandoned
            self.calls.clear()
            self.message = head.id
        self.model = head.model or self.model
        self.context = count_head_tokens(head) or self.context
        self._add_calls(entry, head, raw)
        kinds = {block.type for block in head.blocks}
        if "text" in kinds:
            blocks = reversed(read_content_blocks(decode_body(raw)))
            sentences = (find_last_sentence(block.get("text")) for block in blocks if block.get("type") == "text")
            self.last_sentence = next(filter(None, sentences), self.last_sentence)
        if "tool_use" in kinds:
            self._set_last("answer", entry)
        elif head.stop_reason in FINAL_STOP_REASONS:
            self._set_last("finished", entry)
        else:
            self._set_last("thinking" if kinds <= {"thinking", "redacted_thinking"} else "answer", entry)

    def _add_calls(self, entry: Entry, head: MessageHead, raw: bytes) -> None:
        names = [block for block in head.blocks if block.type == "tool_use" and block.id]
        if not names or len(self.calls) > MAX_OPEN_CALLS:
            return
        inputs = {str(block.get("id")): block.get("input") for block in read_content_blocks(decode_body(raw))}
        for block in names:
            arguments = inputs.get(block.id or "")
            command = arguments.get("command") if isinstance(arguments, dict) else None
            self.calls[block.id or ""] = OpenCall(
                (block.name or "")[:MAX_SUMMARY_CHARS],
                entry.timestamp,
                build_call_title(block.name or "", arguments, entry.cwd),
                head.id,
                task=find_task_reference(block.name or "", arguments),
                command=command[:MAX_COMMAND_CHARS] if isinstance(command, str) else "",
            )

    # -- user entries

    def _add_user_entry(self, entry: Entry, raw: bytes) -> None:
        if holds_result(entry):
            self._add_results(entry, raw)
            return
        fields = decode_body(raw)
        prompt = parse_user_body(fields)
        if isinstance(mode := fields.get("permissionMode"), str):
            self.mode = mode[:MAX_SUMMARY_CHARS]
        match prompt.kind:
            case "prompt" | "teammate" | "peer" | "other":
                self._begin_turn("prompt", entry, prompt)
            case "notification":
                self._finish_task(parse_notice(prompt.text))
                self._begin_turn("prompt", entry, prompt)
            case "command":
                self._begin_turn("command", entry, prompt)
            case "bash":
                self._begin_turn("bash", entry, prompt)
            case "interrupt":
                self.calls.clear()
                self._set_last("interrupted", entry)
            case "command-output" | "bash-output":
                self._set_last("finished", entry)

    def _begin_turn(self, last: LastKind, entry: Entry, prompt: Prompt) -> None:
        if not self._is_late(entry):
            self.calls.clear()
            self.error = ""
            self._set_last(last, entry)
        self.turn = entry.timestamp
        self.dequeued = None
        if prompt.is_typed:
            self.prompt = to_summary_line(prompt.text)

    def _add_results(self, entry: Entry, raw: bytes) -> None:
        for block in entry.message.blocks if entry.message else ():
            call = self.calls.pop(block.tool_use_id or "", None) if block.type == "tool_result" else None
            if call is not None:
                self._finish_call(call, block.tool_use_id or "", raw)
        if not self._is_late(entry):
            self._set_last("result", entry)

    def _finish_call(self, call: OpenCall, call_id: str, raw: bytes) -> None:
        """Finish a call; its result may say that work continues or has ended in the background."""
        if b'"isAsync"' not in raw and b'"backgroundTaskId"' not in raw and not call.task:
            return
        result = decode_body(raw).get("toolUseResult")
        fields = result if isinstance(result, dict) else {}
        task = fields.get("agentId") if fields.get("isAsync") else fields.get("backgroundTaskId")
        if isinstance(task, str) and task and len(self.tasks) < MAX_OPEN_CALLS:
            self.tasks[task] = BackgroundTask(
                call_id, call.name, call.since, call.about, call.name in AGENT_TOOLS, call.command
            )
        elif call.task and (call.name in STOPPING_TOOLS or is_task_over(fields)):
            self.tasks.pop(call.task, None)

    def _finish_task(self, notice: Notice) -> None:
        """Remove a background task that has ended, and no other."""
        if notice.task_id in self.tasks:
            del self.tasks[notice.task_id]
            return
        same = [key for key, task in self.tasks.items() if notice.call_id and task.call == notice.call_id]
        for key in same:
            del self.tasks[key]

    # -- everything else

    def _add_system_entry(self, entry: Entry, raw: bytes) -> None:
        match entry.subtype:
            case "turn_duration" | "stop_hook_summary":
                if self.last not in ("interrupted", "error"):
                    self.calls.clear()
                    self._set_last("finished", entry)
            case "local_command" if self.last == "command":
                self._set_last("finished", entry)
            case "api_error":
                fields = decode_body(raw)
                attempt, most = fields.get("retryAttempt"), fields.get("maxRetries")
                self.retry = (to_small_count(attempt), to_small_count(most))
                if self.last in ("", "finished", "interrupted", "error"):
                    self.last = "prompt"  # the prompt itself may be written later
                self.since = entry.timestamp

    def _add_progress(self, entry: Entry, raw: bytes) -> None:
        if entry.data is not None:
            fields = decode_body(raw)
            names = str(fields.get("toolUseID")), str(fields.get("parentToolUseID"))
            for call in [self.calls[name] for name in names if name in self.calls]:
                call.has_progress = True
            data = fields.get("data")
            if isinstance(data, dict) and data.get("hookEvent") == "Stop" and self.last in ("answer", "finished"):
                self._set_last("stopping", entry)
        elif entry.attachment is not None and entry.attachment.type == "queued_command":
            attachment = decode_body(raw).get("attachment")
            prompt = parse_queued_prompt(attachment if isinstance(attachment, dict) else {})
            if prompt.kind == "notification":
                self._finish_task(parse_notice(prompt.text))

    def _add_metadata(self, kind: str, raw: bytes) -> None:
        if kind in _TITLE_FIELDS:
            field, name = _TITLE_FIELDS[kind]
            setattr(self, name, to_summary_line(decode_body(raw).get(field)))
        elif kind == "api-request":
            self._add_request(decode_body(raw))
        elif kind == "queue-operation" and b'"dequeue"' in raw:
            fields = decode_body(raw)
            time = fields.get("timestamp") if fields.get("operation") == "dequeue" else None
            self.dequeued = time[:MAX_SUMMARY_CHARS] if isinstance(time, str) else self.dequeued
        elif kind == "permission-mode":
            mode = decode_body(raw).get("permissionMode")
            self.mode = mode[:MAX_SUMMARY_CHARS] if isinstance(mode, str) else self.mode

    def _add_request(self, fields: dict[str, Any]) -> None:
        """Record a request of the main conversation; those for titles, suggestions and the like don't count."""
        source, time = fields.get("querySource"), fields.get("timestamp")
        is_main = source is None or (isinstance(source, str) and source.startswith(("repl_main", "sdk", "agent:")))
        if is_main and isinstance(time, str):
            self.has_requests = True
            self.requests = [*self.requests[1 - _MAX_REQUESTS :], time[:MAX_SUMMARY_CHARS]]
            if self.last in ("finished", "interrupted", "error") and time > (self.since or ""):
                self.last, self.since = "prompt", time  # the model is asked again, after a shell command for example

    @property
    def title(self) -> str:
        """The title to show, according to these lines."""
        return self.custom_title or self.ai_title or self.prompt
