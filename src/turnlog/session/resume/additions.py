"""Adds what the newest client adds to a conversation when resuming it (`turnlog messages --as-sent`).

The wording is that of Claude Code 2.1.325. Anything that depends on the machine, the day or the available tools (the
environment, the date, the list of tools) can only come from the file: the newest clients record the text that they
rendered for an attachment.
"""

from __future__ import annotations

from typing import Any

from turnlog.entries.entry import Body

Json = dict[str, Any]

INTERRUPTED_RESULT_TEXT = (
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. "
    "Check whether it took effect before relying on it or running it again.]"
)
MISSING_RESULT_TEXT = "[Tool result missing due to internal error]"
EMPTY_CONTENT_TEXT = "(no content)"
_REMINDER_START, _REMINDER_END = "<system-reminder>\n", "\n</system-reminder>"


class AddedBlock(Json):
    """A block that the client puts before a person's message."""


def read_rendered_attachment(body: Body) -> tuple[str, list[Json]]:
    """Return the role and blocks with which an attachment was sent, if the file records them."""
    rendered = body.get("rendered")
    role = "system" if body.get("renderedRole") == "system" else "user"
    texts = [text for item in rendered if (text := _read_text(item))] if isinstance(rendered, list) else []
    if role == "system":
        texts = [text.removeprefix(_REMINDER_START).removesuffix(_REMINDER_END) for text in texts]
    return role, [AddedBlock(type="text", text=text) for text in texts]


def _read_text(item: object) -> str | None:
    text = item.get("content") if isinstance(item, dict) else item
    return text if isinstance(text, str) else None


def make_up_result(call: Json, *, at_end: bool) -> Json:
    """Build the made-up result that the client adds to a call without a result."""
    text = INTERRUPTED_RESULT_TEXT if at_end else MISSING_RESULT_TEXT
    return {"type": "tool_result", "tool_use_id": call.get("id"), "content": text, "is_error": True}
