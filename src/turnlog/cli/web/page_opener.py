"""Opens a page of the web app in the browser: of a running `turnlog web`, or of one that is started for it."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from typing import NamedTuple

from turnlog.api.config import data_dir
from turnlog.cli.web.browser import can_open_own_name, open_in_browser
from turnlog.errors import TurnlogError
from turnlog.web.own_name import build_own_name, load_secret
from turnlog.web.running_server import read_server_token
from turnlog.web.security import LAUNCH_PATH
from turnlog.web.server_keys import DEFAULT_PORT, LOOPBACK_HOST

_CHECK_SECONDS = 1.0
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)")
_MAX_ANSWER_BYTES = 10_000


class RunningServer(NamedTuple):
    """A server that lets this program in."""

    port: int
    token: str

    def send(self, method: str, path: str) -> tuple[int, bytes]:
        """Send a request as a program; raise `OSError` or `HTTPException` if nobody answers."""
        connection = http.client.HTTPConnection(LOOPBACK_HOST, self.port, timeout=_CHECK_SECONDS)
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        try:
            connection.request(method, path, "{}" if method == "POST" else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(_MAX_ANSWER_BYTES)
        finally:
            connection.close()

    def create_launch_token(self) -> str:
        """Get a token with which a browser can open one page."""
        try:
            status, body = self.send("POST", LAUNCH_PATH)
            token = json.loads(body)["token"] if status == 200 else None
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            token = None
        if not isinstance(token, str):
            raise TurnlogError(f"`turnlog web` on port {self.port} does not answer; stop it, and try again")
        return token


class PageOpener:
    """Opens pages; a server that it had to start ends when it is closed."""

    def __init__(self) -> None:
        self._server: RunningServer | None = None
        self._process: subprocess.Popen[str] | None = None

    def open(self, path: str) -> str:
        """Open a page, and return a remark for the user."""
        if self._process is not None and self._process.poll() is not None:
            self._server = None
        server = self._server = self._server or self._find_server()
        root = _choose_root(server.port)
        address = f"{root}{path}{'&' if '?' in path else '?'}token={server.create_launch_token()}"
        return f"Opened {root}{path}" if open_in_browser(address) else f"Can't open a browser; open {address}"

    def close(self) -> None:
        """Stop the server that was started here."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def _find_server(self) -> RunningServer:
        self.close()
        if (found := find_running_server()) is not None:
            return found
        self._process = subprocess.Popen(
            [sys.executable, "-m", "turnlog", "web", "--no-open"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if match := _ADDRESS.search(line):
                return RunningServer(int(match[1]), match[2])
        raise TurnlogError("`turnlog web` did not start; run it to see why")


def find_running_server() -> RunningServer | None:
    """Find the `turnlog web` of this user on the default port, if it shows this machine's sessions."""
    token = read_server_token(data_dir(), DEFAULT_PORT)
    if token is None:
        return None
    server = RunningServer(DEFAULT_PORT, token)
    try:
        return server if server.send("HEAD", "/api/state")[0] == 200 else None
    except (OSError, http.client.HTTPException):
        return None


def _choose_root(port: int) -> str:
    """Return the origin to open: the server's own name, if the browser resolves it."""
    try:
        name = build_own_name(load_secret(data_dir()))
    except (OSError, TurnlogError):  # then the server chose a name for itself alone
        return f"http://{LOOPBACK_HOST}:{port}"
    return f"http://{name if can_open_own_name() else LOOPBACK_HOST}:{port}"
