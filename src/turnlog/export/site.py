"""Many sessions as a small site: an index page, and the pages of each session."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from turnlog.export.destination import FileNames, build_file_name, write_export_file
from turnlog.export.html import write_pages
from turnlog.export.material import ExportMaterial
from turnlog.export.page_frame import render_page_template
from turnlog.render.figures import format_count
from turnlog.render.phrases import format_utc_time

INDEX_FILE_NAME = "index.html"


class SiteRow(NamedTuple):
    """A session in the index."""

    href: str
    title: str
    folder: str
    began: str
    turns: int
    calls: int
    cost: str


class Site:
    """A site that is being written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = FileNames(folder, ".html", {INDEX_FILE_NAME})
        self._rows: list[SiteRow] = []

    def add(self, material: ExportMaterial) -> Path:
        """Write the pages of a session, and return the path of its first page relative to the site's folder."""
        file = Path(self._names.choose_name(build_file_name(material.title, material.head.session_id)))
        write_pages(material, self._folder / file, home=INDEX_FILE_NAME)
        head = material.head
        self._rows.append(
            SiteRow(
                file.name,
                material.title,
                head.folders[0] if head.folders else "",
                format_utc_time(head.started),
                sum(chapter.turn > 0 for chapter in head.chapters),
                head.calls,
                f"${head.cost_usd:,.2f}" if head.cost_usd else "",
            )
        )
        return file

    def finish(self, title: str, *, redacted: bool = False) -> None:
        """Write the index page."""
        rows = sorted(self._rows, key=lambda row: row.began, reverse=True)
        values: dict[str, Any] = {"page": 1, "pages": 1, "home": None, "contents": [], "searchable": False, "facts": []}
        amount = format_count(len(rows), "session")
        remark = f"; {amount}" + ("; secrets were replaced by placeholders" if redacted else "")
        text = (
            render_page_template("top.html", **values, title=title)
            + render_page_template("sessions.html", rows=rows)
            + render_page_template("bottom.html", **values, remark=remark)
        )
        write_export_file(self._folder / INDEX_FILE_NAME, [text.encode("utf-8", "replace")])
