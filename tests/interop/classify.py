"""What a request to the Messages API is for (seen from client 1.0 to 2.1.325)."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]

REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.S)
COMPACT = re.compile(
    r"create a detailed summary of (?:the|our|this) (?:conversation|portion)"
    r"|detailed summary of the (?:RECENT portion|conversation so far)"
    r"|Your task is to create a detailed summary",
    re.I,
)
TITLE = re.compile(
    r"(?:generate|write|come up with|create) (?:a |an )?(?:short|succinct|concise|brief)?"
    r"[^.\n]{0,40}\btitle\b"
    r"|summarize this coding conversation|session title|sentence-case title",
    re.I,
)
SIDE = {
    "topic": re.compile(r"isNewTopic|indicates? a new conversation topic", re.I),
    "bash_prefix": re.compile(r"command prefix|<policy_spec>|command_injection_detected", re.I),
    "bash_paths": re.compile(r"extract any file paths that this command (?:reads|modifies)", re.I),
    "git_history": re.compile(r"expert at analyzing git history", re.I),
    "web_page": re.compile(r"^Web page content:", re.M),
    "name": re.compile(r"short kebab-case name", re.I),
}
MAIN = re.compile(
    r"interactive (?:CLI tool|agent)|You are an agent working with the user"
    r"|helps users (?:with software|according)|built on Anthropic.s Claude Agent SDK"
)
AGENT = re.compile("You are an agent for Claude Code")


def classify(body: Object, headers: dict[str, str]) -> str:
    """Name what a request is for: main, agent, compact, title, quota, warmup or a side question."""
    system, last = block_text(body.get("system")), last_user_text(body)
    if (body.get("max_tokens") or 0) == 1:
        return "quota"
    if first_user_text(body) == "Warmup":
        return "warmup"
    if COMPACT.search(last):
        return "compact"
    if not body.get("tools") and (kind := side_question(system, last)):
        return kind
    if headers.get("x-claude-code-agent-id") or AGENT.search(system):  # old clients send no header
        return "agent"
    if MAIN.search(system):
        return "main"
    return "agent" if body.get("tools") else "side"


def side_question(system: str, last: str) -> str | None:
    """Name a question that the client asks beside the conversation, or None."""
    for kind, pattern in SIDE.items():
        if pattern.search(system) or pattern.search(last):
            return kind
    return "title" if TITLE.search(system) or TITLE.search(last[-2000:]) else None


def block_text(content: Any) -> str:
    """All text in a message's or system prompt's content (string or blocks)."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in content or []:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict):
            if block.get("type") == "text":
                parts.append(str(block.get("text") or ""))
            elif block.get("type") == "tool_result":
                parts.append(block_text(block.get("content")))
    return "\n".join(parts)


def first_user_text(body: Object) -> str:
    """The first user prompt, without the reminders that the client puts before it."""
    for message in body.get("messages") or []:
        if message.get("role") == "user":
            text = REMINDER.sub("", block_text(message.get("content"))).strip()
            if text:
                return text
    return ""


def last_user_text(body: Object) -> str:
    """Text of the newest user message, tool results included."""
    for message in reversed(body.get("messages") or []):
        if message.get("role") == "user":
            return block_text(message.get("content"))
    return ""
