"""A session as the documented JSON model (docs/export.md): views as JSON, followed by the sub-agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import asdict

from turnlog._version import __version__
from turnlog.export.material import ExportMaterial
from turnlog.render.json_bytes import iter_json_list, to_json_bytes
from turnlog.render.view import AnyView
from turnlog.session.timeline.timeline import Chapter, TimelineAgent

JSON_FORMAT_VERSION = 1
"""Increases when a key changes its meaning or is removed; new keys may appear at any time."""
_SESSION_FIELDS = (
    "session_id title started ended models folders versions git_branches cost_usd unpriced_tokens output calls errors"
).split()
_OMITTED_TURN_FIELDS = frozenset({"first", "count"})


def export_json(material: ExportMaterial) -> Iterator[bytes]:
    """Yield the JSON document, piece by piece."""
    yield b'{"format":%d,"turnlog":%s,\n"session":%s,\n' % (
        JSON_FORMAT_VERSION,
        to_json_bytes(__version__),
        to_json_bytes(build_session_facts(material)),
    )
    yield b'"branch":' + to_json_bytes(find_branch_leaf(material)) + b',\n"turns":'
    yield from iter_json_list(list_turns(material))
    yield b',\n"items":'
    yield from iter_json_list(view for stretch in material.iter_stretches() for view in stretch.views)
    yield b',\n"agents":['
    for number, helper in enumerate(iter_helpers(material)):
        yield b",\n" if number else b"\n"
        yield from _encode_agent(material, helper)
    yield b"]}\n"


def build_session_facts(material: ExportMaterial) -> dict[str, Any]:
    """Return the facts about the session as a whole."""
    return {name: getattr(material.head, name) for name in _SESSION_FIELDS}


def find_branch_leaf(material: ExportMaterial) -> str | None:
    """Return the uuid of the last entry of the exported branch; None if all branches are exported."""
    if material.choice.all_branches:
        return None
    return material.choice.leaf or material.head.branches[0].leaf or None


def list_turns(material: ExportMaterial) -> list[dict[str, Any]]:
    return [_build_turn(chapter) for chapter in material.chapters if chapter.turn]


def _build_turn(chapter: Chapter) -> dict[str, Any]:
    fields = asdict(chapter)
    return {
        "number": fields.pop("turn"),
        **{name: value for name, value in fields.items() if name not in _OMITTED_TURN_FIELDS},
    }


def iter_helpers(material: ExportMaterial) -> Iterator[TimelineAgent]:
    """Yield the sub-agents of the exported turns."""
    numbers = {chapter.turn for chapter in material.chapters}
    for helper in material.head.agents:
        if helper.turn in numbers or not material.choice.is_part:
            yield helper


def _encode_agent(material: ExportMaterial, helper: TimelineAgent) -> Iterator[bytes]:
    yield to_json_bytes(asdict(helper))[:-1] + b',"items":'
    yield from iter_json_list(iter_agent_views(material, helper))
    yield b"}"


def iter_agent_views(material: ExportMaterial, helper: TimelineAgent) -> Iterator[AnyView]:
    """Yield the views of a sub-agent, but only the first time they are requested."""
    for window in material.take_agent_views(helper.agent_id) or ():
        yield from window
