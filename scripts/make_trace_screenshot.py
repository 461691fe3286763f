"""Take the screenshot of Arize Phoenix for docs/trace.md (`make screenshots`; needs scripts/install-backends).

It shows one of the bundled demo sessions, which is sent through the outbox like any other session.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.backends.exports import OVER  # noqa: E402 - found by the path above
from tests.backends.phoenix import Phoenix  # noqa: E402 - found by the path above
from tests.backends.seen_spans import wait_for_spans  # noqa: E402 - found by the path above
from tests.backends.servers import list_missing_backends, run_backend  # noqa: E402 - found by the path above
from turnlog.demo import config_dir  # noqa: E402 - found by the path above
from turnlog.trace.harvest import harvest_session  # noqa: E402 - found by the path above
from turnlog.trace.outbox.delivery import deliver_batches  # noqa: E402 - found by the path above
from turnlog.trace.outbox.outbox import Outbox  # noqa: E402 - found by the path above
from turnlog.trace.wire.poster import Poster  # noqa: E402 - found by the path above

PROJECT = "webshop"
SESSION = "22161731-8bcf-4128-85af-0e07ad0577f4"
IMAGE = ROOT / "docs" / "images" / "phoenix.png"


def main() -> int:
    """Take the screenshot."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None or "phoenix" in list_missing_backends():
        print("make_trace_screenshot: needs scripts/install-browser and scripts/install-backends", file=sys.stderr)
        return 1
    with (
        tempfile.TemporaryDirectory(prefix="turnlog-pictures-") as folder,
        run_backend("phoenix", Path(folder)) as server,
    ):
        phoenix = Phoenix(server.ready())
        send_session(phoenix, Path(folder))
        trace = max(phoenix.session(PROJECT, SESSION), key=lambda name: count_agents(phoenix, name))
        with sync_playwright() as playwright:
            arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=program, args=arguments)
            page = browser.new_page(viewport={"width": 1440, "height": 900}, timezone_id="UTC", locale="en-GB")
            page.goto(f"{phoenix.address}/redirects/traces/{trace}")
            take_screenshot(page)
            browser.close()
    print(f"{IMAGE.relative_to(ROOT)}: {IMAGE.stat().st_size // 1000} KB")
    return 0


def send_session(phoenix: Phoenix, folder: Path) -> None:
    """Send the session, and wait until it has arrived."""
    target = phoenix.target(PROJECT)
    path = next(config_dir().glob(f"projects/*/{SESSION}.jsonl"))
    with Outbox.open(folder / "outbox.db") as outbox, Poster(target) as poster:
        put = harvest_session(path, outbox, target, OVER).put
        deliver_batches(outbox, poster, patience=60)
    wait_for_spans(phoenix, PROJECT, put)


def count_agents(phoenix: Phoenix, name: str) -> int:
    """Count the agents in a trace."""
    trace = phoenix.trace(PROJECT, name)
    return sum(span.kind == "agent" for span in trace.spans.values()) if trace else 0


def take_screenshot(page: Page) -> None:
    """Open the first answer of the turn, and take the screenshot."""
    page.get_by_text(re.compile("^chat claude")).first.click()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1500)
    IMAGE.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=IMAGE)


if __name__ == "__main__":
    sys.exit(main())
