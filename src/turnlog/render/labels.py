"""What set off a turn, or arrived in one, if it was no prompt: the words that every form uses for it."""

from __future__ import annotations

_PROMPT_LABELS = {
    "typed": "Typed while it worked",
    "command": "Command",
    "bash": "Shell command",
    "notification": "Notification",
    "teammate": "From a teammate",
    "peer": "From another agent",
    "other": "From outside, not typed by a person",
}


def format_prompt_label(kind: str, sender: str | None = None) -> str:
    """The label of a kind of prompt, with the name of who sent it."""
    label = _PROMPT_LABELS.get(kind, kind)
    return f"{label} ({sender})" if sender else label
