"""Exporting: one session to a file or a pipe, or many into a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from turnlog.cli.branch import leaf_of
from turnlog.cli.config import Config
from turnlog.cli.export.report import Exported, Skipped, Written
from turnlog.cli.export.wish import Wish
from turnlog.cli.named import folders, located
from turnlog.cli.output import remark, write_raw
from turnlog.cli.progress import progress
from turnlog.cli.sessions.catalogue import catalogue
from turnlog.errors import NotFound, TurnlogError
from turnlog.export.formats import pieces
from turnlog.export.goal import file_name, folder, must_be_free, sizes, write
from turnlog.export.material import Material, Told
from turnlog.export.redacted import Redaction
from turnlog.session.session import Session

_FOLDER = "turnlog-export"


class Exports:
    """One run of the command."""

    def __init__(self, wish: Wish, config: Config) -> None:
        self._wish = wish
        self._config = config
        self._choice = wish.choice()
        self._form = wish.format
        rules = wish.rules()
        self._redaction = (
            Redaction(rules, progress("looking for secrets: {done:,} of {total:,} bytes …")) if rules else None
        )

    # -- one session

    def one(self, name: str) -> Exported:
        """Export the session that a name means."""
        path = located(name, self._config)
        goal = self._named()
        is_folder = goal is not None and self._is_folder(goal)
        if goal is not None and not is_folder:
            must_be_free(goal, force=self._wish.force)
        self._learn([path])
        with self._opened(path) as session:
            material = self._material(session, progress("exporting: {done:,} of {total:,} items …"))
            if self._wish.to_pipe:
                write_raw(self._stream(material))
                return self._done(None, [Written(session.session_id, material.title, None)], [])
            if goal is None or is_folder:
                own = file_name(material.title, session.session_id) + (self._wish.ending or "-parquet")
                goal = (goal or Path()) / own
            self._write(material, goal)
            return self._done(goal, [Written(session.session_id, material.title, goal)], [])

    def _named(self) -> Path | None:
        """Where the user wants it."""
        name = self._wish.output
        return Path(os.path.expanduser(name)) if name and not self._wish.to_pipe else None  # noqa: PTH111 - Path raises for ~nobody

    def _is_folder(self, goal: Path) -> bool:
        """Whether the user named a folder to write into, and not what is written."""
        if (self._wish.output or "").endswith(("/", os.sep)):
            return True
        return self._form != "parquet" and goal.is_dir()

    def _material(self, session: Session, told: Told | None = None) -> Material:
        wanted = self._wish.branch
        leaf = leaf_of(session, wanted) if wanted and wanted != "all" else None
        return Material(session, self._choice._replace(leaf=leaf), told)

    def _stream(self, material: Material) -> Iterator[bytes]:
        if self._form not in ("html", "pdf"):
            return pieces(self._form, material)
        from turnlog.export.html import one_page

        if self._form == "html":
            return one_page(material)
        from turnlog.export.pdf import browser, printed

        program = browser(self._wish.browser)
        return iter([printed(one_page(material, unfolded=True), program)])

    def _write(self, material: Material, goal: Path) -> None:
        force = self._wish.force
        if self._form == "parquet":
            from turnlog.export.parquet import Tables

            with folder(goal, force=force) as place, Tables(place) as tables:
                tables.add(material.session)
        elif self._form == "html" and not self._wish.one_file:
            from turnlog.export.html import write_pages

            write_pages(material, goal, force=force)
        else:
            write(goal, self._stream(material), force=force)

    # -- many sessions

    def many(self) -> Exported:
        """Export the sessions of a project, or all."""
        found = catalogue(folders(self._config), self._wish.project)
        if found.is_demo:
            remark("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
        if not found.rows:
            raise NotFound(f"no session of a project {self._wish.project!r}; `turnlog ls` lists all")
        goal = self._named() or Path(_FOLDER)
        must_be_free(goal, force=self._wish.force)
        paths = [row.file.path for row in found.rows]
        self._learn(paths)
        with folder(goal, force=self._wish.force) as place:
            written, skipped = self._all(paths, place)
        named = [item._replace(file=goal / item.file if item.file else None) for item in written]
        return self._done(goal, named, skipped)

    def _all(self, paths: list[Path], place: Path) -> tuple[list[Written], list[Skipped]]:
        match self._form:
            case "html":
                return self._site(paths, place)
            case "parquet":
                return self._tables(paths, place)
        return self._each(paths, lambda material: self._file(material, place))

    def _site(self, paths: list[Path], place: Path) -> tuple[list[Written], list[Skipped]]:
        from turnlog.export.site import Site

        site = Site(place)
        done = self._each(paths, site.add)
        site.finish("Sessions", redacted=self._wish.is_redacted)
        return done

    def _tables(self, paths: list[Path], place: Path) -> tuple[list[Written], list[Skipped]]:
        from turnlog.export.parquet import Tables

        with Tables(place) as tables:
            return self._each(paths, lambda material: tables.add(material.session))

    def _file(self, material: Material, place: Path) -> Path:
        name = file_name(material.title, material.session.session_id)
        number, file = 1, Path(name + self._wish.ending)
        while (place / file).exists():
            number += 1
            file = Path(f"{name}-{number}{self._wish.ending}")
        write(place / file, pieces(self._form, material))
        return file

    def _each(self, paths: list[Path], do: Callable[[Material], Path | None]) -> tuple[list[Written], list[Skipped]]:
        """Do something with each session; those that fail are noted, and the others go on."""
        told = progress("exporting: {done:,} of {total:,} sessions …")
        written: list[Written] = []
        skipped: list[Skipped] = []
        for number, path in enumerate(paths, 1):
            try:
                with self._opened(path) as session:
                    material = self._material(session)
                    written.append(Written(session.session_id, material.title, do(material)))
            except (TurnlogError, OSError) as error:
                skipped.append(Skipped(path, str(error)))
            if told:
                told(number, len(paths))
        return written, skipped

    # -- secrets

    @contextmanager
    def _opened(self, path: Path) -> Iterator[Session]:
        """A session, or its copy without secrets."""
        gap = timedelta(minutes=self._config.gap_minutes)
        if self._redaction is None:
            with Session.open(path, gap) as session:
                yield session
            return
        with self._redaction.copy(path) as copy, Session.open(copy, gap) as session:
            yield session

    def _learn(self, paths: list[Path]) -> None:
        """Take note of the secrets of all sessions before the first is written."""
        if self._redaction is not None:
            self._redaction.learn(paths)

    def _done(self, goal: Path | None, written: list[Written], skipped: list[Skipped]) -> Exported:
        report = self._redaction.report() if self._redaction else None
        return Exported(goal, sizes(goal) if goal else 0, written, skipped, report)
