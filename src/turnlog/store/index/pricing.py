"""By which prices and rules the table `spend` was made: what tells that it must be made again.

Asked at every start, so nothing here decodes the price table: that costs more than a whole report.
"""

from __future__ import annotations

from binascii import crc32
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

RULES = 1
"""To be raised when the same answers give other rows."""
_TABLE = Path(__file__).parents[2] / "session" / "usage" / "prices.json"


def is_current(db: apsw.Connection) -> bool:
    """Whether `spend` was made by the prices and rules of this version."""
    known: dict[str, str] = dict(db.execute("SELECT name, value FROM fact WHERE name LIKE 'price%'"))
    if known.get("price_stamp") == _stamp():
        return True
    return known.get("prices") == _digest()


def remember(db: apsw.Connection) -> None:
    """Note that `spend` was made by the prices and rules of this version."""
    from turnlog.session.usage.prices import table

    facts = (("price_stamp", _stamp()), ("prices", _digest()), ("price_date", table().date))
    db.executemany("INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)", facts)


def price_date(db: apsw.Connection) -> str | None:
    """The day of the prices that `spend` was made by."""
    row = db.execute("SELECT value FROM fact WHERE name = 'price_date'").fetchone()
    return str(row[0]) if row else None


def _stamp() -> str:
    return f"{RULES}:{crc32(_TABLE.read_bytes()):08x}"


def _digest() -> str:
    from turnlog.session.usage.prices import table

    return f"{RULES}:{table().digest}"
