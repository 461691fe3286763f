"""Reads a short answer key by key so that Esc can cancel the question, which a line editor does not support."""

from __future__ import annotations

from turnlog.agent.console.draft import InputDraft
from turnlog.agent.console.keyboard import Keyboard
from turnlog.agent.console.keys import END_OF_INPUT, ENTER, ESCAPE
from turnlog.agent.console.screen import ConsoleScreen
from turnlog.render.terminal import measure_width

_MIN_ANSWER_CELLS = 12
"""The cells reserved for the answer; a hint that would leave fewer is put on a line of its own."""


def read_answer(keyboard: Keyboard, screen: ConsoleScreen, hint: str) -> str | None:
    """Return the answer to a question, or None if the person cancels it (Esc, Ctrl-C, Ctrl-D)."""
    if measure_width(hint) > (screen.look.width or 80) - _MIN_ANSWER_CELLS:
        screen.write_prose(hint.rstrip())
        hint = "  > "
    try:
        answer = _read_answer_by_keys(keyboard, screen, hint) if keyboard.has_keys else keyboard.read_line(hint)
    except (EOFError, KeyboardInterrupt):
        answer = None
    screen.keep_typed_line()
    if answer is None and not keyboard.has_keys:
        screen.write_lines("")
    return answer


def _read_answer_by_keys(keyboard: Keyboard, screen: ConsoleScreen, hint: str) -> str | None:
    draft = InputDraft()
    with keyboard.watch_keys():
        while True:
            screen.show_typed(draft.text, hint, always=True)
            # Keys that arrive together with Enter were typed or pasted blindly: they must not answer the next question.
            for key in keyboard.wait_for_keys():
                if key.name == ENTER:
                    screen.show_typed(draft.text, hint, always=True)
                    return draft.text
                if key.name == ESCAPE or (key.name == END_OF_INPUT and not draft.text):
                    return None
                draft.press_key(key)
