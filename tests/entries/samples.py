"""What the registry is tried on: all its classes, made-up objects, and the lines of the shared corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from turnlog.entries import types

FAMILIES = {
    "": types.ENTRY_CLASSES,
    "system/": types.SYSTEM_CLASSES,
    "attachment/": types.ATTACHMENT_CLASSES,
    "progress/": types.PROGRESS_CLASSES,
    "block/": types.BLOCK_CLASSES,
}
ALL = {prefix + tag: cls for prefix, classes in FAMILIES.items() for tag, cls in classes.items()}

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=8)
names = st.sampled_from(sorted({name for cls in ALL.values() for name in cls.__struct_encode_fields__}))
tags = st.sampled_from(sorted({tag for classes in FAMILIES.values() for tag in classes}))
values = st.recursive(
    scalars | tags,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names | st.text(max_size=4), inner, max_size=6),
    max_leaves=30,
)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "type": tags | scalars,
        "subtype": tags | values,
        "message": st.fixed_dictionaries({"content": st.lists(values, max_size=3)}) | values,
        "attachment": values,
        "data": values,
    },
)
"""JSON objects that look more or less like entries."""

# Other programs' files with the same shape, and files made up by hand: they hold what no client writes.
NOT_GENUINE = {"handmade", "mimic", "edited", "genuine-corrupted"}


class Line(NamedTuple):
    """A decoded line of a file."""

    path: Path
    number: int
    body: dict[str, Any]
    version: str | None
    """Of the line, else of the line before that has one."""


def genuine(corpus: Path) -> list[Path]:
    """The transcripts that the real client wrote and nobody changed."""
    index = json.loads((corpus / "wild" / "INDEX.json").read_text(encoding="utf-8"))
    wild = [corpus / "wild" / item["file"] for item in index if item["class"] not in NOT_GENUINE]
    # Outside of `projects` lie files of other formats, such as history.jsonl.
    lab = [path for path in (corpus / "lab").rglob("*.jsonl") if "projects" in path.parts]
    return sorted([*wild, *(path for path in lab if path.name != "journal.jsonl")])


def lines(paths: list[Path]) -> Iterator[Line]:
    """Every line that is a JSON object."""
    for path in paths:
        version = None
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                try:
                    body = json.loads(raw)
                except ValueError:
                    continue
                if isinstance(body, dict):
                    version = body.get("version") or version
                    yield Line(path, number, body, version)
