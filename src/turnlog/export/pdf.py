"""A session as PDF, printed by an installed Chromium without network access and with a temporary profile.

The printed page has no script, and its policy allows none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from turnlog.errors import TurnlogError
from turnlog.export.pdf_pages import read_turn_pages

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
_MAX_SECONDS_TO_PRINT_TWICE = 300
"""A document that takes longer to print has no page numbers in its contents."""
_PAGE_SLOT_PATTERN = re.compile(rb'(<span class="page-number" data-turn="(t-\d+)">)(</span>)')
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
    """Print an HTML document as PDF; its first piece has the contents, which get page numbers."""
    with tempfile.TemporaryDirectory(prefix="turnlog-pdf-", ignore_cleanup_errors=True) as folder:
        source = Path(folder) / "session.html"
        pieces = iter(pages)
        head = next(pieces, b"")
        with source.open("wb") as file:
            file.write(head)
            file.writelines(pieces)
        begin = time.monotonic()
        pdf = _print_file(program, source)
        if time.monotonic() - begin > _MAX_SECONDS_TO_PRINT_TWICE:
            return pdf
        numbers = read_turn_pages(pdf)
        numbered_head = _PAGE_SLOT_PATTERN.sub(lambda slot: _fill_page_slot(slot, numbers), head)
        if numbered_head == head:
            return pdf
        return _print_file(program, _replace_head(source, len(head), numbered_head))


def _fill_page_slot(slot: re.Match[bytes], numbers: Mapping[str, int]) -> bytes:
    number = numbers.get(slot[2].decode())
    return slot[0] if number is None else b"%s%d%s" % (slot[1], number, slot[3])


def _replace_head(source: Path, length: int, head: bytes) -> Path:
    """Write the document with another beginning beside it."""
    copy = source.with_name("numbered.html")
    with source.open("rb") as before, copy.open("wb") as after:
        after.write(head)
        before.seek(length)
        shutil.copyfileobj(before, after)
    return copy


def _print_file(program: str, source: Path) -> bytes:
    goal = source.with_suffix(".pdf")
    result = _run_browser(program, source, goal, source.with_name("profile"))
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
