"""What a person types while no line editor listens: ahead of the turn's end, or in answer to a question."""

from __future__ import annotations

from turnlog.agent.console.keys import BACKSPACE, CLEAR_LINE, DELETE_WORD, Key


class InputDraft:
    """A text that is changed at its end alone."""

    def __init__(self) -> None:
        self.text = ""

    def press_key(self, key: Key) -> None:
        """Take a key in; those that mean nothing here change nothing."""
        if key.name == BACKSPACE:
            self.text = self.text[:-1]
        elif key.name == DELETE_WORD:
            kept = self.text.rstrip()
            self.text = kept[: len(kept) - len(kept.split()[-1])] if kept else ""
        elif key.name == CLEAR_LINE:
            self.text = ""
        elif not key.name:
            self.text += key.text

    def take_text(self) -> str:
        """The text; the next one begins."""
        text, self.text = self.text, ""
        return text
