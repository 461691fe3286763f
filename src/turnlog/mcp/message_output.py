"""The stream that carries the server's messages: one line each, whatever they quote."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from turnlog.render.json_line_breaks import escape_line_breaks


class MessageOutput(TextIOWrapper):
    """Writes messages in JSON, without characters that end a line for some clients."""

    def write(self, text: str, /) -> int:
        self.buffer.write(escape_line_breaks(text.encode("utf-8", "replace")))
        return len(text)


@contextmanager
def divert_standard_output() -> Iterator[MessageOutput]:
    """Provide standard output for messages alone; whatever else is written there goes to standard error meanwhile."""
    sys.stdout.flush()
    wire = os.dup(sys.stdout.fileno())
    number = sys.stdout.fileno()
    os.dup2(sys.stderr.fileno() if sys.stderr is not None else os.open(os.devnull, os.O_WRONLY), number)
    try:
        # Not closed: a worker thread may still write to it when the server ends.
        yield MessageOutput(os.fdopen(wire, "wb", closefd=False), encoding="utf-8")
    finally:
        os.dup2(wire, number)
