"""More kinds of attachments: what hooks did."""

from __future__ import annotations

from typing import Any

from msgspec import field

from turnlog.entries.types.attachments import Attachment
from turnlog.entries.types.base import UNSEEN, Number


class HookAttachment(Attachment):
    """A base: what a hook did."""

    hook_name: str | None = None
    hook_event: str | None = None
    tool_use_id: str | None = field(default=None, name="toolUseID")


class HookSuccess(HookAttachment, tag="hook_success"):
    """A hook ran."""

    seen = ("2.1.101", None)
    content: str | None = None
    command: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    duration_ms: Number | None = None


class HookBlockingError(HookAttachment, tag="hook_blocking_error"):
    """A hook said no."""

    seen = ("2.1.169", None)
    blocking_error: Any = None
    """`{"blockingError", "command"}`."""


class HookNonBlockingError(HookAttachment, tag="hook_non_blocking_error"):
    """A hook failed, and the work went on."""

    seen = ("2.1.121", "2.1.207")
    command: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    duration_ms: Number | None = None
    """Expected as in `hook_success`; not seen."""


class HookCancelled(HookAttachment, tag="hook_cancelled"):
    """A hook was stopped."""

    seen = ("2.1.126", "2.1.126")
    command: str | None = None
    timed_out: bool | None = None
    timeout_ms: Number | None = None
    duration_ms: Number | None = None
    """Expected as in `hook_success`; not seen."""


class HookAdditionalContext(HookAttachment, tag="hook_additional_context"):
    """Text that a hook gave the model."""

    seen = ("2.1.104", "2.1.237")
    content: Any = None
    """A list of strings."""


class HookSystemMessage(HookAttachment, tag="hook_system_message"):
    """Text that a hook gave the person."""

    seen = ("2.1.101", "2.1.237")
    content: str | None = None
    held_for_served_call: bool | None = None
    """Known to 2.1.325, not seen."""


class AsyncHookResponse(HookAttachment, tag="async_hook_response"):
    """What a hook in the background answered."""

    seen = ("2.1.177", "2.1.232")
    process_id: str | None = None
    tool_name: str | None = None
    """Known to 2.1.325, not seen; so are `command`, `pluginId` and `isPlainOutput`."""
    command: str | None = None
    plugin_id: str | None = None
    is_plain_output: bool | None = None
    response: Any = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None


class HookStoppedContinuation(HookAttachment, tag="hook_stopped_continuation"):
    """A hook ended the turn."""

    seen = UNSEEN
    message: str | None = None


class HookErrorDuringExecution(HookAttachment, tag="hook_error_during_execution"):
    """A hook could not be run."""

    seen = UNSEEN
    content: str | None = None


class HookPermissionDecision(HookAttachment, tag="hook_permission_decision"):
    """A hook decided about a permission."""

    seen = UNSEEN
    decision: str | None = None
