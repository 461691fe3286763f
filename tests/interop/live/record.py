"""Record runs of the real clients: `python -m tests.interop.live.record [--version V] [--hooks] [SCRIPT …]`.

Needs tmux and the clients (`scripts/install-clients`). All scripts in one version take about twenty minutes.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys

from tests.interop.clients import NEWEST, client
from tests.interop.live.scripts import SCRIPTS, Script
from tests.interop.live.stage import Stage
from tests.interop.live.state_recording import Recording


def record(script: Script, version: str, has_hooks: bool) -> Recording:
    """Perform a script with the real client."""
    with Stage(script.name, version, has_hooks, dict(script.settings)) as stage:
        script.play(stage)
        return stage.finish()


def describe(recording: Recording) -> str:
    """Return the true states with their lengths, on one line."""
    return " ".join(f"{t.state}:{t.end - t.start:.1f}" for t in recording.truth)


def main() -> int:
    parser = argparse.ArgumentParser(description="Record what the real client does while its screen is read.")
    parser.add_argument("scripts", nargs="*", help=f"default: all of {', '.join(SCRIPTS)}")
    parser.add_argument("--version", default=NEWEST, help=f"of the client (default: {NEWEST})")
    parser.add_argument("--hooks", action="store_true", help="install hooks that report what they receive")
    parser.add_argument("--missing", action="store_true", help="only those that have not been recorded")
    options = parser.parse_args()
    if shutil.which("tmux") is None or not client(options.version).is_file():
        parser.error("needs tmux and the client; run scripts/install-clients")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the terminals are closed
    failed = 0
    for name in options.scripts or SCRIPTS:
        if options.missing and Recording(name, options.version, options.hooks, 0, 0, "", [], []).path.exists():
            continue
        try:
            recording = record(SCRIPTS[name], options.version, options.hooks)
        except (TimeoutError, RuntimeError) as error:
            failed += 1
            print(f"{options.version} {name}: failed: {error}", flush=True)
            continue
        recording.save()
        size = recording.path.stat().st_size
        print(f"{recording.name}: {size / 1024:.0f} KB {describe(recording)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
