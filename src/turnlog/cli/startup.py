"""The first steps of every run."""

from __future__ import annotations

import sys


def prepare_run(words: list[str]) -> None:
    """Prepare the output for any text and start a background archive run if one is due."""
    _tolerate_any_text()
    if words[:1] != ["archive"]:
        from turnlog.api.config import data_dir
        from turnlog.store.archive.schedule import maybe_start

        maybe_start(data_dir())


def _tolerate_any_text() -> None:
    """Let the output contain lone surrogates and characters that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
