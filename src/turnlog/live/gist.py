"""What entries say, in few words and numbers; of anything that has not the expected form, nothing."""

from __future__ import annotations

from typing import Any

from turnlog.entries.entry import Body, MessageHead
from turnlog.session.usage.iterations import split_iterations
from turnlog.session.usage.usage import sum_context_tokens

MAX_SUMMARY_CHARS = 200


def is_task_over(fields: dict[str, Any]) -> bool:
    """Whether what was asked about a task says that it has ended."""
    task = fields.get("task")
    status = task.get("status") if isinstance(task, dict) else fields.get("status")
    return status in ("completed", "failed", "killed", "stopped")


def count_context_tokens(head: MessageHead) -> int:
    """How much of the context window the last request of a message found filled, in tokens."""
    if (usage := head.usage) is None:
        return 0
    requests = split_iterations(usage, head.model).own
    if requests and (last := sum_context_tokens(requests[-1])):
        return last
    parts = usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    return sum(count or 0 for count in parts)


def read_content_blocks(found: Body) -> list[dict[str, Any]]:
    """The blocks of an entry's message."""
    message = found.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def read_first_text(found: Body) -> object:
    """The first text of an entry's message."""
    return next((block.get("text") for block in read_content_blocks(found) if block.get("type") == "text"), "")


def describe_call_fields(fields: dict[str, Any]) -> str:
    """What a call is about, from the fields that tools name it by."""
    questions = fields.get("questions")
    if isinstance(questions, list) and questions and isinstance(questions[0], dict):
        return to_summary_line(questions[0].get("question"))
    for name in ("description", "command", "file_path", "notebook_path", "pattern", "query", "url", "skill", "prompt"):
        if isinstance(fields.get(name), str):
            return to_summary_line(fields[name])
    return ""


def to_summary_line(text: object) -> str:
    """The beginning of a text, on one line."""
    return " ".join(text[: 4 * MAX_SUMMARY_CHARS].split())[:MAX_SUMMARY_CHARS] if isinstance(text, str) else ""


def to_small_count(value: object) -> int:
    """A small number; 0 for anything else."""
    return value if type(value) is int and 0 < value < 1000 else 0
