"""Numbers, times and lengths as a reader takes them in at a glance."""

from __future__ import annotations


def count(number: int, noun: str, many: str = "") -> str:
    """A number with its noun: `1 line`, `1,412 lines`; `many` is a plural that is not made with an s."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def size(number: float) -> str:
    """A number of bytes: `830 B`, `12 KB`, `3.4 MB`."""
    if number < 1000:
        return f"{number:.0f} B"
    amount, unit = number / 1000, "KB"
    for unit in ("KB", "MB", "GB"):
        if amount < 999.5 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:.1f} {unit}" if amount < 10 and unit != "KB" else f"{amount:.0f} {unit}"


def duration(milliseconds: int | None) -> str:
    """A length of time with its two largest units."""
    if milliseconds is None or milliseconds < 0:
        return ""
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    if milliseconds < 9_950:
        return f"{milliseconds / 1_000:.1f} s"
    minutes, left = divmod(round(milliseconds / 1_000), 60)
    if not minutes:
        return f"{left} s"
    if minutes < 60:
        return f"{minutes} min {left} s" if left else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def thousands(number: int | None) -> str:
    """A number in three figures: `512`, `12.4k`, `1.2M`."""
    if number is None:
        return ""
    for size, sign in ((1_000_000, "M"), (1_000, "k")):
        if abs(number) >= size:
            return f"{number / size:.1f}".removesuffix(".0") + sign
    return str(number)


def dollars(amount: float | None) -> str:
    """An amount of money, with as many figures as a small one needs."""
    if amount is None:
        return ""
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.3f}" if amount >= 0.001 else "<$0.001"
