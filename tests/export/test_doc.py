"""docs/export.md tells the truth: every key of the model is documented, and every documented key is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.session.build import ROOT, find_recording
from turnlog.export.formats import EXPORT_FORMATS, iter_exported_bytes
from turnlog.export.json import JSON_FORMAT_VERSION
from turnlog.export.material import ExportChoice, ExportMaterial
from turnlog.render import card, view
from turnlog.render.render_options import SHOW_EVERYTHING
from turnlog.session.session import Session

DOC = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
HEADINGS: dict[type[msgspec.Struct], str] = {
    view.MetaRow: "A row of `meta`",
    view.AnswerTokens: "The tokens of an answer",
    view.AnswerPicture: "`picture` of an answer",
    card.Card: "The card of a call",
    card.TextSection: "`text` of a card",
    card.ChecklistTask: "A task of `checklist`",
    card.QuestionChoice: "A choice of `questions`",
}
"""Headings that are not just the tag."""
STRUCTS = sorted(
    {
        found
        for module in (view, card)
        for found in vars(module).values()
        if isinstance(found, type)
        and issubclass(found, msgspec.Struct)
        and found not in (msgspec.Struct, view.BaseView)
    },
    key=lambda found: found.__name__,
)


def section(heading: str) -> str:
    (found,) = re.findall(rf"^####? {re.escape(heading)}\n(.*?)(?=^#|\Z)", DOC, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_key_of_a_view_is_documented_in_order(struct: type[msgspec.Struct]) -> None:
    heading = HEADINGS.get(struct, f"`{struct.__struct_config__.tag}`")
    keys = re.findall(r"^\| `(\w+)` \|", section(heading), re.MULTILINE)
    assert keys == list(struct.__struct_encode_fields__)


def test_no_heading_is_of_something_that_is_gone() -> None:
    model = DOC.split("## The JSON model", 1)[1].split("## The tables", 1)[0]
    known = {HEADINGS.get(struct, f"`{struct.__struct_config__.tag}`") for struct in STRUCTS}
    assert set(re.findall(r"^#### (.*)$", model, re.MULTILINE)) == known


def keys(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            name = f"{path}.{key}".lstrip(".")
            yield name
            if not name.endswith("items"):
                yield from keys(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path}[]")


def test_every_key_around_the_views_is_documented_and_there() -> None:
    with Session.open(find_recording("2.1.325/agents")) as session:
        document = json.loads(
            b"".join(iter_exported_bytes("json", ExportMaterial(session, ExportChoice(SHOW_EVERYTHING))))
        )
    text = DOC.split("## The JSON model", 1)[1].split("### Views", 1)[0]
    assert set(keys(document)) == set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    assert document["format"] == JSON_FORMAT_VERSION


def test_every_format_is_documented() -> None:
    text = DOC.split("## Formats", 1)[1].split("###", 1)[0]
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(EXPORT_FORMATS)
