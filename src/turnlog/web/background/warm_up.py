"""Prepares the first pages in the background: compiles templates and loads the highlighter."""

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
    threading.Thread(target=_warm_up_quietly, name="warming", daemon=True).start()


def _warm_up_quietly() -> None:
    with contextlib.suppress(Exception):  # a page request will report the same problem
        warm_up_pages()


def warm_up_pages() -> None:
    """Compile every template, and render the largest demo session, which contains every kind of item."""
    templates = load_templates()
    for name in templates.list_templates():
        templates.get_template(name)
    largest = max(config_dir().glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_size)
    with Session.open(largest) as session:
        timeline = build_timeline(session)
        HtmlWriter(lambda _: None, buttons=True).write_views(
            build_item_views(Excerpt.from_session(session), timeline.items, timeline.head)
        )
