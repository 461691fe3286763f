"""Runs the command of an MCP server's configuration that prints HTTP headers for each connection (`headersHelper`)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from turnlog.agent.mcp_servers.server_config import ServerConfig
from turnlog.agent.mcp_servers.server_link import ServerFailure

HELPER_TIMEOUT_SECONDS = 10.0
_MAX_OUTPUT_BYTES = 1 << 20


def fetch_headers(
    config: ServerConfig, root: Path, environ: Mapping[str, str], seconds: float = HELPER_TIMEOUT_SECONDS
) -> dict[str, str]:
    """Return the headers for a connection: those of the configuration, and over them what the helper prints."""
    if not config.headers_helper:
        return dict(config.headers)
    named = {**environ, "CLAUDE_CODE_MCP_SERVER_NAME": config.name, "CLAUDE_CODE_MCP_SERVER_URL": config.url}
    try:
        headers = json.loads(_run_helper(config.headers_helper, root, named, seconds))
    except (ValueError, RecursionError):
        headers = None
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise ServerFailure("headersHelper did not print a JSON object of texts")  # its output may be secret
    return {**config.headers, **headers}


def _run_helper(command: str, root: Path, environ: Mapping[str, str], seconds: float) -> bytes:
    """Run the command and return what it prints; the file keeps a process that it leaves behind from blocking us."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            shell=True,  # the person's own configuration says what to run
            cwd=root,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            start_new_session=os.name == "posix",
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            _kill_group(process)
            process.wait()
            raise ServerFailure(f"headersHelper took longer than {seconds:g} seconds") from None
        if status:
            raise ServerFailure(f"headersHelper failed with exit status {status}")
        output.seek(0)
        return output.read(_MAX_OUTPUT_BYTES)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if os.name != "posix":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
