"""What the first pages need is got ready while nobody waits for it: templates are compiled, colours are loaded."""

from __future__ import annotations

import contextlib
import threading

from turnlog.demo import config_dir
from turnlog.render.html import HtmlWriter
from turnlog.render.view_builder import build_item_views
from turnlog.session.session import Session
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline_builder import build_timeline
from turnlog.web.answers import load_templates


def start_warm_up() -> None:
    """Get ready in a thread of its own."""
    threading.Thread(target=_warm_up_quietly, name="warming", daemon=True).start()


def _warm_up_quietly() -> None:
    with contextlib.suppress(Exception):  # whatever is wrong is told to those who ask for a page
        warm_up_pages()


def warm_up_pages() -> None:
    """Compile every template, and write one made-up session that has something of everything."""
    found = load_templates()
    for name in found.list_templates():
        found.get_template(name)
    largest = max(config_dir().glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_size)
    with Session.open(largest) as session:
        made = build_timeline(session)
        HtmlWriter(lambda _: None, buttons=True).write_views(
            build_item_views(Excerpt.from_session(session), made.items, made.head)
        )
