"""What the client put beside a prompt: `attachment` entries, by `attachment.type`; from 2.1.90 on.

Most become a system reminder when they are sent. Only `queued_command` is something a person or a task said.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import field

from turnlog.entries.types.base import UNSEEN, FormatObject, mark_kind
from turnlog.entries.types.envelope import Envelope


class AttachmentEntry(Envelope, tag_field="type", tag="attachment"):
    """Something that the client adds to the conversation. A link of the graph."""

    seen = ("2.1.90", None)
    attachment: Annotated[Any, mark_kind("attachment")] = None
    """Its `type` gives the kind."""
    rendered: Any = None
    """[2.1.325+] The exact content that is sent for it."""
    rendered_role: str | None = None
    """[2.1.325+] `user` or `system`."""
    rendered_beside_tool_result: bool | None = None
    """[2.1.325+]"""
    rendered_in_human_turn: Any = None
    """[2.1.325+]"""


class Attachment(FormatObject, rename="camel", tag_field="type"):
    """The `attachment` of such an entry."""


class QueuedCommand(Attachment, tag="queued_command"):
    """What was typed, or what a task reported, while the model was at work."""

    seen = ("2.1.101", None)
    prompt: str | list[Any] | None = None
    """Text or content blocks."""
    command_mode: str | None = None
    """`prompt` or `task-notification`."""
    origin: Any = None
    """[2.1.220+] `{"kind": "human"}`, `{"kind": "task-notification"}`, `{"kind": "peer", "from": …}`, …"""
    human_turn: bool | None = None
    """[2.1.325+]"""
    timestamp: str | None = None
    source_uuid: str | None = field(default=None, name="source_uuid")
    """[2.1.325+]"""
    delivery_id: str | None = field(default=None, name="delivery_id")
    """[2.1.325+] The `deliveryId` of the `queue-operation`."""
    run_id: str | None = None
    """[2.1.325+]"""
    usage: Any = None
    """[2.1.325+] Of the task: `{"totalTokens", "toolUses", "durationMs"}`."""
    tools_used_delta: Any = None
    """[2.1.325+]"""
    image_paste_ids: Any = None
    """Known to 2.1.325, not seen."""
    is_meta: bool | None = None
    """Known to 2.1.325, not seen."""


class FileAttachment(Attachment):
    """A base: a file and its content."""

    filename: str | None = None
    display_path: str | None = None


class AttachedFile(FileAttachment, tag="file"):
    """A file named with @, or read again after a compaction."""

    seen = ("2.1.104", None)
    content: Any = None
    """Like the result of Read: `{"type", "file"}`."""
    saved_copy_framing: Any = None
    """[2.1.325+]"""
    truncated: bool | None = None
    """Known to 2.1.325, not seen."""


class AlreadyReadFile(FileAttachment, tag="already_read_file"):
    """A file named with @ whose content the model has already."""

    seen = ("2.1.207", "2.1.226")
    content: Any = None
    truncated: bool | None = None
    """Known to 2.1.325, not seen."""


class CompactFileReference(FileAttachment, tag="compact_file_reference"):
    """A file that was read before a compaction and is too large to repeat."""

    seen = ("2.1.112", "2.1.232")


class EditedTextFile(Attachment, tag="edited_text_file"):
    """A file changed on disk since the model read it."""

    seen = ("2.1.101", "2.1.233")
    filename: str | None = None
    snippet: str | None = None


class Directory(Attachment, tag="directory"):
    """A folder named with @."""

    seen = ("2.1.121", "2.1.233")
    path: str | None = None
    content: str | None = None
    display_path: str | None = None


class NestedMemory(Attachment, tag="nested_memory"):
    """A CLAUDE.md of a folder that came into play."""

    seen = ("2.1.169", "2.1.237")
    path: str | None = None
    content: Any = None
    display_path: str | None = None


class OpenedFileInIde(Attachment, tag="opened_file_in_ide"):
    """The file that is open in the editor."""

    seen = ("2.1.119", "2.1.227")
    filename: str | None = None


class SelectedLinesInIde(Attachment, tag="selected_lines_in_ide"):
    """What is selected in the editor."""

    seen = ("2.1.119", "2.1.220")
    ide_name: str | None = None
    filename: str | None = None
    display_path: str | None = None
    line_start: int | None = None
    line_end: int | None = None
    content: str | None = None


class Diagnostics(Attachment, tag="diagnostics"):
    """Findings of a language server."""

    seen = ("2.1.101", "2.1.237")
    files: Any = None
    """A list of `{"uri", "diagnostics"}`."""
    is_new: bool | None = None


class StructuredOutput(Attachment, tag="structured_output"):
    """The answer as data, when a schema was asked for."""

    seen = ("2.1.220", "2.1.221")
    data: Any = None
    tool_use_id: str | None = field(default=None, name="toolUseID")


class ReadTruncationNotice(Attachment, tag="read_truncation_notice"):
    """A file was too long to be read whole."""

    seen = ("2.1.215", "2.1.237")
    banner: str | None = None
    tool_use_id: str | None = field(default=None, name="toolUseID")


class PlanModeAttachment(Attachment):
    """A base: the plan of plan mode."""

    plan_file_path: str | None = None


class PlanMode(PlanModeAttachment, tag="plan_mode"):
    """A reminder that plan mode is on."""

    seen = ("2.1.119", None)
    reminder_type: str | None = None
    """`full` or `sparse`."""
    is_sub_agent: bool | None = None
    plan_exists: bool | None = None
    custom_instructions: str | None = None
    """Known to 2.1.325, not seen."""


class PlanModeExit(PlanModeAttachment, tag="plan_mode_exit"):
    """Plan mode was left."""

    seen = ("2.1.119", None)
    plan_exists: bool | None = None


class PlanModeReentry(PlanModeAttachment, tag="plan_mode_reentry"):
    """Plan mode was entered again."""

    seen = ("2.1.211", "2.1.211")


class PlanFileReference(PlanModeAttachment, tag="plan_file_reference"):
    """The plan, repeated after a compaction."""

    seen = UNSEEN
    plan_content: str | None = None


class AutoMode(Attachment, tag="auto_mode"):
    """A reminder that permissions are decided automatically."""

    seen = ("2.1.119", None)
    reminder_type: str | None = None
    """[2.1.119–2.1.140] `full` or `sparse`."""
    auto_mode_consent_flow: bool | None = None
    """[2.1.235+]"""
    bash_first: bool | None = None
    """[2.1.235+]"""
    bash_first_steer: str | None = None
    """[2.1.325+]"""
    bypass: bool | None = None
    """[2.1.235+]"""
    finish_exposed_work: bool | None = None
    """[2.1.325+]"""
    steer_only: bool | None = None
    """[2.1.235+]"""


class AutoModeExit(Attachment, tag="auto_mode_exit"):
    """Permissions are no longer decided automatically."""

    seen = UNSEEN
    bash_first: bool | None = None
    steer_only: bool | None = None
    finish_exposed_work: bool | None = None


class CommandPermissions(Attachment, tag="command_permissions"):
    """The tools and the model that a slash command or skill brings with it."""

    seen = ("2.1.97", None)
    allowed_tools: Any = None
    model: str | None = None
    """[2.1.224–2.1.226]"""
