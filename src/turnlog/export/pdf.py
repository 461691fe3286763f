"""A session as PDF, printed by an installed Chromium without network access and with a temporary profile.

The printed page has no script, and its policy allows none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from turnlog.errors import TurnlogError

BROWSER_NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge",
)  # fmt: skip
_USUAL_BROWSER_PATHS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
_BROWSER_OPTIONS = (
    "--headless --disable-gpu --no-first-run --no-default-browser-check --disable-extensions --disable-sync"
    " --disable-background-networking --disable-component-update --disable-default-apps --metrics-recording-only"
    " --no-pdf-header-footer --generate-pdf-document-outline --disable-dev-shm-usage"
).split()
_NO_NETWORK_OPTION = "--host-resolver-rules=MAP * ~NOTFOUND"
_PRINT_TIMEOUT_SECONDS = 900
_NO_BROWSER_TEXT = (
    "--format pdf needs Chromium or Chrome, and none was found: install one (such as `apt install chromium`), set its"
    " path with --browser, or export html and print it"
)


def find_browser(named: str | None = None) -> str:
    """Find the browser that prints the PDF, or raise an error that explains how to get one."""
    if named is not None:
        if found := shutil.which(named):
            return found
        raise TurnlogError(f"--browser {named}: no such program")
    for name in (*BROWSER_NAMES, *_USUAL_BROWSER_PATHS):
        if found := shutil.which(name):
            return found
    raise TurnlogError(_NO_BROWSER_TEXT)


def print_pdf(pages: Iterable[bytes], program: str) -> bytes:
    """Print an HTML document as PDF."""
    with tempfile.TemporaryDirectory(prefix="turnlog-pdf-", ignore_cleanup_errors=True) as folder:
        source, goal = Path(folder) / "session.html", Path(folder) / "session.pdf"
        with source.open("wb") as file:
            file.writelines(pages)
        result = _run_browser(program, source, goal, Path(folder) / "profile")
        if not goal.is_file():
            reason = (result.stderr.strip().splitlines() or ["it gave no reason"])[-1]
            raise TurnlogError(f"{program}: printed nothing: {reason}")
        return goal.read_bytes()


def _run_browser(program: str, source: Path, goal: Path, profile: Path) -> subprocess.CompletedProcess[str]:
    options = [*_BROWSER_OPTIONS, _NO_NETWORK_OPTION, f"--user-data-dir={profile}", f"--print-to-pdf={goal}"]
    if sys.platform != "win32" and os.geteuid() == 0:
        options.append("--no-sandbox")  # as root, Chromium does not start with a sandbox
    try:
        return subprocess.run(
            [program, *options, source.as_uri()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PRINT_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise TurnlogError(
            f"{program} took longer than {_PRINT_TIMEOUT_SECONDS // 60} minutes; choose fewer turns"
        ) from None
    except OSError as error:
        raise TurnlogError(f"{program}: {error.strerror or error}") from None
