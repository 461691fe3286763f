"""All stories in chronological order."""

from __future__ import annotations

from demo import cart, discount, notes, old, reports
from demo.home import Home


def record_sessions() -> Home:
    """Record every demo session into a made-up config folder."""
    home = Home()
    old.record_first_cart(home)
    old.record_notes_search(home)
    old.record_progress_rows(home)
    notes.record_scheduled_task(home)
    reports.record_report_session(home)
    notes.record_colours_session(home)
    notes.record_failing_run(home)
    shop, fixed = cart.record_cart_session(home)
    cart.record_branch(home, fixed)
    fixed.save_session()
    discount.record_discount_session(home, shop)
    home.history.sort(key=lambda row: row["timestamp"])
    home.put_rows("history.jsonl", home.history)
    return home
