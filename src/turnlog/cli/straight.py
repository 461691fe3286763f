"""Commands in their plain forms, without the library that knows all forms: loading it takes longer than the answer."""

from __future__ import annotations

import sys


def usage(words: list[str]) -> int | None:
    """Answer `turnlog usage [--json]` and return the exit status; None for any other form."""
    if words not in ([], ["--json"]):
        return None
    try:
        from turnlog.cli.start import begin
        from turnlog.cli.usage_report import Words, print_usage

        begin(["usage"])
        print_usage(Words(as_json=bool(words)))
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - told in the same way as by the full program
        from turnlog.cli.program import ended

        return ended(error)
    return 0


def chat(words: list[str]) -> int | None:
    """Answer `turnlog -p …` in its plain forms and return the exit status; None for any other form."""
    from turnlog.cli.chat_options import plain

    said = plain(words)
    if said is None or not said.get("is_printed"):
        return None
    try:
        from turnlog.cli.chatting import chatted
        from turnlog.cli.start import begin

        begin(["chat"])
        status = chatted(said)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - told in the same way as by the full program
        from turnlog.cli.program import ended

        return ended(error)
    return status
