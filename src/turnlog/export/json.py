"""A session as our documented model (docs/export.md): views as JSON, sub-agents behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import asdict

from turnlog._version import __version__
from turnlog.export.material import Material
from turnlog.render.encoding import encoded, listed
from turnlog.render.view import AnyView
from turnlog.session.timeline.timeline import Chapter, Helper

FORMAT = 1
"""Goes up when a key changes its meaning or goes; new keys may come at any time."""
_FACTS = (
    "session_id title started ended models folders versions git_branches cost_usd unpriced_tokens output calls errors"
).split()
_PLACES = frozenset({"first", "count"})


def pieces(material: Material) -> Iterator[bytes]:
    """The document, piece by piece."""
    facts = {name: getattr(material.head, name) for name in _FACTS}
    yield b'{"format":%d,"turnlog":%s,\n"session":%s,\n' % (FORMAT, encoded(__version__), encoded(facts))
    yield b'"branch":' + encoded(_branch(material)) + b',\n"turns":'
    yield from listed(_turn(chapter) for chapter in material.chapters if chapter.turn)
    yield b',\n"items":'
    yield from listed(view for stretch in material.stretches() for view in stretch.views)
    yield b',\n"agents":['
    for number, helper in enumerate(_helpers(material)):
        yield b",\n" if number else b"\n"
        yield from _agent(material, helper)
    yield b"]}\n"


def _branch(material: Material) -> str | None:
    if material.choice.all_branches:
        return None
    return material.choice.leaf or material.head.branches[0].leaf or None


def _turn(chapter: Chapter) -> dict[str, Any]:
    found = asdict(chapter)
    return {"number": found.pop("turn"), **{name: value for name, value in found.items() if name not in _PLACES}}


def _helpers(material: Material) -> Iterator[Helper]:
    """The sub-agents of the turns that are wanted."""
    numbers = {chapter.turn for chapter in material.chapters}
    for helper in material.head.agents:
        if helper.turn in numbers or not material.choice.is_part:
            yield helper


def _agent(material: Material, helper: Helper) -> Iterator[bytes]:
    yield encoded(asdict(helper))[:-1] + b',"items":'
    yield from listed(_views(material, helper))
    yield b"}"


def _views(material: Material, helper: Helper) -> Iterator[AnyView]:
    for window in material.agent(helper.agent_id) or ():
        yield from window
