"""What `turnlog strip` does and says."""

from __future__ import annotations

from typing import Any

from turnlog.cli.config import Config
from turnlog.cli.edit.strip_options import strip_document, strip_lines, wanted
from turnlog.cli.named import opened
from turnlog.cli.output import dump, say
from turnlog.cli.terminal import line, visible
from turnlog.edit.draft import Draft
from turnlog.edit.judged import must_resume
from turnlog.edit.strip.strip import strip
from turnlog.session.window.presets import PRESETS

DEFAULT = "standard"


def run(name: str, config: Config, options: dict[str, Any], *, as_json: bool) -> None:
    """Strip a session in memory and tell what that comes to."""
    chosen = wanted(config, options)
    wishes = chosen or next(preset.wishes for preset in PRESETS if preset.name == DEFAULT)
    with opened(name, config) as session:
        found = strip(session, Draft.of(session.file), wishes)
        must_resume(session, found.draft)
        if as_json:
            dump({"session": str(session.path), "preset": wishes.preset or None, **strip_document(found.report)})
            return
        if wishes.preset:
            say([line(f"Preset {wishes.preset}.")])
        say(map(visible, strip_lines(found.report)))
        if found.report.rules:
            words = (
                "`turnlog clone SESSION` with the same options"
                if chosen
                else f"`turnlog clone SESSION --preset {DEFAULT}`"
            )
            say([f"Nothing was written: {words} makes a session like that."])
