"""What every run of the program begins with."""

from __future__ import annotations

import sys


def prepare_run(words: list[str]) -> None:
    """Get ready for any text, and have the archive brought up to date in the background if that is due."""
    _tolerate_any_text()
    if words[:1] != ["archive"]:
        from turnlog.api.config import data_dir
        from turnlog.store.archive.schedule import maybe_start

        maybe_start(data_dir())


def _tolerate_any_text() -> None:
    """Let output hold lone surrogates and characters that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
