"""The formats by name: their file extensions, and the modules or packages that write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from turnlog.export.material import ExportMaterial
from turnlog.render.html_escape import replace_unencodable
from turnlog.render.terminal import spell_controls

if TYPE_CHECKING:
    from turnlog.export.plugin_exporters import PluginExporter


class ExportFormat(NamedTuple):
    ending: str
    """The extension of its files; empty for a folder."""
    module: str | None
    """The module with `export_<module>(material)`; None for a format with its own code."""


EXPORT_FORMATS: dict[str, ExportFormat] = {
    "html": ExportFormat(".html", None),
    "md": ExportFormat(".md", "markdown"),
    "txt": ExportFormat(".txt", "text"),
    "pdf": ExportFormat(".pdf", None),
    "json": ExportFormat(".json", "json"),
    "messages": ExportFormat(".messages.json", "messages"),
    "openai": ExportFormat(".openai.json", "openai"),
    "parquet": ExportFormat("", None),
}


@cache
def load_plugin_format(name: str) -> PluginExporter:
    """Load a format from another package; raise `BrokenPlugin` if it can't be used."""
    from turnlog.export.plugin_exporters import find_exporter

    return find_exporter(name)


def find_file_ending(name: str) -> str:
    """Return the extension of a format's files."""
    return EXPORT_FORMATS[name].ending if name in EXPORT_FORMATS else load_plugin_format(name).file_ending


def iter_exported_bytes(name: str, material: ExportMaterial) -> Iterator[bytes]:
    """Yield a session piece by piece, in a format that is a single stream."""
    if name not in EXPORT_FORMATS:
        yield from load_plugin_format(name).iter_bytes(material)
        return
    write: Callable[[ExportMaterial], Iterator[bytes | str]]
    module = EXPORT_FORMATS[name].module
    write = getattr(import_module(f"turnlog.export.{module}"), f"export_{module}")
    for piece in write(material):
        # Text is read by people, also in a terminal; JSON is bytes, and escapes its controls itself.
        yield spell_controls(replace_unencodable(piece)).encode() if isinstance(piece, str) else piece
