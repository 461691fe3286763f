"""The system's line editor (`readline`): which keys it gets, and what our own keys make it do.

It calls our code only to complete, so our keys complete in ways that nothing else uses, which tells them apart.
"""

from __future__ import annotations

import contextlib
import os
import select
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turnlog.agent.console.keys import PASTE_END
from turnlog.agent.console.prompt_history import PromptHistory

MENU_COMPLETION_TYPE, PASTE_COMPLETION_TYPE, PICTURE_COMPLETION_TYPE = map(ord, "%?*")
"""The line editor's codes for the kinds of completion that our keys trigger."""
MAX_PASTE_CHARS = 16 << 20
_PASTE_PAUSE_SECONDS = 5.0
"""How long to wait for the rest of pasted text whose end is missing."""
_SYSTEM_KEYS = Path("/etc/inputrc")
_WORD_BREAKS = " \t\n"
_SEQUENCE_STARTS = "[O"
"""The second characters of escape sequences (arrows, pasted text)."""


def read_paste(fd: int) -> str:
    """Read pasted text byte by byte up to its end: what follows it belongs to the line editor."""
    data, end = bytearray(), PASTE_END.encode()
    while len(data) < MAX_PASTE_CHARS and select.select([fd], [], [], _PASTE_PAUSE_SECONDS)[0]:
        byte = os.read(fd, 1)
        data += byte
        if not byte or (byte == b"~" and data.endswith(end)):
            break
    return bytes(data).removesuffix(end).decode("utf-8", "replace")


def load_line_editor(
    history: PromptHistory | None, complete: Callable[[str, int], str | None], *, is_dumb: bool
) -> Any:
    """Load the system's line editor and bind its keys; return None if it is missing."""
    readline = _import_line_editor()
    if readline is None:
        return None
    readline.parse_and_bind(r'"\C-x\C-q": quoted-insert')
    readline.parse_and_bind(r'"\e\C-m": "\C-x\C-q\C-j"')
    _let_escape_pass(readline)
    readline.parse_and_bind(f"set enable-bracketed-paste {'off' if is_dumb else 'on'}")
    if "libedit" not in (readline.__doc__ or ""):
        # A key can call our code only as the completer, so the mode key completes, and then presses Enter.
        readline.set_completer(complete)
        readline.set_completer_delims(_WORD_BREAKS)
        readline.parse_and_bind("set bell-style none")
        readline.parse_and_bind("set show-all-if-ambiguous on")
        readline.parse_and_bind("set page-completions off")
        bind_prompt_keys(readline)
        readline.parse_and_bind(r'"\e\e": menu-complete')  # a macro would swallow what is typed just after it
    for text in history.load() if history is not None else ():
        add_to_history(readline, text)
    return readline


def _import_line_editor() -> Any:
    """Import the line editor, and read the person's keys without those that begin with Esc, Esc.

    Debian has some (for rxvt), and with them the editor would wait for a third key after Esc, Esc.
    """
    before = os.environ.get("INPUTRC")
    os.environ["INPUTRC"] = os.devnull  # otherwise it reads the file while it is imported
    try:
        import readline
    except ImportError:
        return None
    finally:
        os.environ.pop("INPUTRC")
        if before is not None:
            os.environ["INPUTRC"] = before
    if "libedit" in (readline.__doc__ or ""):
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


def bind_prompt_keys(editor: Any) -> None:
    """Bind the keys for completion, the next mode, pasted text and pictures in the current set of keys.

    Our keys are macros of keys that nobody types. The mode key calls us twice and ends the line; Esc, Esc calls once.
    """
    # `complete` would turn into the function of the paste key if it is called twice in a row; this one never does.
    editor.parse_and_bind("tab: vi-complete")
    for key, function in (("^", "menu-complete"), ("]", "possible-completions"), ("\\\\", "insert-completions")):
        editor.parse_and_bind(rf'"\C-{key}": {function}')
    editor.parse_and_bind(r'"\e[Z": "\C-^\C-e\C-^\C-e\C-m"')
    editor.parse_and_bind(r'"\e[200~": "\C-]"')
    editor.parse_and_bind(r'"\C-v": "\C-\\"')


def _let_escape_pass(editor: Any) -> None:
    """Make the line editor insert a character typed after Esc: an Esc just after a turn was meant to stop that turn.

    By default, the line editor treats Esc followed by a letter as Alt plus that letter, however long the pause between
    them.
    """
    if "libedit" in (editor.__doc__ or ""):
        return
    editor.parse_and_bind(r'"\e": ""')
    for char in map(chr, range(0x20, 0x7F)):
        if char not in _SEQUENCE_STARTS:
            quoted = f"\\{char}" if char in '"\\' else char
            editor.parse_and_bind(f'"\\e{quoted}": "{quoted}"')
    for arrow, function in (("D", "backward-word"), ("C", "forward-word")):  # what Alt-B and Alt-F did
        for modifier in (3, 5):  # Alt, Ctrl
            editor.parse_and_bind(rf'"\e[1;{modifier}{arrow}": {function}')


def add_to_history(editor: Any, text: str) -> None:
    with contextlib.suppress(UnicodeError):  # the editor accepts only characters of the locale
        editor.add_history(text)
