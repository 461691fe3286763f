"""What the newest client adds to a conversation when it resumes one: `turnlog messages --as-sent`.

The words are those of Claude Code 2.1.325. What depends on the machine, the day or the tools at hand (the environment,
the date, the list of tools) can only be taken from the file: the newest clients write down what an attachment was
rendered to.
"""

from __future__ import annotations

from typing import Any

from turnlog.entries.entry import Body

Json = dict[str, Any]

FILLER = "No response requested."
INTERRUPTED = (
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. "
    "Check whether it took effect before relying on it or running it again.]"
)
MISSING = "[Tool result missing due to internal error]"
EMPTY = "(no content)"
_TAG, _END = "<system-reminder>\n", "\n</system-reminder>"


class Added(Json):
    """A block that the client puts before what a person said."""


def rendered(body: Body) -> tuple[str, list[Json]]:
    """The role and the texts that an attachment was sent as, if the file says so."""
    found = body.get("rendered")
    role = "system" if body.get("renderedRole") == "system" else "user"
    texts = [text for item in found if (text := _text(item))] if isinstance(found, list) else []
    if role == "system":
        texts = [text.removeprefix(_TAG).removesuffix(_END) for text in texts]
    return role, [Added(type="text", text=text) for text in texts]


def _text(item: object) -> str | None:
    text = item.get("content") if isinstance(item, dict) else item
    return text if isinstance(text, str) else None


def made_up(call: Json, *, at_end: bool) -> Json:
    """The result that the client makes up for a call without one."""
    text = INTERRUPTED if at_end else MISSING
    return {"type": "tool_result", "tool_use_id": call.get("id"), "content": text, "is_error": True}
