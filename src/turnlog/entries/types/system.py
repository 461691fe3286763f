"""What the client notes about the session itself: `system` entries, by `subtype`."""

from __future__ import annotations

from typing import Any

from msgspec import field

from turnlog.entries.types.base import FormatObject, Number
from turnlog.entries.types.envelope import Envelope


class SystemEntry(Envelope, tag_field="subtype"):
    """What system entries share."""

    type: str | None = None
    """Always `system`."""
    level: str | None = None
    """`info`, `warning`, `error`, `notice`, `suggestion`."""
    content: str | None = None


class PlainSystem(Envelope, tag_field="type", tag="system"):
    """A system entry of old versions, without a subtype."""

    seen = ("1.0.51", "1.0.53")
    subtype: str | None = None
    """Absent."""
    level: str | None = None
    content: str | None = None


class PreservedSegment(FormatObject, rename="camel"):
    """The messages kept by a compaction, as a piece of the chain."""

    head_uuid: str | None = None
    tail_uuid: str | None = None
    anchor_uuid: str | None = None
    """The entry that they follow from now on."""


class PreservedMessages(FormatObject, rename="camel"):
    """The messages kept by a compaction, as a list."""

    anchor_uuid: str | None = None
    uuids: list[str] | None = None
    """In the order they are sent."""
    all_uuids: list[str] | None = None


class CompactMetadata(FormatObject, rename="camel"):
    """What a compaction did."""

    trigger: str | None = None
    """`manual` or `auto`."""
    pre_tokens: int | None = None
    post_tokens: int | None = None
    """[2.1.112+]"""
    duration_ms: Number | None = None
    """[2.1.112+]"""
    pre_compact_discovered_tools: Any = None
    """[2.1.112–2.1.232]"""
    cumulative_dropped_tokens: int | None = None
    """[2.1.215+]"""
    preserved_segment: PreservedSegment | None = None
    """[2.1.215+]"""
    preserved_messages: PreservedMessages | None = None
    """[2.1.215+]"""
    running_turn_prompt: Any = None
    """[2.1.325+] The prompt of the turn that the compaction fell into."""
    precomputed: bool | None = None
    """Known to 2.1.325, not seen."""
    pre_compact_artifact_read_versions: Any = None
    """Known to 2.1.325, not seen."""


class CompactBoundary(SystemEntry, tag="compact_boundary"):
    """The conversation begins anew here; the summary follows. Its `parentUuid` is null."""

    seen = ("1.0.127", None)
    logical_parent_uuid: str | None = None
    """The last entry before; it may be missing from the file."""
    compact_metadata: CompactMetadata | None = None


class MicrocompactMetadata(FormatObject, rename="camel"):
    """What was cleared."""

    trigger: str | None = None
    pre_tokens: int | None = None
    tokens_saved: int | None = None
    compacted_tool_ids: Any = None
    """The calls whose results are no longer sent."""
    cleared_attachment_uuids: Any = field(default=None, name="clearedAttachmentUUIDs")


class MicrocompactBoundary(SystemEntry, tag="microcompact_boundary"):
    """Old tool results were cleared from what is sent; the chain goes on."""

    seen = ("2.1.12", "2.1.22")
    microcompact_metadata: MicrocompactMetadata | None = None


class TurnDuration(SystemEntry, tag="turn_duration"):
    """How long a turn took; written when it ended, not after every turn and not headless."""

    seen = ("2.1.1", None)
    duration_ms: Number | None = None
    message_count: int | None = None
    """[2.1.90+]"""
    pending_background_agent_count: int | None = None
    """[2.1.178–2.1.228]"""
    pending_workflow_count: int | None = None
    """[2.1.159–2.1.228]"""


class StopHookSummary(SystemEntry, tag="stop_hook_summary"):
    """What the Stop hooks did."""

    seen = ("2.0.64", None)
    hook_count: int | None = None
    hook_infos: Any = None
    """A list of `{"command", "durationMs"}`."""
    hook_errors: Any = None
    prevented_continuation: bool | None = None
    stop_reason: str | None = None
    has_output: bool | None = None
    tool_use_id: str | None = field(default=None, name="toolUseID")
    hook_additional_context: Any = None
    """[2.1.170+]"""


class RetryError(FormatObject, rename="camel"):
    """Why a request failed; empty or only `cause` in old versions."""

    message: str | None = None
    formatted: str | None = None
    status: Any = None
    request_id: str | None = None
    connection: Any = None
    is_network_down: bool | None = None
    rate_limits: Any = None
    no_response: Any = None
    """[2.1.325+]"""
    cause: Any = None
    """[2.0.5–2.1.16]"""
    headers: Any = None
    """In the code of 2.1.29 as the HTTP library sets it, not seen; so are `requestID` and `error`."""
    library_request_id: Any = field(default=None, name="requestID")
    error: Any = None


class ApiError(SystemEntry, tag="api_error"):
    """A request failed and will be tried again. The versions before 2.1.325 write none when headless."""

    seen = ("2.0.5", None)
    error: RetryError | None = None
    cause: Any = None
    """[2.0.5–2.1.16]"""
    retry_in_ms: Number | None = None
    retry_attempt: int | None = None
    max_retries: int | None = None
    source: str | None = None
    """[2.1.325+] `request_retry` or `connection_retry`."""


class CommandRun(FormatObject, rename="camel"):
    """A slash command."""

    command: str | None = None
    args: str | None = None


class LocalCommand(SystemEntry, tag="local_command"):
    """A slash command that the client carried out, or its output, as the tags in `content` tell."""

    seen = ("2.1.3", None)
    command_run: CommandRun | None = None
    """[2.1.325+]"""
    is_display_only: bool | None = None
    """[2.1.325+] Not sent to the API."""


class Informational(SystemEntry, tag="informational"):
    """A notice that was shown."""

    seen = ("2.1.117", None)


class AwaySummary(SystemEntry, tag="away_summary"):
    """A recap for a person who comes back."""

    seen = ("2.1.109", "2.1.235")


class BridgeStatus(SystemEntry, tag="bridge_status"):
    """The session can be continued remotely."""

    seen = ("2.1.72", "2.1.159")
    url: str | None = None


class ScheduledTaskFire(SystemEntry, tag="scheduled_task_fire"):
    """A scheduled task started."""

    seen = ("2.1.220", "2.1.221")
