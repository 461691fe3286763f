"""All stories, in the order in which they happen."""

from __future__ import annotations

from demo import cart, discount, notes, old, reports
from demo.home import Home


def tell() -> Home:
    """Record every demo session into a made-up config folder."""
    home = Home()
    old.first_cart(home)
    old.notes_search(home)
    old.progress_rows(home)
    notes.scheduled(home)
    reports.record(home)
    notes.colours(home)
    notes.failing_run(home)
    shop, fixed = cart.record(home)
    cart.branch_off(home, fixed)
    fixed.save()
    discount.record(home, shop)
    home.history.sort(key=lambda row: row["timestamp"])
    home.rows("history.jsonl", home.history)
    return home
