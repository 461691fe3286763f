"""The formats by name: how their files end, and which module or which other package writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from turnlog.export.material import ExportMaterial
from turnlog.render.html_escape import replace_unencodable

if TYPE_CHECKING:
    from turnlog.export.plugin_exporters import PluginExporter


class ExportFormat(NamedTuple):
    """A format."""

    ending: str
    """How its files end; empty where it is a folder."""
    module: str | None
    """Has `export_<module>(material)`; None where it takes more than that."""


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
    """The format of another package; raises `BrokenPlugin` if it can't be used."""
    from turnlog.export.plugin_exporters import find_exporter

    return find_exporter(name)


def find_file_ending(name: str) -> str:
    """How files of a format end."""
    return EXPORT_FORMATS[name].ending if name in EXPORT_FORMATS else load_plugin_format(name).file_ending


def iter_exported_bytes(name: str, material: ExportMaterial) -> Iterator[bytes]:
    """A session in a format that is one stream, piece by piece."""
    if name not in EXPORT_FORMATS:
        yield from load_plugin_format(name).iter_bytes(material)
        return
    write: Callable[[ExportMaterial], Iterator[bytes | str]]
    module = EXPORT_FORMATS[name].module
    write = getattr(import_module(f"turnlog.export.{module}"), f"export_{module}")
    for piece in write(material):
        yield replace_unencodable(piece).encode() if isinstance(piece, str) else piece
