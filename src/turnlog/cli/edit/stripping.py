"""What `turnlog strip` does and says."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from turnlog.cli.config import Config
from turnlog.cli.edit.strip_fit import StripFit, choose_fit
from turnlog.cli.edit.strip_options import parse_strip_options, render_strip_report, to_strip_document
from turnlog.cli.named import open_named_session
from turnlog.cli.output import print_json, print_lines
from turnlog.cli.terminal import make_visible, to_visible_line
from turnlog.edit.draft import Draft
from turnlog.edit.judged import check_resumes
from turnlog.edit.strip.strip import strip_session
from turnlog.errors import UsageError
from turnlog.session.session import Session
from turnlog.session.window.presets import PRESETS
from turnlog.session.window.wishes import StripOptions

DEFAULT_PRESET = "standard"


def run_strip(name: str, config: Config, options: dict[str, Any], *, fit: str | None, as_json: bool) -> None:
    """Strip a session in memory and report what that saves."""
    protected = options["protect"]
    chosen = parse_strip_options(config, options)
    if fit is not None and chosen is not None:
        raise UsageError("--fit chooses what to strip: only --protect goes with it")
    with open_named_session(name, config) as session:
        fitted = choose_fit(session, config, fit, protected) if fit is not None else None
        wishes = fitted.wishes if fitted else chosen or _default_wishes()
        found = strip_session(session, Draft.from_transcript(session.file), wishes)
        check_resumes(session, found.draft)
        if as_json:
            document = {
                "session": str(session.path),
                "preset": wishes.preset or None,
                **to_strip_document(found.report),
            }
            print_json({**document, **_to_fit_document(_choose_pasteable_name(name, session), fitted)})
            return
        if wishes.preset and not fitted:
            print_lines([to_visible_line(f"Preset {wishes.preset}.")])
        print_lines(map(make_visible, render_strip_report(found.report)))
        print_lines(
            _describe_next_step(_choose_pasteable_name(name, session), fitted, has_options=chosen is not None)
            if found.report.rules
            else ()
        )


def _default_wishes() -> StripOptions:
    return next(preset.strip_options for preset in PRESETS if preset.name == DEFAULT_PRESET)


def _choose_pasteable_name(name: str, session: Session) -> str:
    """What to call the session in another command: `last` or a title may be another one by then."""
    return name if Path(name).exists() else session.session_id or str(session.path)


def _to_fit_document(name: str, fitted: StripFit | None) -> dict[str, Any]:
    if fitted is None:
        return {}
    return {"fit": {"target": fitted.target, "after": fitted.after, "command": fitted.build_command(name)}}


def _describe_next_step(name: str, fitted: StripFit | None, *, has_options: bool) -> Iterator[str]:
    if fitted:
        yield f"Fits {fitted.target:,} tokens with these options. Nothing was written. To make that session:"
        yield to_visible_line(f"  {fitted.build_command(name)}")
    elif has_options:
        yield "Nothing was written: `turnlog clone SESSION` with the same options makes a session like that."
    else:
        command = shlex.join(["turnlog", "clone", name, "--preset", DEFAULT_PRESET])
        yield to_visible_line(f"Nothing was written: `{command}` makes a session like that.")
