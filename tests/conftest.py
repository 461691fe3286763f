"""What every test stands on: a machine without sessions of its own, the corpus, and the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("TURNLOG_CORPUS") or ROOT.parent / "shared" / "corpus")
CHROMIUM = Path(os.environ.get("TURNLOG_CHROMIUM") or "/usr/bin/chromium")
FOREIGN = ("TURNLOG_", "CLAUDE_", "XDG_", "OTEL_", "LANGFUSE_", "CC_LANGFUSE_", "TRACE_TO_")
"""Variables of somebody's own that would lead tests to their sessions, or to their servers."""
CLIENTS = Path(os.environ.get("TURNLOG_CLAUDE_DIR") or ROOT / ".tools" / "claude")

KEPT = ("TURNLOG_TEST_WHEEL", "TURNLOG_CLAUDE_DIR")

Program = Callable[..., "subprocess.CompletedProcess[str]"]

# The same examples every time, so that what passes once passes again; `make fuzz` looks for new ones.
settings.register_profile("quick", deadline=None, print_blob=True, derandomize=True, database=None)
settings.register_profile("long", deadline=None, print_blob=True, max_examples=10_000)
settings.load_profile("quick")


def pytest_configure() -> None:
    """Let programs that the tests start be interrupted, also where the tests run in the background or under nohup."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.name == "posix" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a corpus or a client that this machine does not have."""
    missing = {
        "corpus": None if CORPUS.is_dir() else "no shared corpus; TURNLOG_CORPUS may name it",
        "interop": None if CLIENTS.is_dir() else "no client; scripts/install-clients gets it (or TURNLOG_CLAUDE_DIR)",
    }
    for item in items:
        for name, reason in missing.items():
            if reason and item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def strange_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the tests an empty home, so that nobody's own sessions and settings are read or written."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            if name.startswith(FOREIGN) and name not in KEPT:
                patch.delenv(name)
        for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
            patch.setenv(name, str(home))
        for name in ("NO_COLOR", "FORCE_COLOR", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8"):
            patch.delenv(name, raising=False)
        if path := os.environ.get("PYTHONPATH"):
            # Programs that the tests start stand in other folders.
            patch.setenv("PYTHONPATH", os.pathsep.join(str(Path(part).resolve()) for part in path.split(os.pathsep)))
        yield home


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of shared real and recorded sessions; for tests that are marked `corpus`."""
    return CORPUS


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Run `turnlog` with the given words in a process of its own."""

    def run(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "turnlog", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=60,
        )

    return run


BROWSER_LIMIT_MS = 90_000
"""How long a browser may take to show what a test expects: generous, because the machine may be busy."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, one for all tests: a process can drive no second one beside it.

    Without it these tests are skipped, but not where everything has to be tested.
    """
    if not CHROMIUM.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{CHROMIUM}: there is no Chromium; TURNLOG_CHROMIUM may name it")
        pytest.skip(f"{CHROMIUM}: there is no Chromium; TURNLOG_CHROMIUM may name it")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=BROWSER_LIMIT_MS)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield found
        found.close()
