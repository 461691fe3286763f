"""A page in Chromium that can import the modules of the quest, for the scripts that draw pictures and write vectors.

The modules are served from the source tree on loopback, without the web app around them.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

import turnlog

PACKAGE = Path(turnlog.__file__).parent
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".png": "image/png", ".json": "application/json"}
BLANK = "<!doctype html><html lang=en><title>quest</title><link rel=icon href='data:,'><body>"


class ChromiumMissingError(Exception):
    """There is no Chromium to draw with."""


class ModuleHandler(SimpleHTTPRequestHandler):
    """Serves the package's files, and an empty page at `/`."""

    def do_GET(self) -> None:
        if self.path != "/":
            return super().do_GET()
        body = BLANK.encode()
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def guess_type(self, path: str | os.PathLike[str]) -> str:
        # Not the machine's own table of types, where a script may be plain text.
        return MEDIA_TYPES.get(Path(path).suffix, "application/octet-stream")

    def log_request(self, *_: object) -> None:
        pass


@contextmanager
def serve_modules(folder: Path = PACKAGE) -> Iterator[str]:
    """Serve a folder on loopback, and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(ModuleHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def find_chromium() -> str:
    names = (os.environ.get("TURNLOG_CHROMIUM") or "", "chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, filter(None, names))), None)
    if program is None:
        raise ChromiumMissingError("no Chromium; scripts/install-browser installs it")
    return program


@contextmanager
def open_module_page(width: int = 1280, height: int = 820) -> Iterator[Page]:
    """Open the empty page of a server of modules."""
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with serve_modules() as address, sync_playwright() as playwright:
        browser: Browser = playwright.chromium.launch(executable_path=find_chromium(), args=arguments)
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(address)
        yield page
        browser.close()
