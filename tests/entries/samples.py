"""What the registry is tried on: all its kinds, made-up objects, and the lines of the shared corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from turnlog.entries.format import ObjectFormat, load_format

REGISTRY = load_format()
FAMILIES = {
    "": REGISTRY.entries,
    "system/": REGISTRY.system,
    "attachment/": REGISTRY.attachments,
    "progress/": REGISTRY.progress,
    "block/": REGISTRY.blocks,
}
ALL = {prefix + tag: kind for prefix, kinds in FAMILIES.items() for tag, kind in kinds.items()}
HELD = {"blocks": REGISTRY.blocks, "attachments": REGISTRY.attachments, "progress": REGISTRY.progress}

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=8)
names = st.sampled_from(sorted({name for kind in ALL.values() for name in REGISTRY.list_fields(kind)}))
tags = st.sampled_from(sorted({tag for kinds in FAMILIES.values() for tag in kinds}))
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


def entry_kind(body: dict[str, Any]) -> ObjectFormat | None:
    """The kind of an entry, by its type and, for system entries, its subtype."""
    is_system = body.get("type") == "system" and body.get("subtype") is not None
    return ALL.get(f"system/{body['subtype']}" if is_system else str(body.get("type")))


def inner_objects(body: dict[str, Any], kind: ObjectFormat) -> Iterator[tuple[dict[str, Any], ObjectFormat]]:
    """The objects inside one that the registry knows, each with its kind."""
    for name, field in REGISTRY.list_fields(kind).items():
        value = body.get(name)
        if field.type == "map" and field.holds and isinstance(value, dict):
            value = list(value.values())
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict) and field.holds:
                held = HELD.get(field.holds)
                yield inner, REGISTRY.objects[field.holds] if held is None else held[inner["type"]]


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
