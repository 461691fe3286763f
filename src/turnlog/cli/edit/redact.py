"""`turnlog redact`: find secrets in a session, and make a copy without them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from turnlog.api.config import Config
from turnlog.cli.edit.new_session import describe_torn_end, print_new_session, to_new_session_document
from turnlog.cli.named_sessions import locate_named_session
from turnlog.cli.output import print_json, print_lines, print_remark, write_raw
from turnlog.cli.terminal import make_visible, to_visible_line
from turnlog.edit.carried_files import CarriedFile, list_carried_files
from turnlog.edit.clone import ClonedSession, clone_session
from turnlog.edit.closing_entries import compose_copy_title
from turnlog.edit.draft import Draft
from turnlog.edit.redaction import learn_session_secrets, redact_draft, redact_file
from turnlog.edit.session_target import find_target
from turnlog.entries.atomic_file import create_file
from turnlog.entries.reader import Transcript
from turnlog.errors import TurnlogError
from turnlog.redact.redaction_report import RedactionReport
from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import SecretRules
from turnlog.redact.user_patterns import parse_user_patterns
from turnlog.render.figures import format_count
from turnlog.session.session import Session


@click.command()
@click.argument("session")
@click.option("--clone", "as_clone", is_flag=True, help="Make a new session without the secrets.")
@click.option(
    "-o", "--output", metavar="FILE", help="Write the transcript without them to a file; - is standard output."
)
@click.option("--emails", is_flag=True, help="Also e-mail addresses.")
@click.option("--homes", is_flag=True, help="Also user names in paths of home folders.")
@click.option(
    "--pattern", "patterns", multiple=True, metavar="NAME=REGEX", help="Also what this finds; may be repeated."
)
@click.option("--without", "without", multiple=True, metavar="RULE", help="Leave a rule out; may be repeated.")
@click.option("--title", help="With --clone: the title of the new session; else `Clone of …`.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def redact(
    session: str,
    as_clone: bool,
    output: str | None,
    emails: bool,
    homes: bool,
    patterns: tuple[str, ...],
    without: tuple[str, ...],
    title: str | None,
    as_json: bool,
) -> int:
    """Find API keys, tokens, passwords and private keys in a session, and make a copy without them.

    Every string of every entry is looked at, and every file that belongs to the session: sub-agents, large outputs,
    copies of files. A secret is replaced by a mark such as [secret:github:1], the same one everywhere. Without --clone
    or -o nothing is written, and you are told what there is: rules, counts and places, never the secret. The session
    itself is not changed: `turnlog delete` removes it. Exit status 1 if anything was found and nothing written.
    SESSION is a path, an id or the start of one, a title, or `last`.

    \b
    Examples:
      turnlog redact last
      turnlog redact last --clone --emails --homes
      turnlog redact bee7dbd3 -o shared.jsonl --pattern 'ticket=ACME-[0-9]+'
    """
    from turnlog.api.config import load_config
    from turnlog.errors import UsageError

    if as_clone and output is not None:
        raise UsageError("choose one: --clone makes a session, -o writes a file")
    if title is not None and not as_clone:
        raise UsageError("--title belongs to --clone")
    wish = RedactOptions(as_clone, output, emails, homes, patterns, without, title, as_json)
    return run_redact(session, wish, load_config())


_MAX_LISTED_PLACES = 20
REDACT_DEFINITION = "times: how often a secret stands there; secrets: how many different ones"


class RedactOptions(NamedTuple):
    """How to redact."""

    as_clone: bool = False
    output: str | None = None
    emails: bool = False
    homes: bool = False
    patterns: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    title: str | None = None
    as_json: bool = False


def run_redact(name: str, wish: RedactOptions, config: Config) -> int:
    """Look for secrets, and write what was asked for."""
    rules = SecretRules(
        emails=wish.emails, homes=wish.homes, patterns=parse_user_patterns(wish.patterns), without=wish.without
    )
    path = locate_named_session(name, config)
    redactor = Redactor(rules)
    file = Transcript.open(path)
    try:
        files = _find_carried_files(path) if wish.output is None else []
        draft = Draft.from_transcript(file)
        torn = draft.torn_bytes
        learn_session_secrets(draft, files, redactor)
        clean = redact_draft(draft, redactor)
        made = _write_result(path, clean, redactor, wish)
        if not wish.as_clone:
            for item in files:
                for _ in redact_file(item.source, redactor):
                    pass
    finally:
        file.close()
    _print_result(path, redactor.build_report(), made, torn, wish)
    return 1 if redactor.build_report().replacement_count and not wish.as_clone and wish.output is None else 0


def _find_carried_files(path: Path) -> list[CarriedFile]:
    try:
        found = find_target(path)
    except TurnlogError:  # the demo, or a file that is called otherwise: only the transcript itself
        return []
    return list_carried_files(found, found.session_id)


def _write_result(path: Path, clean: Draft, redactor: Redactor, wish: RedactOptions) -> ClonedSession | None:
    if wish.as_clone:
        title = _build_title(path, clean, redactor) if wish.title is None else wish.title
        return clone_session(path, clean, title=title, read=lambda file: redact_file(file, redactor))
    if wish.output == "-":
        write_raw(clean.without_torn_end().iterate_lines())
    elif wish.output is not None:
        goal = Path(wish.output)
        try:
            create_file(goal, clean.without_torn_end().iterate_lines(), root=goal.absolute().parent)
        except FileExistsError:
            raise TurnlogError(f"{goal}: stands there already; nothing was written") from None
        except OSError as error:
            raise TurnlogError(f"{goal}: {error.strerror or error}; nothing was written") from None
    return None


def _build_title(path: Path, clean: Draft, redactor: Redactor) -> str:
    """The title of a clone, made from what is left: the session's own may be a prompt with a secret, cut in half."""
    title = compose_copy_title("clone", Session(clean.to_transcript()).title, path.stem)
    return redactor.make_rehearsal().redact_text(title)


def _print_result(
    path: Path, report: RedactionReport, made: ClonedSession | None, torn: int, wish: RedactOptions
) -> None:
    if torn and wish.output is not None:
        print_remark(describe_torn_end(torn))
    if wish.as_json and wish.output != "-":
        print_json(to_redact_document(path, report, made, wish))
    elif wish.output == "-":
        for text in _render_report(report, wish):
            print_remark(text)
    else:
        print_lines(map(make_visible, _render_report(report, wish)))
        if made is not None:
            print_new_session(made)
        elif wish.output is not None:
            print_lines([to_visible_line(f"Written to {wish.output}.")])


def to_redact_document(
    path: Path, report: RedactionReport, made: ClonedSession | None, wish: RedactOptions
) -> dict[str, Any]:
    """A redaction for programs."""
    return {
        "session": str(path),
        "found": report.replacement_count,
        "rules": [
            {"rule": rule, "times": found.found, "secrets": found.secrets} for rule, found in report.rules.items()
        ],
        "places": [place._asdict() for place in report.places],
        "thinking_dropped": len(report.thinking),
        "made": to_new_session_document(made) if made else None,
        "output": wish.output,
    }


def _render_report(report: RedactionReport, wish: RedactOptions) -> Iterator[str]:
    if not report.replacement_count:
        yield "No secrets found. Rules know the forms of well-known secrets only; look yourself before you share."
        return
    wide = max(16, 2 + max(map(len, report.rules)))
    yield f"{'rule':<{wide}}{'times':>7}{'secrets':>9}"
    for rule, found in report.rules.items():
        yield f"{rule:<{wide}}{found.found:>7,}{found.secrets:>9,}"
    yield REDACT_DEFINITION
    for place in report.places[:_MAX_LISTED_PLACES]:
        where = place.file or (f"line {place.line}" if place.line else "")
        times = f" ({place.times} times)" if place.times > 1 else ""
        yield f"  {place.rule} in {' '.join(filter(None, (where, place.path)))}{times}"
    if len(report.places) > _MAX_LISTED_PLACES:
        yield f"  … and {len(report.places) - _MAX_LISTED_PLACES:,} more places (--json lists them all)"
    if report.thinking:
        gone = format_count(len(report.thinking), "block")
        goes = "went" if wish.as_clone or wish.output is not None else "would go"
        yield f"{gone} of thinking with a secret {goes} as a whole: a changed one would be refused."
