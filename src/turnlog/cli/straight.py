"""Commands in their plain forms, without the library that understands all forms: that one loads longer than we answer.

What goes wrong here has printed nothing, and is left to the full program, which knows how to explain it.
"""

from __future__ import annotations

import sys


def usage(words: list[str]) -> bool:
    """Answer `turnlog usage [--json]`; whether that was asked for and done."""
    if words not in ([], ["--json"]):
        return False
    from turnlog.cli.start import begin
    from turnlog.cli.usage_report import Words, print_usage

    try:
        begin(["usage"])
        print_usage(Words(as_json=bool(words)))
        sys.stdout.flush()
    except Exception:  # noqa: BLE001 - it is tried again, and then told
        return False
    return True
