"""Calls GNU readline without Python's `input`, which would let the library read the terminal itself.

Readline takes an Esc that waits for a second key, or a key that waits for an argument, together with whatever comes
next, such as the start of pasted text. Here it gets only what was recognised as keys before.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from typing import Any

_ABORT_KEY = 7
"""Ctrl-G: the answer to a function of the library that wants a key although there is none."""
_ABORTED_STATES = 0x80 | 0x100 | 0x400
"""The library is searching in the history, or reads a number for a command; it leaves these by a key only."""
_MAX_NESTED_STATES = 8
"""How many keys can wait for another one at the same time: a command of vi within a sequence of keys within a count."""


class ReadlineLibrary:
    """The functions of the library that Python's module `readline` has loaded."""

    def __init__(self, module: Any) -> None:
        """Raise OSError, AttributeError or ValueError if the library can't be reached."""
        if "libedit" in (module.__doc__ or ""):
            raise OSError("this is not GNU readline")
        self._library = ctypes.CDLL(module.__file__)
        self._library.rl_callback_handler_install.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
        self._library.rl_insert_text.argtypes = [ctypes.c_char_p]
        self._library.rl_free.argtypes = [ctypes.c_void_p]
        self._library.rl_function_of_keyseq.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
        self._library.rl_function_of_keyseq.restype = ctypes.c_void_p
        for name in ("rl_callback_sigcleanup", "rl_discard_argument", "rl_free_line_state", "rl_cleanup_after_signal"):
            getattr(self._library, name).argtypes = []
        self._state = ctypes.c_ulong.in_dll(self._library, "rl_readline_state")
        self._pending = ctypes.c_int.in_dll(self._library, "rl_pending_input")
        """A key that the library has put back, such as a command of vi behind a count."""
        self._point = ctypes.c_int.in_dll(self._library, "rl_point")
        self._read_function = ctypes.c_void_p.in_dll(self._library, "rl_getc_function")
        self._available_function = ctypes.c_void_p.in_dll(self._library, "rl_input_available_hook")
        self._functions = (
            ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._read_byte),
            ctypes.CFUNCTYPE(ctypes.c_int)(self._has_bytes),
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._end_line),
        )
        self._replaced: tuple[int | None, int | None] = (None, None)
        self._bytes = deque[int]()
        self.is_over = True
        self.line: bytes | None = None
        """The line; None for the end of input."""

    @property
    def point(self) -> int:
        """The position of the cursor in bytes."""
        return self._point.value

    def begin(self, hint: bytes) -> None:
        """Show the prompt and wait for keys."""
        read, available, end = (ctypes.cast(function, ctypes.c_void_p).value for function in self._functions)
        self._replaced = self._read_function.value, self._available_function.value
        self._read_function.value, self._available_function.value = read, available
        self.is_over, self.line = False, None
        sys.stdout.flush()
        self._library.rl_callback_handler_install(hint, end)

    def press(self, raw: bytes) -> None:
        """Give the library a key."""
        self._bytes.extend(raw)
        while (self._bytes or self._pending.value) and not self.is_over:
            self._library.rl_callback_read_char()
        self._bytes.clear()

    def has_function(self, raw: bytes) -> bool:
        """Return whether a sequence does something; the library would take an unknown one for several keys."""
        return self._library.rl_function_of_keyseq(raw, None, None) is not None

    def insert(self, data: bytes) -> None:
        """Insert text; a key that waits for another one, and a search in the history, are cancelled."""
        if self._state.value & _ABORTED_STATES:
            self.press(bytes([_ABORT_KEY]))
        for _ in range(_MAX_NESTED_STATES):  # each call leaves only one of them
            self._library.rl_callback_sigcleanup()
        self._library.rl_discard_argument()
        self._library.rl_insert_text(data)
        self._library.rl_redisplay()

    def resize(self) -> None:
        self._library.rl_resize_terminal()

    def end(self) -> None:
        """Stop editing; do nothing if the line is over."""
        if not self.is_over:
            self._library.rl_free_line_state()
            self._library.rl_callback_sigcleanup()
            self._library.rl_cleanup_after_signal()
            self._library.rl_callback_handler_remove()
            self.is_over = True
        self._read_function.value, self._available_function.value = self._replaced

    def _read_byte(self, _file: int | None) -> int:
        return self._bytes.popleft() if self._bytes else _ABORT_KEY

    def _has_bytes(self) -> int:
        return int(bool(self._bytes))

    def _end_line(self, address: int | None) -> None:
        if address is not None:
            self.line = ctypes.string_at(address)
            self._library.rl_free(address)
        self.is_over = True
        self._library.rl_callback_handler_remove()
