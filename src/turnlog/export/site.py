"""Many sessions as a small site: an index, and the pages of each session."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from turnlog.export.goal import file_name, write
from turnlog.export.html import write_pages
from turnlog.export.material import Material
from turnlog.export.page import rendered
from turnlog.render.figures import count
from turnlog.render.wording import when

INDEX = "index.html"


class Row(NamedTuple):
    """A session in the index."""

    href: str
    title: str
    folder: str
    began: str
    turns: int
    calls: int
    cost: str


class Site:
    """A site in the making."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: list[Row] = []

    def add(self, material: Material) -> Path:
        """Write the pages of a session; the file of the first, in the folder."""
        name = file_name(material.title, material.head.session_id)
        file = Path(self._free(name) + ".html")
        write_pages(material, self._folder / file, home=INDEX)
        head = material.head
        self._rows.append(
            Row(
                file.name,
                material.title,
                head.folders[0] if head.folders else "",
                when(head.started),
                sum(chapter.turn > 0 for chapter in head.chapters),
                head.calls,
                f"${head.cost_usd:,.2f}" if head.cost_usd else "",
            )
        )
        return file

    def finish(self, title: str, *, redacted: bool = False) -> None:
        """Write the index."""
        rows = sorted(self._rows, key=lambda row: row.began, reverse=True)
        values: dict[str, Any] = {"page": 1, "pages": 1, "home": None, "contents": [], "searchable": False, "facts": []}
        amount = count(len(rows), "session")
        remark = f"; {amount}" + ("; secrets were replaced by marks" if redacted else "")
        text = (
            rendered("top.html", **values, title=title)
            + rendered("sessions.html", rows=rows)
            + rendered("bottom.html", **values, remark=remark)
        )
        write(self._folder / INDEX, [text.encode("utf-8", "replace")])

    def _free(self, name: str) -> str:
        """A name that no other session has."""
        number, found = 1, name
        while (self._folder / f"{found}.html").exists() or found == "index":
            number += 1
            found = f"{name}-{number}"
        return found
