"""Text that a person types without a line editor: during a turn, or in answer to a question."""

from __future__ import annotations

from turnlog.agent.console.keys import BACKSPACE, CLEAR_LINE, DELETE_WORD, PASTE, Key


class InputDraft:
    """Text that can be edited only at its end."""

    def __init__(self) -> None:
        self.text = ""

    def press_key(self, key: Key) -> None:
        """Apply a key to the draft; ignore keys that have no effect on it."""
        if key.name == BACKSPACE:
            self.text = self.text[:-1]
        elif key.name == DELETE_WORD:
            rest = self.text.rstrip()
            self.text = rest[: len(rest) - len(rest.split()[-1])] if rest else ""
        elif key.name == CLEAR_LINE:
            self.text = ""
        elif not key.name or key.name == PASTE:
            self.text += key.text

    def take_text(self) -> str:
        """Return the text and clear the draft."""
        text, self.text = self.text, ""
        return text
