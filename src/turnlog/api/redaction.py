"""Finds secrets in a session, and writes copies without them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from turnlog.api.clones import SessionCopy, to_session_copy
from turnlog.api.config import Config
from turnlog.api.lookup import Notify, locate_session
from turnlog.api.values import ByteSink, RuleFindings, describe_torn_end, list_rule_findings
from turnlog.edit.carried_files import CarriedFile, list_carried_files
from turnlog.edit.clone import ClonedSession
from turnlog.edit.clone import clone_session as write_clone
from turnlog.edit.closing_entries import compose_copy_title
from turnlog.edit.draft import Draft
from turnlog.edit.redaction import learn_session_secrets, redact_draft, redact_file
from turnlog.edit.session_target import find_target
from turnlog.entries.atomic_file import create_file
from turnlog.entries.reader import Transcript
from turnlog.errors import TurnlogError, UsageError
from turnlog.redact.redaction_report import SecretPlace
from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import SecretRules
from turnlog.redact.user_patterns import parse_user_patterns
from turnlog.session.session import Session

if TYPE_CHECKING:
    from turnlog.api.index import Progress


class RedactResult(Struct, frozen=True):
    """The secrets in a session, and the copy without them."""

    session: Path
    found: int
    """The number of places with a secret in the session and its files."""
    rules: tuple[RuleFindings, ...]
    places: tuple[SecretPlace, ...]
    thinking_dropped: int
    """The number of thinking blocks with a secret; a copy leaves them out."""
    made: SessionCopy | None
    output: str | None

    @property
    def is_written(self) -> bool:
        """True if a copy without the secrets was written."""
        return self.made is not None or self.output is not None


def redact_session(
    session: str | Path,
    *,
    clone: bool = False,
    output: str | Path | ByteSink | None = None,
    emails: bool = False,
    homes: bool = False,
    patterns: Sequence[str] = (),
    without: Sequence[str] = (),
    title: str | None = None,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> RedactResult:
    """Find API keys, tokens, passwords and private keys in a session, and write a copy without them.

    `clone` creates a new session, and `output` is a file or an open binary file to write to; without either, nothing is
    written. `patterns` are additional rules of the form `NAME=REGEX`, and `without` lists rules to skip. The original
    session is not changed.
    """
    if clone and output is not None:
        raise UsageError("use either clone, which creates a session, or output, which writes a file")
    rules = SecretRules(emails=emails, homes=homes, patterns=parse_user_patterns(patterns), without=tuple(without))
    path = locate_session(session, config, notify)
    redactor = Redactor(rules)
    copy: ClonedSession | None = None
    file = Transcript.open(path)
    try:
        files = _find_carried_files(path) if output is None else []
        draft = Draft.from_transcript(file)
        learn_session_secrets(draft, files, redactor, progress)
        clean = redact_draft(draft, redactor, progress)
        if progress:
            progress(1, 1)
        if clone:
            name = _build_title(path, clean, redactor) if title is None else title
            copy = write_clone(path, clean, title=name, read=lambda source: redact_file(source, redactor))
        else:
            for item in files:
                for _ in redact_file(item.source, redactor):
                    pass
            if output is not None:
                _write_output(clean.without_torn_end(), output)
                if draft.torn_bytes and notify:
                    notify(describe_torn_end(draft.torn_bytes))
    finally:
        file.close()
    report = redactor.build_report()
    return RedactResult(
        session=path,
        found=report.replacement_count,
        rules=list_rule_findings(report),
        places=report.places,
        thinking_dropped=len(report.thinking),
        made=to_session_copy(copy) if copy else None,
        output=None if output is None else str(output) if isinstance(output, str | Path) else "-",
    )


def _find_carried_files(path: Path) -> list[CarriedFile]:
    try:
        target = find_target(path)
    except TurnlogError:  # the demo, or a file outside the projects folder, has only its transcript
        return []
    return list_carried_files(target, target.session_id)


def _write_output(clean: Draft, output: str | Path | ByteSink) -> None:
    if not isinstance(output, str | Path):
        output.writelines(clean.iterate_lines())
        return
    goal = Path(output)
    try:
        create_file(goal, clean.iterate_lines(), root=goal.absolute().parent)
    except FileExistsError:
        raise TurnlogError(f"{goal}: the file already exists; nothing was written") from None
    except OSError as error:
        raise TurnlogError(f"{goal}: {error.strerror or error}; nothing was written") from None


def _build_title(path: Path, clean: Draft, redactor: Redactor) -> str:
    """Derive a clone's title from its redacted text: the original title may be a prompt that cuts a secret in half."""
    title = compose_copy_title("clone", Session(clean.to_transcript()).title, path.stem)
    return redactor.make_rehearsal().redact_text(title)
