"""What `turnlog strip` does and says."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from turnlog.cli.config import Config
from turnlog.cli.edit.strip_fit import Fit, choose_fit
from turnlog.cli.edit.strip_options import strip_document, strip_lines, wanted
from turnlog.cli.named import opened
from turnlog.cli.output import dump, say
from turnlog.cli.terminal import line, visible
from turnlog.edit.draft import Draft
from turnlog.edit.judged import must_resume
from turnlog.edit.strip.strip import strip
from turnlog.errors import UsageError
from turnlog.session.session import Session
from turnlog.session.window.presets import PRESETS
from turnlog.session.window.wishes import Wishes

DEFAULT = "standard"


def run(name: str, config: Config, options: dict[str, Any], *, fit: str | None, as_json: bool) -> None:
    """Strip a session in memory and report what that saves."""
    protected = options["protect"]
    chosen = wanted(config, options)
    if fit is not None and chosen is not None:
        raise UsageError("--fit chooses what to strip: only --protect goes with it")
    with opened(name, config) as session:
        fitted = choose_fit(session, config, fit, protected) if fit is not None else None
        wishes = fitted.wishes if fitted else chosen or _default_wishes()
        found = strip(session, Draft.of(session.file), wishes)
        must_resume(session, found.draft)
        if as_json:
            document = {"session": str(session.path), "preset": wishes.preset or None, **strip_document(found.report)}
            dump({**document, **_fit_document(_pasteable(name, session), fitted)})
            return
        if wishes.preset and not fitted:
            say([line(f"Preset {wishes.preset}.")])
        say(map(visible, strip_lines(found.report)))
        say(_next_step(_pasteable(name, session), fitted, has_options=chosen is not None) if found.report.rules else ())


def _default_wishes() -> Wishes:
    return next(preset.wishes for preset in PRESETS if preset.name == DEFAULT)


def _pasteable(name: str, session: Session) -> str:
    """What to call the session in another command: `last` or a title may be another one by then."""
    return name if Path(name).exists() else session.session_id or str(session.path)


def _fit_document(name: str, fitted: Fit | None) -> dict[str, Any]:
    if fitted is None:
        return {}
    return {"fit": {"target": fitted.target, "after": fitted.after, "command": fitted.command(name)}}


def _next_step(name: str, fitted: Fit | None, *, has_options: bool) -> Iterator[str]:
    if fitted:
        yield f"Fits {fitted.target:,} tokens with these options. Nothing was written. To make that session:"
        yield line(f"  {fitted.command(name)}")
    elif has_options:
        yield "Nothing was written: `turnlog clone SESSION` with the same options makes a session like that."
    else:
        command = shlex.join(["turnlog", "clone", name, "--preset", DEFAULT])
        yield line(f"Nothing was written: `{command}` makes a session like that.")
