"""Fast paths for common commands, without click: loading click takes longer than running the command."""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False  # like in typing, which takes as long to import as the rest of this module
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def run_plain_usage(words: list[str]) -> int | None:
    """Run `turnlog usage [--json]` and return the exit status; return None for any other form."""
    if words not in ([], ["--json"]):
        return None

    def run() -> int:
        from turnlog.cli.progress import show_work
        from turnlog.cli.usage.report import UsageOptions, print_usage

        with show_work():
            print_usage(UsageOptions(as_json=bool(words)))
        return 0

    return _run_command("usage", run)


def run_plain_chat(words: list[str]) -> int | None:
    """Run `turnlog -p …` in its plain forms and return the exit status; return None for any other form."""
    import _signal as signal  # type: ignore[import-not-found]  # always loaded, unlike `signal`

    hears = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if hears:
        # Before and after the turn there is nothing to clean up, and an exception during an import may break it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from turnlog.cli.chat.options import parse_plain_words

    said = parse_plain_words(words)
    if said is None or not said.get("is_printed"):
        if hears:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return None
    status = _run_command("chat", lambda: _run_chat(said))
    if hears:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return status


def _run_chat(said: Mapping[str, Any]) -> int:
    from turnlog.cli.chat.chat_command import run_chat

    return run_chat(said)


def _run_command(name: str, run: Callable[[], int]) -> int:
    """Run a command, report failures as the full program does, and return the exit status."""
    try:
        _load_decoder()
        from turnlog.cli.startup import prepare_run

        prepare_run([name])
        status = run()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - told in the same way as by the full program
        from turnlog.cli.program import report_failure

        return report_failure(error)
    _skip_final_collection()
    return status


def _load_decoder() -> None:
    """Load msgspec without typing_extensions, which it does not need: this saves a tenth of the startup time."""
    if "typing_extensions" in sys.modules or "msgspec" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # what an import of it finds missing
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules["typing_extensions"]


def _skip_final_collection() -> None:
    """Skip garbage collection at exit, which takes a tenth of a short run."""
    gc.freeze()
