"""Text that a person types without a line editor: during a turn, or in answer to a question."""

from __future__ import annotations

from turnlog.agent.console.keys import BACKSPACE, CLEAR_LINE, DELETE_WORD, PASTE, Key, protect_pasted_mark


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
        elif key.name == PASTE:
            self.insert_paste(key.text)
        elif not key.name:
            self.text += key.text

    def insert_paste(self, text: str) -> None:
        """Add text that was not typed; a command's mark at the start of it counts only when typed."""
        self.text += text if self.text else protect_pasted_mark(text)

    def take_text(self) -> str:
        """Return the text and clear the draft."""
        text, self.text = self.text, ""
        return text
