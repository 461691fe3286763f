"""Exporters from other packages: the input they receive and the checks on their output.

An exporter receives the documented JSON model of a session (docs/export.md), reduced to the part that the user chose
and redacted if requested. It never receives the session file itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from msgspec.structs import asdict

from turnlog.errors import TurnlogError
from turnlog.export.json import build_session_facts, find_branch_leaf, iter_agent_views, iter_helpers, list_turns
from turnlog.export.material import ExportMaterial
from turnlog.plugin_lookup import (
    EXPORTER_GROUP,
    NAME_RULE,
    PLUGIN_ERRORS,
    PLUGIN_NAME,
    InstalledPlugin,
    describe_exception,
    find_plugins,
)
from turnlog.render.html_escape import replace_unencodable
from turnlog.render.json_bytes import to_plain_value

Json = dict[str, Any]
_FILE_ENDING = re.compile(r"(?:\.[A-Za-z0-9][A-Za-z0-9_-]{0,19}){1,3}")


class ExportDocument:
    """A session in the JSON model described in docs/export.md. Items are read in windows, to save memory."""

    def __init__(self, material: ExportMaterial) -> None:
        self._material = material

    @cached_property
    def session(self) -> Json:
        """The facts about the session as a whole: id, title, times, models, folders and cost."""
        facts: Json = to_plain_value(build_session_facts(self._material))
        return facts

    @property
    def title(self) -> str:
        """The title on one line, or the id if the session has no title."""
        return self._material.title

    @property
    def branch(self) -> str | None:
        """The uuid of the last entry of the branch; None if all branches are exported."""
        return find_branch_leaf(self._material)

    @cached_property
    def turns(self) -> list[Json]:
        """The exported turns."""
        return [to_plain_value(turn) for turn in list_turns(self._material)]

    @property
    def is_redacted(self) -> bool:
        """True if secrets were replaced with placeholders."""
        return self._material.choice.is_redacted

    def iter_items(self) -> Iterator[Json]:
        """Yield the views: prompts, answers with their calls, events and compactions."""
        for stretch in self._material.iter_stretches():
            yield from map(to_plain_value, stretch.views)

    def iter_agents(self) -> Iterator[Json]:
        """Yield the sub-agents of the exported turns, each with its `items`; on a second pass, they have no items."""
        for helper in iter_helpers(self._material):
            items = [*map(to_plain_value, iter_agent_views(self._material, helper))]
            yield {**to_plain_value(asdict(helper)), "items": items}


class Exporter(Protocol):
    """Writes a format. The name of the entry point is the name of the format: `turnlog export --format NAME`."""

    @property
    def file_ending(self) -> str:
        """The extension of its files, such as `.csv`."""

    def export_session(self, document: ExportDocument) -> Iterable[str | bytes]:
        """Yield the file piece by piece; strings are written as UTF-8."""


class PluginExporter(NamedTuple):
    """An exporter from another package."""

    plugin: InstalledPlugin
    exporter: Exporter
    file_ending: str

    def iter_bytes(self, material: ExportMaterial) -> Iterator[bytes]:
        """Yield a session in the exporter's format; raise `BrokenPlugin` if the exporter fails."""
        try:
            for piece in self.exporter.export_session(ExportDocument(material)):
                yield encode_piece(piece)
        except (TurnlogError, GeneratorExit):
            raise  # raised by turnlog: the session can't be read, or the caller stopped
        except PLUGIN_ERRORS as error:
            raise self.plugin.build_failure(f"failed: {describe_exception(error)}") from error


def encode_piece(piece: object) -> bytes:
    if isinstance(piece, str):
        return replace_unencodable(piece).encode()
    if not isinstance(piece, bytes):
        raise TypeError(f"export_session returned {type(piece).__name__}, not str or bytes")
    return piece


def find_exporter(name: str) -> PluginExporter:
    """Find the exporter for a format; raise `BrokenPlugin` if it can't be used."""
    found = [plugin for plugin in find_plugins(EXPORTER_GROUP) if plugin.name == name]
    return load_exporter(found[0], ())


def load_exporter(plugin: InstalledPlugin, reserved: Iterable[str]) -> PluginExporter:
    """Load an exporter; fail if it is incomplete or has the name of a built-in format (`reserved`)."""
    if not PLUGIN_NAME.fullmatch(plugin.name):
        raise plugin.build_failure(f"can't be used: {NAME_RULE}")
    if plugin.name in reserved:
        raise plugin.build_failure(f"is not used: turnlog has its own format {plugin.name!r}")
    others = [item.package for item in find_plugins(EXPORTER_GROUP) if item.name == plugin.name and item != plugin]
    if others:
        raise plugin.build_failure(f"can't be used: package {others[0]} also has a format with that name")
    exporter = plugin.create()
    try:
        return PluginExporter(plugin, exporter, read_file_ending(exporter))
    except PLUGIN_ERRORS as error:
        raise plugin.build_failure(f"can't be used: {describe_exception(error)}") from error


def read_file_ending(exporter: Exporter) -> str:
    """Return the extension of an exporter's files; raise `TypeError` if it is not an exporter."""
    if not callable(getattr(exporter, "export_session", None)):
        raise TypeError("it has no export_session method")
    ending = getattr(exporter, "file_ending", None)
    if not isinstance(ending, str) or not _FILE_ENDING.fullmatch(ending):
        raise TypeError(f"its file_ending is {ending!r}, not an extension such as '.csv'")
    return ending
