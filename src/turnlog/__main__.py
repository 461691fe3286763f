"""The program `turnlog`.

Only the version is loaded here, so `turnlog --version` takes barely longer than starting the bare interpreter, and
`turnlog statusline` only slightly longer.
"""

import gc
import sys


def main() -> int:
    """Run the program with the command-line arguments and return its exit status."""
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]) and _print_version():
        return 0
    if words[:1] == ["statusline"]:
        from turnlog.cli.statusline.status_text import run_statusline as status_line

        if (status := status_line(words[1:])) is not None:
            return status
    if words == ["hook", "run"]:
        from turnlog.cli.trace.plugin_hook import run_plugin_hook

        return run_plugin_hook()
    # Imports and entries make many objects and hardly any garbage; looking for it costs a tenth of a start.
    gc.set_threshold(100_000, 50, 100)
    if words[:1] == ["usage"]:
        from turnlog.cli.fast_paths import run_plain_usage

        if (status := run_plain_usage(words[1:])) is not None:
            return status
    if words[:1] and words[0].startswith("-") and {"-p", "--print"} & {*words}:
        words = ["chat", *words]
    if words[:1] == ["chat"]:
        from turnlog.cli.fast_paths import run_plain_chat

        if (status := run_plain_chat(words[1:])) is not None:
            return status
    try:
        from turnlog.cli.program import run_program
    except KeyboardInterrupt:
        sys.stderr.write("turnlog: interrupted\n")
        return 130
    return run_program(words)


def _print_version() -> bool:
    from turnlog._version import __version__

    try:
        print(f"turnlog {__version__}", flush=True)
    except OSError:
        return False  # The full program fails in the same way, and knows how to say so.
    return True


def _forget_current_folder() -> None:
    """Remove the current folder from the path: `python -m` puts it first, and it may contain untrusted modules.

    The folder is kept if turnlog itself was loaded from it.
    """
    import os

    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is heavy
    if __spec__ is not None and not sys.flags.safe_path and sys.path[0] != here:
        del sys.path[0]


if __name__ == "__main__":
    _forget_current_folder()
    sys.exit(main())
