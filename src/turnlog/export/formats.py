"""The formats by name: how their files end, and who writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import NamedTuple

from turnlog.export.material import ExportMaterial
from turnlog.render.html_escape import replace_unencodable


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


def iter_exported_bytes(name: str, material: ExportMaterial) -> Iterator[bytes]:
    """A session in a format that is one stream, piece by piece."""
    write: Callable[[ExportMaterial], Iterator[bytes | str]]
    module = EXPORT_FORMATS[name].module
    write = getattr(import_module(f"turnlog.export.{module}"), f"export_{module}")
    for piece in write(material):
        yield replace_unencodable(piece).encode() if isinstance(piece, str) else piece
