"""Ids, hashes and times that are the same on every run."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime, timedelta
from typing import Any

Row = dict[str, Any]

_LETTERS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def hash_text(text: str, size: int = 64) -> str:
    """Return the first hexadecimal digits of the SHA-256 of a string."""
    return hashlib.sha256(text.encode()).hexdigest()[:size]


def make_uuid(seed: str) -> str:
    """Derive a version 4 uuid from a seed."""
    h = hash_text(seed)
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{'89ab'[int(h[16], 16) % 4]}{h[17:20]}-{h[20:32]}"


def make_api_id(prefix: str, seed: str) -> str:
    """Derive an id with the shape of the API's ids: `msg_01` and 22 letters."""
    value, letters = int(hash_text(prefix + seed), 16), ""
    for _ in range(22):
        value, rest = divmod(value, len(_LETTERS))
        letters += _LETTERS[rest]
    return f"{prefix}_01{letters}"


def pick_number(seed: str, low: int, high: int) -> int:
    """Pick a number from low to high that depends only on the seed."""
    return low + int(hash_text(seed, 8), 16) % (high - low + 1)


def format_time(when: datetime) -> str:
    """Format a time as the client does, with milliseconds and Z."""
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03d}Z"


def add_seconds(when: datetime, seconds: float) -> datetime:
    """Add seconds to a time, rounded to milliseconds."""
    return when + timedelta(milliseconds=round(seconds * 1000))


def make_slug(cwd: str) -> str:
    """Return the name of the project folder for a working directory (ASCII paths only)."""
    return re.sub(r"[^A-Za-z0-9]", "-", cwd)


def hash_message(message: Row) -> str:
    """Return the hash that identifies a message in `api-request` rows."""
    raw = json.dumps(message, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hash_text(raw)


def estimate_tokens(value: Any) -> int:
    """Return a plausible number of tokens for a JSON value."""
    return max(1, round(len(json.dumps(value, ensure_ascii=False)) / 3.4))
