"""Edit a line at the prompt: with GNU readline if Python can reach it, otherwise with an editor of our own.

The keyboard decides what is a key; an editor gets keys and pasted text, and never reads the terminal.
"""

from __future__ import annotations

import contextlib
import locale
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from turnlog.agent.console.keys import Key
from turnlog.agent.console.prompt_history import PromptHistory
from turnlog.agent.console.readline_library import ReadlineLibrary
from turnlog.agent.console.simple_editor import SimpleEditor

Complete = Callable[[str, bool], list[str]]
"""Completes a word of the prompt, given whether it is the first."""
_SYSTEM_KEYS = Path("/etc/inputrc")
_FINISH_KEYS = b"\x05\r"
"""Ctrl-E and Enter."""
_WORD_BREAKS = " \t\n"


class LineEditor(Protocol):
    """Edits one line at a time."""

    is_vi: bool
    """Whether Esc is a key of the editor."""

    @property
    def text(self) -> str: ...

    @property
    def is_at_start(self) -> bool:
        """Whether the cursor is at the start of the line."""

    @property
    def is_over(self) -> bool:
        """Whether the line is complete."""

    def begin(self, hint: str, draft: str) -> None: ...

    def press(self, key: Key) -> None:
        """Apply a key; raise EOFError at the end of input."""

    def insert(self, text: str) -> None:
        """Insert text at the cursor, whatever the state of the editor is."""

    def resize(self) -> None: ...

    def finish(self) -> None:
        """End the line as Enter does, whatever it contains."""

    def end(self) -> None:
        """Stop editing, also in the middle of a line."""

    def has_history(self, text: str) -> bool: ...

    def add_history(self, text: str) -> None: ...

    def use_vi_keys(self) -> None: ...


class ReadlineEditor:
    """Edits with GNU readline."""

    def __init__(self, module: Any, complete: Complete) -> None:
        self.is_vi = False
        self._module = module
        self._library = ReadlineLibrary(module)
        self._complete_word = complete
        self._matches: list[str] = []
        self._encoding = locale.getpreferredencoding(False)
        module.set_auto_history(False)
        module.set_completer(self._complete)
        module.set_completer_delims(_WORD_BREAKS)
        for setting in (
            "bell-style none",
            "show-all-if-ambiguous on",
            "page-completions off",
            "completion-query-items 0",  # each of these two would read the answer to a question itself
            "enable-bracketed-paste off",  # the keyboard recognises pasted text
        ):
            module.parse_and_bind(f"set {setting}")
        module.parse_and_bind("tab: complete")
        for arrow, function in (("D", "backward-word"), ("C", "forward-word")):  # what Alt-B and Alt-F did
            for modifier in (3, 5):  # Alt, Ctrl
                module.parse_and_bind(rf'"\e[1;{modifier}{arrow}": {function}')

    @property
    def text(self) -> str:
        if self._library.is_over:
            return (self._library.line or b"").decode(self._encoding, "replace")
        return str(self._module.get_line_buffer())

    @property
    def is_at_start(self) -> bool:
        return self._library.point == 0

    @property
    def is_over(self) -> bool:
        return self._library.is_over

    def begin(self, hint: str, draft: str) -> None:
        self._module.set_startup_hook(lambda: self._module.insert_text(draft))
        try:
            self._library.begin(hint.encode(self._encoding, "replace"))
        finally:
            self._module.set_startup_hook(None)

    def press(self, key: Key) -> None:
        if key.raw.startswith((b"\x1b[", b"\x1bO")):
            if self._library.has_function(key.raw):
                self._library.press(key.raw)
            return
        # A key typed just after the Esc of vi is a command of its own.
        parts = [key.raw[:1], key.raw[1:]] if self.is_vi and key.raw[:1] == b"\x1b" else [key.raw]
        for raw in parts:
            if raw and not self._library.is_over:
                self._library.press(raw)
        if self._library.is_over and self._library.line is None:
            raise EOFError

    def insert(self, text: str) -> None:
        self._library.insert(text.encode(self._encoding, "replace"))

    def resize(self) -> None:
        self._library.resize()

    def finish(self) -> None:
        self._library.press(_FINISH_KEYS)

    def end(self) -> None:
        if not self._library.is_over:
            sys.stdout.write("\r")
        self._library.end()

    def has_history(self, text: str) -> bool:
        module = self._module
        return any(module.get_history_item(at) == text for at in range(1, module.get_current_history_length() + 1))

    def add_history(self, text: str) -> None:
        with contextlib.suppress(ValueError):  # the editor accepts only characters of the locale
            self._module.add_history(text)

    def use_vi_keys(self) -> None:
        self.is_vi = True
        for line in ("set editing-mode vi", "set show-mode-in-prompt off", r'"\C-e": end-of-line', "tab: complete"):
            self._module.parse_and_bind(line)

    def _complete(self, text: str, state: int) -> str | None:
        """Return the completion with the number `state`, as the line editor wants it."""
        if not state:
            self._matches = self._complete_word(text, self._module.get_begidx() == 0)
        return self._matches[state] if state < len(self._matches) else None


def load_line_editor(history: PromptHistory | None, complete: Complete) -> LineEditor:
    """Load the best editor that this Python offers."""
    editor: LineEditor
    try:
        editor = ReadlineEditor(_import_readline(), complete)
    except (ImportError, OSError, AttributeError, ValueError):
        editor = SimpleEditor(complete)
    for text in history.load() if history is not None else ():
        editor.add_history(text)
    return editor


def _import_readline() -> Any:
    """Import the line editor, and read the person's keys without those that begin with Esc, Esc.

    Debian has some (for rxvt), and with them the editor would wait for a third key after Esc, Esc.
    """
    before = os.environ.get("INPUTRC")
    os.environ["INPUTRC"] = os.devnull  # otherwise it reads the file while it is imported
    try:
        import readline
    finally:
        os.environ.pop("INPUTRC")
        if before is not None:
            os.environ["INPUTRC"] = before
    if "libedit" in (readline.__doc__ or "") or sys.platform == "win32":
        return readline
    places = [Path(before)] if before else [Path("~/.inputrc").expanduser(), _SYSTEM_KEYS]
    with contextlib.suppress(OSError, RuntimeError):
        path = next((place for place in places if place.is_file()), None)
        lines = path.read_bytes().splitlines(keepends=True) if path else []
        with tempfile.NamedTemporaryFile(prefix="turnlog-keys-") as file:
            file.writelines(line for line in lines if not line.lstrip().startswith(rb'"\e\e'))
            file.flush()
            readline.read_init_file(file.name)
    return readline
