"""Folds the entries of one file into events, incrementally and without side effects.

    fold = EventFold(session_id)                      "main", or the id of the sub-agent whose file it is
    for item, raw in scan_lines(lines, offset):
        if isinstance(item, Entry):
            events += fold.add(item, raw, item.offset)

The events of an entry depend only on it and the entries before it, so a growing file yields the same events as the
finished file. Events are in the order of the file. An entry that is written twice counts once. No content of a file
makes the fold fail, and its memory is bounded.
"""

from __future__ import annotations

from typing import Any

from turnlog.entries.entry import Entry, LineUsage
from turnlog.live.activity import FINAL_STOP_REASONS, count_head_tokens, to_small_count
from turnlog.live.events.call_tracker import CallTracker, EventPlace, compute_seconds, to_id
from turnlog.live.events.event import (
    MAIN_ACTOR,
    MAX_EVENT_TEXT_CHARS,
    AnyEvent,
    ContextCompacted,
    ContextFilled,
    ErrorOccurred,
    PromptTyped,
    SessionStarted,
    TextAnswered,
    Thought,
    TurnFinished,
    TurnInterrupted,
)
from turnlog.live.events.fold_state import MAX_FIELD_CHARS, PromptQueue, RecentKeys, RequestState, TurnState
from turnlog.live.events.line_bodies import (
    AnswerBlock,
    AnswerLine,
    clean_text,
    read_answer_line,
    read_body,
    read_error_text,
    read_result_line,
    to_seconds,
)
from turnlog.live.events.shipments import Shipment, check_url
from turnlog.live.events.think_levels import CHARS_PER_TOKEN, choose_level, find_requested_level
from turnlog.session.clock import normalize_timestamp
from turnlog.session.graph import BOUNDARY_SUBTYPE, holds_result
from turnlog.session.notices import parse_notice
from turnlog.session.prompts import Prompt, parse_queued_prompt, parse_user_body
from turnlog.session.usage.prices import SYNTHETIC_MODEL, find_context_window

MAX_REMEMBERED_KEYS = 200_000
_MAX_INLINE_AGENTS = 100
_MAX_INLINE_ROWS = 10_000
_MAX_INLINE_KEYS = 2_000
_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
_EVENT_TYPES = frozenset("assistant user system attachment queue-operation pr-link api-request".split())
_CALL_TYPES = _SERVER_CALLS | {"tool_use"}
_THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
_STARTING_KINDS = frozenset({"command", "bash", "notification", "teammate", "peer", "other"})
"""Kinds of user entries that are not prompts, but that the model may answer."""


class EventFold:
    """The events of one file, entry by entry."""

    def __init__(
        self, session: str, actor: str = MAIN_ACTOR, *, max_remembered_keys: int = MAX_REMEMBERED_KEYS
    ) -> None:
        """Start before the first entry; only the latest entries and blocks are remembered to detect repetitions."""
        self.session = clean_text(session)[:MAX_FIELD_CHARS]
        self.actor = clean_text(actor)[:MAX_FIELD_CHARS]
        self._calls = CallTracker()
        self._keys = RecentKeys(max_remembered_keys)
        self._turn = TurnState()
        self._queue = PromptQueue()
        self._is_main = actor == MAIN_ACTOR
        self._has_started = not self._is_main
        self._has_attachments = False
        """Whether the client writes attachments: then it also records queued prompts as such."""
        self._compaction = ""
        """Which half of the latest compaction was read: its boundary or its summary."""
        self._context: tuple[int, str | None] = (0, None)
        self._usage: LineUsage | None = None
        self._request = RequestState()
        self._inline = _InlineAgents(self.session)

    def add(self, entry: Entry, raw: bytes, offset: int) -> list[AnyEvent]:
        """Return the events of the next entry; `raw` is its bytes, and `offset` is their position in the file."""
        kind = entry.type
        if kind not in _EVENT_TYPES or (kind == "attachment" and not self._note_attachment(entry)):
            self._turn.note_parent(entry)  # most lines of some clients
            return []
        if entry.is_sidechain and self._is_main:
            return self._inline.add(entry, raw, offset)
        # Some tools replace every uuid by the same text: only an entry that looks the same as well is a repetition.
        if entry.uuid is not None and not self._keys.add((entry.uuid, kind, entry.timestamp, len(raw))):
            return []
        at = self._build_place(entry, offset)
        self._turn.note_parent(entry)
        match kind:
            case "assistant":
                return self._start_session(entry, at) + self._add_answer(entry, raw, at)
            case "user":
                return self._start_session(entry, at) + self._add_user_entry(entry, raw, at)
            case "system":
                return self._add_system_entry(entry, raw, at)
            case "attachment":
                return self._add_attachment(entry, raw, at)
            case "queue-operation":
                return self._add_queue_operation(entry, raw, at)
            case "pr-link":
                url = check_url(read_body(entry, raw).get("prUrl"))
                return self._calls.ship(at, Shipment("pull-request", url, "sure")) if url else []
            case "api-request":
                return self._add_request(entry, raw, at)
        return []

    def _build_place(self, entry: Entry, offset: int) -> EventPlace:
        uuid = entry.uuid
        if uuid is not None:
            uuid = (uuid if entry.flaw is None else clean_text(uuid))[:MAX_FIELD_CHARS]
        return {
            "session": self.session,
            "actor": self.actor,
            "entry": uuid,
            "offset": offset,
            "time": normalize_timestamp(entry.timestamp),
        }

    def _start_session(self, entry: Entry, at: EventPlace) -> list[AnyEvent]:
        if self._has_started or entry.message is None:
            return []
        self._has_started = True
        cwd, git_branch, version = map(_shorten_field, (entry.cwd, entry.git_branch, entry.version))
        return [SessionStarted(**at, cwd=cwd, git_branch=git_branch, version=version)]

    # -- answers

    def _add_answer(self, entry: Entry, raw: bytes, at: EventPlace) -> list[AnyEvent]:
        head = entry.message
        if head is None:
            return []
        line = read_answer_line(entry, raw)
        if entry.is_api_error_message:
            self._turn.close("error")
            text = next((block.text for block in line.blocks if isinstance(block.text, str)), "")
            return [ErrorOccurred(**at, source="api", text=text[:MAX_EVENT_TEXT_CHARS])]
        if head.model == SYNTHETIC_MODEL:  # the client continues without an answer
            return []
        self._request = RequestState()
        self._compaction = ""
        blocks = self._select_new_blocks(head.id, line, at["offset"])
        if blocks:
            self._turn.note_answer(head.id, entry.parent_uuid, at["time"])
        events = [event for key, block in blocks for event in self._add_block(block, key, line, entry, at)]
        events += self._measure_context(entry, at)
        kinds = {block.type for _, block in blocks}
        if "text" in kinds and not kinds & _CALL_TYPES:
            self._turn.last_text = at
            if head.stop_reason in FINAL_STOP_REASONS:
                events += self._finish_turn(at, None)
        elif blocks:
            self._turn.last_text = None
        return events

    def _select_new_blocks(self, message: str | None, line: AnswerLine, offset: int) -> list[tuple[str, AnswerBlock]]:
        """Return the blocks that no earlier line contains, each with its key; some clients write a message again."""
        keyed: dict[str, AnswerBlock] = {}
        for place, block in enumerate(line.blocks):
            if block.type in _CALL_TYPES:
                keyed.setdefault(to_id(block.id) or f"@{offset}.{place}", block)
            else:
                digest = hash(part) if isinstance(part := block.content_key, str) else place
                index = line.api_block_index if isinstance(line.api_block_index, int) else None
                key = f"{message or f'@{offset}'} {block.type} {digest} {index}"
                keyed[f"{key} {place}" if key in keyed else key] = block
        return [(key, block) for key, block in keyed.items() if self._keys.add(("block", key))]

    def _add_block(
        self, block: AnswerBlock, key: str, line: AnswerLine, entry: Entry, at: EventPlace
    ) -> list[AnyEvent]:
        kind = block.type
        if kind in _CALL_TYPES:
            return self._calls.start_call(at, block, key, entry.cwd)
        if kind == "text":
            text = block.text if isinstance(block.text, str) else ""
            return [TextAnswered(**at, text=text[:MAX_EVENT_TEXT_CHARS])] if text.strip() else []
        if kind in _THINKING_TYPES:
            text = block.thinking if isinstance(block.thinking, str) else ""
            level = choose_level(line.thinking_tokens or len(text) // CHARS_PER_TOKEN, self._turn.think)
            return [Thought(**at, text=text[:MAX_EVENT_TEXT_CHARS], level=level)]
        if kind.endswith("_tool_result"):
            return self._calls.finish_server_call(at, block)
        return []

    def _measure_context(self, entry: Entry, at: EventPlace) -> list[AnyEvent]:
        """Return how full the context window is, if that has changed; sub-agents' windows are ignored."""
        head = entry.message
        if head is None or head.usage is None or not self._is_main:
            return []
        if head.usage == self._usage and head.model == self._context[1]:  # the lines of a message repeat its usage
            return []
        self._usage = head.usage
        tokens, model = count_head_tokens(head), _shorten_field(head.model)
        if not tokens or self._context == (tokens, model):
            return []
        self._context = tokens, model
        return [ContextFilled(**at, tokens=tokens, window=find_context_window(model, tokens), model=model)]

    # -- the end of a turn

    def _finish_turn(self, at: EventPlace, seconds: float | None, **fields: Any) -> list[AnyEvent]:
        if not self._turn.is_open:
            return []
        self._turn.close("finished")
        seconds = compute_seconds(self._turn.started, at["time"]) if seconds is None else seconds
        return [TurnFinished(**at, seconds=seconds, **fields)]

    def _infer_finish(self) -> list[AnyEvent]:
        """Return the end of a turn that no entry records: its last entry was text, and now something new starts."""
        last = self._turn.last_text
        if last is None or self._calls.open_calls:
            return []
        return self._finish_turn(last, None, confidence="inferred")

    # -- user entries

    def _add_user_entry(self, entry: Entry, raw: bytes, at: EventPlace) -> list[AnyEvent]:
        if holds_result(entry):
            self._turn.last_text = None
            return self._calls.add_results(at, read_result_line(entry, raw))
        prompt = parse_user_body(read_body(entry, raw))
        kind = prompt.kind
        if kind == "prompt":
            return self._add_prompt(entry, prompt, at)
        if kind in _STARTING_KINDS:
            events = self._infer_finish()
            if kind == "notification":
                self._queue.take(prompt)
                events += self._calls.finish_task(at, parse_notice(prompt.text))
            self._turn.expect_answer(at["time"], find_requested_level(prompt.text) if kind == "command" else "none")
            return events
        if kind == "interrupt":
            return self._interrupt_turn(at)
        return self._compact(at, "summary", {}) if kind == "summary" else []

    def _add_prompt(self, entry: Entry, prompt: Prompt, at: EventPlace) -> list[AnyEvent]:
        think = find_requested_level(prompt.text)
        typed = PromptTyped(
            **at,
            text=prompt.text[:MAX_EVENT_TEXT_CHARS],
            think=think,
            images=prompt.images,
            is_queued=self._queue.take(prompt),
        )
        if self._turn.is_late_prompt(entry):  # some clients write a prompt after the answer to it
            self._turn.started = at["time"] or self._turn.started
            return [typed]
        events = self._infer_finish()
        events += self._calls.abandon_calls(at)
        self._compaction = ""
        self._turn.open(at["time"], think)
        return [*events, typed]

    def _interrupt_turn(self, at: EventPlace) -> list[AnyEvent]:
        events = self._calls.abandon_calls(at)
        if self._turn.state != "interrupted":
            self._turn.close("interrupted")
            events.append(TurnInterrupted(**at))
        return events

    # -- the queue

    def _add_attachment(self, entry: Entry, raw: bytes, at: EventPlace) -> list[AnyEvent]:
        attachment = read_body(entry, raw).get("attachment")
        prompt = parse_queued_prompt(attachment if isinstance(attachment, dict) else {})
        self._queue.take(prompt)
        return self._absorb_queued(prompt, at)

    def _note_attachment(self, entry: Entry) -> bool:
        """Note that the client writes attachments; return whether this one is a queued prompt."""
        self._has_attachments = True
        return (entry.attachment.type if entry.attachment else entry.kind) == "queued_command"

    def _absorb_queued(self, prompt: Prompt, at: EventPlace) -> list[AnyEvent]:
        """Return the events of a queued prompt or message that reached the model while it was working."""
        if prompt.kind == "notification":
            return self._calls.finish_task(at, parse_notice(prompt.text))
        if prompt.kind != "prompt":
            return []
        think = find_requested_level(prompt.text)
        if think != "none":
            self._turn.think = think
        text = prompt.text[:MAX_EVENT_TEXT_CHARS]
        return [PromptTyped(**at, text=text, think=think, images=prompt.images, is_queued=True)]

    def _add_queue_operation(self, entry: Entry, raw: bytes, at: EventPlace) -> list[AnyEvent]:
        body = read_body(entry, raw)
        operation = body.get("operation")
        if operation == "enqueue":
            prompt = parse_user_body({"message": {"content": body.get("content")}})
            self._queue.add(prompt, was_working=self._turn.is_open and self._turn.last_text is None)
            is_notice = prompt.kind == "notification"
            return self._calls.finish_task(at, parse_notice(prompt.text)) if is_notice else []
        if operation == "popAll":
            self._queue.clear()
        elif operation == "dequeue":
            self._queue.remove_first()
        elif operation == "remove":
            removed = self._queue.remove_first()
            # Newer clients name the text that they remove, or record it as an attachment.
            if removed is not None and not self._has_attachments and "content" not in body:
                return self._absorb_queued(removed, at)
        return []

    # -- everything else

    def _add_system_entry(self, entry: Entry, raw: bytes, at: EventPlace) -> list[AnyEvent]:
        if entry.subtype == "turn_duration":
            if not self._turn.has_answer:  # it belongs to the turn before: the next prompt was written first
                return []
            return self._finish_turn(at, to_seconds(read_body(entry, raw).get("durationMs")))
        if entry.subtype == BOUNDARY_SUBTYPE:
            metadata = read_body(entry, raw).get("compactMetadata")
            return self._compact(at, "boundary", metadata if isinstance(metadata, dict) else {})
        if entry.subtype == "api_error":
            body = read_body(entry, raw)
            self._request.is_reported = True
            attempt, most = to_small_count(body.get("retryAttempt")), to_small_count(body.get("maxRetries"))
            text = read_error_text(body.get("error"))
            return [ErrorOccurred(**at, source="api", text=text, attempt=attempt, max_attempts=most)]
        return []  # a subtype without an event, or one that a newer client has

    def _compact(self, at: EventPlace, half: str, metadata: dict[str, Any]) -> list[AnyEvent]:
        """Return a compaction once: it has a boundary and a summary, and old clients write only one of them."""
        if self._compaction not in ("", half):
            self._compaction = ""
            return []
        self._compaction = half
        trigger, tokens = metadata.get("trigger"), metadata.get("preTokens")
        return [
            ContextCompacted(
                **at,
                trigger=trigger if trigger in ("auto", "manual") else "unknown",
                tokens_before=tokens if type(tokens) is int and 0 <= tokens < 1 << 53 else None,
            )
        ]

    def _add_request(self, entry: Entry, raw: bytes, at: EventPlace) -> list[AnyEvent]:
        """Return a retry that no other entry reports: the same request is sent again, without an answer in between."""
        body = read_body(entry, raw)
        digest = body.get("requestDigest")
        if not isinstance(digest, str) or (self._is_main and body.get("agentId")):
            return []
        last, key = self._request, hash(digest)
        if last.digest != key:
            self._request = RequestState(key)
            return []
        last.attempt += 1
        is_reported, last.is_reported = last.is_reported, False
        if is_reported:
            return []
        return [ErrorOccurred(**{**at, "confidence": "inferred"}, source="api", attempt=last.attempt)]


class _InlineAgents:
    """Sub-agents inside the session's own file (clients before 2.0), numbered by their roots as in `session.agents`."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._actors: dict[str, str] = {}
        """The sub-agent of each recent row, by uuid."""
        self._folds: dict[str, EventFold] = {}
        self._roots = 0

    def add(self, entry: Entry, raw: bytes, offset: int) -> list[AnyEvent]:
        """Return the events of an entry on a side chain."""
        actor = to_actor(entry.agent_id) if entry.agent_id else self._actors.get(entry.parent_uuid or "")
        if actor is None:
            self._roots += 1
            actor = f"inline-{self._roots}"
        if entry.uuid:
            self._actors[entry.uuid] = actor
            if len(self._actors) > _MAX_INLINE_ROWS:
                self._actors = dict(list(self._actors.items())[_MAX_INLINE_ROWS // 2 :])
        fold = self._folds.get(actor)
        if fold is None:
            fold = self._folds[actor] = EventFold(self._session, actor, max_remembered_keys=_MAX_INLINE_KEYS)
            if len(self._folds) > _MAX_INLINE_AGENTS:
                del self._folds[next(iter(self._folds))]
        return fold.add(entry, raw, offset)


def to_actor(agent_id: str) -> str:
    """Return the actor name of a sub-agent, which is never that of the main agent."""
    return f"agent-{agent_id}" if agent_id == MAIN_ACTOR else agent_id


def _shorten_field(text: str | None) -> str | None:
    return None if text is None else clean_text(text)[:MAX_FIELD_CHARS]
