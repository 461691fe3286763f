"""The state that a client's screen shows: the truth that the board is measured against.

The screen alone does not say whether a spinner means "the model answers" or "a tool runs"; the scripted server does,
because it knows whether a request is open. It also knows about attempts that failed, which some clients don't show at
first. Background work is known from the server (sub-agents) and from the client's child processes (shells: the scripts
start no other long command than `sleep`).
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, get_args

TrueState = Literal[
    "working", "tool", "permission", "question", "plan", "compacting", "retrying", "shell", "background", "idle",
    "interrupted", "error", "ended", "left",
]  # fmt: skip
TRUE_STATES: tuple[TrueState, ...] = get_args(TrueState)

_RULE = re.compile(r"^[─━▔╌]{40,}.*$")
_PROMPT = re.compile(r"^\s?[❯>!] ?\S")
_SPINNER = re.compile(r"^\s*[·✢✳✶✻✽*∗] .*(…|Retrying in)", re.M)
_PLAN = re.compile(r"Would you like to proceed\?|Ready to code\?|approve this plan", re.I)
_PERMISSION = re.compile(r"Do you want to [^\n]*\?")
_QUESTION = re.compile(r"Enter to select · ")
_RETRY = re.compile(r"Retrying in|attempt \d+/\d+|\(attempt \d")
_INTERRUPTED = re.compile(r"Interrupted(?: by user)?\b|User rejected ")
"""Esc at a permission dialog stops the turn, but for an edit the screen only says that the edit was rejected."""
_ERROR = re.compile(r"API Error\b|API error\b")


class SeatFacts(NamedTuple):
    """What is known about a client besides its screen."""

    is_alive: bool
    is_model_answering: bool
    is_summarising: bool
    main_stop_reason: str
    has_agents: bool
    has_command: bool
    """Whether one of the client's descendants is a `sleep`."""


def read_state(screen: str, facts: SeatFacts) -> TrueState | None:
    """Return what a client is doing; None if the screen can't be read, for example while it is being redrawn."""
    if not facts.is_alive:
        return "ended"
    if dialog := _read_dialog(screen):
        return dialog
    turn, has_box = _split_screen(screen)
    if not has_box:
        return None
    is_busy = _SPINNER.search("\n".join(turn)) is not None or "esc to interrupt" in screen
    text = "\n".join(turn)
    if is_busy and (facts.is_summarising or "Compacting conversation" in text):
        return "compacting"
    if is_busy and (_RETRY.search(text) or facts.main_stop_reason == "error"):
        return "retrying"
    if turn and turn[0].lstrip().startswith("!") and facts.has_command and not facts.is_model_answering:
        return "shell"
    if is_busy:
        return "tool" if not facts.is_model_answering and facts.main_stop_reason == "tool_use" else "working"
    return _read_pause(text, facts)


def _read_dialog(screen: str) -> TrueState | None:
    if _PLAN.search(screen) and "1. Yes" in screen:
        return "plan"
    if _QUESTION.search(screen):
        return "question"
    return "permission" if _PERMISSION.search(screen) and "1. Yes" in screen else None


def _read_pause(text: str, facts: SeatFacts) -> TrueState:
    if _INTERRUPTED.search(text):  # an interrupted command takes a moment to end
        return "interrupted"
    if facts.has_agents or facts.has_command:
        return "background"
    return "error" if _ERROR.search(text) else "idle"


def _split_screen(screen: str) -> tuple[list[str], bool]:
    """Return the lines since the latest prompt, and whether the input box is there."""
    lines = screen.splitlines()
    rules = [at for at, line in enumerate(lines) if _RULE.match(line)]
    if len(rules) < 2:
        return [], False
    above = lines[: rules[-2]]
    start = max((at for at, line in enumerate(above) if _PROMPT.match(line)), default=0)
    return above[start:], True
