"""Records the prices and rules with which the `spend` table was computed; if they change, the table is recomputed.

This is checked at every start, so this module never decodes the price table, which would take longer than a whole
report.
"""

from __future__ import annotations

from binascii import crc32
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

PRICING_RULES_VERSION = 1
"""Increase this when the same answers produce different rows."""
_PRICE_FILE = Path(__file__).parents[2] / "session" / "usage" / "prices.json"


def is_spend_current(db: apsw.Connection) -> bool:
    """Return whether `spend` was computed with this version's prices and rules."""
    known: dict[str, str] = dict(db.execute("SELECT name, value FROM fact WHERE name LIKE 'price%'"))
    if known.get("price_stamp") == _build_stamp():
        return True
    return known.get("prices") == _build_price_mark()


def remember_pricing(db: apsw.Connection) -> None:
    """Record that `spend` was computed with this version's prices and rules."""
    from turnlog.session.usage.prices import load_price_table

    facts = (("price_stamp", _build_stamp()), ("prices", _build_price_mark()), ("price_date", load_price_table().date))
    db.executemany("INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)", facts)


def read_price_date(db: apsw.Connection) -> str | None:
    """Return the date of the prices with which `spend` was computed."""
    row = db.execute("SELECT value FROM fact WHERE name = 'price_date'").fetchone()
    return str(row[0]) if row else None


def _build_stamp() -> str:
    return f"{PRICING_RULES_VERSION}:{crc32(_PRICE_FILE.read_bytes()):08x}"


def _build_price_mark() -> str:
    from turnlog.session.usage.prices import load_price_table

    return f"{PRICING_RULES_VERSION}:{load_price_table().digest}"
