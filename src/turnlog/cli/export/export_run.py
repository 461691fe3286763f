"""Exporting: one session to a file or a pipe, or many into a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from turnlog.api.config import Config
from turnlog.api.lookup import find_leaf, list_config_folders
from turnlog.api.sessions import load_catalogue
from turnlog.cli.export.export_options import ExportOptions, check_export_options
from turnlog.cli.export.report import ExportedSession, ExportResult, SkippedSession, print_export_result
from turnlog.cli.named_sessions import locate_named_session
from turnlog.cli.output import print_remark, write_raw
from turnlog.cli.progress import show_progress
from turnlog.errors import BrokenPlugin, NotFound, TurnlogError
from turnlog.export.destination import (
    build_file_name,
    check_destination,
    measure_export_size,
    open_export_folder,
    write_export_file,
)
from turnlog.export.formats import EXPORT_FORMATS, iter_exported_bytes
from turnlog.export.material import ExportMaterial, ItemProgress
from turnlog.export.redaction import ExportRedaction
from turnlog.session.session import Session

_DEFAULT_FOLDER = "turnlog-export"
_MAX_MEMORY_BYTES = 8 << 20


def run_export(name: str | None, wish: ExportOptions, config: Config) -> None:
    """Export what was asked for, and say what was written."""
    check_export_options(name, wish)
    exports = ExportRun(wish, config)
    print_export_result(exports.export_many() if name is None else exports.export_one(name), wish)


class ExportRun:
    """One run of the command."""

    def __init__(self, wish: ExportOptions, config: Config) -> None:
        self._wish = wish
        self._config = config
        self._choice = wish.build_choice()
        self._form = wish.format
        self._ending = wish.file_ending  # fails before anything is read if the format's package is broken
        rules = wish.build_rules()
        self._redaction = (
            ExportRedaction(rules, show_progress("looking for secrets: {done:,} of {total:,} bytes …"))
            if rules
            else None
        )

    # -- one session

    def export_one(self, name: str) -> ExportResult:
        """Export the session that a name means."""
        path = locate_named_session(name, self._config)
        goal = self._find_goal()
        is_folder = goal is not None and self._is_folder(goal)
        if goal is not None and not is_folder:
            check_destination(goal, force=self._wish.force)
        self._learn_secrets([path])
        with self._open_session(path) as session:
            material = self._build_material(session, show_progress("exporting: {done:,} of {total:,} items …"))
            if self._wish.is_piped:
                self._pipe(material)
                return self._build_result(None, [ExportedSession(session.session_id, material.title, None)], [])
            if goal is None or is_folder:
                own = build_file_name(material.title, session.session_id) + (self._ending or "-parquet")
                goal = (goal or Path()) / own
            self._write_goal(material, goal)
            return self._build_result(goal, [ExportedSession(session.session_id, material.title, goal)], [])

    def _pipe(self, material: ExportMaterial) -> None:
        """Write to standard output; the format of another package only when it is complete, because it may fail."""
        pieces = self._stream_pieces(material)
        if self._form in EXPORT_FORMATS:
            write_raw(pieces)
            return
        with tempfile.SpooledTemporaryFile(_MAX_MEMORY_BYTES) as file:
            file.writelines(pieces)
            file.seek(0)
            write_raw(file)

    def _find_goal(self) -> Path | None:
        """Where the user wants it."""
        name = self._wish.output
        return Path(os.path.expanduser(name)) if name and not self._wish.is_piped else None  # noqa: PTH111 - Path raises for ~nobody

    def _is_folder(self, goal: Path) -> bool:
        """Whether the user named a folder to write into, and not what is written."""
        if (self._wish.output or "").endswith(("/", os.sep)):
            return True
        return self._form != "parquet" and goal.is_dir()

    def _build_material(self, session: Session, told: ItemProgress | None = None) -> ExportMaterial:
        wanted = self._wish.branch
        leaf = find_leaf(session, wanted) if wanted and wanted != "all" else None
        return ExportMaterial(session, self._choice._replace(leaf=leaf), told)

    def _stream_pieces(self, material: ExportMaterial) -> Iterator[bytes]:
        if self._form not in ("html", "pdf"):
            return iter_exported_bytes(self._form, material)
        from turnlog.export.html import render_one_page

        if self._form == "html":
            return render_one_page(material)
        from turnlog.export.pdf import find_browser, print_pdf

        program = find_browser(self._wish.browser)
        return iter([print_pdf(render_one_page(material, unfolded=True), program)])

    def _write_goal(self, material: ExportMaterial, goal: Path) -> None:
        force = self._wish.force
        if self._form == "parquet":
            from turnlog.export.parquet import ParquetTables

            with open_export_folder(goal, force=force) as place, ParquetTables(place) as tables:
                tables.add(material.session)
        elif self._form == "html" and not self._wish.one_file:
            from turnlog.export.html import write_pages

            write_pages(material, goal, force=force)
        else:
            write_export_file(goal, self._stream_pieces(material), force=force)

    # -- many sessions

    def export_many(self) -> ExportResult:
        """Export the sessions of a project, or all."""
        found = load_catalogue(list_config_folders(self._config), self._wish.project)
        if found.is_demo:
            print_remark("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
        if not found.rows:
            raise NotFound(f"no session of a project {self._wish.project!r}; `turnlog ls` lists all")
        goal = self._find_goal() or Path(_DEFAULT_FOLDER)
        check_destination(goal, force=self._wish.force)
        paths = [row.file.path for row in found.rows]
        self._learn_secrets(paths)
        with open_export_folder(goal, force=self._wish.force) as place:
            written, skipped = self._export_all(paths, place)
        named = [item._replace(file=goal / item.file if item.file else None) for item in written]
        return self._build_result(goal, named, skipped)

    def _export_all(self, paths: list[Path], place: Path) -> tuple[list[ExportedSession], list[SkippedSession]]:
        match self._form:
            case "html":
                return self._export_site(paths, place)
            case "parquet":
                return self._export_tables(paths, place)
        return self._export_each(paths, lambda material: self._write_file(material, place))

    def _export_site(self, paths: list[Path], place: Path) -> tuple[list[ExportedSession], list[SkippedSession]]:
        from turnlog.export.site import Site

        site = Site(place)
        done = self._export_each(paths, site.add)
        site.finish("Sessions", redacted=self._wish.is_redacted)
        return done

    def _export_tables(self, paths: list[Path], place: Path) -> tuple[list[ExportedSession], list[SkippedSession]]:
        from turnlog.export.parquet import ParquetTables

        with ParquetTables(place) as tables:
            return self._export_each(paths, lambda material: tables.add(material.session))

    def _write_file(self, material: ExportMaterial, place: Path) -> Path:
        name = build_file_name(material.title, material.session.session_id)
        number, file = 1, Path(name + self._ending)
        while (place / file).exists():
            number += 1
            file = Path(f"{name}-{number}{self._ending}")
        write_export_file(place / file, iter_exported_bytes(self._form, material))
        return file

    def _export_each(
        self, paths: list[Path], do: Callable[[ExportMaterial], Path | None]
    ) -> tuple[list[ExportedSession], list[SkippedSession]]:
        """Do something with each session; those that fail are noted, and the others go on."""
        told = show_progress("exporting: {done:,} of {total:,} sessions …")
        written: list[ExportedSession] = []
        skipped: list[SkippedSession] = []
        for number, path in enumerate(paths, 1):
            try:
                with self._open_session(path) as session:
                    material = self._build_material(session)
                    written.append(ExportedSession(session.session_id, material.title, do(material)))
            except BrokenPlugin:
                raise
            except (TurnlogError, OSError) as error:
                skipped.append(SkippedSession(path, str(error)))
            if told:
                told(number, len(paths))
        return written, skipped

    # -- secrets

    @contextmanager
    def _open_session(self, path: Path) -> Iterator[Session]:
        """A session, or its copy without secrets."""
        gap = timedelta(minutes=self._config.gap_minutes)
        if self._redaction is None:
            with Session.open(path, gap) as session:
                yield session
            return
        with self._redaction.copy_redacted(path) as copy, Session.open(copy, gap) as session:
            yield session

    def _learn_secrets(self, paths: list[Path]) -> None:
        """Take note of the secrets of all sessions before the first is written."""
        if self._redaction is not None:
            self._redaction.learn_secrets(paths)

    def _build_result(
        self, goal: Path | None, written: list[ExportedSession], skipped: list[SkippedSession]
    ) -> ExportResult:
        report = self._redaction.build_report() if self._redaction else None
        return ExportResult(goal, measure_export_size(goal) if goal else 0, written, skipped, report)
