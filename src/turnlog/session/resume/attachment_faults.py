"""Finds attachments that the newest client can't turn into words: it then refuses the whole session.

The rules are those of Claude Code 2.1.328, found by resuming files with every kind of attachment and every type of
value (docs/format.md, "How a session is resumed" [30]). If the file records the words that were sent for an attachment
(`rendered`), the client uses these instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from turnlog.entries.entry import Body, Entry
from turnlog.entries.reader import Transcript
from turnlog.errors import Refused

MAX_SELECTION_ITEMS = 2000
"""The client shortens a longer selection, which it can do only with text."""

_Attachment = dict[str, Any]
_NEVER_RENDERED = "poll_events"
"""The kind for which the client ignores the recorded words."""


class AttachmentFault(NamedTuple):
    """An attachment that the client can't read."""

    row: Entry
    kind: str
    field: str
    """The field whose value has the wrong shape."""

    @property
    def text(self) -> str:
        return f"an attachment {self.kind} has a value in `{self.field}` that the client can't read"


def list_attachment_faults(file: Transcript, rows: Iterable[Entry]) -> Iterator[AttachmentFault]:
    """Yield the attachments among the rows of a thread that the client can't read."""
    for row in rows:
        if row.type == "attachment" and row.kind in _FIND_FAULTY_FIELD:
            field = find_faulty_field(file.read_body(row))
            if field is not None:
                yield AttachmentFault(row, row.kind or "", field)


def check_attachments(file: Transcript, rows: Iterable[Entry]) -> None:
    """Raise Refused if the client refuses a thread because of one of its attachments."""
    fault = next(list_attachment_faults(file, rows), None)
    if fault is not None:
        raise Refused(f"the client refuses it: {fault.text}; `turnlog repair` removes the attachment")


def find_faulty_field(body: Body) -> str | None:
    """Return the field of an attachment that has a value of the wrong shape."""
    attachment = body.get("attachment")
    kind = attachment.get("type") if isinstance(attachment, dict) else None
    if not isinstance(attachment, dict) or not isinstance(kind, str) or kind not in _FIND_FAULTY_FIELD:
        return None
    if kind != _NEVER_RENDERED and _has_words(body.get("rendered")):
        return None
    return _FIND_FAULTY_FIELD[kind](attachment)


def _has_words(rendered: object) -> bool:
    return isinstance(rendered, list) and bool(rendered) and all(map(_is_message, rendered))


def _is_message(item: object) -> bool:
    content = item.get("content") if isinstance(item, dict) else None
    if isinstance(content, list):
        return bool(content) and all(map(_is_text_block, content))
    return isinstance(content, str) and bool(content)


def _is_text_block(block: object) -> bool:
    if not isinstance(block, dict) or block.get("type") != "text":
        return False
    return isinstance(text := block.get("text"), str) and bool(text)


def _is_truthy(value: object) -> bool:
    """Return whether JavaScript takes a JSON value for true: also an empty list or object."""
    return isinstance(value, list | dict) or bool(value)


# -- the kinds


def _expect(field: str, *types: type) -> Callable[[_Attachment], str | None]:
    """Build the rule for a field that must have one of some types."""
    return lambda attachment: None if isinstance(attachment.get(field), types) else field


def _expect_value(field: str) -> Callable[[_Attachment], str | None]:
    """Build the rule for a field that must not be missing or null."""
    return lambda attachment: field if attachment.get(field) is None else None


def _check_selection(attachment: _Attachment) -> str | None:
    content = attachment.get("content")
    is_long_list = isinstance(content, list) and len(content) > MAX_SELECTION_ITEMS
    return "content" if content is None or is_long_list else None


def _check_tool_names(attachment: _Attachment) -> str | None:
    names = attachment.get("undiscoveredToolNames")
    return None if isinstance(names, list) or names == "" else "undiscoveredToolNames"


def _check_peer(attachment: _Attachment) -> str | None:
    candidates = attachment.get("candidates")
    if not isinstance(candidates, list):
        return "candidates"
    is_resolved = attachment.get("status") == "resolved" and bool(candidates) and _is_truthy(candidates[0])
    named = candidates[:1] if is_resolved else candidates
    if not all(isinstance(peer, dict) and isinstance(peer.get("token"), str) for peer in named):
        return "candidates"
    return None if isinstance(attachment.get("mention"), str) else "mention"


def _check_memories(attachment: _Attachment) -> str | None:
    memories = attachment.get("memories")
    is_readable = isinstance(memories, list) and all(map(_is_memory, memories))
    return None if is_readable else "memories"


def _is_memory(item: object) -> bool:
    return isinstance(item, dict) and (item.get("header") is not None or isinstance(item.get("path"), str))


def _check_events(attachment: _Attachment) -> str | None:
    if "deliveredVia" in attachment:
        return None
    return None if isinstance(attachment.get("envelopes"), list | str) else "envelopes"


def _check_shared_memory(attachment: _Attachment) -> str | None:
    if _is_truthy(attachment.get("anchor")) or attachment.get("prefetchedWithdrawn") is True:
        return None
    content = attachment.get("content", 0)
    return None if content is None or isinstance(content, str | list) else "content"


def _check_reminder(attachment: _Attachment) -> str | None:
    content = attachment.get("content")
    if isinstance(content, str) or not _is_truthy(content):
        return None
    return "content" if not isinstance(content, list) or None in content else None


def _check_skill(attachment: _Attachment) -> str | None:
    folder = attachment.get("skillDir")
    return "skillDir" if _is_truthy(folder) and not isinstance(folder, str) else None


def _check_queued(attachment: _Attachment) -> str | None:
    if _is_truthy(attachment.get("renderedByBatchHead")):
        return None
    if _is_truthy(batch := attachment.get("batchedRelayPrompts")):
        return None if isinstance(batch, list) else "batchedRelayPrompts"
    prompt = attachment.get("prompt")
    return "prompt" if isinstance(prompt, list) and None in prompt else None


def _check_task(attachment: _Attachment) -> str | None:
    """Check a running command; the client encodes its description and command, and those of nothing else."""
    if (attachment.get("status"), attachment.get("taskType")) != ("running", "local_bash"):
        return None
    if not isinstance(attachment.get("description"), str):
        return "description"
    shell = attachment.get("shell")
    is_readable = isinstance(shell, dict) and isinstance(shell.get("command"), str)
    return "shell" if _is_truthy(shell) and not is_readable else None


_FIND_FAULTY_FIELD: dict[str, Callable[[_Attachment], str | None]] = {
    "account_memory_recall": _expect("content", str, list),
    "at_mention_reference": _expect("mentions", list),
    "cowork_memory_context": _check_shared_memory,
    "critical_system_reminder": _check_reminder,
    "dir_sync_notice": _expect("content", str),
    "dynamic_skill": _check_skill,
    "hook_blocking_error": _expect_value("blockingError"),
    "nested_memory": _expect_value("content"),
    "peer_mention": _check_peer,
    "poll_events": _check_events,
    "queued_command": _check_queued,
    "read_truncation_notice": _expect("banner", str),
    "relevant_memories": _check_memories,
    "selected_lines_in_diff": _check_selection,
    "selected_lines_in_ide": _check_selection,
    "task_status": _check_task,
    "tool_search_usage_reminder": _check_tool_names,
}
