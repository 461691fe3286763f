"""A short answer to a question, key by key: unlike at a line editor, Esc is heard."""

from __future__ import annotations

from turnlog.agent.console.draft import Draft
from turnlog.agent.console.keyboard import Keyboard
from turnlog.agent.console.keys import END, ENTER, ESCAPE
from turnlog.agent.console.screen import Screen
from turnlog.render.terminal import width

_ROOM = 12
"""So much of the line an answer needs behind its hint."""


def answered(keyboard: Keyboard, screen: Screen, hint: str) -> str | None:
    """What is said to a question; None if the person turns away from it (Esc, Ctrl-C, Ctrl-D)."""
    if width(hint) > (screen.look.width or 80) - _ROOM:
        screen.say(hint.rstrip())
        hint = "  > "
    try:
        said = _by_keys(keyboard, screen, hint) if keyboard.has_keys else keyboard.line(hint)
    except (EOFError, KeyboardInterrupt):
        said = None
    screen.settle()
    if said is None and not keyboard.has_keys:
        screen.say("")
    return said


def _by_keys(keyboard: Keyboard, screen: Screen, hint: str) -> str | None:
    draft = Draft()
    with keyboard.watching():
        while True:
            screen.typed(draft.text, hint, always=True)
            # What comes in one go with the Enter was typed or pasted blindly: it answers nothing that is asked next.
            for key in keyboard.wait():
                if key.name == ENTER:
                    screen.typed(draft.text, hint, always=True)
                    return draft.text
                if key.name == ESCAPE or (key.name == END and not draft.text):
                    return None
                draft.press(key)
