"""Symptoms in the lines themselves: torn, broken, glued, padded."""

from __future__ import annotations

import re

from turnlog.entries.entry import Scrap
from turnlog.entries.reader import Transcript
from turnlog.session.health.symptoms import Symptoms

_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def detect_broken_lines(file: Transcript, found: Symptoms) -> None:
    """Lines that are no entry, and entries that share a line."""
    for scrap in file.scraps:
        if scrap.kind == "torn":
            found.add_items("torn-line", "warning", "the last line is cut off", [scrap])
        elif scrap.kind == "broken":
            _detect_broken_line(file, scrap, found)
        elif scrap.kind == "padding":
            found.add_items("control-bytes", "warning", "NUL bytes stand in the file", [scrap])
        elif scrap.kind == "value":
            found.add_items("broken-line", "warning", "a line holds JSON that is no entry", [scrap])
    behind = [entry for entry in file.entries if entry.flaw == "behind"]
    found.add_items(
        "glued-line", "error", "an entry stands behind something else on its line, where no client reads it", behind
    )


def _detect_broken_line(file: Transcript, scrap: Scrap, found: Symptoms) -> None:
    if _CONTROL_BYTES.search(file.read_raw(scrap)):
        found.add_items("control-bytes", "error", "control bytes make a line unreadable", [scrap])
    else:
        found.add_items("broken-line", "error", "a line is no JSON; no client reads it", [scrap])
