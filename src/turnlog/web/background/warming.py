"""What the first pages need is got ready while nobody waits for it: templates are compiled, colours are loaded."""

from __future__ import annotations

import contextlib
import threading

from turnlog.demo import config_dir
from turnlog.render.html import Html
from turnlog.render.viewing import views
from turnlog.session.session import Session
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.synopsis import timeline
from turnlog.web.answers import templates


def begin() -> None:
    """Get ready in a thread of its own."""
    threading.Thread(target=_quietly, name="warming", daemon=True).start()


def _quietly() -> None:
    with contextlib.suppress(Exception):  # whatever is wrong is told to those who ask for a page
        warm()


def warm() -> None:
    """Compile every template, and write one made-up session that has something of everything."""
    found = templates()
    for name in found.list_templates():
        found.get_template(name)
    largest = max(config_dir().glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_size)
    with Session.open(largest) as session:
        made = timeline(session)
        Html(lambda _: None, buttons=True).views(views(Excerpt.whole(session), made.items, made.head))
