"""Numbers, times and sizes in short, readable form."""

from __future__ import annotations


def format_count(number: int, noun: str, many: str = "") -> str:
    """Format a number with its noun: `1 line`, `1,412 lines`; `many` is an irregular plural."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def format_size(number: float) -> str:
    """Format a number of bytes: `830 B`, `12 KB`, `3.4 MB`."""
    if number < 1000:
        return f"{number:.0f} B"
    amount, unit = number / 1000, "KB"
    for unit in ("KB", "MB", "GB"):
        if amount < 999.5 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:.1f} {unit}" if amount < 10 and unit != "KB" else f"{amount:.0f} {unit}"


def format_duration(milliseconds: int | None) -> str:
    """Format a duration with its two largest units."""
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


def format_thousands(number: int | None) -> str:
    """Format a number with about three digits: `512`, `12.4k`, `1.2M`."""
    if number is None:
        return ""
    for size, sign in ((1_000_000, "M"), (1_000, "k")):
        if abs(number) >= size:
            return f"{number / size:.1f}".removesuffix(".0") + sign
    return str(number)


def list_price(cost_usd: float, unpriced_tokens: int) -> str:
    """Format a cost at list prices; tokens without a known price are mentioned, never counted as free."""
    digits = 2 if cost_usd >= 0.01 or cost_usd == 0 else 4
    cost = f"${cost_usd:,.{digits}f} at list prices"
    if not unpriced_tokens:
        return cost
    unpriced = f"{unpriced_tokens:,} tokens from models without a known price"
    return f"{cost}, and {unpriced}" if cost_usd else f"unpriced: {unpriced}"


def format_cost_usd(amount: float | None) -> str:
    """Format an amount of money, with more digits for small amounts."""
    if amount is None:
        return ""
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.3f}" if amount >= 0.001 else "<$0.001"


_CHARS_PER_TOKEN = 4


def describe_text_tokens(chars: int) -> str:
    """Estimate the tokens of a text from its length: `about 1.2k tokens`; empty for an empty text."""
    tokens = round(chars / _CHARS_PER_TOKEN)
    return f"~{format_thousands(tokens)} token{'' if tokens == 1 else 's'}" if tokens else ""
