"""An S3-compatible server on loopback."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_SECONDS = 120
BUCKET = "company-sessions"
_ADDRESS = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")


def list_variables(address: str) -> dict[str, str]:
    """The variables that lead to the server."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_REGION": "us-east-1",
    }


@contextmanager
def serve_bucket(folder: Path) -> Iterator[str]:
    """Run the server with an empty bucket, and give its address."""
    log = folder / "s3.log"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        server = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        address = _wait_for_address(server, log)
        request = urllib.request.Request(f"{address}/{BUCKET}", method="PUT")
        urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).close()
        yield address
    finally:
        server.terminate()
        server.wait()


def _wait_for_address(server: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end and server.poll() is None:
        if match := _ADDRESS.search(log.read_text(errors="replace")):
            return match[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text(errors="replace"))
