"""Creates new sessions from existing ones: forks, and clones that are unchanged or edited.

The edits run in a fixed order: strip, for_model, compress, compact and then portable; `docs/clone.md` explains why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, UnsetType

from turnlog.api.config import Config
from turnlog.api.lookup import Notify, locate_session, open_session
from turnlog.api.strip import StripSavings, resolve_strip_options, to_strip_savings
from turnlog.demo import is_demo
from turnlog.edit.carried_files import list_carried_files
from turnlog.edit.clone import ClonedSession
from turnlog.edit.clone import clone_session as write_clone
from turnlog.edit.closing_entries import compose_copy_title
from turnlog.edit.draft import Draft
from turnlog.edit.id_renewal import create_uuid
from turnlog.edit.illnesses.verdict import PORTABLE_LOSSES, check_resumes
from turnlog.edit.session_target import find_target
from turnlog.edit.strip.strip_options import StripOptions
from turnlog.entries.atomic_file import create_file
from turnlog.entries.peek import peek_safely, read_best_title
from turnlog.entries.resume_command import build_resume_command, find_resume_folder
from turnlog.errors import Refused, TurnlogError, Unreadable, UsageError
from turnlog.session.session import Session

if TYPE_CHECKING:
    from turnlog.api.index import Progress
    from turnlog.model.model import Model

DEFAULT_COMPRESS_SHARE = "35%"
DEFAULT_KEPT_TURNS = 2


class CompressOptions(Struct, frozen=True):
    """The options for shortening text."""

    turns: tuple[str, ...] = ("oldest=50%",)
    """`turns=A..B` or `oldest=P%`; `offline` leaves out sentences instead of calling a model."""
    to: str = DEFAULT_COMPRESS_SHARE
    """The share of the characters to keep."""
    prompts: bool = False
    """Whether to shorten the user's own prompts too."""
    model: str | None = None
    log: Path | None = None
    """A Markdown file for all text before and after shortening; it must not exist yet."""


class CompactOptions(Struct, frozen=True):
    """The options for summarising older turns."""

    offline: bool = False
    """Whether to write an outline without calling a model."""
    keep: int | None = None
    """The number of recent turns to keep word for word; None for two, or fewer in a short session."""
    model: str | None = None


class SourceSession(Struct, frozen=True):
    """The session that was copied."""

    session_id: str
    path: Path


class SessionCopy(Struct, frozen=True):
    """A new session that was created from another."""

    session_id: str
    path: Path
    title: str
    bytes: int
    """The size of its transcript."""
    files: int
    """The number of other files that were copied with it."""
    torn_bytes: int
    """The size of the incomplete last line of the source, which was left out."""
    left_out: tuple[Path, ...]
    """Links among the source's files; they are not followed."""
    resume: str
    """The command that resumes it in its folder."""
    source: SourceSession
    refusal: str | None
    """Why Claude Code would not resume it; None if it would."""


class ModelFit(Struct, frozen=True):
    """What was left out so that a model accepts the session."""

    model: str
    counts: Mapping[str, int]


class ShortenedTexts(Struct, frozen=True):
    """The result of shortening text."""

    model: str | None
    """None if sentences were left out without a model."""
    turns: tuple[int, ...]
    texts: int
    shortened: int
    kept: int
    """The number of pieces of text that could not be shortened."""
    characters_before: int
    characters_after: int
    to: float


class CompactedTurns(Struct, frozen=True):
    """The result of summarising older turns."""

    model: str | None
    """None if the summary is an outline made without a model."""
    turns: int
    kept: int
    tokens_before: int
    tokens_after: int


class CloneEdits(Struct, frozen=True):
    """The results of the edits; edits that were not requested are UNSET."""

    strip: StripSavings | UnsetType = UNSET
    for_model: ModelFit | UnsetType = UNSET
    compress: ShortenedTexts | UnsetType = UNSET
    compact: CompactedTurns | UnsetType = UNSET
    portable: bool | UnsetType = UNSET


class ClonePlan(Struct, frozen=True):
    """The clone that a dry run would create."""

    title: str
    bytes: int
    files: int
    model_steps: tuple[str, ...]
    """What a model would do; a dry run never calls one."""


class CloneResult(Struct, frozen=True):
    """A clone, or the plan of a dry run."""

    session: Path
    dry_run: bool
    edits: CloneEdits
    made: SessionCopy | None
    """None after a dry run."""
    plan: ClonePlan | UnsetType = UNSET
    """Only after a dry run."""


class ForkResult(Struct, frozen=True):
    """A fork, or the plan of a dry run."""

    session: Path
    dry_run: bool
    at: str
    """The uuid of the last entry that is kept."""
    point: str
    """A description of the point."""
    made: SessionCopy | None


def to_session_copy(clone: ClonedSession) -> SessionCopy:
    """Convert the writer's result to the public type."""
    source = SourceSession(clone.source.session_id, clone.source.path)
    ends = peek_safely(str(clone.path))
    folder = find_resume_folder(clone.path, [cwd for cwd in (ends.cwd, ends.last_cwd) if cwd])
    return SessionCopy(
        clone.session_id,
        clone.path,
        clone.title,
        clone.size,
        clone.files,
        clone.torn_bytes,
        clone.left_out,
        build_resume_command(clone.session_id, folder),
        source,
        explain_refusal(clone.path),
    )


def explain_refusal(path: Path) -> str | None:
    """Return why Claude Code would not resume a session, or None if it would."""
    with Session.open(path) as session:
        try:
            session.build_thread()
        except Refused as error:
            return str(error)
    return None


def clone_session(
    session: str | Path,
    *,
    title: str | None = None,
    strip: StripOptions | str | None = None,
    for_model: str | None = None,
    compress: CompressOptions | None = None,
    compact: CompactOptions | None = None,
    portable: bool = False,
    dry_run: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> CloneResult:
    """Create a new session from another, unchanged or with parts stripped, shortened or summarised.

    `strip` is a value from `build_strip_options` or the name of a preset. Only `compress` and `compact` call a model,
    whose name and address they pass to `notify`; a dry run never calls a model. The original session is not changed.
    """
    options = resolve_strip_options(strip, config) if strip is not None else None
    _check_log_path(compress.log if compress else None)
    path = locate_session(session, config, notify)
    if not (dry_run and is_demo(path)):
        find_target(path)
    if not dry_run and not (options or for_model or compress or compact or portable):
        return CloneResult(path, False, CloneEdits(), to_session_copy(write_clone(path, title=title)))
    new = create_uuid()
    exemptions: Collection[str] = PORTABLE_LOSSES if portable else ()
    with Session.open(path) as opened:
        work = _EditSequence(opened, dry_run, notify, progress)
        if options is not None:
            work.strip(options)
        if for_model is not None:
            work.fit_to_model(for_model)
        if compress is not None:
            work.compress(compress)
        if compact is not None:
            work.compact(compact, path.with_name(f"{new}.jsonl"))
        if portable:
            work.make_portable()
        if dry_run:
            check_resumes(opened, work.draft, exemptions)
            return CloneResult(path, True, work.edits, None, _plan_clone(path, title, work))
        copy = write_clone(path, work.draft, title=title, new=new, apart_from=exemptions)
    if compress is not None and compress.log is not None and work.log is not None:
        _write_log(compress.log, work.log)
    return CloneResult(path, False, work.edits, to_session_copy(copy))


def fork_session(
    session: str | Path,
    at: str,
    *,
    title: str | None = None,
    portable: bool = False,
    dry_run: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
) -> ForkResult:
    """Create a new session that continues from a given point in another one.

    `at` is a turn number, an entry's uuid or the start of one, `compaction:N` or `leaf:N`, where N may be `last`. The
    original session is not changed.
    """
    from turnlog.edit.fork.fork import check_fork_resumes
    from turnlog.edit.fork.fork import fork_session as cut_at_point
    from turnlog.edit.fork.fork_points import parse_fork_point
    from turnlog.edit.fork.linear import linearise_draft

    with open_session(session, config, notify) as opened:
        if opened.path is None or not opened.turns:
            raise Unreadable(f"{opened.path}: no conversation to fork; `turnlog doctor` explains why")
        point = parse_fork_point(opened, at)
        cut = cut_at_point(opened, Draft.from_transcript(opened.file), point).to_transcript()
        if portable:
            cut = linearise_draft(Session(cut), Draft.from_transcript(cut)).to_transcript()
        check_fork_resumes(opened, cut)
        # check_fork_resumes compared it with the session up to the point; the whole session has more to lose.
        copy = None if dry_run else write_clone(opened.path, Draft.from_transcript(cut), verb="fork", title=title)
    return ForkResult(opened.path, dry_run, point.leaf, point.words, to_session_copy(copy) if copy else None)


def _plan_clone(path: Path, title: str | None, work: _EditSequence) -> ClonePlan:
    name = title or compose_copy_title("clone", read_best_title(path), path.stem)
    files = 0 if is_demo(path) else len(list_carried_files(find_target(path), path.stem))
    return ClonePlan(name, sum(map(len, work.draft.iterate_lines())), files, tuple(work.model_steps))


def _check_log_path(log: Path | None) -> None:
    """Refuse an unusable log path before a model is called."""
    if log is None:
        return
    if log.exists():
        raise UsageError(f"{log}: the file already exists; choose a different path for the log")
    if not log.absolute().parent.is_dir():
        raise UsageError(f"{log.parent}: no such folder; the log can't be written")


def _write_log(path: Path, text: str) -> None:
    try:
        create_file(path, text.encode(), root=path.absolute().parent, mode=0o600)
    except OSError as error:
        raise TurnlogError(
            f"{path}: {error.strerror or error}; the clone was created, but the log was not written"
        ) from None


@dataclass
class _EditSequence:
    """Applies the edits to a draft of a session in memory."""

    session: Session
    dry_run: bool
    notify: Notify | None
    progress: Progress | None

    def __post_init__(self) -> None:
        self.draft = Draft.from_transcript(self.session.file)
        self.edits = CloneEdits()
        self.model_steps: list[str] = []
        self.log: str | None = None

    def strip(self, options: StripOptions) -> None:
        from turnlog.edit.strip.strip import strip_session

        result = strip_session(self.session, self.draft, options)
        self.draft = result.draft
        self._note(strip=to_strip_savings(result.report))

    def fit_to_model(self, model: str) -> None:
        from turnlog.edit.fork.model_adapter import adapt_to_model

        fitted = adapt_to_model(self.draft, model)
        self.draft = fitted.draft
        self._note(for_model=ModelFit(model, dict(fitted.counts)))

    def compress(self, options: CompressOptions) -> None:
        from turnlog.edit.compress.compress import SMALL_MODEL, apply_compression, build_message_reader, compress_turns
        from turnlog.edit.compress.compression_mark import mark_compression
        from turnlog.edit.compress.log import render_compress_log
        from turnlog.edit.compress.turn_bands import list_chosen_turns, parse_compress_selection, parse_share
        from turnlog.render.figures import format_count

        selection, share = parse_compress_selection(options.turns), parse_share(options.to)
        name = options.model or SMALL_MODEL
        turns = list_chosen_turns(selection.bands, len(self.session.turns))  # fails before a model is needed
        if self.dry_run and not selection.offline:
            self.model_steps.append(f"{name} would shorten text in {format_count(len(turns), 'turn')}")
            return
        with open_edit_model(None if selection.offline else name, self.notify) as model:
            done = compress_turns(
                self.session,
                selection.bands,
                share,
                model,
                name=name,
                prompts=options.prompts,
                progress=self.progress,
                current=build_message_reader(self.draft),
            )
        self.draft = mark_compression(self.session, apply_compression(self.draft, done), done)
        self.log = render_compress_log(done, self.session.title or "")
        texts = len(done.pieces), len(done.shortened_texts), len(done.unshortened_texts)
        sizes = done.chars_before, done.chars_after
        self._note(compress=ShortenedTexts(done.model, tuple(done.turns), *texts, *sizes, done.to))

    def compact(self, options: CompactOptions, transcript: Path) -> None:
        from turnlog.edit.compress.compact import Summariser, compact_draft
        from turnlog.edit.compress.compress import SMALL_MODEL
        from turnlog.edit.compress.recap import build_recap
        from turnlog.edit.compress.summary import build_model_summariser

        name = options.model or SMALL_MODEL
        if self.dry_run and not options.offline:
            self.model_steps.append(f"{name} would summarise older turns")
            return
        with open_edit_model(None if options.offline else name, self.notify) as model:
            summarise: Summariser = build_recap if model is None else build_model_summariser(model, name)
            keep = options.keep if options.keep is not None else _choose_kept_turns(self.draft)
            done = compact_draft(self.draft, summarise, keep=keep, transcript=transcript)
        self.draft = done.draft
        model_name = None if options.offline else name
        self._note(compact=CompactedTurns(model_name, done.turns, done.kept, done.before, done.after))

    def make_portable(self) -> None:
        from turnlog.edit.fork.linear import linearise_draft

        self.draft = linearise_draft(self.session, self.draft)
        self._note(portable=True)

    def _note(self, **steps: object) -> None:
        from msgspec.structs import replace

        self.edits = replace(self.edits, **steps)


def _choose_kept_turns(draft: Draft) -> int:
    """Choose how many turns to keep word for word: two, but never all."""
    session = Session(draft.to_transcript())
    turns = {turn.number for row in session.build_thread().rows if (turn := session.find_turn(row)) is not None}
    return max(0, min(DEFAULT_KEPT_TURNS, len(turns) - 1))


@contextmanager
def open_edit_model(name: str | None, notify: Notify | None) -> Iterator[Model | None]:
    """Connect to a model after notifying the user where text will be sent; yield None if no name is given."""
    if name is None:
        yield None
        return
    from turnlog.model.anthropic import connect_model
    from turnlog.model.endpoint import Endpoint
    from turnlog.network.addresses import format_public_address, parse_server_address

    endpoint = Endpoint.from_environment()
    if notify:
        address = format_public_address(parse_server_address(endpoint.url))
        notify(f"Sending text from the session to {name} at {address}.")
    yield connect_model(endpoint)
