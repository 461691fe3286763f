"""The formats by name: how their files end, and who writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import NamedTuple

from turnlog.export.material import Material
from turnlog.render.visible import sound


class Format(NamedTuple):
    """A format."""

    ending: str
    """How its files end; empty where it is a folder."""
    module: str | None
    """Has `pieces(material)`; None where it takes more than that."""


FORMATS: dict[str, Format] = {
    "html": Format(".html", None),
    "md": Format(".md", "markdown"),
    "txt": Format(".txt", "text"),
    "pdf": Format(".pdf", None),
    "json": Format(".json", "json"),
    "messages": Format(".messages.json", "messages"),
    "openai": Format(".openai.json", "openai"),
    "parquet": Format("", None),
}


def pieces(name: str, material: Material) -> Iterator[bytes]:
    """A session in a format that is one stream, piece by piece."""
    write: Callable[[Material], Iterator[bytes | str]]
    write = import_module(f"turnlog.export.{FORMATS[name].module}").pieces
    for piece in write(material):
        yield sound(piece).encode() if isinstance(piece, str) else piece
