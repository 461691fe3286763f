"""Hand-made files, one oddity each, and what turnlog knowingly does otherwise than the client."""

from __future__ import annotations

from pathlib import Path

from tests.interop.attachment_cases import attachment_cases
from tests.interop.block_cases import block_cases
from tests.interop.graph_cases import graph_cases
from tests.interop.line_cases import line_cases

LINES = "a row over several lines: the client reads values, we read lines"

KNOWN = {
    "pretty-row-then-another": LINES,
    "wrapped-in-an-array-over-lines": LINES,
}
"""Files for which turnlog says otherwise than the client, and why; a test fails when one of them agrees."""


def cases() -> dict[str, bytes]:
    """All hand-made files by name."""
    return {**line_cases(), **graph_cases(), **block_cases(), **attachment_cases()}


def write(folder: Path) -> list[Path]:
    """Write all hand-made files into a folder."""
    paths = []
    for name, raw in cases().items():
        paths.append(folder / f"{name}.jsonl")
        paths[-1].write_bytes(raw)
    return paths
