"""A short answer to a question, key by key: unlike at a line editor, Esc is heard."""

from __future__ import annotations

from turnlog.agent.console.draft import InputDraft
from turnlog.agent.console.keyboard import Keyboard
from turnlog.agent.console.keys import END_OF_INPUT, ENTER, ESCAPE
from turnlog.agent.console.screen import ConsoleScreen
from turnlog.render.terminal import measure_width

_MIN_ANSWER_CELLS = 12
"""So much of the line an answer needs behind its hint."""


def read_answer(keyboard: Keyboard, screen: ConsoleScreen, hint: str) -> str | None:
    """What is said to a question; None if the person turns away from it (Esc, Ctrl-C, Ctrl-D)."""
    if measure_width(hint) > (screen.look.width or 80) - _MIN_ANSWER_CELLS:
        screen.write_lines(hint.rstrip())
        hint = "  > "
    try:
        said = _read_answer_by_keys(keyboard, screen, hint) if keyboard.has_keys else keyboard.read_line(hint)
    except (EOFError, KeyboardInterrupt):
        said = None
    screen.keep_typed_line()
    if said is None and not keyboard.has_keys:
        screen.write_lines("")
    return said


def _read_answer_by_keys(keyboard: Keyboard, screen: ConsoleScreen, hint: str) -> str | None:
    draft = InputDraft()
    with keyboard.watch_keys():
        while True:
            screen.show_typed(draft.text, hint, always=True)
            # What comes in one go with the Enter was typed or pasted blindly: it answers nothing that is asked next.
            for key in keyboard.wait_for_keys():
                if key.name == ENTER:
                    screen.show_typed(draft.text, hint, always=True)
                    return draft.text
                if key.name == ESCAPE or (key.name == END_OF_INPUT and not draft.text):
                    return None
                draft.press_key(key)
