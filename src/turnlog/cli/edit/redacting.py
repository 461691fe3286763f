"""What `turnlog redact` does and says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.cli.config import Config
from turnlog.cli.edit.made import made_document, tell_made, torn_words
from turnlog.cli.named import located
from turnlog.cli.output import dump, remark, say, write_raw
from turnlog.cli.terminal import line, visible
from turnlog.edit.carried import Carried, carried
from turnlog.edit.clone import Made, clone
from turnlog.edit.draft import Draft
from turnlog.edit.ending import title_of_made
from turnlog.edit.redaction import learn, redacted, redacted_file
from turnlog.edit.target import target
from turnlog.entries.reader import Transcript
from turnlog.entries.writer import create
from turnlog.errors import TurnlogError
from turnlog.redact.patterns import parsed
from turnlog.redact.redactor import Redactor
from turnlog.redact.report import Report
from turnlog.redact.rules import Rules
from turnlog.render.figures import count
from turnlog.session.session import Session

_LISTED = 20
DEFINITION = "times: how often a secret stands there; secrets: how many different ones"


class Wish(NamedTuple):
    """How to redact."""

    as_clone: bool = False
    output: str | None = None
    emails: bool = False
    homes: bool = False
    patterns: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    title: str | None = None
    as_json: bool = False


def run(name: str, wish: Wish, config: Config) -> int:
    """Look for secrets, and write what was asked for."""
    rules = Rules(emails=wish.emails, homes=wish.homes, patterns=parsed(wish.patterns), without=wish.without)
    path = located(name, config)
    redactor = Redactor(rules)
    file = Transcript.open(path)
    try:
        files = _files(path) if wish.output is None else []
        draft = Draft.of(file)
        torn = draft.torn_bytes
        learn(draft, files, redactor)
        clean = redacted(draft, redactor)
        made = _written(path, clean, redactor, wish)
        if not wish.as_clone:
            for item in files:
                for _ in redacted_file(item.source, redactor):
                    pass
    finally:
        file.close()
    _tell(path, redactor.report(), made, torn, wish)
    return 1 if redactor.report().found and not wish.as_clone and wish.output is None else 0


def _files(path: Path) -> list[Carried]:
    try:
        found = target(path)
    except TurnlogError:  # the demo, or a file that is called otherwise: only the transcript itself
        return []
    return carried(found, found.session_id)


def _written(path: Path, clean: Draft, redactor: Redactor, wish: Wish) -> Made | None:
    if wish.as_clone:
        title = _title(path, clean, redactor) if wish.title is None else wish.title
        return clone(path, clean, title=title, read=lambda file: redacted_file(file, redactor))
    if wish.output == "-":
        write_raw(clean.without_torn_end().lines())
    elif wish.output is not None:
        goal = Path(wish.output)
        try:
            create(goal, clean.without_torn_end().lines(), root=goal.absolute().parent)
        except FileExistsError:
            raise TurnlogError(f"{goal}: stands there already; nothing was written") from None
        except OSError as error:
            raise TurnlogError(f"{goal}: {error.strerror or error}; nothing was written") from None
    return None


def _title(path: Path, clean: Draft, redactor: Redactor) -> str:
    """The title of a clone, made from what is left: the session's own may be a prompt with a secret, cut in half."""
    title = title_of_made("clone", Session(clean.transcript()).title, path.stem)
    return redactor.rehearsal().text(title)


def _tell(path: Path, report: Report, made: Made | None, torn: int, wish: Wish) -> None:
    if torn and wish.output is not None:
        remark(torn_words(torn))
    if wish.as_json and wish.output != "-":
        dump(document(path, report, made, wish))
    elif wish.output == "-":
        for text in _lines(report, wish):
            remark(text)
    else:
        say(map(visible, _lines(report, wish)))
        if made is not None:
            tell_made(made)
        elif wish.output is not None:
            say([line(f"Written to {wish.output}.")])


def document(path: Path, report: Report, made: Made | None, wish: Wish) -> dict[str, Any]:
    """A redaction for programs."""
    return {
        "session": str(path),
        "found": report.found,
        "rules": [
            {"rule": rule, "times": found.found, "secrets": found.secrets} for rule, found in report.rules.items()
        ],
        "places": [place._asdict() for place in report.places],
        "thinking_dropped": len(report.thinking),
        "made": made_document(made) if made else None,
        "output": wish.output,
    }


def _lines(report: Report, wish: Wish) -> Iterator[str]:
    if not report.found:
        yield "No secrets found. Rules know the forms of well-known secrets only; look yourself before you share."
        return
    wide = max(16, 2 + max(map(len, report.rules)))
    yield f"{'rule':<{wide}}{'times':>7}{'secrets':>9}"
    for rule, found in report.rules.items():
        yield f"{rule:<{wide}}{found.found:>7,}{found.secrets:>9,}"
    yield DEFINITION
    for place in report.places[:_LISTED]:
        where = place.file or (f"line {place.line}" if place.line else "")
        times = f" ({place.times} times)" if place.times > 1 else ""
        yield f"  {place.rule} in {' '.join(filter(None, (where, place.path)))}{times}"
    if len(report.places) > _LISTED:
        yield f"  … and {len(report.places) - _LISTED:,} more places (--json lists them all)"
    if report.thinking:
        gone = count(len(report.thinking), "block")
        goes = "went" if wish.as_clone or wish.output is not None else "would go"
        yield f"{gone} of thinking with a secret {goes} as a whole: a changed one would be refused."
