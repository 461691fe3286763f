"""Exports one session to a file or a stream, or many sessions to a folder."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from turnlog.api.config import Config, load_config
from turnlog.api.lookup import (
    DEMO_NOTICE,
    Notify,
    find_leaf,
    list_config_folders,
    locate_session,
    require_claude_session,
)
from turnlog.api.values import ByteSink, RuleFindings, list_rule_findings
from turnlog.entries.agents import list_folders_once
from turnlog.errors import BrokenPlugin, NotFound, TurnlogError, UsageError
from turnlog.export.destination import (
    FileNames,
    build_file_name,
    check_destination,
    measure_export_size,
    open_export_folder,
    write_export_file,
)
from turnlog.export.formats import EXPORT_FORMATS, find_file_ending, iter_exported_bytes
from turnlog.export.material import ExportChoice, ExportMaterial
from turnlog.export.redaction import ExportRedaction
from turnlog.plugin_lookup import EXPORTER_GROUP, list_plugin_names
from turnlog.redact.rules import SecretRules
from turnlog.render.render_options import RenderOptions
from turnlog.session.session import Session

if TYPE_CHECKING:
    from turnlog.api.index import Progress

DEFAULT_FOLDER = "turnlog-export"
_MAX_MEMORY_BYTES = 8 << 20
_TURN_RANGE = re.compile(r"(\d{0,9})\.\.(\d{0,9})|(\d{1,9})")
_CONVERSATION_FORMATS = frozenset({"messages", "openai"})


class ExportOptions(Struct, frozen=True):
    """What an export includes."""

    turns: str | None = None
    """Only this turn (`3`) or range of turns (`2..5`), numbered from 1."""
    branch: str | None = None
    """The number of a branch, the uuid of its last entry, or `all`."""
    tools: bool = True
    thinking: bool = True
    agents: bool = True
    images: bool | None = None
    """Whether to include images and documents; None means yes, unless `share` is set."""
    meta: bool = False
    """Whether to include Claude Code's own metadata."""
    details: bool = False
    """Whether to fold calls and thinking in Markdown, using HTML tags that GitHub supports."""
    redact: bool | None = None
    """Whether to replace API keys, tokens and passwords with placeholders; None means only if `share` is set."""
    share: bool = False
    """Prepare for strangers: redact secrets, email addresses and names in home folders, and leave out images."""
    one_file: bool = False
    """Whether to write a single HTML page, however long the session is."""
    browser: str | None = None
    """The Chromium or Chrome program that prints the PDF."""

    @property
    def is_redacted(self) -> bool:
        """True if secrets are replaced with placeholders."""
        return self.share if self.redact is None else self.redact

    @property
    def has_images(self) -> bool:
        """True if images and documents are included."""
        return not self.share if self.images is None else self.images


class ExportedSession(Struct, frozen=True):
    """A session that was exported."""

    session_id: str | None
    title: str
    file: Path | None
    """None if it has no file of its own."""


class SkippedSession(Struct, frozen=True):
    """A session that could not be exported."""

    path: Path
    reason: str


class ExportRedactionCounts(Struct, frozen=True):
    """The secrets that were replaced in an export."""

    found: int
    rules: tuple[RuleFindings, ...]


class ExportResult(Struct, frozen=True):
    """The result of an export."""

    format: str
    output: Path | None
    """The file or folder; None for a stream."""
    bytes: int
    sessions: tuple[ExportedSession, ...]
    skipped: tuple[SkippedSession, ...]
    redaction: ExportRedactionCounts | None
    """None if the export was not redacted."""


def export_session(
    session: str | Path,
    output: str | Path | ByteSink | None = None,
    *,
    format: str | None = None,  # noqa: A002 - the usual name for it
    options: ExportOptions = ExportOptions(),  # noqa: B008 - it is frozen
    force: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> ExportResult:
    """Export a session as html, md, txt, pdf, json, messages, openai or parquet.

    `output` is a file, an existing folder, or an open binary file (default: a file in the current folder, named after
    the title). `format` defaults to the format of the file extension, or to html. `force` replaces existing files.
    """
    form = choose_format(format, output)
    check_export_options(options, form)
    run = _ExportRun(form, options, force, config or load_config(), progress)
    return run.export_one(locate_session(session, config, notify), output)


def export_sessions(
    project: str | None = None,
    output: str | Path | None = None,
    *,
    format: str | None = None,  # noqa: A002 - the usual name for it
    options: ExportOptions = ExportOptions(),  # noqa: B008 - it is frozen
    force: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> ExportResult:
    """Export the sessions of a project, or all sessions on this machine, to a folder.

    HTML becomes a small site with an index, Parquet one set of tables, and any other format one file per session.
    """
    from turnlog.api.sessions import load_catalogue

    form = choose_format(format, output)
    check_export_options(options, form, many=True)
    config = config or load_config()
    found = load_catalogue(list_config_folders(config), project)
    if found.is_demo and notify:
        notify(DEMO_NOTICE)
    if not found.rows:
        raise NotFound(f"no session belongs to project {project!r}; `turnlog ls` lists all sessions")
    run = _ExportRun(form, options, force, config, progress)
    return run.export_many([row.file.path for row in found.rows], expand_output(output or DEFAULT_FOLDER))


def choose_format(name: str | None, output: str | Path | ByteSink | None) -> str:
    """Return the named format, or the one for the file extension."""
    if name is not None:
        plugins = [] if name in EXPORT_FORMATS else list_plugin_names(EXPORTER_GROUP)
        if name not in EXPORT_FORMATS and name not in plugins:
            known = [*EXPORT_FORMATS, *sorted({*plugins}.difference(EXPORT_FORMATS))]
            raise UsageError(f"unknown format {name!r}; use one of {', '.join(known)}")
        return name
    ending = Path(output).suffix.lower().removeprefix(".") if isinstance(output, str | Path) else ""
    if ending in EXPORT_FORMATS or (ending and ending in list_plugin_names(EXPORTER_GROUP)):
        return ending
    return "html"


def expand_output(name: str | Path) -> Path:
    """Expand `~` in the name of a file or folder."""
    return Path(os.path.expanduser(name))  # noqa: PTH111 - Path raises for ~nobody


def check_export_options(options: ExportOptions, form: str, *, many: bool = False, prefix: str = "") -> None:
    """Refuse options that can't be combined; error messages put `prefix` before option names."""
    parse_turn_range(options.turns, prefix)
    if many and (options.turns or options.branch):
        raise UsageError(f"{prefix}turns and {prefix}branch require one SESSION")
    if many and form == "pdf":
        raise UsageError(f"{prefix}format pdf requires one SESSION; to print several sessions, export them as html")
    if options.share and options.meta:
        raise UsageError(f"{prefix}share can't be combined with {prefix}meta")
    if form in _CONVERSATION_FORMATS and (options.turns or options.branch == "all"):
        raise UsageError(
            f"{prefix}format {form} exports one whole conversation; use {prefix}branch K and omit {prefix}turns"
        )
    if form == "parquet" and (options.turns or options.branch):
        raise UsageError(f"{prefix}format parquet exports whole sessions; remove {prefix}turns and {prefix}branch")


def parse_turn_range(text: str | None, prefix: str = "") -> tuple[int | None, int | None]:
    """Parse a turn number or a range of turns into its first and last turn."""
    if text is None:
        return None, None
    value = _TURN_RANGE.fullmatch(text.strip())
    if value is None:
        raise UsageError(f"{prefix}turns {text}: not a turn; use a number such as 3 or a range such as 2..5")
    first, last = value[3] or value[1], value[3] or value[2]
    return int(first or 1), int(last) if last else None


class _ExportRun:
    """Writes one export, with the same options for all of its sessions."""

    def __init__(
        self, form: str, options: ExportOptions, force: bool, config: Config, progress: Progress | None
    ) -> None:
        self._form = form
        self._ending = find_file_ending(form)  # fails before anything is read if the format's package is broken
        self._options = options
        self._force = force
        self._gap = timedelta(minutes=config.gap_minutes)
        self._progress = progress
        self._choice = _build_choice(options)
        rules = SecretRules(emails=options.share, homes=options.share) if options.is_redacted else None
        self._redaction = ExportRedaction(rules, progress) if rules else None

    # -- one session

    def export_one(self, path: Path, output: str | Path | ByteSink | None) -> ExportResult:
        """Export a session to a file or a stream."""
        sink = None if output is None or isinstance(output, str | Path) else output
        target = expand_output(output) if isinstance(output, str | Path) else None
        if sink is not None and not self._ending:
            raise UsageError(f"a {self._form} export is a folder, not a file; choose the folder with --output")
        is_folder = target is not None and self._is_folder(str(output), target)
        if target is not None and not is_folder:
            check_destination(target, force=self._force)
        self._learn_secrets([path])
        with self._open_session(path) as session:
            material = self._build_material(session, self._progress)
            if sink is not None:
                self._write_to_sink(material, sink)
                return self._build_result(None, [ExportedSession(session.session_id, material.title, None)], [])
            if target is None or is_folder:
                own = build_file_name(material.title, session.session_id) + (self._ending or "-parquet")
                target = (target or Path()) / own
            self._write_goal(material, target)
            return self._build_result(target, [ExportedSession(session.session_id, material.title, target)], [])

    def _write_to_sink(self, material: ExportMaterial, sink: ByteSink) -> None:
        """Write to a stream; buffer the output of a plugin first, because it may fail."""
        pieces = self._stream_pieces(material)
        if self._form in EXPORT_FORMATS:
            sink.writelines(pieces)
            return
        with tempfile.SpooledTemporaryFile(_MAX_MEMORY_BYTES) as file:
            file.writelines(pieces)
            file.seek(0)
            sink.writelines(file)

    def _is_folder(self, name: str, target: Path) -> bool:
        """Return whether the name refers to a folder to write into rather than to the output itself."""
        if name.endswith(("/", os.sep)):
            return True
        return self._form != "parquet" and target.is_dir()

    def _build_material(self, session: Session, progress: Progress | None = None) -> ExportMaterial:
        wanted = self._options.branch
        leaf = find_leaf(session, wanted) if wanted and wanted != "all" else None
        return ExportMaterial(session, self._choice._replace(leaf=leaf), progress)

    def _stream_pieces(self, material: ExportMaterial) -> Iterator[bytes]:
        if self._form not in ("html", "pdf"):
            return iter_exported_bytes(self._form, material)
        from turnlog.export.html import render_one_page

        if self._form == "html":
            return render_one_page(material)
        from turnlog.export.pdf import find_browser, print_pdf

        program = find_browser(self._options.browser)
        return iter([print_pdf(render_one_page(material, unfolded=True), program)])

    def _write_goal(self, material: ExportMaterial, target: Path) -> None:
        if self._form == "parquet":
            from turnlog.export.parquet import ParquetTables

            with open_export_folder(target, force=self._force) as place, ParquetTables(place) as tables:
                tables.add(material.session)
        elif self._form == "html" and not self._options.one_file:
            from turnlog.export.html import write_pages

            write_pages(material, target, force=self._force)
        else:
            write_export_file(target, self._stream_pieces(material), force=self._force)

    # -- many sessions

    @list_folders_once()
    def export_many(self, paths: list[Path], target: Path) -> ExportResult:
        """Export sessions to a folder."""
        check_destination(target, force=self._force)
        self._learn_secrets(paths)
        with open_export_folder(target, force=self._force) as place:
            written, skipped = self._export_all(paths, place)
        named = [structs.replace(item, file=target / item.file if item.file else None) for item in written]
        return self._build_result(target, named, skipped)

    def _export_all(self, paths: list[Path], place: Path) -> tuple[list[ExportedSession], list[SkippedSession]]:
        if self._form == "html":
            from turnlog.export.site import Site

            site = Site(place)
            done = self._export_each(paths, site.add)
            site.finish("Sessions", redacted=self._options.is_redacted)
            return done
        if self._form == "parquet":
            from turnlog.export.parquet import ParquetTables

            with ParquetTables(place) as tables:
                return self._export_each(paths, lambda material: tables.add(material.session))
        names = FileNames(place, self._ending)
        return self._export_each(paths, lambda material: self._write_file(material, place, names))

    def _write_file(self, material: ExportMaterial, place: Path, names: FileNames) -> Path:
        file = Path(names.choose_name(build_file_name(material.title, material.session.session_id)))
        write_export_file(place / file, iter_exported_bytes(self._form, material))
        return file

    def _export_each(
        self, paths: list[Path], write: Callable[[ExportMaterial], Path | None]
    ) -> tuple[list[ExportedSession], list[SkippedSession]]:
        """Write each session; record those that fail and continue with the others."""
        written: list[ExportedSession] = []
        skipped: list[SkippedSession] = []
        for number, path in enumerate(paths, 1):
            try:
                with self._open_session(path) as session:
                    material = self._build_material(session)
                    written.append(ExportedSession(session.session_id, material.title, write(material)))
            except BrokenPlugin:
                raise
            except (TurnlogError, OSError) as error:
                skipped.append(SkippedSession(path, str(error)))
            if self._progress:
                self._progress(number, len(paths))
        return written, skipped

    # -- secrets

    @contextmanager
    def _open_session(self, path: Path) -> Iterator[Session]:
        """Open a session, or a redacted copy of it."""
        if self._redaction is None:
            with Session.open(path, self._gap) as session:
                require_claude_session(session)
                yield session
            return
        with self._redaction.copy_redacted(path) as copy, Session.open(copy, self._gap) as session:
            yield session

    def _learn_secrets(self, paths: list[Path]) -> None:
        """Collect the secrets in all sessions before writing, so that a secret has the same placeholder everywhere."""
        if self._redaction is not None:
            self._redaction.learn_secrets(paths)

    def _build_result(
        self, target: Path | None, written: list[ExportedSession], skipped: list[SkippedSession]
    ) -> ExportResult:
        report = self._redaction.build_report() if self._redaction else None
        counts = ExportRedactionCounts(report.replacement_count, list_rule_findings(report)) if report else None
        size = measure_export_size(target) if target else 0
        return ExportResult(self._form, target, size, tuple(written), tuple(skipped), counts)


def _build_choice(options: ExportOptions) -> ExportChoice:
    """Convert the options to the type that the exporters use."""
    first, last = parse_turn_range(options.turns)
    wanted = RenderOptions(
        tools=options.tools,
        thinking=options.thinking,
        meta=options.meta,
        pictures=options.has_images,
        details=options.details,
    )
    return ExportChoice(
        wanted,
        first,
        last,
        all_branches=options.branch == "all",
        agents=options.agents,
        is_redacted=options.is_redacted,
    )
