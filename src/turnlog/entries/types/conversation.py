"""What was said: user and assistant entries."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import field

from turnlog.entries.types.base import FormatObject, Number, mark_values
from turnlog.entries.types.blocks import Content, MessageUsage
from turnlog.entries.types.envelope import Envelope


class UserMessage(FormatObject):
    """A message of the user's side; tool results too."""

    role: str | None = None
    content: Content = None
    """A string or a list of blocks; neither tells whether a person typed it."""


class PromptOrigin(FormatObject, rename="camel"):
    """Who is behind a user entry."""

    kind: str | None = None
    """`human`, `cli`, `peer`, `task-notification`, and others: docs/format.md, section 6."""
    sender: str | None = field(default=None, name="from")
    """[2.1.161+] Of a peer: its address or name."""
    sender_task_id: str | None = None
    """[2.1.161+] Of a peer that is an agent of this session."""
    producer: str | None = None
    """[2.1.325+]"""
    run_id: str | None = None
    """[2.1.325+]"""


class TurnPosition(FormatObject, rename="camel"):
    """Where in the session a prompt stands."""

    prompt_index: int | None = None
    turn_index: int | None = None


class PermissionDecision(FormatObject, rename="camel"):
    """How it was decided whether a call may run."""

    decision: str | None = None
    """`accept` or `reject`."""
    source: str | None = None
    """`config`, `user_temporary`, `hook`, …"""
    reason_type: str | None = None
    """`rule`, `mode`, `subcommandResults`, `hook`, `other`."""
    reason_code: str | None = None
    rule_source: str | None = None
    """`cliArg`, `userSettings`, …"""
    grant_scope: str | None = None
    """`once` or `session`."""


class ThinkingMetadata(FormatObject, rename="camel"):
    """How much thinking was asked for."""

    level: str | None = None
    """[1.0.117–2.1.17]"""
    disabled: bool | None = None
    """[1.0.117–2.1.17]"""
    triggers: Any = None
    """[1.0.117–2.1.17] The words in the prompt that asked for it."""
    max_thinking_tokens: int | None = None
    """[2.1.19–2.1.45]"""


class User(Envelope, tag_field="type", tag="user"):
    """A prompt, a tool result, or a text that the client wrote in the user's name."""

    seen = ("1.0.17", None)
    message: UserMessage | None = None
    tool_use_result: Any = None
    """The result as data; its shape depends on the tool. A string when the call failed."""
    source_tool_assistant_uuid: str | None = field(default=None, name="sourceToolAssistantUUID")
    """[2.1.1+] The entry of the call that this is the result of; the same as `parentUuid`."""
    source_tool_use_id: str | None = field(default=None, name="sourceToolUseID")
    """[2.0.76+] On texts that a call brought in, such as a skill's."""
    is_compact_summary: bool | None = None
    """[1.0.51+] The summary that stands for everything before it."""
    is_visible_in_transcript_only: bool | None = None
    """[1.0.127+] Not shown in the conversation; sent all the same."""
    summarized_turn_prompt_uuids: Any = None
    """[2.1.325+] On a summary: prompts of the turn that was running."""
    permission_mode: str | None = None
    """[2.1.15+] On prompts and notifications; the values are those of `permission-mode`."""
    thinking_metadata: ThinkingMetadata | None = None
    """[1.0.117–2.1.45]"""
    todos: Any = None
    """[2.0.64–2.1.47] The to-do list when the prompt was sent."""
    prompt_id: str | None = None
    """[2.1.76+] The same on all user entries of one turn, results included."""
    prompt_source: str | None = None
    """[2.1.169+] `typed`, `sdk`, `system`, `queued`, `suggestion_accepted`."""
    origin: PromptOrigin | None = None
    """[2.1.112+]"""
    turn_origin: str | None = None
    """[2.1.325+] `human`, `sdk`, `task_notification`."""
    turn_position: TurnPosition | None = None
    """[2.1.325+]"""
    turn_companion: bool | None = None
    """[2.1.237+] A text that belongs to a prompt beside it."""
    plan_content: str | None = None
    """[2.1.29–2.1.45] On the first prompt of a session that carries out a plan of another one."""
    image_paste_ids: Any = None
    """[2.1.29+]"""
    mcp_meta: Any = None
    """[2.1.207–2.1.227] What an MCP server sent beside its result."""
    tool_denial_kind: str | None = None
    """[2.1.206+] `user-rejected`, `permission-rule`, `automode-blocked`."""
    permission_decision: PermissionDecision | None = None
    """[2.1.325+]"""
    sandboxed: bool | None = None
    """[2.1.325+] Whether the command ran in the sandbox."""
    tool_ends_turn: bool | None = None
    """[2.1.220–2.1.221] The turn ends with this result (StructuredOutput)."""
    user_feedback: str | None = None
    """[2.1.220–2.1.222] What a person said when refusing a call."""
    interrupted_message_id: str | None = None
    """[2.1.150+] The answer that was interrupted."""
    interrupted_by_shutdown: bool | None = None
    """[2.1.220–2.1.220]"""
    refused_message_id: str | None = None
    """[2.1.325+] The answer that ended in a refusal."""
    queue_priority: str | None = None
    """[2.1.220–2.1.221]"""
    queue_skip_attachments: bool | None = None
    """[2.1.325+] Meaning not established."""
    classifier_meta_lines: str | None = None
    """[2.1.211–2.1.235] Meaning not established."""


class AssistantMessage(FormatObject):
    """The API's answer, or the part of it that this line holds."""

    id: str | None = None
    """`msg_…`: the same on all lines of one answer. The key for joining and for counting usage."""
    type: str | None = None
    role: str | None = None
    model: str | None = None
    """`<synthetic>` when the client wrote the message itself."""
    content: Content = None
    stop_reason: Annotated[
        str | None,
        mark_values(
            "end_turn",
            "tool_use",
            "stop_sequence",
            "max_tokens",
            "refusal",
            "pause_turn",
            "model_context_window_exceeded",
        ),
    ] = None
    """Null on most lines up to 2.1.92: see "Streaming and usage"."""
    stop_sequence: str | None = None
    stop_details: Any = None
    """[2.1.77+] Null so far."""
    usage: MessageUsage | None = None
    container: Any = None
    """[1.0.127+] Null so far; on synthetic messages."""
    context_management: Any = None
    """[2.0.50+] Null so far."""
    diagnostics: Any = None
    """[2.1.119+] Null, or `{"cache_miss_reason"}`."""
    error: Any = None
    """[2.1.202–2.1.204] From another vendor's endpoint."""
    service_tier: Any = None
    """[2.1.47–2.1.50] From another vendor's endpoint."""
    provider: Any = None
    """[2.1.97–2.1.97] From another vendor's endpoint."""


class Assistant(Envelope, tag_field="type", tag="assistant"):
    """One content block of an answer (rarely several), with the whole answer's id and usage."""

    seen = ("1.0.17", None)
    message: AssistantMessage | None = None
    request_id: str | None = None
    """`req_…`; absent on synthetic messages, Bedrock and other vendors' endpoints: no key for grouping."""
    request_ref: str | None = None
    """[2.1.325+] The `id` of the `api-request` entry that this answers."""
    api_block_index: int | None = None
    """[2.1.325+] The place of the block in the answer."""
    is_api_error_message: bool | None = None
    """[1.0.84+] The client's words for a failed request."""
    error: str | None = None
    """[2.1.3+] `rate_limit`, `authentication_failed`, `billing_error`, `server_error`, `unknown`, …"""
    api_error_status: int | None = None
    """[2.1.117+] HTTP status."""
    api_error_type: str | None = None
    """[2.1.325+] The API's name of the error."""
    api_error_is_transient: bool | None = None
    """[2.1.220–2.1.220]"""
    error_details: str | None = None
    """[2.1.325+]"""
    failed_response_had_no_tool_call: bool | None = None
    """[2.1.325+]"""
    is_aborted_mid_stream: bool | None = None
    """[2.1.220+] Interrupted while it was streaming."""
    made_by: str | None = None
    """[2.1.325+] `model` or `other`."""
    requested_model: str | None = None
    """[2.1.325+] The model asked for; `message.model` is the one that answered."""
    effort: str | None = None
    """[2.1.212+] `medium`, `high`, …"""
    per_turn_effort: str | None = None
    """[2.1.325+]"""
    advisor_model: str | None = None
    """[2.1.220–2.1.237] The model that may be asked for advice."""
    attribution_skill: str | None = None
    """[2.1.123+] The skill at work."""
    attribution_plugin: str | None = None
    """[2.1.123–2.1.232]"""
    attribution_mcp_server: str | None = None
    """[2.1.169–2.1.229]"""
    attribution_mcp_tool: str | None = None
    """[2.1.169–2.1.229]"""
    attribution_agent: str | None = None
    """[2.1.325+] The kind of sub-agent at work."""
    thinking_display: str | None = None
    """[2.1.325+] `updates` or `omitted`."""
    thinking_duration_ms: Number | None = None
    """[2.1.325+]"""
    tool_input_stream_ms: Number | None = None
    """[2.1.325+] How long the call's input took to arrive."""
    prompt_cache_requested: str | None = None
    """[2.1.325+] `5m` or `1h`."""
    server_classifier_request: str | None = None
    """[2.1.325+] Meaning not established."""
