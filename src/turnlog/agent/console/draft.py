"""What a person types while no line editor listens: ahead of the turn's end, or in answer to a question."""

from __future__ import annotations

from turnlog.agent.console.keys import BACKSPACE, CLEAR, WORD, Key


class Draft:
    """A text that is changed at its end alone."""

    def __init__(self) -> None:
        self.text = ""

    def press(self, key: Key) -> None:
        """Take a key in; those that mean nothing here change nothing."""
        if key.name == BACKSPACE:
            self.text = self.text[:-1]
        elif key.name == WORD:
            kept = self.text.rstrip()
            self.text = kept[: len(kept) - len(kept.split()[-1])] if kept else ""
        elif key.name == CLEAR:
            self.text = ""
        elif not key.name:
            self.text += key.text

    def take(self) -> str:
        """The text; the next one begins."""
        text, self.text = self.text, ""
        return text
